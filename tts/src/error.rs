//! What can go wrong on the way from text to sound, and what to do about it.

use std::path::PathBuf;

use crate::Language;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong in speech synthesis.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A voice's file cannot be read.
    #[error("cannot read the voice file {path}: {source}; check the path, or fetch the voice again")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A voice's description or model contradicts itself or what this program can play.
    #[error("voice file {path}: {reason}; fetch the voice again, or choose another voice")]
    Voice {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// The model gave back something else than audio.
    #[error("voice model {path} failed: {reason}; run `pocket-voice models verify`")]
    Synthesis {
        /// The model.
        path: PathBuf,
        /// What came back.
        reason: String,
    },
    /// ONNX Runtime refused the model or the input.
    #[error(transparent)]
    Onnx(#[from] onnx::Error),
    /// A setting lies outside its range.
    #[error("{setting} is {value}, but must be between {min} and {max}")]
    Setting {
        /// The setting's name.
        setting: &'static str,
        /// What was asked for.
        value: f32,
        /// Smallest value that works.
        min: f32,
        /// Largest value that works.
        max: f32,
    },
    /// The voice does not speak the clause's language.
    #[error("the voice {voice} does not speak {language}; choose a voice that does, see `pocket-voice voices list`")]
    Language {
        /// The voice's name.
        voice: String,
        /// What it was asked to speak.
        language: Language,
    },
}
