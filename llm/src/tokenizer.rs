//! Text to token ids and back, from whatever the model file says about its vocabulary.
//!
//! Splitting at control tokens and decoding are our own, so that a message can be encoded with control tokens as plain
//! text and a reply can be streamed byte by byte; normalising, pre-tokenizing and merging are the `tokenizers` crate's.

mod bytes;
pub(crate) mod pre;
mod special;
mod stream;

pub use stream::TextStream;

use crate::config::TokenId;
use crate::error::{Error, Result};
use bytes::TokenBytes;
use pre::PreTokenizer;
use special::SpecialTokens;
use std::collections::HashMap;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::{
    DecoderWrapper, ModelWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, TokenizerImpl,
};

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A piece of text.
    Normal,
    /// A mark such as the end of a message: matched literally in templates, never shown.
    Control,
    /// Matched literally in text, and shown.
    UserDefined,
    /// A row of padding.
    Unused,
}

/// One entry of a vocabulary.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    /// As the file spells it: byte-level BPE's stand-in letters for normal tokens, plain text for the others.
    pub(crate) text: String,
    pub(crate) kind: Kind,
}

/// Tokens by id, and the ids with a meaning.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vocabulary {
    pub(crate) tokens: Vec<Token>,
    pub(crate) bos: Option<TokenId>,
    pub(crate) eos: Option<TokenId>,
    /// Ids that every text begins with.
    pub(crate) prefix: Vec<TokenId>,
    /// Ids that end a message.
    pub(crate) stop: Vec<TokenId>,
}

type Pipeline =
    TokenizerImpl<ModelWrapper, NormalizerWrapper, PreTokenizerWrapper, PostProcessorWrapper, DecoderWrapper>;

/// A model's tokenizer.
pub struct Tokenizer {
    pipeline: Pipeline,
    special: SpecialTokens,
    bytes: TokenBytes,
    kinds: Vec<Kind>,
    bos: Option<TokenId>,
    eos: Option<TokenId>,
    prefix: Vec<TokenId>,
    stop: Vec<TokenId>,
}

/// Control tokens that end a message in one model family or another; files do not always name all of theirs.
const STOP_TEXTS: [&str; 8] =
    ["<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<end_of_turn>", "<|end|>", "</s>"];

impl Tokenizer {
    /// Byte-level BPE from a vocabulary in id order and merges in rank order ("left right").
    pub(crate) fn byte_level_bpe(vocabulary: Vocabulary, merges: &[&str], pre: PreTokenizer) -> Result<Self> {
        let mut ids = HashMap::with_capacity(vocabulary.tokens.len());
        for (token, id) in vocabulary.tokens.iter().zip(0..) {
            ids.entry(token.text.clone()).or_insert(id);
        }
        // A pruned vocabulary may come with merges whose tokens are gone; they can never apply.
        let possible = |merge: &&str| {
            let (left, right) = merge.split_once(' ')?;
            let whole = [left, right].concat();
            let known = ids.contains_key(left) && ids.contains_key(right) && ids.contains_key(&whole);
            known.then(|| (left.to_owned(), right.to_owned()))
        };
        let merges: Vec<_> = merges.iter().filter_map(possible).collect();
        let bpe = BPE::builder()
            .vocab_and_merges(ids.into_iter().collect::<Vocab>(), merges)
            .ignore_merges(pre.ignores_merges())
            .build()
            .map_err(|e| Error::Tokenizer(e.to_string()))?;
        let mut pipeline = Pipeline::new(bpe.into());
        pre.install(&mut pipeline)?;
        Ok(Self::new(pipeline, vocabulary, bytes::byte_level))
    }

    fn new(pipeline: Pipeline, vocabulary: Vocabulary, decode: fn(&Token) -> Vec<u8>) -> Self {
        let Vocabulary { tokens, bos, eos, prefix, mut stop } = vocabulary;
        let bytes = TokenBytes::new(&tokens, decode);
        let special = SpecialTokens::new(&tokens);
        let named = tokens.iter().zip(0..).filter(|(t, _)| t.kind == Kind::Control && STOP_TEXTS.contains(&&*t.text));
        stop.extend(named.map(|(_, id)| id));
        stop.sort_unstable();
        stop.dedup();
        let kinds = tokens.iter().map(|token| token.kind).collect();
        Self { pipeline, special, bytes, kinds, bos, eos, prefix, stop }
    }

    /// Number of token ids.
    pub fn vocab_size(&self) -> usize {
        self.kinds.len()
    }

    /// Ids of `text` with control tokens taken literally, after the ids every text of this model begins with.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] when the model's pre-tokenizer refuses the text.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>> {
        let mut ids = self.prefix.clone();
        self.encode_onto(text, true, &mut ids)?;
        Ok(ids)
    }

    /// Ids of `text` as part of a larger one, control tokens recognised: what templates are made of.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_part(&self, text: &str) -> Result<Vec<TokenId>> {
        let mut ids = Vec::new();
        self.encode_onto(text, true, &mut ids)?;
        Ok(ids)
    }

    /// Ids of `text` as plain words: a control token spelled out in it stays letters.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_plain(&self, text: &str) -> Result<Vec<TokenId>> {
        let mut ids = Vec::new();
        self.encode_onto(text, false, &mut ids)?;
        Ok(ids)
    }

    fn encode_onto(&self, text: &str, special: bool, ids: &mut Vec<TokenId>) -> Result<()> {
        if !special {
            return self.encode_words(text, ids);
        }
        let mut rest = 0;
        for (range, id) in self.special.find(text) {
            self.encode_words(&text[rest..range.start], ids)?;
            ids.push(id);
            rest = range.end;
        }
        self.encode_words(&text[rest..], ids)
    }

    fn encode_words(&self, text: &str, ids: &mut Vec<TokenId>) -> Result<()> {
        if !text.is_empty() {
            let encoding = self.pipeline.encode_fast(text, false).map_err(|e| Error::Tokenizer(e.to_string()))?;
            ids.extend_from_slice(encoding.get_ids());
        }
        Ok(())
    }

    /// Text of `ids`, control tokens left out, invalid UTF-8 replaced.
    pub fn decode(&self, ids: &[TokenId]) -> String {
        let bytes: Vec<u8> = ids.iter().flat_map(|&id| self.shown_bytes(id)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The bytes a token stands for, control tokens included; empty for an id outside the vocabulary.
    pub fn token_bytes(&self, id: TokenId) -> &[u8] {
        self.bytes.get(id)
    }

    /// The bytes of a token that belong into shown text.
    fn shown_bytes(&self, id: TokenId) -> &[u8] {
        match self.kinds.get(id as usize) {
            Some(Kind::Normal | Kind::UserDefined) => self.bytes.get(id),
            _ => &[],
        }
    }

    /// Whether the token ends a message.
    pub fn is_stop(&self, id: TokenId) -> bool {
        self.stop.contains(&id)
    }

    /// Whether the token is a mark rather than text.
    pub fn is_control(&self, id: TokenId) -> bool {
        self.kinds.get(id as usize) == Some(&Kind::Control)
    }

    /// All tokens that end a message.
    pub fn stop_tokens(&self) -> &[TokenId] {
        &self.stop
    }

    /// The token that begins a text, if the model has one.
    pub fn bos(&self) -> Option<TokenId> {
        self.bos
    }

    /// The token that ends a text, if the model has one.
    pub fn eos(&self) -> Option<TokenId> {
        self.eos
    }

    /// Ids that every text begins with.
    pub(crate) fn prefix(&self) -> &[TokenId] {
        &self.prefix
    }

    /// `text` without anything that would be read as a control token.
    pub(crate) fn without_control(&self, text: &str) -> String {
        self.special.remove(text)
    }
}

#[cfg(test)]
pub(crate) mod tests;
