//! What can go wrong while judging a turn.

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
    /// The file is an ONNX model, but not smart-turn v3.
    #[error("{path} is no smart-turn v3 model: {reason}; run `pocket-voice models verify`")]
    WrongModel {
        /// The file asked for.
        path: PathBuf,
        /// Which input or output differs.
        reason: String,
    },
    /// ONNX Runtime failed on a turn.
    #[error("smart-turn failed on a turn of {samples} samples: {reason}")]
    Inference {
        /// Length of the turn's audio.
        samples: usize,
        /// What the library said.
        reason: String,
    },
    /// A setting outside its range.
    #[error("EndpointingConfig.{name} is {value}, but must be {range}")]
    Config {
        /// The field.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        range: &'static str,
    },
}
