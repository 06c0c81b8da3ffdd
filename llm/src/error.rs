//! The crate's error: which file, which tensor or field, what is wrong, and what to do about it.

use std::path::{Path, PathBuf};

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong between a model file and its tokens.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file or directory could not be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The path is no model that this engine knows.
    #[error(
        "{path} is not a model: {reason}; give a .gguf file, a directory with config.json and safetensors, or an MNN model directory"
    )]
    NotAModel {
        /// The file or directory.
        path: PathBuf,
        /// What was found instead.
        reason: String,
    },
    /// The file is damaged or contradicts itself.
    #[error("{path} is damaged or not well formed: {what}: {reason}; fetch the file again")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The header field, metadata key or tensor at fault.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is well formed but asks for something this engine does not do.
    #[error("{path}: {what}: {reason} is not supported; convert the model or choose another file")]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The metadata key or tensor that asks for it.
        what: String,
        /// What it asks for.
        reason: String,
    },
    /// The tokenizer and the weights do not belong together.
    #[error("{path}: the tokenizer has {tokens} tokens but the model has {rows} embedding rows")]
    VocabularyMismatch {
        /// The file.
        path: PathBuf,
        /// Tokens in the tokenizer.
        tokens: usize,
        /// Rows of the embedding matrix.
        rows: usize,
    },
    /// The tokenizer refused a text.
    #[error("the tokenizer failed: {0}")]
    Tokenizer(String),
    /// The chat template refused the messages, ran too long or is no template.
    #[error("the model's chat template failed: {0}")]
    ChatTemplate(String),
    /// The tokens do not fit into the context.
    #[error(
        "the context is full: {needed} tokens needed, {context} fit; shorten the conversation or open the session with a larger context"
    )]
    ContextFull {
        /// Tokens that the call would have made.
        needed: usize,
        /// Tokens that fit.
        context: usize,
    },
    /// A token id outside the vocabulary.
    #[error("token {token} is outside the vocabulary of {vocab}")]
    UnknownToken {
        /// The id.
        token: u32,
        /// Number of ids.
        vocab: usize,
    },
    /// A setting that cannot work.
    #[error("{setting}: {reason}")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// Why it cannot work.
        reason: String,
    },
    /// The forward pass produced a value that is no number.
    #[error("the model computed NaN or infinity at {at}; its weights are damaged, fetch the file again")]
    NotFinite {
        /// Where it was seen.
        at: String,
    },
    /// The cancel flag was set; the session keeps what it had before the call.
    #[error("cancelled")]
    Cancelled,
    /// A saved session state does not fit this model or is damaged.
    #[error("the saved state cannot be used: {0}")]
    State(String),
}

impl Error {
    pub(crate) fn malformed(path: &Path, what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), what: what.into(), reason: reason.into() }
    }

    pub(crate) fn unsupported(path: &Path, what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported { path: path.to_owned(), what: what.into(), reason: reason.into() }
    }

    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}
