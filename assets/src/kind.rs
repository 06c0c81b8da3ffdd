//! Telling what a user's file is by what is in it, not by its name.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::{Error, Result, Role};

/// A voice's settings larger than this are no settings.
const MAX_SETTINGS_BYTES: u64 = 8 << 20;

/// What can be added to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// A language model in one GGUF file.
    Gguf,
    /// A language model as a directory of MNN files.
    Mnn,
    /// A language model as a Hugging Face directory: `config.json`, safetensors, `tokenizer.json`.
    Safetensors,
    /// A Piper voice: `NAME.onnx` with `NAME.onnx.json` beside it.
    Piper,
    /// A Whisper model in whisper.cpp's ggml format.
    WhisperGgml,
}

impl Kind {
    /// What lies at `path`.
    ///
    /// # Errors
    /// When it is none of these kinds, or cannot be read.
    pub fn of(path: &Path) -> Result<Self> {
        Ok(detect(path)?.0)
    }

    /// Whether an engine opens the whole folder rather than one file of it.
    #[must_use]
    pub fn is_folder(self) -> bool {
        matches!(self, Self::Mnn | Self::Safetensors)
    }

    /// What a model of this kind is for.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::Gguf | Self::Mnn | Self::Safetensors => Role::Llm,
            Self::Piper => Role::Voice,
            Self::WhisperGgml => Role::Asr,
        }
    }
}

/// What lies at `path`, and the files that belong to it.
pub(crate) fn detect(path: &Path) -> Result<(Kind, Vec<PathBuf>)> {
    let metadata = fs::metadata(path).map_err(|e| Error::io("read", path, e))?;
    if metadata.is_dir() {
        return detect_dir(path);
    }
    let refused = |problem: &str| Error::NotAModel { path: path.to_owned(), problem: problem.into() };
    let mut magic = Vec::new();
    File::open(path).and_then(|file| file.take(4).read_to_end(&mut magic)).map_err(|e| Error::io("read", path, e))?;
    match magic.as_slice() {
        [] => Err(refused("the file is empty")),
        b"GGUF" => Ok((Kind::Gguf, vec![path.to_owned()])),
        b"lmgg" => Ok((Kind::WhisperGgml, vec![path.to_owned()])),
        // An ONNX file is a protobuf message; its first field is the format version, with tag 0x08.
        [0x08, ..] => {
            let settings = with_suffix(path, ".json");
            if !settings.is_file() {
                return Err(refused(&format!("a Piper voice needs its settings, {}, beside it", settings.display())));
            }
            check_piper_settings(&settings)?;
            Ok((Kind::Piper, vec![path.to_owned(), settings]))
        }
        _ => Err(refused(
            "it is none of: a GGUF language model, a directory of MNN or safetensors files, a Piper voice (.onnx with .onnx.json), a ggml Whisper model",
        )),
    }
}

fn detect_dir(path: &Path) -> Result<(Kind, Vec<PathBuf>)> {
    let failed = |e| Error::io("list", path, e);
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let hidden = file.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        if file.is_file() && !hidden {
            files.push(file);
        }
    }
    files.sort();
    let has = |ending: &str| files.iter().any(|file| file.to_string_lossy().ends_with(ending));
    if has(".mnn") && has(".mnn.weight") && has("llm_config.json") {
        return Ok((Kind::Mnn, files));
    }
    if has("config.json") && has(".safetensors") && has("tokenizer.json") {
        return Ok((Kind::Safetensors, files));
    }
    Err(Error::NotAModel {
        path: path.to_owned(),
        problem: "the directory has neither the files of an MNN language model (llm.mnn, llm.mnn.weight, llm_config.json) nor those of a Hugging Face one (config.json, safetensors, tokenizer.json)".into(),
    })
}

/// Piper's settings say which number stands for which phoneme; without that a voice cannot speak.
fn check_piper_settings(path: &Path) -> Result<()> {
    let refused = |problem: String| Error::NotAModel { path: path.to_owned(), problem };
    let size = fs::metadata(path).map_err(|e| Error::io("read", path, e))?.len();
    if size > MAX_SETTINGS_BYTES {
        return Err(refused(format!("{size} bytes are too many for the settings of a voice")));
    }
    let bytes = fs::read(path).map_err(|e| Error::io("read", path, e))?;
    let settings: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|e| refused(format!("it is not JSON: {e}")))?;
    if !settings["phoneme_id_map"].is_object() || !settings["audio"]["sample_rate"].is_u64() {
        return Err(refused("it has no phoneme_id_map and audio.sample_rate, so it belongs to no Piper voice".into()));
    }
    Ok(())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
