//! MNN-LLM model directories, read without MNN: graph generations A (separate ops), B (packed convolutions) and C (fused).
//!
//! `llm.mnn` is a flatbuffer with the graph, `llm.mnn.weight` holds the matrices, `llm_config.json` and `config.json` the rest.
//! The graph is not run: the linears and norms are found in it, and the model they form is computed by our own forward.
//! So whatever has more or fewer of them than a llama or qwen model is refused.

mod flatbuffer;
mod graph;
mod layout;
pub(crate) mod mtok;
mod tokenizer;
mod weights;

use crate::error::{Error, Result};
use crate::mapped::Bytes;
use crate::model::Loaded;
use crate::safetensors::read_json;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// Opens the model directory `dir` and checks it.
pub(crate) fn open(dir: &Path) -> Result<Loaded> {
    let settings = Settings::read(dir)?;
    let graph_path = settings.file("llm_model", "llm.mnn")?;
    let graph = graph::Graph::parse(&graph_path, &Bytes::map(&graph_path)?)?;
    let weights_path = settings.file("llm_weight", "llm.mnn.weight")?;
    let file = weights::File { bytes: Bytes::map(&weights_path)?, path: weights_path };
    let (config, weights) = layout::model(&settings, &graph_path, &graph, &file)?;
    let (tokenizer, own_template) = tokenizer::open(&settings)?;
    let configured = settings.get("jinja").and_then(|jinja| jinja.get("chat_template")).and_then(Value::as_str);
    let chat_template = configured.map(str::to_owned).or(own_template);
    Ok(Loaded { config, weights, tokenizer, chat_template })
}

/// Whether `bytes` are a graph, whatever it computes.
pub(crate) fn parse_graph(path: &Path, bytes: &[u8]) -> bool {
    graph::Graph::parse(path, bytes).is_ok()
}

/// `config.json` with `llm_config.json` over it.
pub(crate) struct Settings {
    dir: PathBuf,
    path: PathBuf,
    json: Value,
}

impl Settings {
    fn read(dir: &Path) -> Result<Self> {
        let config = dir.join("config.json");
        let mut json = if config.exists() { read_json(&config)? } else { Value::Object(serde_json::Map::new()) };
        let name = json.get("llm_config").and_then(Value::as_str).unwrap_or("llm_config.json").to_owned();
        let path = inside(dir, &name).ok_or_else(|| Error::malformed(&config, "llm_config", "leaves the directory"))?;
        merge(&mut json, read_json(&path)?);
        Ok(Self { dir: dir.to_owned(), path, json })
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.json.get(key).filter(|value| !value.is_null())
    }

    fn size(&self, key: &str) -> Option<usize> {
        self.get(key)?.as_u64().and_then(|n| usize::try_from(n).ok())
    }

    /// The file that `key` names, or `default`, within the directory.
    fn file(&self, key: &str, default: &str) -> Result<PathBuf> {
        let name = self.get(key).and_then(Value::as_str).unwrap_or(default);
        inside(&self.dir, name)
            .ok_or_else(|| Error::malformed(&self.path, key, format!("{name:?} leaves the directory")))
    }
}

/// `dir/name`, unless `name` leads elsewhere.
fn inside(dir: &Path, name: &str) -> Option<PathBuf> {
    let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (plain && !name.is_empty()).then(|| dir.join(name))
}

/// Deep merge; where both have a key that is no object, `over` wins.
fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

#[cfg(test)]
mod tests;
