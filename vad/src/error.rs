//! What can go wrong while listening for speech.

use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Each message names the file or setting at fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model file could not be read or run.
    #[error(transparent)]
    Onnx(#[from] onnx::Error),
    /// The file is an ONNX model, but not the Silero one this crate knows.
    #[error("{path} is no Silero VAD for 16 kHz: {reason}; run `pocket-voice models verify`")]
    WrongModel {
        /// The file asked for.
        path: PathBuf,
        /// Which input or output differs.
        reason: String,
    },
    /// ONNX Runtime failed on a frame.
    #[error("the Silero VAD failed on a frame: {0}")]
    Inference(String),
    /// A setting outside its range.
    #[error("VadConfig.{name} is {value}, but must be {range}")]
    Config {
        /// The field.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        range: &'static str,
    },
}
