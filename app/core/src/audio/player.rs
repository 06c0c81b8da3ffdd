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
    Started {
        turn: u64,
        at_ns: u64,
    },
    FirstAudio {
        turn: u64,
        at_ns: u64,
    },
    Progress {
        turn: u64,
        played: u64,
        at_ns: u64,
    },
    GainReached {
        turn: u64,
        gain: f32,
        at_ns: u64,
    },
    Paused {
        turn: u64,
        played: u64,
        at_ns: u64,
    },
    Resumed {
        turn: u64,
        played: u64,
        at_ns: u64,
    },
    Cancelled {
        turn: u64,
        played: u64,
        at_ns: u64,
    },
    Drained {
        turn: u64,
        played: u64,
        at_ns: u64,
    },
    Underrun {
        turn: u64,
        played: u64,
        at_ns: u64,
        len_ns: u64,
    },
}

/// Played samples, as they left the sink, for echo cancelling. What no block covers was silence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FarBlock {
    pub(crate) at_ns: u64,
    pub(crate) len: usize,
    pub(crate) samples: [f32; STEP],
}

/// The account a [`Player`] gives of itself.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) reports: Consumer<Report>,
    pub(crate) far: Consumer<FarBlock>,
}

/// What the turn at the front of the queue is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing sounds, the next sample of the queue starts a turn.
    Idle,
    /// The turn sounds (or would, if it were not fading).
    Sounding,
    /// The turn is held by a pause.
    Paused,
    /// The turn is not finished, but its queue is empty.
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
    /// Samples of the segment at the front that are still in the ring, and whose they are.
    front: Option<Segment>,
    turn: u64,
    phase: Phase,
    /// Samples of `turn` that left.
    played: u64,
    audible: bool,
    /// Envelope of the fades, 0 to 1, and its step per sample.
    envelope: f32,
    envelope_step: f32,
    gain: f32,
    gain_target: f32,
    gain_step: f32,
    /// End of the last sample of `turn`.
    last_sample_ns: u64,
    /// The highest turn whose cancelling was reported.
    cancelled: u64,
    lost_reports: u64,
}

impl Player {
    /// A loudspeaker's two halves at `sample_rate`, and the account of what is played.
    pub(crate) fn new(sample_rate: u32) -> (Speaker, Self, Account) {
        let (
            speaker,
            Queue {
                samples,
                segments,
                wishes,
            },
        ) = Speaker::new(sample_rate);
        let (reports, reports_out) = RingBuffer::new(REPORTS);
        let (far, far_out) = RingBuffer::new(FAR_BLOCKS);
        let fade = (sample_rate * FADE_MS / 1000).max(1);
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
            envelope_step: 1.0 / fade as f32,
            gain: 1.0,
            gain_target: 1.0,
            gain_step: 1.0,
            last_sample_ns: 0,
            cancelled: 0,
            lost_reports: 0,
        };
        (
            speaker,
            player,
            Account {
                reports: reports_out,
                far: far_out,
            },
        )
    }

    /// Samples per second of what it renders.
    pub fn sample_rate(&self) -> u32 {
        self.sample_rate
    }

    /// Reports that were lost because nobody read them.
    pub fn lost_reports(&self) -> u64 {
        self.lost_reports
    }

    /// Fills `out` with the next samples; `at_ns` is when its first sample leaves the sink.
    pub fn render(&mut self, out: &mut [f32], at_ns: u64) {
        let mut done = 0;
        for step in out.chunks_mut(STEP) {
            self.render_step(step, at_ns + self.duration_ns(done));
            done += step.len();
        }
    }

    fn duration_ns(&self, samples: usize) -> u64 {
        samples as u64 * 1_000_000_000 / u64::from(self.sample_rate)
    }

    fn render_step(&mut self, out: &mut [f32], at_ns: u64) {
        let mut filled = 0;
        while filled < out.len() {
            let now = at_ns + self.duration_ns(filled);
            self.drop_stale(now);
            if !self.look_at_front(now) {
                break;
            }
            let produced = self.sound(&mut out[filled..], now);
            filled += produced;
            if produced == 0 && !self.settle(now) {
                break;
            }
        }
        out[filled..].fill(0.0);
        if filled > 0 {
            self.wishes.set_position(self.turn, self.played);
            self.report(Report::Progress {
                turn: self.turn,
                played: self.played,
                at_ns: self.last_sample_ns,
            });
            self.record(&out[..filled], at_ns);
        }
    }

    /// Drops queued segments of cancelled turns, but not of one that still sounds: it fades out first.
    fn drop_stale(&mut self, now: u64) {
        let cancelled = self.wishes.cancelled_through();
        if cancelled <= self.cancelled && self.front.is_none_or(|s| s.turn > cancelled) {
            return;
        }
        let sounds = self.turn != 0
            && self.turn <= cancelled
            && self.turn > self.cancelled
            && self.phase == Phase::Sounding
            && self.envelope > 0.0
            && self.front.is_some_and(|s| s.turn == self.turn && s.len > 0);
        if sounds {
            return;
        }
        let reported = self.cancelled;
        loop {
            match self.front.or_else(|| self.segments.pop().ok()) {
                Some(segment) if segment.turn <= cancelled => {
                    self.discard(segment.len);
                    self.front = None;
                }
                next => {
                    self.front = next;
                    break;
                }
            }
        }
        if cancelled > reported {
            self.cancelled = cancelled;
            let started = self.turn != 0 && self.turn <= cancelled && self.phase != Phase::Idle;
            let (turn, played) = if started {
                (self.turn, self.played)
            } else {
                (cancelled, 0)
            };
            self.report(Report::Cancelled {
                turn,
                played,
                at_ns: now,
            });
            if started {
                self.phase = Phase::Idle;
            }
        }
    }

    fn discard(&mut self, len: usize) {
        if let Ok(chunk) = self.samples.read_chunk(len.min(self.samples.slots())) {
            chunk.commit_all();
        }
    }

    /// Makes the next segment the front and starts its turn; `false` when there is nothing to sound now.
    fn look_at_front(&mut self, now: u64) -> bool {
        while self.front.is_none_or(|s| s.len == 0) {
            if self.front.is_some_and(|s| s.last && s.turn == self.turn) {
                self.drained();
            }
            self.front = self.segments.pop().ok();
            if self.front.is_none() {
                if self.phase == Phase::Sounding {
                    self.phase = Phase::Starved;
                }
                return false;
            }
        }
        let Some(front) = self.front else {
            return false;
        };
        if front.turn != self.turn || self.phase == Phase::Idle {
            if matches!(self.phase, Phase::Sounding | Phase::Starved) {
                self.drained();
            }
            return self.start(front.turn, now);
        }
        if self.phase == Phase::Starved {
            self.phase = Phase::Sounding;
            self.envelope = 0.0;
            let len_ns = now.saturating_sub(self.last_sample_ns);
            self.report(Report::Underrun {
                turn: self.turn,
                played: self.played,
                at_ns: self.last_sample_ns,
                len_ns,
            });
        }
        if self.phase == Phase::Paused {
            if self.wishes.is_paused(self.turn) {
                return false;
            }
            self.phase = Phase::Sounding;
            self.report(Report::Resumed {
                turn: self.turn,
                played: self.played,
                at_ns: now,
            });
        }
        true
    }

    /// Starts a turn unless it is held before its first sample.
    fn start(&mut self, turn: u64, now: u64) -> bool {
        if self.wishes.is_paused(turn) {
            return false;
        }
        self.turn = turn;
        self.phase = Phase::Sounding;
        self.played = 0;
        self.audible = false;
        self.envelope = 1.0;
        self.gain = 1.0;
        self.gain_target = 1.0;
        self.report(Report::Started { turn, at_ns: now });
        true
    }

    fn drained(&mut self) {
        if self.phase != Phase::Idle {
            self.phase = Phase::Idle;
            self.report(Report::Drained {
                turn: self.turn,
                played: self.played,
                at_ns: self.last_sample_ns,
            });
        }
    }

    /// Sounds samples of the front into `out`; stops early where the envelope reaches silence.
    fn sound(&mut self, out: &mut [f32], now: u64) -> usize {
        let Some(front) = self.front.as_mut() else {
            return 0;
        };
        let fade = (self.sample_rate * FADE_MS / 1000) as usize;
        let held = self.turn <= self.wishes.cancelled_through() || self.wishes.is_paused(self.turn);
        // The end of the queue is near and more has not come: fade out, so that a hole does not click.
        let runs_dry = !front.last && front.len <= fade && self.segments.is_empty();
        let target = if held || runs_dry { 0.0 } else { 1.0 };
        let wanted = out.len().min(front.len);
        let (got, _) = self.samples.pop_partial_slice(&mut out[..wanted]);
        let got = got.len();
        front.len -= got;
        let mut first_audible = None;
        let mut gain_reached = None;
        if let Some(GainWish { gain, ramp_ms }) = self.wishes.gain(self.turn)
            && gain != self.gain_target
        {
            self.gain_target = gain;
            let ramp = (self.sample_rate as f32 * f32::from(ramp_ms) / 1000.0).max(1.0);
            self.gain_step = (gain - self.gain).abs() / ramp;
        }
        let mut silent_from = got;
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
            if held && self.envelope == 0.0 {
                silent_from = i + 1;
                break;
            }
        }
        // What was taken out of the ring after the fade's end is silent but counts as gone: at most one step.
        out[silent_from..got].fill(0.0);
        self.played += got as u64;
        self.last_sample_ns = now + self.duration_ns(got);
        if let Some(i) = first_audible {
            self.report(Report::FirstAudio {
                turn: self.turn,
                at_ns: now + self.duration_ns(i),
            });
        }
        if let Some(i) = gain_reached {
            let gain = self.gain;
            self.report(Report::GainReached {
                turn: self.turn,
                gain,
                at_ns: now + self.duration_ns(i),
            });
        }
        if held && self.envelope == 0.0 && self.turn > self.wishes.cancelled_through() && got > 0 {
            self.phase = Phase::Paused;
            self.report(Report::Paused {
                turn: self.turn,
                played: self.played,
                at_ns: self.last_sample_ns,
            });
        }
        got
    }

    /// Called when nothing could be sounded although there is a front; `true` if looking again may help.
    fn settle(&mut self, _now: u64) -> bool {
        // The header is there but its samples are not: cannot happen, because samples go first. Treat it as empty.
        if let Some(front) = self.front.as_mut() {
            front.len = 0;
        }
        true
    }

    fn record(&mut self, played: &[f32], at_ns: u64) {
        let mut block = FarBlock {
            at_ns,
            len: played.len(),
            samples: [0.0; STEP],
        };
        block.samples[..played.len()].copy_from_slice(played);
        // Nobody needs to read it; a full ring loses reference audio, nothing else.
        let _ = self.far.push(block);
    }

    fn report(&mut self, report: Report) {
        if self.reports.push(report).is_err() {
            self.lost_reports += 1;
        }
    }
}

/// `from`, moved towards `to` by at most `step`.
fn approach(from: f32, to: f32, step: f32) -> f32 {
    if (to - from).abs() <= step {
        to
    } else {
        from + step.copysign(to - from)
    }
}
