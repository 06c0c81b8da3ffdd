//! The live host: a microphone through cpal, a loudspeaker through rodio, at whatever rates the devices have.
//!
//! Threads: the devices' own callbacks, a pump that turns what the microphone brought into 16 kHz blocks, and a keeper that
//! opens devices again when they are lost. Positions keep pace with the wall clock: what a device did not deliver is
//! silence.

mod capture;
mod clock;
mod keeper;
mod playback;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use self::capture::Captured as Capture;
use self::clock::BurstClock;
use self::keeper::{Keeper, Pulse};
use self::playback::Slot;
use super::devices::{self, Kind};
use super::host::{AudioHost, Captured, DeviceEvent, HostHandle, HostReport, Microphone, Streams, VoiceFormat};
use super::monitor::Monitor;
use super::{BLOCK, EAR_RATE, Error, NS_PER_SAMPLE, Player, Resampler, Result, SamplePos};

/// How often the pump empties the rings.
const PUMP: Duration = Duration::from_millis(4);

/// Blocks that may wait for a pipeline that is slower than real time: 30 s.
const WAITING_BLOCKS: usize = 3000;

/// How far the microphone may fall behind the wall clock before silence takes its place.
const BEHIND: SamplePos = 3 * EAR_RATE as SamplePos / 10;

/// A conversation over the machine's own devices.
#[derive(Debug, Clone, Default)]
pub struct LiveHost {
    /// The microphone's id, name or part of its name; the default one if none.
    pub microphone: Option<String>,
    /// The loudspeaker's id, name or part of its name; the default one if none.
    pub loudspeaker: Option<String>,
}

impl LiveHost {
    /// Looks whether both devices are there, without opening them.
    ///
    /// # Errors
    /// The device that is not.
    pub fn check(&self) -> Result<()> {
        let _quiet = devices::quiet();
        devices::find(Kind::Microphone, self.microphone.as_deref())?;
        devices::find(Kind::Loudspeaker, self.loudspeaker.as_deref())?;
        Ok(())
    }
}

impl AudioHost for LiveHost {
    fn open(self: Box<Self>, voice: VoiceFormat) -> Result<Streams> {
        let epoch = Instant::now();
        let (speaker, player, account) = Player::new(voice.sample_rate);
        let (monitor, playback) = Monitor::new(account, voice.sample_rate);
        let (blocks, blocks_out) = bounded(WAITING_BLOCKS);
        let (devices, devices_out) = bounded(64);
        let (captures, captures_in) = bounded(8);
        let slot = Slot::new(player, epoch);
        let pulse = Arc::new(Pulse::default());
        let mut keeper = Keeper::new(&self, slot, pulse.clone(), captures, devices.clone(), epoch);

        // Devices are opened on the thread that keeps them: on some systems they may not move.
        let (opened, opened_out) = bounded(1);
        let keeping = move || {
            let started = keeper.start();
            let go_on = started.is_ok();
            let _ = opened.send(started);
            if go_on {
                keeper.run();
            }
        };
        let keeper = spawn("audio-devices", keeping)?;
        let failed = || Error::Device {
            kind: "audio",
            name: "system".into(),
            why: "it ended while devices were being opened".into(),
        };
        opened_out.recv().map_err(|_| failed())??;

        let stop = pulse.stop.clone();
        let pump = Pump {
            captures: captures_in,
            capture: None,
            monitor,
            blocks,
            devices,
            pulse,
            epoch,
            clock: BurstClock::new(EAR_RATE),
            heard: Vec::new(),
            now: 0,
            lost: 0,
            hole: None,
            report: HostReport::default(),
        };
        let thread = spawn("audio-live", move || {
            let report = pump.run();
            // The keeper was asked to stop by the same flag.
            let _ = keeper.join();
            Ok(report)
        })?;
        Ok(Streams {
            microphone: Microphone { blocks: blocks_out },
            speaker,
            playback,
            devices: devices_out,
            handle: HostHandle { stop, thread: Some(thread) },
        })
    }
}

fn spawn<T: Send + 'static>(
    name: &'static str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<std::thread::JoinHandle<T>> {
    std::thread::Builder::new().name(name.into()).spawn(body).map_err(|source| Error::Thread { name, source })
}

/// Something an error callback reported: of which device, of which time it was opened, and what.
#[derive(Debug)]
struct Report {
    kind: Kind,
    opening: u64,
    why: String,
}

/// Where the error callback of one opened device reports.
#[derive(Debug, Clone)]
struct Trouble {
    reports: Sender<Report>,
    kind: Kind,
    opening: u64,
}

impl Trouble {
    /// Passes on what makes a device unusable; a missed deadline does not.
    fn report(&self, error: &cpal::Error) {
        use cpal::ErrorKind;
        match error.kind() {
            ErrorKind::Xrun | ErrorKind::DeviceChanged | ErrorKind::RealtimeDenied => {}
            _ => {
                let report = Report { kind: self.kind, opening: self.opening, why: error.to_string() };
                let _ = self.reports.try_send(report);
            }
        }
    }
}

/// One microphone's audio on its way to 16 kHz.
struct Stream {
    capture: Capture,
    resampler: Resampler,
    /// `dropped` of the capture that was already replaced by silence.
    replaced: u64,
}

/// Turns what the microphone brought into blocks, and reads the player's account.
struct Pump {
    captures: Receiver<Capture>,
    capture: Option<Stream>,
    monitor: Monitor,
    blocks: Sender<Captured>,
    devices: Sender<DeviceEvent>,
    pulse: Arc<Pulse>,
    epoch: Instant,
    /// When the samples at 16 kHz were heard.
    clock: BurstClock,
    /// Samples that do not fill a block yet.
    heard: Vec<f32>,
    /// Position of the next block.
    now: SamplePos,
    /// Samples just before `now` that could not be delivered.
    lost: u64,
    /// Where the microphone stopped, and how much silence has stood in for it.
    hole: Option<(SamplePos, u64)>,
    report: HostReport,
}

impl Pump {
    fn run(mut self) -> HostReport {
        while !self.pulse.stop.load(Ordering::Acquire) {
            std::thread::sleep(PUMP);
            if self.hear() {
                self.end_hole();
            }
            self.fill_holes();
            let start_ns = self.start_ns();
            self.monitor.drain(|ns| ns.saturating_sub(start_ns) / NS_PER_SAMPLE);
            while self.heard.len() >= BLOCK {
                let near: Vec<f32> = self.heard.drain(..BLOCK).collect();
                if !self.deliver(near) {
                    self.pulse.stop.store(true, Ordering::Release);
                    break;
                }
            }
        }
        self.end_hole();
        self.report.captured = self.now;
        self.report.underruns = self.monitor.underruns();
        self.report
    }

    /// Time of position 0, by the latest estimate.
    fn start_ns(&self) -> u64 {
        let end = self.now + self.heard.len() as u64;
        self.clock.time().map_or(0, |time| time.saturating_sub(end * NS_PER_SAMPLE))
    }

    /// Takes what the microphone brought since; `false` if that was nothing.
    fn hear(&mut self) -> bool {
        let mut heard = false;
        if let Some(capture) = self.captures.try_iter().last() {
            let resampler = Resampler::new(capture.sample_rate, EAR_RATE).ok();
            self.capture = resampler.map(|resampler| Stream { capture, resampler, replaced: 0 });
        }
        let Some(stream) = self.capture.as_mut() else {
            return heard;
        };
        while let Ok(stamp) = stream.capture.stamps.pop() {
            let before = self.heard.len();
            let mut left = stamp.samples as usize;
            while left > 0 {
                let Ok(chunk) = stream.capture.samples.read_chunk(left.min(stream.capture.samples.slots())) else {
                    break;
                };
                if chunk.is_empty() {
                    break;
                }
                left -= chunk.len();
                let (first, second) = chunk.as_slices();
                for part in [first, second] {
                    // A converter that fails leaves a hole, which becomes silence.
                    let _ = stream.resampler.push(part, &mut self.heard);
                }
                chunk.commit_all();
            }
            let dropped = stream.capture.dropped.load(Ordering::Relaxed);
            if dropped > stream.replaced {
                let len = (dropped - stream.replaced) * u64::from(EAR_RATE) / u64::from(stream.capture.sample_rate);
                stream.replaced = dropped;
                self.heard.extend(std::iter::repeat_n(0.0, len as usize));
            }
            self.pulse.heard_ns.store(stamp.at_ns, Ordering::Release);
            self.clock.brought(stamp.at_ns, (self.heard.len() - before) as u64);
            heard = true;
        }
        heard
    }

    /// Puts silence where a device delivered nothing, so that positions keep pace with the wall clock.
    fn fill_holes(&mut self) {
        let Some(time) = self.clock.time() else {
            return;
        };
        let now_ns = self.epoch.elapsed().as_nanos() as u64;
        let behind = now_ns.saturating_sub(time) / NS_PER_SAMPLE;
        if behind > BEHIND {
            let len = behind - BEHIND / 2;
            let at = self.now + self.heard.len() as u64;
            self.heard.extend(std::iter::repeat_n(0.0, len as usize));
            self.clock.skip(len);
            let hole = self.hole.get_or_insert((at, 0));
            hole.1 += len;
        }
    }

    /// Tells of a hole once it is over.
    fn end_hole(&mut self) {
        if let Some((at, len)) = self.hole.take() {
            self.report.missing_samples += len;
            let _ = self.devices.try_send(DeviceEvent::Hole { at, len });
        }
    }

    /// Hands a block to the pipeline; `false` if there is no pipeline any more.
    fn deliver(&mut self, near: Vec<f32>) -> bool {
        let far = self.monitor.far(self.now, near.len());
        let mut block = Captured { at: self.now, near, far };
        self.now = block.end();
        if self.lost > 0 {
            block.at -= self.lost;
            block.near.splice(0..0, std::iter::repeat_n(0.0, self.lost as usize));
            block.far.clear();
        }
        match self.blocks.try_send(block) {
            Ok(()) if self.lost > 0 => {
                let at = self.now - BLOCK as u64 - self.lost;
                let _ = self.devices.try_send(DeviceEvent::Overrun { at, len: self.lost });
                self.report.overrun_samples += self.lost;
                self.lost = 0;
                true
            }
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.lost += BLOCK as u64;
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}
