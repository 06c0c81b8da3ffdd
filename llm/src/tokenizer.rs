//! Text to token ids and back, from whatever the model file says about its vocabulary.
//!
//! Splitting at control tokens and decoding are our own, so that a message can be encoded with control tokens as plain
//! text and a reply can be streamed byte by byte; normalising, pre-tokenizing and merging are the `tokenizers` crate's,
//! except for GGUF's SentencePiece vocabularies, which come without merges.

mod bpe;
mod bytes;
pub(crate) mod json;
pub(crate) mod pre;
mod special;
pub(crate) mod spm;
mod stream;

pub(crate) use bpe::Bpe;
pub(crate) use bytes::Decode;
pub use stream::TextStream;

use crate::config::TokenId;
use crate::error::{Error, Result};
use bytes::TokenBytes;
use special::SpecialTokens;
use spm::Spm;
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
    /// SentencePiece's stand-in for one byte, `<0xAB>`.
    Byte,
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

/// What turns words into ids.
enum Encoder {
    Pipeline(Box<Pipeline>),
    Spm(Box<Spm>),
}

/// A model's tokenizer.
pub struct Tokenizer {
    encoder: Encoder,
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
    /// A BPE tokenizer of ready parts.
    pub(crate) fn bpe(
        bpe: Bpe,
        normalizer: Option<NormalizerWrapper>,
        pre_tokenizer: Option<PreTokenizerWrapper>,
        vocabulary: Vocabulary,
        decode: Decode,
    ) -> Result<Self> {
        let mut pipeline = Pipeline::new(bpe.build()?);
        pipeline.with_normalizer(normalizer).map_err(|e| Error::Tokenizer(e.to_string()))?;
        pipeline.with_pre_tokenizer(pre_tokenizer);
        Ok(Self::new(Encoder::Pipeline(Box::new(pipeline)), vocabulary, decode))
    }

    /// A SentencePiece tokenizer with a score for each token.
    pub(crate) fn spm(vocabulary: Vocabulary, scores: &[f32], add_space_prefix: bool) -> Self {
        let spm = Spm::new(&vocabulary.tokens, scores, add_space_prefix);
        Self::new(Encoder::Spm(Box::new(spm)), vocabulary, Decode::SentencePiece)
    }

    fn new(encoder: Encoder, vocabulary: Vocabulary, decode: Decode) -> Self {
        let Vocabulary { tokens, bos, eos, prefix, mut stop } = vocabulary;
        let bytes = TokenBytes::new(&tokens, decode);
        let special = SpecialTokens::new(&tokens);
        let named = tokens.iter().zip(0..).filter(|(t, _)| t.kind == Kind::Control && STOP_TEXTS.contains(&&*t.text));
        stop.extend(named.map(|(_, id)| id));
        stop.sort_unstable();
        stop.dedup();
        let kinds = tokens.iter().map(|token| token.kind).collect();
        Self { encoder, special, bytes, kinds, bos, eos, prefix, stop }
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
        match &self.encoder {
            _ if text.is_empty() => {}
            Encoder::Spm(spm) => spm.encode(text, ids),
            Encoder::Pipeline(pipeline) => {
                let encoding = pipeline.encode_fast(text, false).map_err(|e| Error::Tokenizer(e.to_string()))?;
                ids.extend_from_slice(encoding.get_ids());
            }
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
            Some(Kind::Normal | Kind::UserDefined | Kind::Byte) => self.bytes.get(id),
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
