//! What can go wrong before and around a conversation.

use std::path::PathBuf;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Each says what is wrong and, where anything helps, what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A model is missing or damaged.
    #[error(transparent)]
    Assets(#[from] assets::Error),
    /// ONNX Runtime cannot be loaded.
    #[error(transparent)]
    Onnx(#[from] onnx::Error),
    /// Voice activity detection.
    #[error(transparent)]
    Vad(#[from] vad::Error),
    /// Speech recognition.
    #[error(transparent)]
    Asr(#[from] asr::Error),
    /// End of turn.
    #[error(transparent)]
    TurnDetect(#[from] turn_detect::Error),
    /// Language model.
    #[error(transparent)]
    Llm(#[from] llm::Error),
    /// Voice.
    #[error(transparent)]
    Tts(#[from] tts::Error),
    /// Audio files and devices.
    #[error(transparent)]
    Audio(#[from] crate::audio::Error),
    /// The configuration file cannot be read.
    #[error("cannot read the configuration {path}: {source}")]
    ConfigFile {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The configuration file has an unknown key or a wrong value.
    #[error("{path} is not a valid configuration: {source}")]
    ConfigSyntax {
        /// Which file.
        path: PathBuf,
        /// Where and what.
        source: Box<toml::de::Error>,
    },
    /// A setting that cannot work.
    #[error("{setting}: {reason}")]
    Setting {
        /// Its name in the configuration.
        setting: &'static str,
        /// Why, and what would work.
        reason: String,
    },
    /// A model is there but holds no file of the kind that its role needs.
    #[error("{id} has no {what}; `pocket-voice models list` shows what can be used instead")]
    WrongKind {
        /// The model.
        id: String,
        /// What was looked for.
        what: &'static str,
    },
    /// The system gives no more threads.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}
