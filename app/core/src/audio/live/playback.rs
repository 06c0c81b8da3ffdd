//! A loudspeaker's callback: rodio pulls from a source that renders the shared player and resamples to the device's rate.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::super::devices::{self, Kind};
use super::super::{Error, Player, Resampler, Result};
use super::Trouble;
use super::clock::BurstClock;

/// Chunks rendered within this time belong to one callback.
const SAME_CALLBACK_NS: u64 = 2_000_000;

/// The player, where a callback finds it. A device that is gone may still hold a callback; the number of the callback that
/// may play keeps it out. The lock is only ever tried, never waited for.
#[derive(Debug)]
pub(super) struct Slot {
    player: Mutex<Player>,
    voice_rate: u32,
    /// Which source may render.
    current: AtomicU64,
    /// When the current source last rendered.
    pub(super) rendered_ns: AtomicU64,
    epoch: Instant,
}

impl Slot {
    pub(super) fn new(player: Player, epoch: Instant) -> Arc<Self> {
        Arc::new(Self {
            voice_rate: player.sample_rate(),
            player: Mutex::new(player),
            current: AtomicU64::new(0),
            rendered_ns: AtomicU64::new(0),
            epoch,
        })
    }

    /// Silences the current source for good.
    pub(super) fn revoke(&self) {
        self.current.fetch_add(1, Ordering::AcqRel);
    }
}

/// An endless source of mono samples at the device's rate.
struct Voice {
    slot: Arc<Slot>,
    number: u64,
    resampler: Resampler,
    device_rate: NonZero<u32>,
    /// Samples of the voice rendered at a time.
    rendered: Vec<f32>,
    /// The same at the device's rate; `ready[next..len]` is to be given out.
    ready: Vec<f32>,
    len: usize,
    next: usize,
    clock: BurstClock,
    last_ask_ns: u64,
    /// From hand-over to the loudspeaker, as far as it is known: the device's buffer and our filter.
    latency_ns: u64,
}

impl Voice {
    fn new(slot: Arc<Slot>, device_rate: NonZero<u32>, buffer: Duration) -> Result<Self> {
        let number = slot.current.fetch_add(1, Ordering::AcqRel) + 1;
        let voice_rate = slot.voice_rate;
        let resampler = Resampler::new(voice_rate, device_rate.get())?;
        let chunk = (voice_rate as usize / 200).max(32);
        let most = (chunk as u64 * u64::from(device_rate.get())).div_ceil(u64::from(voice_rate)) as usize;
        let filter = Duration::from_secs_f64(resampler.latency() as f64 / f64::from(voice_rate));
        Ok(Self {
            slot,
            number,
            resampler,
            device_rate,
            rendered: vec![0.0; chunk],
            ready: vec![0.0; 2 * most + 64],
            len: 0,
            next: 0,
            clock: BurstClock::new(voice_rate),
            last_ask_ns: 0,
            latency_ns: (buffer + filter).as_nanos() as u64,
        })
    }

    /// Renders the next few milliseconds. Allocates nothing, waits for nothing.
    fn refill(&mut self) {
        self.next = 0;
        self.len = 0;
        let now_ns = self.slot.epoch.elapsed().as_nanos() as u64;
        let len = self.rendered.len() as u64;
        // One callback asks for several chunks; only the first tells when the device could take more.
        let first = now_ns.saturating_sub(self.last_ask_ns) > SAME_CALLBACK_NS;
        self.last_ask_ns = now_ns;
        let time = if first { self.clock.asked(now_ns, len) } else { self.clock.more(len) };
        let at_ns = time + self.latency_ns;
        self.rendered.fill(0.0);
        if self.slot.current.load(Ordering::Acquire) == self.number
            && let Ok(mut player) = self.slot.player.try_lock()
        {
            player.render(&mut self.rendered, at_ns);
            self.slot.rendered_ns.fetch_max(now_ns, Ordering::AcqRel);
        }
        let (ready, len) = (&mut self.ready, &mut self.len);
        let _ = self.resampler.process(&self.rendered, &mut |converted| {
            let take = converted.len().min(ready.len() - *len);
            ready[*len..*len + take].copy_from_slice(&converted[..take]);
            *len += take;
        });
    }
}

impl Iterator for Voice {
    type Item = f32;

    fn next(&mut self) -> Option<f32> {
        // The filter swallows the first chunks while it fills; after that every chunk gives samples.
        for _ in 0..64 {
            if self.next < self.len {
                break;
            }
            self.refill();
        }
        let sample = self.ready[..self.len].get(self.next).copied().unwrap_or(0.0);
        self.next += 1;
        Some(sample)
    }
}

impl rodio::Source for Voice {
    fn current_span_len(&self) -> Option<usize> {
        None
    }

    fn channels(&self) -> NonZero<u16> {
        NonZero::<u16>::MIN
    }

    fn sample_rate(&self) -> NonZero<u32> {
        self.device_rate
    }

    fn total_duration(&self) -> Option<Duration> {
        None
    }
}

/// An open loudspeaker; plays until dropped.
pub(super) struct Output {
    _sink: rodio::MixerDeviceSink,
    pub(super) name: String,
}

/// Opens the loudspeaker of this name, or the default one, and lets it play what the slot's player renders.
pub(super) fn open(name: Option<&str>, slot: &Arc<Slot>, trouble: &Trouble) -> Result<Output> {
    let (device, label) = devices::find(Kind::Loudspeaker, name)?;
    let failed = |why: String| Error::Device { kind: Kind::Loudspeaker.word(), name: label.clone(), why };
    let supported = devices::default_config(&device, Kind::Loudspeaker).map_err(|e| failed(e.to_string()))?;
    // 20 ms at a time if the device can, else whatever it likes.
    let frames = supported.sample_rate() / 50;
    let build = |buffer| {
        let trouble = trouble.clone();
        rodio::DeviceSinkBuilder::default()
            .with_device(device.clone())
            .with_supported_config(&supported)
            .with_buffer_size(buffer)
            .with_error_callback(move |error| trouble.report(&error))
            .open_stream()
    };
    let mut sink = build(cpal::BufferSize::Fixed(frames))
        .or_else(|_| build(cpal::BufferSize::Default))
        .map_err(|error| failed(explain(&error)))?;
    sink.log_on_drop(false);
    let device_rate = sink.config().sample_rate();
    // A request comes when one of two buffers is empty, so what is asked for now sounds one buffer later. To say less than
    // the truth is safe: the echo canceller finds a delay that is left, but not an echo before its cause.
    let buffer = Duration::from_secs_f64(f64::from(frames) / f64::from(supported.sample_rate()));
    let voice = Voice::new(slot.clone(), device_rate, buffer).map_err(|error| failed(error.to_string()))?;
    sink.mixer().add(voice);
    Ok(Output { _sink: sink, name: label })
}

/// rodio's errors name the step that failed, their source says why.
fn explain(error: &rodio::DeviceSinkError) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::super::alloc_guard;
    use super::*;

    #[test]
    fn every_device_rate_gets_the_voice_whole() {
        for device_rate in [8000u32, 16_000, 44_100, 48_000, 96_000, 192_000] {
            let (mut speaker, player, _account) = Player::new(22_050);
            let slot = Slot::new(player, Instant::now());
            let tone: Vec<f32> =
                (0..22_050).map(|i| 0.5 * (std::f32::consts::TAU * 440.0 * i as f32 / 22_050.0).sin()).collect();
            let go = AtomicBool::new(false);
            let _ = speaker.play(1, &tone, &go);
            let _ = speaker.finish(1, &go);
            let rate = NonZero::new(device_rate).unwrap();
            let mut voice = Voice::new(slot.clone(), rate, Duration::ZERO).unwrap();
            let out: Vec<f32> = voice.by_ref().take(device_rate as usize * 3 / 2).collect();
            let power: f32 = out.iter().map(|s| s * s).sum::<f32>() / device_rate as f32;
            assert!((power - 0.125).abs() < 0.002, "{device_rate} Hz: power {power}");
            let calls = alloc_guard::calls(|| voice.by_ref().take(10_000).for_each(drop));
            assert_eq!(calls, 0, "{device_rate} Hz: the callback touched the allocator");
            let first = out.iter().position(|s| s.abs() > 0.01).unwrap() as f32 / device_rate as f32;
            assert!(first < 0.03, "{device_rate} Hz: starts after {first} s");

            // A source that was replaced plays silence and leaves the player alone.
            let _ = speaker.play(2, &tone, &go);
            let mut newer = Voice::new(slot, rate, Duration::ZERO).unwrap();
            assert!(voice.take(device_rate as usize).skip(device_rate as usize / 20).all(|s| s == 0.0));
            assert!(newer.by_ref().take(device_rate as usize).any(|s| s.abs() > 0.4));
        }
    }
}
