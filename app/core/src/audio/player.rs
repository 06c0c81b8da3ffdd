//! The playback core shared by all hosts: a queue of turns in, samples and an exact account of them out.
//!
//! [`Player::render`] is what an audio callback calls. It never allocates, locks, logs or waits: samples and headers come
//! through rings, wishes through single words, and the account leaves through rings. A report that finds its ring full is
//! counted and lost; the rings hold more than ten seconds of reports.

use std::sync::Arc;

use rtrb::{Consumer, Producer, RingBuffer};

use super::AUDIBLE;
use super::speaker::{GainWish, Queue, Segment, Speaker, Wishes};

/// Samples rendered between two looks at the wishes; 3 ms at 22,050 Hz.
const STEP: usize = 64;

/// Length of the fades that keep a pause, a cancel or a hole from clicking, in milliseconds.
const FADE_MS: u32 = 8;

/// Reports that may wait for the monitor.
const REPORTS: usize = 4096;

/// Blocks of played audio that may wait for the monitor.
const FAR_BLOCKS: usize = 4096;

/// One thing that happened at the sink; times in nanoseconds on the host's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Report {
    Started { turn: u64, at_ns: u64 },
    FirstAudio { turn: u64, at_ns: u64 },
    Progress { turn: u64, played: u64, at_ns: u64 },
    GainReached { turn: u64, gain: f32, at_ns: u64 },
    Paused { turn: u64, played: u64, at_ns: u64 },
    Resumed { turn: u64, played: u64, at_ns: u64 },
    Cancelled { turn: u64, played: u64, at_ns: u64 },
    Drained { turn: u64, played: u64, at_ns: u64 },
    Underrun { turn: u64, played: u64, at_ns: u64, len_ns: u64 },
}

/// Played samples, as they left the sink, for echo cancelling. What no block covers was silence; an empty block says that
/// silence begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FarBlock {
    pub(crate) at_ns: u64,
    pub(crate) len: usize,
    pub(crate) samples: [f32; STEP],
}

/// The account a [`Player`] gives of itself, to be read by another thread.
#[derive(Debug)]
pub struct Account {
    pub(crate) reports: Consumer<Report>,
    pub(crate) far: Consumer<FarBlock>,
}

/// What the current turn is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It is over, or there has been none; the next sample of the queue starts a turn.
    Idle,
    /// It sounds, or fades in or out.
    Sounding,
    /// It is silent because it is held.
    Paused,
    /// It is silent because its audio comes too late.
    Starved,
}

/// Plays turns without gaps; see the module's description.
#[derive(Debug)]
pub struct Player {
    samples: Consumer<f32>,
    segments: Consumer<Segment>,
    wishes: Arc<Wishes>,
    reports: Producer<Report>,
    far: Producer<FarBlock>,
    sample_rate: u32,
    /// The segment being played; its `len` counts what is still in the ring.
    front: Option<Segment>,
    turn: u64,
    phase: Phase,
    /// Samples of `turn` that left.
    played: u64,
    audible: bool,
    /// Envelope of the fades, 0 to 1.
    envelope: f32,
    envelope_step: f32,
    gain: f32,
    gain_target: f32,
    gain_step: f32,
    /// End of the last sample of `turn`.
    last_sample_ns: u64,
    /// The highest turn whose cancelling was acted upon.
    cancelled: u64,
    /// Whether the last block of reference audio was not empty.
    recording: bool,
    lost_reports: u64,
}

impl Player {
    /// A loudspeaker's two halves at `sample_rate`, and the account of what is played.
    pub fn new(sample_rate: u32) -> (Speaker, Self, Account) {
        let (speaker, Queue { samples, segments, wishes }) = Speaker::new(sample_rate);
        let (reports, reports_out) = RingBuffer::new(REPORTS);
        let (far, far_out) = RingBuffer::new(FAR_BLOCKS);
        let player = Self {
            samples,
            segments,
            wishes,
            reports,
            far,
            sample_rate,
            front: None,
            turn: 0,
            phase: Phase::Idle,
            played: 0,
            audible: false,
            envelope: 1.0,
            envelope_step: 1.0 / fade_len(sample_rate) as f32,
            gain: 1.0,
            gain_target: 1.0,
            gain_step: 1.0,
            last_sample_ns: 0,
            cancelled: 0,
            recording: false,
            lost_reports: 0,
        };
        (speaker, player, Account { reports: reports_out, far: far_out })
    }

    /// Samples per second of what it renders.
    pub fn sample_rate(&self) -> u32 {
        self.sample_rate
    }

    /// Reports that were lost because nobody read them.
    pub fn lost_reports(&self) -> u64 {
        self.lost_reports
    }

    /// Fills `out` with the next samples; `at_ns` is when its first sample leaves the sink, on the host's clock.
    pub fn render(&mut self, out: &mut [f32], at_ns: u64) {
        let mut done = 0;
        for step in out.chunks_mut(STEP) {
            self.render_step(step, at_ns + self.duration_ns(done));
            done += step.len();
        }
    }

    fn render_step(&mut self, out: &mut [f32], at_ns: u64) {
        let mut filled = 0;
        while filled < out.len() {
            let now = at_ns + self.duration_ns(filled);
            if !self.prepare(now) {
                break;
            }
            filled += self.sound(&mut out[filled..], now);
        }
        out[filled..].fill(0.0);
        if filled > 0 {
            self.wishes.set_position(self.turn, self.played);
            self.report(Report::Progress { turn: self.turn, played: self.played, at_ns: self.last_sample_ns });
            self.record(&out[..filled], at_ns);
        }
        if filled < out.len() && self.recording {
            self.record(&[], at_ns + self.duration_ns(filled));
        }
    }

    fn record(&mut self, played: &[f32], at_ns: u64) {
        let mut block = FarBlock { at_ns, len: played.len(), samples: [0.0; STEP] };
        block.samples[..played.len()].copy_from_slice(played);
        self.recording = !played.is_empty();
        // Nobody needs to read it; a full ring loses reference audio, nothing else.
        let _ = self.far.push(block);
    }

    /// Brings the next sample that may sound to the front; `false` if there is silence for now.
    fn prepare(&mut self, now: u64) -> bool {
        self.obey_cancel(now);
        let front = loop {
            match self.front {
                Some(front) if front.len > 0 => break front,
                Some(Segment { turn, last: true, .. }) => self.end(turn, now),
                _ => {}
            }
            self.front = self.segments.pop().ok();
            if self.front.is_none() {
                if self.phase == Phase::Sounding {
                    self.phase = Phase::Starved;
                }
                return false;
            }
            self.drop_stale();
        };
        let held = self.wishes.is_paused(front.turn);
        if front.turn != self.turn || self.phase == Phase::Idle {
            if self.phase != Phase::Idle {
                self.end(self.turn, now);
            }
            if held {
                return false;
            }
            self.start(front.turn, now);
        }
        match self.phase {
            Phase::Starved => {
                self.phase = Phase::Sounding;
                self.envelope = 0.0;
                let (at_ns, played) = (self.last_sample_ns, self.played);
                self.report(Report::Underrun { turn: self.turn, played, at_ns, len_ns: now.saturating_sub(at_ns) });
            }
            Phase::Paused if held => return false,
            Phase::Paused => {
                self.phase = Phase::Sounding;
                self.report(Report::Resumed { turn: self.turn, played: self.played, at_ns: now });
            }
            Phase::Idle | Phase::Sounding => {}
        }
        if held && self.envelope == 0.0 {
            self.phase = Phase::Paused;
            self.report(Report::Paused { turn: self.turn, played: self.played, at_ns: now });
            return false;
        }
        true
    }

    /// Drops everything of cancelled turns once they are silent.
    fn obey_cancel(&mut self, now: u64) {
        let cancelled = self.wishes.cancelled_through();
        if cancelled <= self.cancelled {
            return;
        }
        let current = self.turn <= cancelled && self.phase != Phase::Idle;
        let fading = self.phase == Phase::Sounding
            && self.envelope > 0.0
            && self.front.is_some_and(|front| front.turn == self.turn && front.len > 0);
        if current && fading {
            return;
        }
        self.cancelled = cancelled;
        if current {
            self.phase = Phase::Idle;
            self.report(Report::Cancelled { turn: self.turn, played: self.played, at_ns: self.last_sample_ns });
        }
        if !current || self.turn != cancelled {
            let played = if self.turn == cancelled { self.played } else { 0 };
            self.report(Report::Cancelled { turn: cancelled, played, at_ns: now });
        }
        self.drop_stale();
    }

    fn drop_stale(&mut self) {
        while let Some(front) = self.front.or_else(|| self.segments.pop().ok()) {
            if front.turn > self.cancelled {
                self.front = Some(front);
                return;
            }
            if let Ok(stale) = self.samples.read_chunk(front.len) {
                stale.commit_all();
            }
            self.front = None;
        }
    }

    fn start(&mut self, turn: u64, now: u64) {
        self.turn = turn;
        self.phase = Phase::Sounding;
        self.played = 0;
        self.audible = false;
        self.envelope = 1.0;
        self.gain = 1.0;
        self.gain_target = 1.0;
        self.report(Report::Started { turn, at_ns: now });
    }

    /// `turn` is complete and all of it has left.
    fn end(&mut self, turn: u64, now: u64) {
        if turn != self.turn {
            // A turn without a single sample.
            if self.phase != Phase::Idle {
                self.end(self.turn, now);
            }
            (self.turn, self.played, self.last_sample_ns) = (turn, 0, now);
        } else if self.phase == Phase::Idle {
            return;
        }
        self.phase = Phase::Idle;
        self.report(Report::Drained { turn, played: self.played, at_ns: self.last_sample_ns });
    }

    /// Moves samples of the front into `out`, at least one; a fade-out takes no more than it needs.
    fn sound(&mut self, out: &mut [f32], now: u64) -> usize {
        let Some(front) = self.front.as_mut() else {
            return 0;
        };
        let held = self.turn <= self.wishes.cancelled_through() || self.wishes.is_paused(self.turn);
        let fade = fade_len(self.sample_rate);
        let alone = self.segments.is_empty();
        // The end of the queue is near and more has not come: fade out, so that a hole does not click.
        let runs_dry = alone && front.len <= fade;
        let target = if held || runs_dry { 0.0 } else { 1.0 };
        let mut wanted = out.len().min(front.len);
        if held {
            wanted = wanted.min((self.envelope / self.envelope_step).ceil().max(1.0) as usize);
        } else if alone && !runs_dry {
            wanted = wanted.min(front.len - fade);
        }
        let got = self.samples.pop_partial_slice(&mut out[..wanted]).0.len();
        // Samples go into their ring before their header, so all are there. If not, do not wait for them.
        front.len = if got == wanted { front.len - got } else { 0 };
        if let Some(GainWish { gain, ramp_ms }) = self.wishes.gain(self.turn)
            && gain != self.gain_target
        {
            let ramp = (self.sample_rate as f32 * f32::from(ramp_ms) / 1000.0).max(1.0);
            self.gain_target = gain;
            self.gain_step = (gain - self.gain).abs() / ramp;
        }
        let (mut first_audible, mut gain_reached) = (None, None);
        for (i, sample) in out[..got].iter_mut().enumerate() {
            self.envelope = approach(self.envelope, target, self.envelope_step);
            if self.gain != self.gain_target {
                self.gain = approach(self.gain, self.gain_target, self.gain_step);
                if self.gain == self.gain_target {
                    gain_reached = Some(i);
                }
            }
            *sample *= self.gain * self.envelope;
            if !self.audible && sample.abs() > AUDIBLE {
                self.audible = true;
                first_audible = Some(i);
            }
        }
        self.played += got as u64;
        self.last_sample_ns = now + self.duration_ns(got);
        if let Some(i) = first_audible {
            self.report(Report::FirstAudio { turn: self.turn, at_ns: now + self.duration_ns(i) });
        }
        if let Some(i) = gain_reached {
            let (turn, gain) = (self.turn, self.gain);
            self.report(Report::GainReached { turn, gain, at_ns: now + self.duration_ns(i) });
        }
        got
    }

    fn duration_ns(&self, samples: usize) -> u64 {
        samples as u64 * 1_000_000_000 / u64::from(self.sample_rate)
    }

    fn report(&mut self, report: Report) {
        if self.reports.push(report).is_err() {
            self.lost_reports += 1;
        }
    }
}

fn fade_len(sample_rate: u32) -> usize {
    (sample_rate * FADE_MS / 1000).max(1) as usize
}

/// `from`, moved towards `to` by at most `step`.
fn approach(from: f32, to: f32, step: f32) -> f32 {
    if (to - from).abs() <= step { to } else { from + step.copysign(to - from) }
}

#[cfg(test)]
mod tests;
