//! What a voice gives back, and the one thing every voice can do.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use crate::{Clause, Language, Result};

/// A piece of speech that follows on the piece before it without a gap.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Speech {
    /// Mono samples in [-1, 1] at the voice's sample rate.
    pub samples: Vec<f32>,
    /// The words that begin in this piece.
    pub words: Vec<WordTime>,
}

/// Where a word lies in the audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordTime {
    /// Bytes in the raw text.
    pub source: Range<usize>,
    /// Samples counted from the first sample of the clause; may reach into later pieces.
    pub samples: Range<usize>,
}

/// A voice.
pub trait Synthesizer: Send {
    /// Samples per second of everything this voice gives back.
    fn sample_rate(&self) -> u32;

    /// Whether clauses in this language can be spoken.
    fn speaks(&self, language: Language) -> bool {
        let _ = language;
        true
    }

    /// Speaks one clause, handing each piece to `sink` as soon as it is there.
    ///
    /// The clause's pause is part of its last piece. When `cancel` is set, returns `Ok` within one synthesis window and
    /// hands over nothing more.
    ///
    /// # Errors
    /// When the voice does not speak the clause's language, or the model fails.
    fn synthesize(&mut self, clause: &Clause, cancel: &AtomicBool, sink: &mut dyn FnMut(Speech)) -> Result<()>;
}
