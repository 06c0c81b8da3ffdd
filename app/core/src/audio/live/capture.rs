//! A microphone's callback: device samples in any format become mono and go into a ring.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cpal::traits::{DeviceTrait as _, StreamTrait as _};
use cpal::{FromSample, Sample as _, SampleFormat, SizedSample};
use rtrb::{Consumer, Producer, RingBuffer};

use super::super::devices::{self, Kind};
use super::super::{Error, Result};
use super::Trouble;

/// Seconds of audio between the callback and the thread that empties the ring.
const RING_SECONDS: usize = 2;

/// When a callback came and how many samples it brought.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    pub(super) at_ns: u64,
    pub(super) samples: u64,
}

/// What arrives from a microphone; plain data, so that it can be handed to the pumping thread.
#[derive(Debug)]
pub(super) struct Captured {
    pub(super) samples: Consumer<f32>,
    pub(super) stamps: Consumer<Stamp>,
    pub(super) sample_rate: u32,
    /// Samples that found the ring full.
    pub(super) dropped: Arc<AtomicU64>,
}

/// The part of the callback that does not depend on the device's sample format.
struct Feed {
    samples: Producer<f32>,
    stamps: Producer<Stamp>,
    dropped: Arc<AtomicU64>,
    channels: usize,
    epoch: Instant,
}

impl Feed {
    /// Allocates nothing, locks nothing, waits for nothing.
    fn take<T>(&mut self, data: &[T])
    where
        T: SizedSample,
        f32: FromSample<T>,
    {
        let frames = data.len() / self.channels;
        let stored = frames.min(self.samples.slots());
        let share = 1.0 / self.channels as f32;
        if let Ok(chunk) = self.samples.write_chunk_uninit(stored) {
            let mono = data.chunks_exact(self.channels).map(|frame| {
                let sum: f32 = frame.iter().map(|sample| f32::from_sample(*sample)).sum();
                let mean = sum * share;
                if mean.is_finite() { mean.clamp(-1.0, 1.0) } else { 0.0 }
            });
            chunk.fill_from_iter(mono);
        }
        self.dropped.fetch_add((frames - stored) as u64, Ordering::Relaxed);
        let at_ns = self.epoch.elapsed().as_nanos() as u64;
        let _ = self.stamps.push(Stamp { at_ns, samples: stored as u64 });
    }
}

/// An open microphone; hears until dropped.
pub(super) struct Input {
    _stream: cpal::Stream,
    pub(super) name: String,
}

/// Opens the microphone of this name, or the default one.
pub(super) fn open(name: Option<&str>, epoch: Instant, trouble: &Trouble) -> Result<(Input, Captured)> {
    let (device, label) = devices::find(Kind::Microphone, name)?;
    let failed = |error: cpal::Error| Error::Device {
        kind: Kind::Microphone.word(),
        name: label.clone(),
        why: error.to_string(),
    };
    let supported = devices::default_config(&device, Kind::Microphone).map_err(failed)?;
    let sample_rate = supported.sample_rate();
    let capacity = sample_rate as usize * RING_SECONDS;
    let build = |buffer_size| -> Result<(cpal::Stream, Captured), cpal::Error> {
        let (samples, samples_out) = RingBuffer::new(capacity);
        let (stamps, stamps_out) = RingBuffer::new(4096);
        let dropped = Arc::<AtomicU64>::default();
        let channels = usize::from(supported.channels()).max(1);
        let mut feed = Feed { samples, stamps, dropped: dropped.clone(), channels, epoch };
        let trouble = trouble.clone();
        let on_error = move |error| trouble.report(&error);
        let config =
            cpal::StreamConfig { channels: supported.channels(), sample_rate: supported.sample_rate(), buffer_size };
        macro_rules! stream {
            ($($format:ident => $sample:ty),*) => {
                match supported.sample_format() {
                    $(SampleFormat::$format => device.build_input_stream::<$sample, _, _>(
                        config,
                        move |data, _| feed.take(data),
                        on_error,
                        Some(Duration::from_secs(2)),
                    ),)*
                    other => Err(cpal::Error::with_message(
                        cpal::ErrorKind::UnsupportedConfig,
                        format!("its sample format {other} is not supported"),
                    )),
                }
            };
        }
        let stream = stream!(
            I8 => i8, I16 => i16, I24 => cpal::I24, I32 => i32, I64 => i64,
            U8 => u8, U16 => u16, U24 => cpal::U24, U32 => u32, U64 => u64,
            F32 => f32, F64 => f64
        )?;
        stream.play()?;
        Ok((stream, Captured { samples: samples_out, stamps: stamps_out, sample_rate, dropped }))
    };
    // 10 ms at a time if the device can, else whatever it likes.
    let (stream, captured) = build(cpal::BufferSize::Fixed(sample_rate / 100))
        .or_else(|_| build(cpal::BufferSize::Default))
        .map_err(failed)?;
    Ok((Input { _stream: stream, name: label }, captured))
}

#[cfg(test)]
mod tests {
    use super::super::super::alloc_guard;
    use super::*;

    fn feed(channels: usize, room: usize) -> (Feed, Consumer<f32>, Consumer<Stamp>) {
        let (samples, samples_out) = RingBuffer::new(room);
        let (stamps, stamps_out) = RingBuffer::new(4);
        let dropped = Arc::default();
        (Feed { samples, stamps, dropped, channels, epoch: Instant::now() }, samples_out, stamps_out)
    }

    #[test]
    fn channels_are_mixed_and_formats_scaled() {
        let (mut feed, mut samples, mut stamps) = feed(2, 100);
        feed.take(&[0.5f32, 0.25, -1.0, -1.0, f32::NAN, 0.0, 9.0, 9.0]);
        feed.take(&[i16::MAX, i16::MAX, i16::MIN, 0]);
        feed.take(&[128u8, 128, 0, 0]);
        let got: Vec<f32> = std::iter::from_fn(|| samples.pop().ok()).collect();
        let wanted = [0.375, -1.0, 0.0, 1.0, 1.0, -0.5, 0.0, -1.0];
        assert_eq!(got.len(), wanted.len());
        assert!(got.iter().zip(wanted).all(|(g, w)| (g - w).abs() < 1e-4), "{got:?}");
        assert_eq!(std::iter::from_fn(|| stamps.pop().ok()).map(|s| s.samples).collect::<Vec<_>>(), [4, 2, 2]);
    }

    #[test]
    fn a_callback_never_touches_the_allocator() {
        let (mut feed, _samples, _stamps) = feed(2, 4000);
        let calls = alloc_guard::calls(|| {
            for _ in 0..20 {
                feed.take(&[0.25f32; 960]);
                feed.take(&[1000i16; 960]);
            }
        });
        assert_eq!(calls, 0);
        assert!(feed.dropped.load(Ordering::Relaxed) > 0, "the ring was never full");
    }

    #[test]
    fn a_full_ring_counts_what_is_lost() {
        let (mut feed, samples, mut stamps) = feed(1, 10);
        feed.take(&[0.1f32; 16]);
        assert_eq!(samples.slots(), 10);
        assert_eq!(stamps.pop().unwrap().samples, 10);
        assert_eq!(feed.dropped.load(Ordering::Relaxed), 6);
    }
}
