//! Reads a player's account away from the audio callback: events for the pipeline, reference audio for the echo canceller.

use std::collections::VecDeque;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::player::{Account, FarBlock, Report};
use super::{EAR_RATE, NS_PER_SAMPLE, PlaybackEvent, Resampler, SamplePos};

/// Events that may wait for the pipeline.
const EVENTS: usize = 4096;

/// Shortest time between two progress events.
const PROGRESS_NS: u64 = 10_000_000;

/// Reference audio kept for blocks that the microphone has yet to deliver: 2 s.
const FAR_KEPT: usize = 2 * EAR_RATE as usize;

/// Reference audio further than this from where its run would have it starts a new run. Less is the jitter of a device's
/// callbacks, and an echo canceller copes better with a small drift than with a jump.
const FAR_JOIN_NS: u64 = 20_000_000;

/// Turns the account of one player into events and reference audio.
#[derive(Debug)]
pub(crate) struct Monitor {
    account: Account,
    events: Sender<PlaybackEvent>,
    far: FarEnd,
    last_progress_ns: u64,
    underruns: u64,
}

impl Monitor {
    pub(crate) fn new(account: Account, voice_rate: u32) -> (Self, Receiver<PlaybackEvent>) {
        let (events, receiver) = bounded(EVENTS);
        let far = FarEnd::new(voice_rate);
        (Self { account, events, far, last_progress_ns: 0, underruns: 0 }, receiver)
    }

    /// Holes in the assistant's speech so far.
    pub(crate) fn underruns(&self) -> u64 {
        self.underruns
    }

    /// Passes on what was reported since; `clock` turns the host's time into a position of the microphone.
    pub(crate) fn drain(&mut self, clock: impl Fn(u64) -> SamplePos) {
        while let Ok(report) = self.account.reports.pop() {
            if matches!(report, Report::Underrun { .. }) {
                self.underruns += 1;
            }
            if let Report::Progress { at_ns, .. } = report {
                // Half of the channel stays free for events that must not be lost.
                if at_ns.saturating_sub(self.last_progress_ns) < PROGRESS_NS || self.events.len() > EVENTS / 2 {
                    continue;
                }
                self.last_progress_ns = at_ns;
            }
            if self.events.try_send(event(report, &clock)).is_err() {
                tracing::debug!("a playback event was dropped because nobody reads them");
            }
        }
        while let Ok(block) = self.account.far.pop() {
            self.far.push(&block, clock(block.at_ns));
        }
    }

    /// What was played at `at`, `len` samples at 16 kHz; empty if it was silence.
    pub(crate) fn far(&mut self, at: SamplePos, len: usize) -> Vec<f32> {
        self.far.take(at, len)
    }
}

fn event(report: Report, clock: &impl Fn(u64) -> SamplePos) -> PlaybackEvent {
    match report {
        Report::Started { turn, at_ns } => PlaybackEvent::Started { turn, at: clock(at_ns) },
        Report::FirstAudio { turn, at_ns } => PlaybackEvent::FirstAudio { turn, at: clock(at_ns) },
        Report::Progress { turn, played, at_ns } => PlaybackEvent::Progress { turn, played, at: clock(at_ns) },
        Report::GainReached { turn, gain, at_ns } => PlaybackEvent::GainReached { turn, gain, at: clock(at_ns) },
        Report::Paused { turn, played, at_ns } => PlaybackEvent::Paused { turn, played, at: clock(at_ns) },
        Report::Resumed { turn, played, at_ns } => PlaybackEvent::Resumed { turn, played, at: clock(at_ns) },
        Report::Cancelled { turn, played, at_ns } => PlaybackEvent::Cancelled { turn, played, at: clock(at_ns) },
        Report::Drained { turn, played, at_ns } => PlaybackEvent::Drained { turn, played, at: clock(at_ns) },
        Report::Underrun { turn, played, at_ns, len_ns } => {
            PlaybackEvent::Underrun { turn, played, at: clock(at_ns), len: len_ns / NS_PER_SAMPLE }
        }
    }
}

/// Blocks of reference audio that follow each other.
#[derive(Debug)]
struct Run {
    resampler: Resampler,
    /// Position of its first output.
    start: SamplePos,
    /// When its next input is due if the device keeps its pace.
    next_ns: u64,
}

/// The speaker's audio on the microphone's time line, at 16 kHz.
#[derive(Debug)]
struct FarEnd {
    voice_rate: u32,
    run: Option<Run>,
    samples: VecDeque<f32>,
    /// Position of the first of `samples`.
    start: SamplePos,
}

impl FarEnd {
    fn new(voice_rate: u32) -> Self {
        Self { voice_rate, run: None, samples: VecDeque::new(), start: 0 }
    }

    fn push(&mut self, block: &FarBlock, at: SamplePos) {
        if block.len == 0 {
            self.end_run();
            return;
        }
        if self.run.as_ref().is_none_or(|run| block.at_ns.abs_diff(run.next_ns) > FAR_JOIN_NS) {
            self.end_run();
            let resampler = Resampler::new(self.voice_rate, EAR_RATE).ok();
            self.run = resampler.map(|resampler| Run { resampler, start: at, next_ns: block.at_ns });
        }
        let Some(mut run) = self.run.take() else {
            return;
        };
        let place = run.start + run.resampler.produced();
        let mut converted = Vec::new();
        // A converter that fails leaves silence: the echo canceller then adapts to less.
        if run.resampler.push(&block.samples[..block.len], &mut converted).is_ok() {
            self.write(place, &converted);
            run.next_ns += block.len as u64 * 1_000_000_000 / u64::from(self.voice_rate);
            self.run = Some(run);
        }
    }

    fn end_run(&mut self) {
        if let Some(Run { resampler, start, .. }) = self.run.take() {
            let place = start + resampler.produced();
            let mut rest = Vec::new();
            if resampler.finish(&mut rest).is_ok() {
                self.write(place, &rest);
            }
        }
    }

    fn write(&mut self, at: SamplePos, samples: &[f32]) {
        if self.samples.is_empty() {
            self.start = at;
        }
        for (i, sample) in samples.iter().enumerate() {
            let Some(index) = (at + i as u64).checked_sub(self.start) else {
                continue;
            };
            let index = index as usize;
            if index >= FAR_KEPT {
                // Nobody took it in time; forget the oldest.
                let excess = index + 1 - FAR_KEPT;
                self.samples.drain(..excess.min(self.samples.len()));
                self.start += excess as u64;
                self.samples.resize(FAR_KEPT - 1, 0.0);
                self.samples.push_back(*sample);
            } else if index >= self.samples.len() {
                self.samples.resize(index, 0.0);
                self.samples.push_back(*sample);
            } else {
                self.samples[index] = *sample;
            }
        }
    }

    fn take(&mut self, at: SamplePos, len: usize) -> Vec<f32> {
        let end = at + len as u64;
        let stale = at.saturating_sub(self.start).min(self.samples.len() as u64);
        self.samples.drain(..stale as usize);
        self.start += stale;
        if self.samples.is_empty() || self.start >= end {
            return Vec::new();
        }
        let lead = (self.start.saturating_sub(at)) as usize;
        let mut out = vec![0.0; len];
        for slot in &mut out[lead..] {
            let Some(sample) = self.samples.pop_front() else {
                break;
            };
            *slot = sample;
            self.start += 1;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(at_ns: u64, samples: &[f32]) -> FarBlock {
        let mut block = FarBlock { at_ns, len: samples.len(), samples: [0.0; 64] };
        block.samples[..samples.len()].copy_from_slice(samples);
        block
    }

    /// Plays a 500 Hz tone from `start_ns` for one second in 64-sample blocks, and takes 10 ms blocks 10 ms later.
    #[test]
    fn the_reference_lies_where_it_was_played() {
        for voice_rate in [16_000u32, 22_050, 24_000, 48_000] {
            let tone = |seconds: f64| (0.5 * (std::f64::consts::TAU * 500.0 * seconds).sin()) as f32;
            let mut far = FarEnd::new(voice_rate);
            let start: SamplePos = 8000;
            let start_ns = start * NS_PER_SAMPLE;
            let mut out = Vec::new();
            let mut played = 0u64;
            for at in (0..32_000).step_by(160) {
                while played < u64::from(voice_rate) {
                    let at_ns = start_ns + played * 1_000_000_000 / u64::from(voice_rate);
                    if at_ns / NS_PER_SAMPLE > at + 320 {
                        break;
                    }
                    let samples: Vec<f32> =
                        (0..64).map(|i| tone((played + i) as f64 / f64::from(voice_rate))).collect();
                    far.push(&block(at_ns, &samples), at_ns / NS_PER_SAMPLE);
                    played += 64;
                    if played >= u64::from(voice_rate) {
                        far.push(&block(0, &[]), 0);
                    }
                }
                let taken = far.take(at, 160);
                assert!(taken.is_empty() || taken.len() == 160);
                out.extend(if taken.is_empty() { vec![0.0; 160] } else { taken });
            }
            assert!(out[..start as usize].iter().all(|s| *s == 0.0), "{voice_rate}: sound before it was played");
            for i in 500..15_000 {
                let wanted = tone(i as f64 / 16_000.0);
                let got = out[start as usize + i];
                assert!((got - wanted).abs() < 0.01, "{voice_rate}: {got} instead of {wanted} at {i}");
            }
            assert!(out[start as usize + 16_400..].iter().all(|s| *s == 0.0), "{voice_rate}: sound after the end");
        }
    }

    #[test]
    fn untaken_reference_is_forgotten_not_hoarded() {
        let mut far = FarEnd::new(16_000);
        for i in 0..10_000u64 {
            far.push(&block(i * 64 * NS_PER_SAMPLE, &[0.1; 64]), i * 64);
        }
        assert!(far.samples.len() <= FAR_KEPT);
        assert_eq!(far.take(0, 160), Vec::<f32>::new());
        assert_eq!(far.take(630_000, 160), vec![0.1; 160]);
    }

    #[test]
    fn runs_are_kept_apart() {
        let mut far = FarEnd::new(16_000);
        far.push(&block(0, &[0.5; 64]), 0);
        far.push(&block(800 * NS_PER_SAMPLE, &[0.25; 64]), 800);
        far.push(&block(864 * NS_PER_SAMPLE, &[]), 864);
        let first = far.take(0, 160);
        assert_eq!((&first[..64], &first[64..]), (&[0.5; 64][..], &[0.0; 96][..]));
        assert_eq!(far.take(800, 160)[..64], [0.25; 64]);
        assert_eq!(far.take(960, 160), Vec::<f32>::new());
    }
}
