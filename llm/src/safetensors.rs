//! Hugging Face model directories: `config.json`, safetensors (one file or shards), `tokenizer.json`.
//!
//! The `safetensors` crate checks each header (ranges, holes, sizes against shapes); what is left is whether the tensors are
//! the model that `config.json` describes.

mod layout;
mod shape;

use crate::config::TokenId;
use crate::error::{Error, Result};
use crate::mapped::Bytes;
use crate::model::Loaded;
use crate::quant::GgmlType;
use crate::tokenizer::json;
use crate::weights::Matrix;
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Opens the model directory `dir` and checks it.
pub(crate) fn open(dir: &Path) -> Result<Loaded> {
    let config_path = dir.join("config.json");
    let (config, shape) = shape::config(&config_path, &read_json(&config_path)?)?;
    let tensors = Tensors::open(dir)?;
    let (config, weights) = layout::model(&tensors, config, &shape)?;
    let tokenizer_path = dir.join("tokenizer.json");
    let tokenizer = json::tokenizer(&tokenizer_path, &read(&tokenizer_path)?, end_tokens(dir)?)?;
    Ok(Loaded { config, weights, tokenizer, chat_template: chat_template(dir)? })
}

/// Whether `bytes` are a well-formed file whose every tensor can be read.
pub(crate) fn parse(path: &Path, bytes: &[u8]) -> bool {
    let mut tensors = Tensors { by_name: HashMap::new(), dir: PathBuf::new() };
    let added = tensors.add_bytes(path, Bytes::from(bytes.to_vec()));
    added.is_ok() && tensors.by_name.keys().all(|name| tensors.tensor(name).is_ok())
}

/// JSON files beyond this are none of a model's (the largest tokenizers have some 35 MB).
const MAX_JSON: u64 = 256 << 20;

fn read(path: &Path) -> Result<Vec<u8>> {
    let size = std::fs::metadata(path).map_err(|e| Error::io(path, e))?.len();
    if size > MAX_JSON {
        return Err(Error::malformed(path, "size", format!("{size} bytes")));
    }
    std::fs::read(path).map_err(|e| Error::io(path, e))
}

/// Reads a JSON file.
pub(crate) fn read_json(path: &Path) -> Result<Value> {
    serde_json::from_slice(&read(path)?).map_err(|e| Error::malformed(path, "JSON", e.to_string()))
}

fn read_json_if_there(path: &Path) -> Result<Option<Value>> {
    if path.exists() { read_json(path).map(Some) } else { Ok(None) }
}

/// Ids that end a message, from `generation_config.json` and `config.json`: a number or a list.
fn end_tokens(dir: &Path) -> Result<Vec<TokenId>> {
    let mut ids = Vec::new();
    for file in ["generation_config.json", "config.json"] {
        let eos = read_json_if_there(&dir.join(file))?.and_then(|json| json.get("eos_token_id").cloned());
        let listed = match eos {
            Some(Value::Array(list)) => list,
            Some(one) => vec![one],
            None => Vec::new(),
        };
        ids.extend(listed.iter().filter_map(|id| TokenId::try_from(id.as_u64()?).ok()));
    }
    Ok(ids)
}

/// From its own file, or `tokenizer_config.json`: a text, or named texts of which `default` counts.
fn chat_template(dir: &Path) -> Result<Option<String>> {
    let own = dir.join("chat_template.jinja");
    if own.exists() {
        let text = String::from_utf8(read(&own)?);
        return text.map(Some).map_err(|_| Error::malformed(&own, "chat template", "is not UTF-8"));
    }
    let template =
        read_json_if_there(&dir.join("tokenizer_config.json"))?.and_then(|json| json.get("chat_template").cloned());
    Ok(match template {
        Some(Value::String(text)) => Some(text),
        Some(Value::Array(named)) => {
            let default = named.iter().find(|t| t.get("name").is_some_and(|name| name == "default"));
            default.and_then(|t| t.get("template")?.as_str()).map(str::to_owned)
        }
        _ => None,
    })
}

/// Every tensor of every shard, by name.
pub(crate) struct Tensors {
    by_name: HashMap<String, Tensor>,
    dir: PathBuf,
}

struct Tensor {
    path: PathBuf,
    kind: Dtype,
    shape: Vec<usize>,
    data: Bytes,
}

#[derive(Deserialize)]
struct Index {
    weight_map: HashMap<String, String>,
}

impl Tensors {
    fn open(dir: &Path) -> Result<Self> {
        let index = dir.join("model.safetensors.index.json");
        let shards: BTreeSet<String> = if index.exists() {
            let parsed: Index = serde_json::from_value(read_json(&index)?)
                .map_err(|e| Error::malformed(&index, "weight_map", e.to_string()))?;
            parsed.weight_map.into_values().collect()
        } else {
            ["model.safetensors".to_owned()].into()
        };
        let mut tensors = Self { by_name: HashMap::new(), dir: dir.to_owned() };
        for shard in shards {
            // A name, not a way out of the directory.
            if Path::new(&shard).file_name().is_none_or(|name| name != shard.as_str()) {
                return Err(Error::malformed(&index, "weight_map", format!("{shard:?} is no file name")));
            }
            tensors.add(&dir.join(shard))?;
        }
        Ok(tensors)
    }

    fn add(&mut self, path: &Path) -> Result<()> {
        self.add_bytes(path, Bytes::map(path)?)
    }

    fn add_bytes(&mut self, path: &Path, file: Bytes) -> Result<()> {
        let malformed = |reason: String| Error::malformed(path, "header", reason);
        let (header, metadata) = SafeTensors::read_metadata(&file).map_err(|e| malformed(e.to_string()))?;
        let start = header + 8;
        for (name, info) in metadata.tensors() {
            let (from, to) = info.data_offsets;
            let range = start.checked_add(from).zip(start.checked_add(to));
            let data = range.and_then(|(from, to)| file.slice(from..to));
            let data = data.ok_or_else(|| malformed(format!("tensor {name} reaches beyond the end of the file")))?;
            let tensor = Tensor { path: path.to_owned(), kind: info.dtype, shape: info.shape.clone(), data };
            if self.by_name.insert(name.clone(), tensor).is_some() {
                return Err(malformed(format!("tensor {name} is in two shards")));
            }
        }
        Ok(())
    }

    fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    fn tensor(&self, name: &str) -> Result<(&Tensor, GgmlType)> {
        let missing = || Error::malformed(&self.dir, format!("tensor {name}"), "is missing");
        let tensor = self.by_name.get(name).ok_or_else(missing)?;
        let kind = match tensor.kind {
            Dtype::F32 => GgmlType::F32,
            Dtype::F16 => GgmlType::F16,
            Dtype::BF16 => GgmlType::BF16,
            other => {
                let what = format!("tensor {name}");
                return Err(Error::unsupported(&tensor.path, what, format!("the type {other:?}")));
            }
        };
        Ok((tensor, kind))
    }

    fn matrix(&self, name: &str, rows: usize, cols: usize) -> Result<Matrix> {
        let (tensor, kind) = self.tensor(name)?;
        let error = |reason: String| Error::malformed(&tensor.path, format!("tensor {name}"), reason);
        if tensor.shape != [rows, cols] {
            return Err(error(format!("shape {:?}, expected [{rows}, {cols}]", tensor.shape)));
        }
        Matrix::ggml(kind, rows, cols, tensor.data.clone()).map_err(error)
    }

    /// A vector in f32 with `add` added to each element.
    fn vector(&self, name: &str, len: usize, add: f32) -> Result<Vec<f32>> {
        let (tensor, kind) = self.tensor(name)?;
        let error = |reason: String| Error::malformed(&tensor.path, format!("tensor {name}"), reason);
        if tensor.shape != [len] || kind.row_bytes(len) != Some(tensor.data.len()) {
            return Err(error(format!("shape {:?}, expected [{len}]", tensor.shape)));
        }
        let mut out = vec![0.0; len];
        kind.dequantize(&tensor.data, &mut out);
        out.iter_mut().for_each(|x| *x += add);
        match out.iter().position(|x| !x.is_finite()) {
            Some(i) => Err(error(format!("element {i} is {}", out[i]))),
            None => Ok(out),
        }
    }
}

#[cfg(test)]
mod tests;
