//! One way in for both engines.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::{Error, Native, Result, Transcriber, Whisper};

/// Which program decodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Ours: the faster one, and the one that needs no converted file.
    #[default]
    Native,
    /// whisper.cpp.
    WhisperCpp,
}

/// First bytes of a ggml file.
const GGML: [u8; 4] = *b"lmgg";

/// Opens a model with the engine of your choice. `model` is a model's directory, which holds `model.bin` with
/// `vocabulary.txt` for [`Engine::Native`] and a converted ggml file for [`Engine::WhisperCpp`]; or one of these files.
///
/// # Errors
/// As [`Native::open`] and [`Whisper::open`]; [`Error::Model`] if the directory has no file for the engine.
pub fn open(model: &Path, engine: Engine) -> Result<Box<dyn Transcriber>> {
    match engine {
        Engine::Native => Ok(Box::new(Native::open(model)?)),
        Engine::WhisperCpp if model.is_dir() => Ok(Box::new(Whisper::open(&find_ggml(model)?)?)),
        Engine::WhisperCpp => Ok(Box::new(Whisper::open(model)?)),
    }
}

/// The first ggml file of a directory, by name.
fn find_ggml(dir: &Path) -> Result<PathBuf> {
    let io = |source| Error::Io { path: dir.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(io)? {
        files.push(entry.map_err(io)?.path());
    }
    files.sort();
    let found = files.into_iter().find(|path| path.extension().is_some_and(|ext| ext == "bin") && is_ggml(path));
    found.ok_or_else(|| Error::Model { path: dir.to_owned(), what: "no ggml file in this directory".into() })
}

/// True if the file can be read and begins like a ggml file.
fn is_ggml(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == GGML
}
