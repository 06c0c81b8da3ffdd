//! A model opened from a file or directory: its shape, tokenizer, chat template and weights made ready to compute.

use crate::chat::Chat;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::fnv::Fnv;
use crate::forward::Forward;
use crate::forward::fast::Fast;
use crate::forward::reference::Reference;
use crate::tokenizer::Tokenizer;
use crate::weights::Weights;
use crate::{gguf, mnn, safetensors};
use std::path::Path;
use std::sync::Arc;

/// Which forward pass computes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// The one to use.
    #[default]
    Fast,
    /// The scalar f32 oracle: slow, and as exact as the file.
    Reference,
}

/// Choices at [`Model::open_with`].
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Which forward pass computes.
    pub engine: Engine,
}

/// What a loader makes of a model file, whatever its format.
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) weights: Weights,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) chat_template: Option<String>,
}

/// An opened model, shared by its sessions.
pub struct Model {
    config: Config,
    tokenizer: Arc<Tokenizer>,
    chat: Chat,
    forward: Box<dyn Forward>,
    weight_bytes: usize,
    fingerprint: u64,
}

impl Model {
    /// Opens a GGUF file, a Hugging Face directory or an MNN directory, checks all of it that can be checked without computing, and makes the weights ready.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::NotAModel`], [`Error::Malformed`], [`Error::Unsupported`], [`Error::VocabularyMismatch`].
    pub fn open(path: &Path) -> Result<Arc<Self>> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// [`Model::open`] with choices.
    ///
    /// # Errors
    /// As [`Model::open`].
    pub fn open_with(path: &Path, options: &OpenOptions) -> Result<Arc<Self>> {
        let Loaded { config, weights, tokenizer, chat_template } = load(path)?;
        if tokenizer.vocab_size() > config.vocab {
            let (tokens, rows) = (tokenizer.vocab_size(), config.vocab);
            return Err(Error::VocabularyMismatch { path: path.to_owned(), tokens, rows });
        }
        let weight_bytes = weights.bytes();
        let (arch, layers, head) = (config.arch.name(), config.n_layers, weights.head().type_name());
        tracing::debug!(arch, layers, head, weight_bytes, "model checked");
        let fingerprint = fingerprint(&config, &weights, options.engine);
        let forward: Box<dyn Forward> = match options.engine {
            Engine::Fast => Box::new(Fast::new(path, config.clone(), weights)?),
            Engine::Reference => Box::new(Reference::new(config.clone(), weights)),
        };
        let tokenizer = Arc::new(tokenizer);
        let chat = Chat::new(tokenizer.clone(), chat_template);
        Ok(Arc::new(Self { config, tokenizer, chat, forward, weight_bytes, fingerprint }))
    }

    /// The model's shape.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.tokenizer
    }

    /// The model's chat template.
    pub fn chat(&self) -> &Chat {
        &self.chat
    }

    /// Bytes of all matrices as the file stores them.
    pub fn weight_bytes(&self) -> usize {
        self.weight_bytes
    }

    /// Tells this model and engine from others, for saved KV caches.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Bytes of weights that a decode step reads, as they lie in memory.
    pub fn bytes_per_token(&self) -> usize {
        self.forward.bytes_per_token()
    }

    pub(crate) fn forward(&self) -> &dyn Forward {
        &*self.forward
    }
}

/// Finds out what lies at `path` and loads it.
fn load(path: &Path) -> Result<Loaded> {
    let not_a_model = |reason: &str| Error::NotAModel { path: path.to_owned(), reason: reason.to_owned() };
    let metadata = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
    if !metadata.is_dir() {
        return gguf::open(path);
    }
    if path.join("llm_config.json").exists() || path.join("llm.mnn").exists() {
        return mnn::open(path);
    }
    if path.join("config.json").exists() {
        return safetensors::open(path);
    }
    // A directory that holds one GGUF file, as a download leaves it.
    let entries = std::fs::read_dir(path).map_err(|e| Error::io(path, e))?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut gguf: Vec<_> = files.filter(|file| file.extension().is_some_and(|ext| ext == "gguf")).take(2).collect();
    match (gguf.pop(), gguf.pop()) {
        (Some(file), None) => gguf::open(&file),
        (Some(_), Some(_)) => Err(not_a_model("it holds several .gguf files: name one of them")),
        _ => Err(not_a_model("the directory has neither config.json nor a .gguf file")),
    }
}

/// A hash of the shape and of the first bytes of every matrix: enough to tell one training from another, and free.
fn fingerprint(config: &Config, weights: &Weights, engine: Engine) -> u64 {
    let mut hash = Fnv::default();
    hash.update(format!("{engine:?} {config:?}").as_bytes());
    weights.matrices().for_each(|matrix| hash.update(matrix.head(64)));
    hash.finish()
}
