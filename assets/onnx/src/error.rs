//! What can go wrong between a file and a running session.

use std::io;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Each message names the file and, where there is one, the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library file is missing or may not be read.
    #[error("cannot read the ONNX Runtime library {path}: {source}; run `pocket-voice models fetch`")]
    LibraryUnreadable {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no usable ONNX Runtime.
    #[error("{path} is no usable ONNX Runtime library: {reason}; run `pocket-voice models verify`")]
    LibraryRefused {
        /// The file asked for.
        path: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// A process can hold one library only.
    #[error("ONNX Runtime is already loaded from {loaded}; this process cannot load {asked} as well")]
    AlreadyLoaded {
        /// The file in use.
        loaded: PathBuf,
        /// The file asked for.
        asked: PathBuf,
    },
    /// The model file is missing or may not be read.
    #[error("cannot read the model {path}: {source}; run `pocket-voice models fetch`")]
    ModelUnreadable {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no model that this library can run.
    #[error("{path} is no ONNX model that can run here: {reason}; run `pocket-voice models verify`")]
    ModelRefused {
        /// The file asked for.
        path: PathBuf,
        /// What the library said.
        reason: String,
    },
}
