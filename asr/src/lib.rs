//! Speech recognition: 16 kHz samples in, partial and final transcripts out.
//!
//! [`Transcriber`] decodes one clip; [`Stream`] decodes a growing utterance while the user speaks and keeps what is
//! already certain. Neither reads a clock, a device or, after loading, a file.

mod error;
mod stream;
mod transcriber;

pub use error::{Error, Result};
pub use stream::{Partial, Stream};
pub use transcriber::{Language, Options, Pass, Rejection, TokenId, Transcriber, Transcript};

/// Sample rate of every audio slice in this crate, in hertz.
pub const SAMPLE_RATE: usize = 16_000;
