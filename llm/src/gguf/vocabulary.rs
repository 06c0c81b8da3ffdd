//! The tokenizer that a GGUF file describes: token texts, their kinds, merges, special ids.

use super::File;
use crate::config::TokenId;
use crate::error::{Error, Result};
use crate::mapped::Bytes;
use crate::tokenizer::{Kind, Token, Tokenizer, Vocabulary, pre};

pub(super) fn tokenizer(file: &File) -> Result<Tokenizer> {
    let m = &file.metadata;
    let key = "tokenizer.ggml.tokens";
    let texts = m.strings(key)?.ok_or_else(|| m.missing(key))?;
    let tokens = tokens(file, texts)?;
    let id = |name: &str| -> Result<Option<TokenId>> {
        let key = format!("tokenizer.ggml.{name}_token_id");
        match m.uint(&key)? {
            // Some converters write all ones for "none".
            None => Ok(None),
            Some(id) if id == u64::from(u32::MAX) => Ok(None),
            Some(id) if id < tokens.len() as u64 => Ok(Some(id as TokenId)),
            Some(id) => Err(Error::malformed(&file.path, key, format!("{id} is not among {} tokens", tokens.len()))),
        }
    };
    let stop = [id("eos")?, id("eot")?, id("eom")?].into_iter().flatten().collect();
    let (bos, eos) = (id("bos")?, id("eos")?);
    let vocabulary = Vocabulary { bos, eos, stop, prefix: Vec::new(), tokens };
    let key = "tokenizer.ggml.model";
    match m.string(key)?.ok_or_else(|| m.missing(key))? {
        "gpt2" => byte_level(file, vocabulary),
        "llama" => sentencepiece(file, vocabulary),
        other => Err(Error::unsupported(&file.path, key, format!("the tokenizer {other:?}"))),
    }
}

/// BOS where the file, or else `default`, says that texts begin with it.
fn prefix(file: &File, bos: Option<TokenId>, default: bool) -> Result<Vec<TokenId>> {
    let add = file.metadata.bool("tokenizer.ggml.add_bos_token")?.unwrap_or(default);
    Ok(bos.filter(|_| add).into_iter().collect())
}

fn byte_level(file: &File, vocabulary: Vocabulary) -> Result<Tokenizer> {
    let m = &file.metadata;
    let key = "tokenizer.ggml.merges";
    let merges = m.strings(key)?.ok_or_else(|| m.missing(key))?;
    let merges = merges.iter().map(|merge| text(file, key, merge)).collect::<Result<Vec<_>>>()?;
    let key = "tokenizer.ggml.pre";
    let name = m.string(key)?.unwrap_or("default");
    let pre =
        pre::by_name(name).ok_or_else(|| Error::unsupported(&file.path, key, format!("the pre-tokenizer {name:?}")))?;
    let prefix = prefix(file, vocabulary.bos, pre.adds_bos())?;
    pre::tokenizer(Vocabulary { prefix, ..vocabulary }, &merges, pre)
}

fn sentencepiece(file: &File, vocabulary: Vocabulary) -> Result<Tokenizer> {
    let m = &file.metadata;
    let key = "tokenizer.ggml.scores";
    let scores: Vec<f32> = m.numbers(key)?.ok_or_else(|| m.missing(key))?.iter().map(|&x| x as f32).collect();
    if scores.len() != vocabulary.tokens.len() {
        let reason = format!("has {} entries for {} tokens", scores.len(), vocabulary.tokens.len());
        return Err(Error::malformed(&file.path, key, reason));
    }
    let space = m.bool("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
    let prefix = prefix(file, vocabulary.bos, true)?;
    Ok(Tokenizer::spm(Vocabulary { prefix, ..vocabulary }, &scores, space))
}

fn text<'a>(file: &File, key: &str, bytes: &'a Bytes) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|_| Error::malformed(&file.path, key, "an entry is not UTF-8"))
}

fn tokens(file: &File, texts: &[Bytes]) -> Result<Vec<Token>> {
    let key = "tokenizer.ggml.token_type";
    let kinds = file.metadata.numbers(key)?;
    if let Some(kinds) = kinds
        && kinds.len() != texts.len()
    {
        let reason = format!("has {} entries for {} tokens", kinds.len(), texts.len());
        return Err(Error::malformed(&file.path, key, reason));
    }
    let kind = |i: usize| match kinds.map(|kinds| kinds[i] as i64) {
        Some(2 | 3) => Kind::Control,
        Some(4) => Kind::UserDefined,
        Some(5) => Kind::Unused,
        Some(6) => Kind::Byte,
        _ => Kind::Normal,
    };
    let token = |(i, bytes)| Ok(Token { text: text(file, "tokenizer.ggml.tokens", bytes)?.to_owned(), kind: kind(i) });
    texts.iter().enumerate().map(token).collect()
}
