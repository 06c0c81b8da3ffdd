//! Hugging Face's `tokenizer.json`, BPE models only.
//!
//! The vocabulary and merges are read here and checked before the `tokenizers` crate sees them; its own reader trusts them.

use super::{Bpe, Decode, Kind, Token, Tokenizer, Vocabulary};
use crate::config::TokenId;
use crate::error::{Error, Result};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use tokenizers::{NormalizerWrapper, PreTokenizerWrapper};

/// Ids beyond this would be memory wasted on gaps; no published vocabulary comes near.
pub(crate) const MAX_VOCABULARY: usize = 1 << 20;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    post_processor: Option<Value>,
    decoder: Option<Value>,
    model: Model,
}

#[derive(Deserialize)]
struct Added {
    id: TokenId,
    content: String,
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type")]
    kind: Option<String>,
    vocab: HashMap<String, TokenId>,
    merges: Vec<Merge>,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
    #[serde(default)]
    fuse_unk: bool,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Text(String),
    Pair(String, String),
}

/// Builds the tokenizer in `bytes`, the file `path`. `eos` are ids that other files name as ends of a message.
pub(crate) fn tokenizer(path: &Path, bytes: &[u8], eos: Vec<TokenId>) -> Result<Tokenizer> {
    let file: File = serde_json::from_slice(bytes).map_err(|e| Error::malformed(path, "tokenizer", e.to_string()))?;
    let unsupported = |what: &str, reason: String| Err(Error::unsupported(path, what, reason));
    let model = file.model;
    if model.kind.as_deref().is_some_and(|kind| kind != "BPE") {
        return unsupported("model", format!("a {} tokenizer", model.kind.unwrap_or_default()));
    }
    for affix in [&model.continuing_subword_prefix, &model.end_of_word_suffix].into_iter().flatten() {
        if !affix.is_empty() {
            return unsupported("model", format!("the word affix {affix:?}"));
        }
    }

    let tokens = tokens(path, &model.vocab, &file.added_tokens)?;
    let id_of = |text: &str| tokens.iter().position(|t| t.text == text).map(|id| id as TokenId);
    let mut prefix = Vec::new();
    for text in file.post_processor.as_ref().map(prefix_texts).unwrap_or_default() {
        prefix
            .push(id_of(&text).ok_or_else(|| Error::malformed(path, "post_processor", format!("no token {text:?}")))?);
    }
    let decode = match file.decoder.as_ref().map(|decoder| mentions(decoder, "ByteLevel")) {
        Some(false) => Decode::SentencePiece,
        _ => Decode::ByteLevel,
    };
    let merge = |merge| match merge {
        Merge::Pair(left, right) => Some((left, right)),
        Merge::Text(text) => text.split_once(' ').map(|(left, right)| (left.to_owned(), right.to_owned())),
    };
    let bpe = Bpe {
        vocab: model.vocab.into_iter().collect(),
        merges: model.merges.into_iter().filter_map(merge).collect(),
        byte_fallback: model.byte_fallback,
        ignore_merges: model.ignore_merges,
        fuse_unk: model.fuse_unk,
        unk_token: model.unk_token,
    };
    let stop: Vec<TokenId> = eos.iter().copied().filter(|&id| (id as usize) < tokens.len()).collect();
    let vocabulary = Vocabulary { bos: prefix.first().copied(), eos: stop.first().copied(), prefix, stop, tokens };
    let (normalizer, pre) = steps(path, file.normalizer, file.pre_tokenizer)?;
    Tokenizer::bpe(bpe, normalizer, pre, vocabulary, decode)
}

/// Normalizer and pre-tokenizer in the spelling of `tokenizer.json`.
pub(crate) fn steps(
    path: &Path,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
) -> Result<(Option<NormalizerWrapper>, Option<PreTokenizerWrapper>)> {
    // A table of its own with no check of its content, and only T5-like models use it.
    if normalizer.as_ref().is_some_and(|n| mentions(n, "Precompiled")) {
        return Err(Error::unsupported(path, "normalizer", "a precompiled normalizer"));
    }
    let failed = |what: &'static str| move |e: serde_json::Error| Error::malformed(path, what, e.to_string());
    let normalizer = normalizer.map(serde_json::from_value).transpose().map_err(failed("normalizer"))?;
    let pre_tokenizer = pre_tokenizer.map(serde_json::from_value).transpose().map_err(failed("pre_tokenizer"))?;
    Ok((normalizer, pre_tokenizer))
}

fn tokens(path: &Path, vocab: &HashMap<String, TokenId>, added: &[Added]) -> Result<Vec<Token>> {
    let largest = vocab.values().copied().chain(added.iter().map(|a| a.id)).max().unwrap_or(0) as usize;
    if largest >= MAX_VOCABULARY {
        return Err(Error::malformed(path, "vocabulary", format!("the id {largest} is beyond {MAX_VOCABULARY}")));
    }
    let mut tokens = vec![Token { text: String::new(), kind: Kind::Unused }; largest + 1];
    for (text, &id) in vocab {
        tokens[id as usize] = Token { text: text.clone(), kind: Kind::Normal };
    }
    for Added { id, content, special } in added {
        let kind = if *special { Kind::Control } else { Kind::UserDefined };
        tokens[*id as usize] = Token { text: content.clone(), kind };
    }
    Ok(tokens)
}

/// Whether any `type` in the value, at any depth, is `kind`.
fn mentions(value: &Value, kind: &str) -> bool {
    match value {
        Value::Object(fields) => {
            fields.get("type").is_some_and(|t| t == kind) || fields.values().any(|value| mentions(value, kind))
        }
        Value::Array(items) => items.iter().any(|value| mentions(value, kind)),
        _ => false,
    }
}

/// The special tokens that a template post-processor puts before a text.
fn prefix_texts(processor: &Value) -> Vec<String> {
    if let Some(Value::Array(processors)) = processor.get("processors") {
        return processors.iter().flat_map(prefix_texts).collect();
    }
    let Some(Value::Array(single)) = processor.get("single") else { return Vec::new() };
    let before = single.iter().map_while(|item| item.get("SpecialToken"));
    before.filter_map(|token| token.get("id")?.as_str().map(str::to_owned)).collect()
}
