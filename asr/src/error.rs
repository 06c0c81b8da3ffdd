//! What can go wrong, and what to do about it.

use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the recogniser; each names the file or value at fault.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A model file is damaged or of another kind.
    #[error("{}: {what}; fetch the model again", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The engine failed on valid input.
    #[error("speech recognition failed: {0}")]
    Engine(String),
    /// The samples hold a NaN or an infinity.
    #[error("audio sample {index} is not a finite number; check the audio source")]
    NotFinite {
        /// Index of the first such sample.
        index: usize,
    },
    /// The model does not know the language asked for.
    #[error("the recognition model speaks English only, not {0:?}; choose a multilingual model or language en")]
    Language(crate::Language),
    /// Nothing was decoded for so long that audio had to be dropped.
    #[error("{seconds} s of audio came in without a decode and part of it was dropped; call partial or finish sooner")]
    TooLong {
        /// Seconds pushed since the last reset.
        seconds: u64,
    },
    /// The caller raised the cancel flag.
    #[error("recognition was cancelled")]
    Cancelled,
}

impl Error {
    /// True if the caller asked for this.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Error::Cancelled)
    }
}
