//! The producing end of a loudspeaker: a bounded queue of a turn's samples, and controls that act at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rtrb::{Consumer, Producer, RingBuffer};

/// How much synthesised audio may wait; a producer that is further ahead waits.
pub const QUEUE_SECONDS: u32 = 30;

/// How often a waiting producer looks again.
const FULL_QUEUE_WAIT: Duration = Duration::from_millis(3);

/// Segments (chunks) that may wait; far more than chunks in [`QUEUE_SECONDS`] of speech.
const SEGMENTS: usize = 4096;

/// A run of samples of one turn in the sample queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) turn: u64,
    pub(crate) len: usize,
    /// No more samples of this turn will come.
    pub(crate) last: bool,
}

/// Wishes of the pipeline that the playback callback reads: single words, so that it need not lock.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// Turns up to and including this one are dropped; turns count from 1.
    cancelled: AtomicU64,
    /// The turn that is paused, or 0.
    paused: AtomicU64,
    /// Turn (32 bits), gain (16 bits, 65,535 = 1.0), ramp in milliseconds (16 bits).
    gain: AtomicU64,
    /// Turn (24 bits) and samples of it that left the sink (40 bits); written by the callback.
    position: AtomicU64,
}

/// A turn's gain and how fast to get there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GainWish {
    pub(crate) gain: f32,
    pub(crate) ramp_ms: u16,
}

const POSITION_BITS: u32 = 40;

impl Wishes {
    pub(crate) fn cancelled_through(&self) -> u64 {
        self.cancelled.load(Ordering::Acquire)
    }

    pub(crate) fn is_paused(&self, turn: u64) -> bool {
        self.paused.load(Ordering::Acquire) == turn
    }

    pub(crate) fn gain(&self, turn: u64) -> Option<GainWish> {
        let packed = self.gain.load(Ordering::Acquire);
        (packed >> 32 == turn & 0xffff_ffff)
            .then_some(GainWish { gain: (packed >> 16 & 0xffff) as f32 / 65_535.0, ramp_ms: (packed & 0xffff) as u16 })
    }

    pub(crate) fn set_position(&self, turn: u64, played: u64) {
        let mask = (1 << POSITION_BITS) - 1;
        self.position.store(turn << POSITION_BITS | played & mask, Ordering::Release);
    }
}

/// Acts on what is playing; every clone acts on the same loudspeaker, from any thread, at once and without waiting.
#[derive(Debug, Clone)]
pub struct SpeakerControl {
    wishes: Arc<Wishes>,
}

impl SpeakerControl {
    /// Drops what is queued of `turn` and of all turns before it, after a fade-out of a few milliseconds if one sounds.
    pub fn cancel(&self, turn: u64) {
        self.wishes.cancelled.fetch_max(turn, Ordering::AcqRel);
    }

    /// Whether `turn` was cancelled.
    pub fn is_cancelled(&self, turn: u64) -> bool {
        turn <= self.wishes.cancelled_through()
    }

    /// Holds `turn` where it is, or before its first sample if it has not started. At most one turn is held.
    pub fn pause(&self, turn: u64) {
        self.wishes.paused.store(turn, Ordering::Release);
    }

    /// Lets `turn` go on where it stopped.
    pub fn resume(&self, turn: u64) {
        // Only its own pause: a newer turn may have been paused since.
        let _ = self.wishes.paused.compare_exchange(turn, 0, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Moves the gain of `turn` to `gain` (0 to 1) within `ramp`. Other turns play at 1.
    pub fn set_gain(&self, turn: u64, gain: f32, ramp: Duration) {
        let gain = (gain.clamp(0.0, 1.0) * 65_535.0).round() as u64;
        let ramp = ramp.as_millis().min(65_535) as u64;
        self.wishes.gain.store((turn & 0xffff_ffff) << 32 | gain << 16 | ramp, Ordering::Release);
    }

    /// The turn played last and how many of its samples have left the sink; `(0, 0)` before the first.
    pub fn position(&self) -> (u64, u64) {
        let packed = self.wishes.position.load(Ordering::Acquire);
        (packed >> POSITION_BITS, packed & ((1 << POSITION_BITS) - 1))
    }
}

/// What became of samples given to a [`Speaker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Queued {
    /// They will be played, unless the turn is cancelled.
    Yes,
    /// The turn is cancelled or over; they were dropped.
    Stale,
    /// The host has stopped; nothing will be played any more.
    Closed,
}

/// The queue of a loudspeaker. One thread owns it; the controls can be cloned off.
#[derive(Debug)]
pub struct Speaker {
    samples: Producer<f32>,
    segments: Producer<Segment>,
    wishes: Arc<Wishes>,
    sample_rate: u32,
    /// The turn queued last; earlier ones are over.
    turn: u64,
}

/// The consuming end of a [`Speaker`], for a [`super::Player`].
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) samples: Consumer<f32>,
    pub(crate) segments: Consumer<Segment>,
    pub(crate) wishes: Arc<Wishes>,
}

impl Speaker {
    pub(crate) fn new(sample_rate: u32) -> (Self, Queue) {
        let (samples, samples_out) = RingBuffer::new((sample_rate * QUEUE_SECONDS) as usize);
        let (segments, segments_out) = RingBuffer::new(SEGMENTS);
        let wishes = Arc::new(Wishes::default());
        let queue = Queue { samples: samples_out, segments: segments_out, wishes: wishes.clone() };
        (Self { samples, segments, wishes, sample_rate, turn: 0 }, queue)
    }

    /// Samples per second of what it takes.
    pub fn sample_rate(&self) -> u32 {
        self.sample_rate
    }

    /// The controls of this loudspeaker.
    pub fn control(&self) -> SpeakerControl {
        SpeakerControl { wishes: self.wishes.clone() }
    }

    /// Queues samples of `turn`, at the voice's rate. Turns count up from 1; a higher one ends those before it.
    ///
    /// Waits while the queue is full; `cancel` or a cancelled turn ends the wait.
    pub fn play(&mut self, turn: u64, samples: &[f32], cancel: &AtomicBool) -> Queued {
        let mut rest = samples;
        while !rest.is_empty() {
            // Headers follow their samples, so a header the callback sees is always backed by samples.
            let room = self.samples.slots().min(rest.len());
            if room == 0 || self.segments.slots() < 2 {
                match self.wait(turn, cancel) {
                    Queued::Yes => continue,
                    dropped => return dropped,
                }
            }
            match self.admit(turn, cancel) {
                Queued::Yes => {}
                dropped => return dropped,
            }
            let (now, later) = rest.split_at(room);
            let _ = self.samples.push_partial_slice(now);
            let _ = self.segments.push(Segment { turn, len: room, last: false });
            rest = later;
        }
        self.admit(turn, cancel)
    }

    /// Tells that no more samples of `turn` will come, so that its end is known from a hole.
    pub fn finish(&mut self, turn: u64, cancel: &AtomicBool) -> Queued {
        loop {
            match self.admit(turn, cancel) {
                Queued::Yes => {}
                dropped => return dropped,
            }
            if self.segments.push(Segment { turn, len: 0, last: true }).is_ok() {
                return Queued::Yes;
            }
            std::thread::sleep(FULL_QUEUE_WAIT);
        }
    }

    /// How much audio waits in the queue.
    pub fn queued(&self) -> Duration {
        let waiting = self.samples.buffer().capacity() - self.samples.slots();
        Duration::from_secs_f64(waiting as f64 / f64::from(self.sample_rate))
    }

    fn wait(&mut self, turn: u64, cancel: &AtomicBool) -> Queued {
        std::thread::sleep(FULL_QUEUE_WAIT);
        self.admit(turn, cancel)
    }

    fn admit(&mut self, turn: u64, cancel: &AtomicBool) -> Queued {
        if self.segments.is_abandoned() {
            return Queued::Closed;
        }
        if turn < self.turn.max(1) || turn <= self.wishes.cancelled_through() || cancel.load(Ordering::Acquire) {
            return Queued::Stale;
        }
        self.turn = turn;
        Queued::Yes
    }
}
