//! Speech recognition: 16 kHz samples in, partial and final transcripts out.
//!
//! [`Transcriber`] decodes one clip; [`Stream`] decodes a growing utterance while the user speaks and keeps what is
//! already certain. Neither reads a clock, a device or, after loading, a file.

mod audio;
mod checkpoint;
mod convert;
mod decode;
mod engine;
mod error;
mod guard;
mod mel_filters;
mod open;
mod stream;
#[cfg(test)]
mod testing;
mod transcriber;
mod vocabulary;
mod whisper_cpp;
mod words;

pub use convert::{Quant, convert};
pub use engine::Native;
pub use error::{Error, Result};
pub use open::{Engine, open};
pub use stream::{Partial, Stream};
pub use transcriber::{AudioContext, Language, Options, Pass, Rejection, Script, TokenId, Transcriber, Transcript};
pub use whisper_cpp::Whisper;

/// Sample rate of every audio slice in this crate, in hertz.
pub const SAMPLE_RATE: usize = 16_000;
