//! What can go wrong with the catalogue and the models directory.

use std::io;
use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Each message names the model or file and the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The catalogue contradicts itself.
    #[error("the catalogue of models is not valid: {0}")]
    Catalogue(String),
    /// Nothing says where the user's data live.
    #[error("cannot tell where to keep models: no home directory is set; set POCKET_VOICE_MODELS to a directory")]
    NoDataDir,
    /// Neither the catalogue nor the store has this id.
    #[error("there is no model `{id}`; `pocket-voice models list` shows the ids")]
    UnknownModel {
        /// The id asked for.
        id: String,
    },
    /// The catalogue knows no such profile.
    #[error("there is no profile `{profile}`; profiles are: {known}")]
    UnknownProfile {
        /// The profile asked for.
        profile: String,
        /// The profiles there are, comma-separated.
        known: String,
    },
    /// The model has no such file, by the catalogue and by its manifest.
    #[error("model `{id}` has no file `{name}`; it has: {known}")]
    UnknownFile {
        /// The model.
        id: String,
        /// The file asked for.
        name: String,
        /// The files there are, comma-separated.
        known: String,
    },
    /// The model is in the catalogue but not in the models directory.
    #[error("model `{id}` is not in {root}; run `{command}`")]
    Missing {
        /// The model.
        id: String,
        /// The models directory.
        root: PathBuf,
        /// The command that brings it.
        command: String,
    },
    /// The model is there, but this file of it is not, or has another size than recorded.
    #[error("{path} is not whole: {problem}; run `{command}`")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// The command that mends it.
        command: String,
    },
    /// The model cannot be had on this machine.
    #[error("model `{id}` is not available for {platform}: {reason}")]
    Unsupported {
        /// The model.
        id: String,
        /// This machine's platform.
        platform: String,
        /// Why, as the catalogue says.
        reason: String,
    },
    /// The user's file is none of the kinds that can be added.
    #[error("{path} cannot be added: {problem}")]
    NotAModel {
        /// The user's file or directory.
        path: PathBuf,
        /// What was found instead of a model.
        problem: String,
    },
    /// A file being installed is not what the catalogue says.
    #[error("{path} is not the expected file: {problem}")]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// Expected and actual size or hash.
        problem: String,
    },
    /// The user's name for a model is already taken.
    #[error("there is already a model `{id}`; run `pocket-voice models remove {id}` first")]
    Exists {
        /// The id.
        id: String,
    },
    /// Another process is changing the models directory.
    #[error("another process is changing {root}; wait for it to finish and try again")]
    Locked {
        /// The models directory.
        root: PathBuf,
    },
    /// The disk is full.
    #[error("no space left to write {path}; free some space and run the command again")]
    DiskFull {
        /// The file being written.
        path: PathBuf,
    },
    /// The system refused something.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Wraps a failed system call on `path`; a full disk gets its own sentence.
    #[must_use]
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::DiskFull { path }
            }
            _ => Self::Io { action, path, source },
        }
    }
}
