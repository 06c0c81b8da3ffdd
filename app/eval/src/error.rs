//! What can go wrong as a whole; what goes wrong with one item is a [`crate::item::Problem`] instead.

use std::path::{Path, PathBuf};

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an evaluation could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be used.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path}: {reason}", path = path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// Audio that cannot be decoded.
    #[error("audio: {0}")]
    Audio(String),
    /// A value that cannot be judged or scored.
    #[error("score: {0}")]
    Score(String),
    /// A setting that cannot work.
    #[error("{setting}: {reason}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// Why, and what can.
        reason: String,
    },
    /// A judge that does not put its calibration answers in the right order.
    #[error("judge {judge} was not used: {reason}; choose a larger model, or --judge file and score elsewhere")]
    Judge {
        /// Which.
        judge: String,
        /// What it got wrong.
        reason: String,
    },
    /// Generated code cannot be run safely here.
    #[error("sandbox: {0}")]
    Sandbox(String),
    /// The language model failed.
    #[error(transparent)]
    Llm(#[from] llm::Error),
    /// A part of the pipeline failed.
    #[error(transparent)]
    Pipeline(Box<pocket_voice::Error>),
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn format(path: &Path, reason: impl Into<String>) -> Self {
        Self::Format { path: path.to_owned(), reason: reason.into() }
    }

    pub(crate) fn setting(setting: &'static str, reason: impl Into<String>) -> Self {
        Self::Setting { setting, reason: reason.into() }
    }
}
