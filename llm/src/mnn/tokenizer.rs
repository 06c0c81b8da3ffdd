//! The tokenizer of an MNN directory: `.mtok`, or the older `tokenizer.txt` with a BPE vocabulary.

use super::{Settings, mtok};
use crate::config::TokenId;
use crate::error::{Error, Result};
use crate::tokenizer::pre::{self, PreTokenizer};
use crate::tokenizer::{Kind, Token, Tokenizer, Vocabulary};
use serde_json::Value;
use std::path::Path;

/// The tokenizer, and the chat template that came with it.
pub(super) fn open(settings: &Settings) -> Result<(Tokenizer, Option<String>)> {
    let default = ["tokenizer.mtok", "tokenizer.txt"].into_iter().find(|name| settings.dir.join(name).exists());
    let path = settings.file("tokenizer_file", default.unwrap_or("tokenizer.txt"))?;
    let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, e))?;
    if path.extension().is_some_and(|ext| ext == "mtok") {
        return mtok::tokenizer(&path, &bytes);
    }
    let eos = settings.get("jinja").and_then(|jinja| jinja.get("eos")).and_then(Value::as_str);
    Ok((text_file(&path, &bytes, eos)?, None))
}

/// `tokenizer.txt` of type 3: counts, vocabulary lines, merge lines. The file stores no pre-tokenizer; the models that were
/// exported this way are Qwen's.
pub(super) fn text_file(path: &Path, bytes: &[u8], eos: Option<&str>) -> Result<Tokenizer> {
    let malformed = |reason: String| Error::malformed(path, "tokenizer", reason);
    let (header, rest) = mtok::header(bytes).map_err(malformed)?;
    if header.kind != 3 {
        return Err(Error::unsupported(path, "header", format!("tokenizer type {}", header.kind)));
    }
    let text = std::str::from_utf8(rest).map_err(|_| malformed("it is not UTF-8".to_owned()))?;
    let mut lines = text.split('\n');
    let counts: Vec<usize> = lines.next().unwrap_or("").split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let [vocab_count, merge_count] = counts[..] else {
        return Err(malformed("two counts expected after the header".to_owned()));
    };
    let texts: Vec<&str> = lines.by_ref().take(vocab_count).collect();
    let merges: Vec<&str> = lines.take(merge_count).collect();
    if texts.len() != vocab_count || merges.len() != merge_count {
        let reason = format!("{} of {vocab_count} tokens, {} of {merge_count} merges", texts.len(), merges.len());
        return Err(malformed(reason));
    }
    let control = |id: usize| header.special.iter().chain(&header.stop).any(|&special| special as usize == id);
    let kind = |id: usize| if control(id) { Kind::Control } else { Kind::Normal };
    let tokens: Vec<Token> =
        texts.iter().enumerate().map(|(id, text)| Token { text: (*text).to_owned(), kind: kind(id) }).collect();
    let known = |ids: &[TokenId]| ids.iter().copied().filter(|&id| (id as usize) < tokens.len()).collect::<Vec<_>>();
    let (stop, prefix) = (known(&header.stop), known(&header.prefix));
    let eos = eos.and_then(|eos| tokens.iter().position(|token| token.text == eos)).map(|id| id as TokenId);
    let vocabulary = Vocabulary { bos: None, eos: eos.or(stop.first().copied()), prefix, stop, tokens };
    pre::tokenizer(vocabulary, &merges, PreTokenizer::Qwen2)
}
