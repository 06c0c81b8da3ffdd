//! Voice activity: 16 kHz samples in, speech probability and speech segments out.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use vad::{PreRoll, Vad, VadConfig, VadEvent};
//! let runtime = onnx::Runtime::load("libonnxruntime.so".as_ref())?;
//! let mut vad = Vad::open(&runtime, "silero_vad_16k_op15.onnx".as_ref(), VadConfig::default())?;
//! let mut pre_roll = PreRoll::default();
//! for samples in [[0.0_f32; 160]; 100] {
//!     pre_roll.push(&samples);
//!     for event in vad.push(&samples)? {
//!         if let VadEvent::SpeechStart { at } = event {
//!             let (begin, audio) = pre_roll.lead_in(at);
//!             println!("speech since {at}; {} samples from {begin} go to the recogniser", audio.len());
//!         }
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! Two stages: a cheap gate (level, then WebRTC's detector) and Silero, which alone decides. The segmenter then dates
//! beginnings and ends to 8 ms. The same samples give the same events, however they are cut into pushes.

mod config;
mod error;
mod gate;
mod level;
mod position;
mod pre_roll;
mod segmenter;
mod silero;

use std::collections::VecDeque;
use std::path::Path;

use onnx::Runtime;

pub use config::{GateConfig, VadConfig};
pub use error::{Error, Result};
pub use position::SamplePos;
pub use pre_roll::PreRoll;

use gate::Gate;
use segmenter::Segmenter;
use silero::Silero;

/// Samples a second that go in.
pub const SAMPLE_RATE: u32 = 16_000;
/// Samples in a frame: what Silero judges at once.
pub const FRAME: usize = 512;
/// Milliseconds in a frame.
pub const FRAME_MS: u32 = 32;

/// What the detector heard. Positions never go backwards, and every end follows its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VadEvent {
    /// 32 ms have been judged. What follows from this frame comes right behind it.
    Frame {
        /// One past the frame's last sample.
        end: SamplePos,
        /// Silero's probability; zero where the gate saw no chance of speech.
        speech_prob: f32,
        /// The verdict on this frame, with hysteresis, before onset and hangover.
        is_speech: bool,
    },
    /// Speech has gone on for the onset time.
    SpeechStart {
        /// The first speech sample, which lies before the frame that confirmed it.
        at: SamplePos,
    },
    /// Silence has gone on for the hangover time, or the stream has ended.
    SpeechEnd {
        /// One past the last speech sample.
        at: SamplePos,
    },
}

/// A voice activity detector over one stream of samples.
#[derive(Debug)]
pub struct Vad {
    silero: Silero,
    gate: Gate,
    segmenter: Segmenter,
    /// Samples that do not fill a frame yet.
    partial: Vec<f32>,
    /// The newest frames that Silero has not heard, oldest first: what warms it up when the gate opens.
    unheard: VecDeque<[f32; FRAME]>,
    warm_up: usize,
    judged: u64,
}

impl Vad {
    /// Opens the Silero model at `silero` (the 16 kHz one, opset 15).
    ///
    /// # Errors
    /// When a setting is out of range, or the file is missing or another model.
    pub fn open(runtime: &Runtime, silero: &Path, config: VadConfig) -> Result<Self> {
        config.check()?;
        Ok(Self {
            silero: Silero::open(runtime, silero)?,
            gate: Gate::new(config.gate.clone()),
            warm_up: config.gate.warm_up_ms.div_ceil(FRAME_MS) as usize,
            segmenter: Segmenter::new(config),
            partial: Vec::with_capacity(FRAME),
            unheard: VecDeque::new(),
            judged: 0,
        })
    }

    /// Takes the next samples, any number of them, and returns what was heard in the frames they complete.
    /// NaN and infinities count as silence; samples beyond full scale are clipped.
    ///
    /// # Errors
    /// When ONNX Runtime fails on a frame. The events of this push are lost, but the sample clock is not: the frame
    /// counts as silence, and the detector may be used on.
    pub fn push(&mut self, samples: &[f32]) -> Result<Vec<VadEvent>> {
        let mut events = Vec::with_capacity(samples.len() / FRAME + 2);
        let mut outcome = Ok(());
        for &sample in samples {
            self.partial.push(level::sane(sample));
            if self.partial.len() == FRAME {
                outcome = outcome.and(self.judge_partial(&mut events));
            }
        }
        outcome.map(|()| events)
    }

    /// Ends the stream: judges the samples of an incomplete frame, padded with silence, and closes an open segment.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn finish(&mut self) -> Result<Vec<VadEvent>> {
        let mut events = Vec::new();
        let outcome = if self.partial.is_empty() { Ok(()) } else { self.judge_partial(&mut events) };
        self.segmenter.finish(&mut events);
        outcome.map(|()| events)
    }

    /// Forgets the stream and counts from zero again.
    pub fn reset(&mut self) {
        self.silero.reset();
        self.gate.reset();
        self.segmenter.reset();
        self.partial.clear();
        self.unheard.clear();
        self.judged = 0;
    }

    /// Whether a segment is on: a start was announced and its end was not.
    #[must_use]
    pub fn in_speech(&self) -> bool {
        self.segmenter.in_speech()
    }

    /// One past the last speech sample heard so far, dated as [`VadEvent::SpeechEnd`] would be, and known from the
    /// first quiet frame on, before the hangover is over. The dialogue measures silence from here.
    #[must_use]
    pub fn last_speech(&self) -> Option<SamplePos> {
        self.segmenter.last_speech()
    }

    /// How many frames Silero has run on, warm-up included: against the frames pushed, what the gate saves.
    #[must_use]
    pub fn silero_runs(&self) -> u64 {
        self.judged
    }

    /// Judges the gathered samples as one frame, padded with silence.
    fn judge_partial(&mut self, events: &mut Vec<VadEvent>) -> Result<()> {
        let mut frame = [0.0; FRAME];
        frame[..self.partial.len()].copy_from_slice(&self.partial);
        self.partial.clear();
        let levels = level::levels(&frame);
        let open = self.gate.look(&frame, &levels);
        let heard = if open || self.segmenter.is_busy() {
            self.hear(&frame)
        } else {
            self.unheard.push_back(frame);
            if self.unheard.len() > self.warm_up {
                self.unheard.pop_front();
            }
            Ok(0.0)
        };
        let speech_prob = heard.as_ref().map_or(0.0, |&p| p);
        self.segmenter.step(speech_prob, &levels, events);
        heard.map(|_| ())
    }

    /// Silero's judgement, after what it needs to hear first.
    fn hear(&mut self, frame: &[f32; FRAME]) -> Result<f32> {
        if !self.unheard.is_empty() {
            for frame in std::mem::take(&mut self.unheard) {
                self.silero.probability(&frame)?;
                self.judged += 1;
            }
        }
        self.judged += 1;
        self.silero.probability(frame)
    }
}
