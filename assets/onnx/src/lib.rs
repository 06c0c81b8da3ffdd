//! ONNX Runtime, loaded once per process from the models directory.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = onnx::Runtime::load("models/onnxruntime/libonnxruntime.so.1.32.0".as_ref())?;
//! let session = runtime.session("model.onnx".as_ref(), 2)?;
//! # Ok(()) }
//! ```
//!
//! Invariants: one library and one environment per process, telemetry off, and no session spins: an idle thread of ours
//! sleeps, because the language model and the recogniser want the same two cores.
//! Spinning would make a run on two threads 7 to 15% shorter, and keep the second core busy for all of the pause after it:
//! 5.3 ms of processor time per 5.3 ms with a Silero window every 5 ms, against 0.2 ms without.
//! What the models mean is left to the crates that use them, through the re-exported [`ort`].

mod error;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};

pub use error::{Error, Result};
pub use ort;
pub use ort::session::Session;

/// What this process has loaded. Never dropped: sessions may outlive every handle.
static LOADED: Mutex<Option<Runtime>> = Mutex::new(None);

/// A handle to the loaded library; cloning is cheap, and every clone is the same environment.
#[derive(Clone, Debug)]
pub struct Runtime {
    environment: Environment,
    library: PathBuf,
}

impl Runtime {
    /// Loads the library at `library`, or hands out the handle of an earlier load of the same file.
    ///
    /// # Errors
    /// When the file is missing, is no ONNX Runtime of version 1.31 or later, or when another file was loaded before.
    pub fn load(library: &Path) -> Result<Self> {
        let library =
            library.canonicalize().map_err(|source| Error::LibraryUnreadable { path: library.to_owned(), source })?;
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = loaded.as_ref() {
            if runtime.library == library {
                return Ok(runtime.clone());
            }
            return Err(Error::AlreadyLoaded { loaded: runtime.library.clone(), asked: library });
        }
        let refused = |reason: String| Error::LibraryRefused { path: library.clone(), reason };
        let environment = ort::init_from(&library)
            .map_err(|e| refused(e.to_string()))?
            .with_name("pocket-voice")
            .with_telemetry(false)
            .build()
            .map_err(|e| refused(e.to_string()))?;
        tracing::debug!(library = %library.display(), build = ort::info(), "loaded ONNX Runtime");
        let runtime = Self { environment, library };
        *loaded = Some(runtime.clone());
        Ok(runtime)
    }

    /// The library file in use.
    #[must_use]
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Reads `model` and readies it to run on `threads` threads, of which the caller's is one.
    ///
    /// # Errors
    /// When the file is missing, no ONNX model, or needs operators that the library does not have.
    pub fn session(&self, model: &Path, threads: usize) -> Result<Session> {
        if let Err(source) = std::fs::File::open(model) {
            return Err(Error::ModelUnreadable { path: model.to_owned(), source });
        }
        self.builder(threads)
            .and_then(|mut builder| builder.commit_from_file(model))
            .map_err(|e| Error::ModelRefused { path: model.to_owned(), reason: e.to_string() })
    }

    /// A session builder with this crate's thread settings, for callers that need more options than [`Self::session`].
    ///
    /// # Errors
    /// When the library refuses an option.
    pub fn builder(&self, threads: usize) -> ort::Result<SessionBuilder> {
        Ok(Session::builder(&self.environment)?
            .with_optimization_level(GraphOptimizationLevel::All)?
            .with_intra_threads(threads.max(1))?
            .with_inter_threads(1)?
            .with_intra_op_spinning(false)?
            .with_inter_op_spinning(false)?)
    }
}
