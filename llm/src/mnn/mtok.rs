//! `tokenizer.mtok`: a text header, then normalizer, pre-tokenizer, BPE model, decoder and added tokens in binary.
//!
//! Normalizer and pre-tokenizer become what they were before the export: the JSON of `tokenizer.json`.

use crate::config::TokenId;
use crate::error::{Error, Result};
use crate::tokenizer::{Bpe, Decode, Kind, Token, Tokenizer, Vocabulary, json};
use serde_json::{Value, json};
use std::path::Path;

/// The text lines that every MNN tokenizer file begins with.
pub(super) struct Header {
    pub(super) kind: u32,
    /// Ids that end a message.
    pub(super) stop: Vec<TokenId>,
    /// Ids that every text begins with.
    pub(super) prefix: Vec<TokenId>,
    /// Ids that are matched literally.
    pub(super) special: Vec<TokenId>,
}

type Parsed<T> = std::result::Result<T, String>;

/// Reads the header and returns what follows it.
pub(super) fn header(bytes: &[u8]) -> Parsed<(Header, &[u8])> {
    let mut rest = bytes;
    let mut line = || -> Parsed<Vec<TokenId>> {
        let end = rest.iter().position(|&b| b == b'\n').ok_or("the header ends early")?;
        let text = std::str::from_utf8(&rest[..end]).map_err(|_| "the header is not text")?;
        rest = &rest[end + 1..];
        text.split_whitespace().map(|n| n.parse().map_err(|_| format!("{n:?} in the header is no number"))).collect()
    };
    let [430, kind] = line()?[..] else { return Err("it does not begin with 430".to_owned()) };
    let counts = line()?;
    let ids = line()?;
    let [special, stop, prefix] = counts[..] else { return Err("three counts expected".to_owned()) };
    let total = u64::from(special) + u64::from(stop) + u64::from(prefix);
    if total != ids.len() as u64 {
        return Err(format!("{} ids, {total} announced", ids.len()));
    }
    let (special, ids) = ids.split_at(special as usize);
    let (stop, prefix) = ids.split_at(stop as usize);
    Ok((Header { kind, stop: stop.into(), prefix: prefix.into(), special: special.into() }, rest))
}

/// The tokenizer and chat template in `bytes`, the file `path`.
pub(crate) fn tokenizer(path: &Path, bytes: &[u8]) -> Result<(Tokenizer, Option<String>)> {
    let malformed = |reason: String| Error::malformed(path, "tokenizer", reason);
    let (header, rest) = header(bytes).map_err(malformed)?;
    if header.kind != 4 {
        return Err(Error::unsupported(path, "header", format!("tokenizer type {}", header.kind)));
    }
    let parts = Parts::parse(rest).map_err(malformed)?;
    let (normalizer, pre) = json::steps(path, parts.normalizer, parts.pre_tokenizer)?;
    let tokens = tokens(&parts.bpe.vocab, &parts.added).map_err(malformed)?;
    let known = |ids: Vec<TokenId>| ids.into_iter().filter(|&id| (id as usize) < tokens.len()).collect::<Vec<_>>();
    let (stop, prefix) = (known(header.stop), known(header.prefix));
    let by_text = |text: &Option<String>| {
        let text = text.as_ref().filter(|text| !text.is_empty())?;
        tokens.iter().position(|token| token.text == *text).map(|id| id as TokenId)
    };
    let (bos, eos) = (by_text(&parts.bos), by_text(&parts.eos).or(stop.first().copied()));
    let vocabulary = Vocabulary { bos, eos, prefix, stop, tokens };
    Ok((Tokenizer::bpe(parts.bpe, normalizer, pre, vocabulary, parts.decode)?, parts.template))
}

fn tokens(vocab: &[(String, TokenId)], added: &[(TokenId, Kind, String)]) -> Parsed<Vec<Token>> {
    let ids = vocab.iter().map(|(_, id)| *id).chain(added.iter().map(|(id, ..)| *id));
    let largest = ids.max().unwrap_or(0) as usize;
    if largest >= json::MAX_VOCABULARY {
        return Err(format!("the id {largest} is beyond {}", json::MAX_VOCABULARY));
    }
    let mut tokens = vec![Token { text: String::new(), kind: Kind::Unused }; largest + 1];
    for (text, id) in vocab {
        tokens[*id as usize] = Token { text: text.clone(), kind: Kind::Normal };
    }
    for (id, kind, text) in added {
        tokens[*id as usize] = Token { text: text.clone(), kind: *kind };
    }
    Ok(tokens)
}

/// A cursor over the binary part.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Parsed<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or("it is cut short")?;
        self.0 = rest;
        Ok(taken)
    }

    fn u8(&mut self) -> Parsed<u8> {
        Ok(self.take(1)?[0])
    }

    fn u16(&mut self) -> Parsed<usize> {
        let b = self.take(2)?;
        Ok(usize::from(u16::from_le_bytes([b[0], b[1]])))
    }

    fn u32(&mut self) -> Parsed<u32> {
        let b = self.take(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn text(&mut self, len: usize) -> Parsed<String> {
        String::from_utf8(self.take(len)?.to_vec()).map_err(|_| "a text is not UTF-8".to_owned())
    }

    fn string(&mut self) -> Parsed<String> {
        let len = self.u16()?;
        self.text(len)
    }

    /// `count` items; each takes at least a byte, so memory stays bounded by the file.
    fn items<T>(&mut self, count: u32, read: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        (0..count).map(|_| read(self)).collect()
    }
}

/// The binary part.
struct Parts {
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    bpe: Bpe,
    decode: Decode,
    added: Vec<(TokenId, Kind, String)>,
    template: Option<String>,
    bos: Option<String>,
    eos: Option<String>,
}

/// Sequences within sequences; real files have none.
const MAX_DEPTH: usize = 8;

impl Parts {
    fn parse(bytes: &[u8]) -> Parsed<Self> {
        let mut c = Cursor(bytes);
        let normalizer = normalizer(&mut c, 0)?;
        let mut pre = pre_tokenizer(&mut c, 0)?;
        let (bpe, byte_level) = model(&mut c)?;
        if byte_level {
            let bytes =
                json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
            let steps: Vec<Value> = pre.into_iter().chain([bytes]).collect();
            pre = Some(json!({"type": "Sequence", "pretokenizers": steps}));
        }
        let decode = if decodes_bytes(&mut c, 0)? { Decode::ByteLevel } else { Decode::SentencePiece };
        let count = c.u32()?;
        let added = c.items(count, |c| {
            let id = c.u32()?;
            let kind = if c.u8()? != 0 { Kind::Control } else { Kind::UserDefined };
            c.take(2)?; // lstrip, rstrip
            Ok((id, kind, c.string()?))
        })?;
        let mut parts =
            Self { normalizer, pre_tokenizer: pre, bpe, decode, added, template: None, bos: None, eos: None };
        if !c.0.is_empty() {
            let len = c.u32()? as usize;
            parts.template = Some(c.text(len)?).filter(|template| !template.is_empty());
            parts.eos = Some(c.string()?);
            c.u8()?; // clean_up_tokenization_spaces
            parts.bos = Some(c.string()?);
        }
        Ok(parts)
    }
}

fn normalizer(c: &mut Cursor<'_>, depth: usize) -> Parsed<Option<Value>> {
    Ok(match c.u8()? {
        0 => None,
        1 => Some(json!({"type": "NFKC"})),
        2 => Some(json!({"type": "Prepend", "prepend": c.string()?})),
        3 => Some(json!({"type": "Replace", "pattern": {"String": c.string()?}, "content": c.string()?})),
        4 => {
            let steps = sequence(c, depth, normalizer)?;
            Some(json!({"type": "Sequence", "normalizers": steps}))
        }
        6 => Some(json!({"type": table_form(c)?})),
        8 => Some(json!({"type": "Strip", "strip_left": c.u8()? != 0, "strip_right": c.u8()? != 0})),
        other => return Err(format!("normalizer {other}")),
    })
}

/// A table of single letters, written for NFKC and NFC alike: only NFKC has fullwidth letters in it.
fn table_form(c: &mut Cursor<'_>) -> Parsed<&'static str> {
    let count = c.u32()?;
    let letters = c.items(count, |c| {
        let letter = c.u32()?;
        c.string()?;
        Ok(letter)
    })?;
    Ok(if letters.contains(&0xff01) { "NFKC" } else { "NFC" })
}

fn pre_tokenizer(c: &mut Cursor<'_>, depth: usize) -> Parsed<Option<Value>> {
    Ok(match c.u8()? {
        0 => None,
        1 => {
            let use_regex = c.u8()? != 0;
            Some(json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex}))
        }
        2 => Some(json!({"type": "Digits", "individual_digits": c.u8()? != 0})),
        3 => {
            let (replacement, prefix) = (c.string()?, c.u8()? != 0);
            let scheme = if prefix { "always" } else { "never" };
            Some(json!({"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": true}))
        }
        4 => {
            let (pattern, invert) = (c.string()?, c.u8()? != 0);
            let behavior = match c.u8()? {
                0 => "Isolated",
                2 => "MergedWithPrevious",
                _ => "Removed",
            };
            Some(json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}))
        }
        6 => {
            let steps = sequence(c, depth, pre_tokenizer)?;
            Some(json!({"type": "Sequence", "pretokenizers": steps}))
        }
        other => return Err(format!("pre-tokenizer {other}")),
    })
}

fn sequence(
    c: &mut Cursor<'_>,
    depth: usize,
    step: fn(&mut Cursor<'_>, usize) -> Parsed<Option<Value>>,
) -> Parsed<Vec<Value>> {
    if depth >= MAX_DEPTH {
        return Err("sequences nested too deep".to_owned());
    }
    let count = c.u32()?;
    let steps = c.items(count, |c| step(c, depth + 1))?;
    Ok(steps.into_iter().flatten().collect())
}

/// The model, and whether it maps bytes to letters itself.
fn model(c: &mut Cursor<'_>) -> Parsed<(Bpe, bool)> {
    match c.u8()? {
        0 => {}
        kind => return Err(format!("model {kind}, only BPE is known")),
    }
    let vocab_count = c.u32()?;
    let (byte_fallback, byte_level) = (c.u8()? != 0, c.u8()? != 0);
    let merge_count = c.u32()?;
    let vocab = c.items(vocab_count, |c| Ok((c.string()?, c.u32()?)))?;
    let mut merges = c.items(merge_count, |c| Ok((c.u32()?, c.u32()?, c.u32()?)))?;
    merges.sort_unstable_by_key(|&(_, _, rank)| rank);
    let texts: std::collections::HashMap<TokenId, &str> = vocab.iter().map(|(text, id)| (*id, &**text)).collect();
    let text = |id: TokenId| {
        texts.get(&id).map(|&text| text.to_owned()).ok_or_else(|| format!("a merge of the unknown token {id}"))
    };
    let merges = merges.into_iter().map(|(a, b, _)| Ok((text(a)?, text(b)?))).collect::<Parsed<Vec<_>>>()?;
    Ok((Bpe { vocab, merges, byte_fallback, ..Bpe::default() }, byte_level))
}

/// Reads the decoder; whether it is the byte-level one.
fn decodes_bytes(c: &mut Cursor<'_>, depth: usize) -> Parsed<bool> {
    match c.u8()? {
        0 => return Ok(true),
        1 | 4 => {}
        2 | 3 => {
            c.string()?;
            c.u8()?;
        }
        5 => {
            c.string()?;
            c.string()?;
        }
        6 => {
            c.string()?;
            c.take(8)?;
        }
        7 if depth < MAX_DEPTH => {
            let count = c.u32()?;
            let steps = c.items(count, |c| decodes_bytes(c, depth + 1))?;
            return Ok(steps.contains(&true));
        }
        other => return Err(format!("decoder {other}")),
    }
    Ok(false)
}
