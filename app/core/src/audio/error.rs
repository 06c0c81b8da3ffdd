//! What can go wrong with audio, in words that say what to do next.

use std::path::PathBuf;

/// The result of everything in [`crate::audio`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An audio file or device that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write a file.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// "read" or "write".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that is no WAV at all.
    #[error("{} is not a WAV file ({found}); convert it first, for example with: ffmpeg -i IN OUT.wav", path.display())]
    NotWav {
        /// The file.
        path: PathBuf,
        /// What its first bytes look like.
        found: String,
    },
    /// A WAV file in a coding or shape that is not supported, or with a header that contradicts itself.
    #[error("{} cannot be used: {why}; convert it first, for example with: ffmpeg -i IN -ac 1 -ar 16000 -c:a pcm_s16le OUT.wav", path.display())]
    BadWav {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A sample rate that cannot be converted.
    #[error("cannot convert audio from {from} Hz to {to} Hz: both rates must lie between 8,000 and 768,000 Hz")]
    Rate {
        /// The rate of the input.
        from: u32,
        /// The rate wanted.
        to: u32,
    },
    /// No device of this kind, or none of this name.
    #[error("no {kind} found{}; `pocket-voice devices` lists what there is", name.as_ref().map(|n| format!(" named \"{n}\"")).unwrap_or_default())]
    NoDevice {
        /// "microphone" or "loudspeaker".
        kind: &'static str,
        /// The name asked for.
        name: Option<String>,
    },
    /// A device that is there but cannot be opened.
    #[error(
        "cannot open {kind} \"{name}\": {why}; close other programs that use it, or choose another from `pocket-voice devices`"
    )]
    Device {
        /// "microphone" or "loudspeaker".
        kind: &'static str,
        /// The device's name.
        name: String,
        /// What the system said.
        why: String,
    },
    /// A thread that the operating system would not start.
    #[error("cannot start the {name} thread: {source}")]
    Thread {
        /// The thread's name.
        name: &'static str,
        /// Why.
        source: std::io::Error,
    },
}
