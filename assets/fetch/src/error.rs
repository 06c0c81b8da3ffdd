//! What can go wrong between a registry and the models directory.

use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Each message says what failed and what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The models directory refused.
    #[error(transparent)]
    Store(#[from] assets::Error),
    /// A package client is not installed.
    #[error("cannot run {program}, which downloads {what}: {problem}; {install}")]
    ClientMissing {
        /// The program looked for.
        program: String,
        /// What it was needed for.
        what: String,
        /// What happened instead.
        problem: String,
        /// How to install it.
        install: &'static str,
    },
    /// A package client gave up.
    #[error(
        "{program} could not download {what}: {said}; check the network and run the command again, it goes on from here"
    )]
    ClientFailed {
        /// The program.
        program: String,
        /// What it was downloading.
        what: String,
        /// The end of what it printed.
        said: String,
    },
    /// The downloaded package is another file than the catalogue's.
    #[error("the downloaded {file} is not the expected package: {problem}; it was discarded")]
    WrongPackage {
        /// Name of the package file.
        file: String,
        /// Expected and actual size or hash.
        problem: String,
    },
    /// The package cannot be unpacked.
    #[error("cannot unpack {path}: {problem}")]
    Archive {
        /// The package file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file unpacked to other bytes than the catalogue's.
    #[error("`{name}` of model `{id}` is not the expected file: {problem}")]
    WrongFile {
        /// The model.
        id: String,
        /// The file.
        name: String,
        /// Expected and actual size or hash.
        problem: String,
    },
    /// A conversion failed.
    #[error("cannot make `{name}` of model `{id}`: {source}")]
    Convert {
        /// The model.
        id: String,
        /// The derived file.
        name: String,
        /// What the conversion said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Not a Hugging Face model.
    #[error("`{spec}` is no Hugging Face model; write hf:OWNER/REPOSITORY or hf:OWNER/REPOSITORY/FILE")]
    Spec {
        /// What was given.
        spec: String,
    },
    /// The Hugging Face repository holds several models, or none.
    #[error("{spec} {problem}")]
    Ambiguous {
        /// What was given.
        spec: String,
        /// What was found.
        problem: String,
    },
    /// Stopped on request.
    #[error("stopped; run the command again to go on where it stopped")]
    Cancelled,
}
