//! How text is cut into words before merging, by the name that GGUF files give (`tokenizer.ggml.pre`).
//!
//! The patterns are those of the models' own `tokenizer.json`; names as in llama.cpp.

use super::{Bpe, Decode, Tokenizer, Vocabulary};
use crate::error::{Error, Result};
use tokenizers::normalizers::unicode::NFC;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{NormalizerWrapper, PreTokenizerWrapper, SplitDelimiterBehavior};

/// A family of byte-level BPE tokenizers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PreTokenizer {
    /// GPT-2's words.
    Gpt2,
    /// Every digit on its own, then GPT-2's words.
    DigitsGpt2,
    /// Qwen: NFC, digits one by one, line breaks apart.
    Qwen2,
    /// Llama 3: digits in threes; a whole word that is a token needs no merges.
    Llama3,
}

/// The family that a GGUF file means, or `None` for one that is not known here.
pub(crate) fn by_name(name: &str) -> Option<PreTokenizer> {
    Some(match name {
        "default" | "gpt-2" | "gpt2" | "phi-2" | "olmo" | "jais" | "trillion" | "granite-docling" => PreTokenizer::Gpt2,
        "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" => PreTokenizer::DigitsGpt2,
        "qwen2" | "deepseek-r1-qwen" | "megrez" | "kormo" => PreTokenizer::Qwen2,
        "llama3" | "llama-v3" | "llama-bpe" | "falcon3" | "falcon-h1" | "pixtral" | "midm-2.0" | "lfm2" => {
            PreTokenizer::Llama3
        }
        _ => return None,
    })
}

const QWEN2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

impl PreTokenizer {
    /// Whether llama.cpp puts BOS first where the file does not say.
    pub(crate) fn adds_bos(self) -> bool {
        self == Self::Llama3
    }

    pub(crate) fn ignores_merges(self) -> bool {
        self == Self::Llama3
    }

    pub(crate) fn normalizer(self) -> Option<NormalizerWrapper> {
        (self == Self::Qwen2).then(|| NormalizerWrapper::from(NFC))
    }

    pub(crate) fn pre_tokenizer(self) -> Result<PreTokenizerWrapper> {
        let words = |use_regex| PreTokenizerWrapper::from(ByteLevel::new(false, true, use_regex));
        let split = |pattern: &str| -> Result<PreTokenizerWrapper> {
            let pattern = SplitPattern::Regex(pattern.to_owned());
            let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false);
            Ok(split.map_err(|e| Error::Tokenizer(e.to_string()))?.into())
        };
        let steps = match self {
            Self::Gpt2 => vec![words(true)],
            Self::DigitsGpt2 => vec![Digits::new(true).into(), words(true)],
            Self::Qwen2 => vec![split(QWEN2)?, words(false)],
            Self::Llama3 => vec![split(LLAMA3)?, words(false)],
        };
        Ok(PreTokenizerWrapper::from(Sequence::new(steps)))
    }
}

/// A byte-level BPE tokenizer from a vocabulary in id order and merges in rank order ("left right").
pub(crate) fn tokenizer(vocabulary: Vocabulary, merges: &[&str], pre: PreTokenizer) -> Result<Tokenizer> {
    let vocab = vocabulary.tokens.iter().zip(0..).map(|(token, id)| (token.text.clone(), id)).collect();
    let pair = |merge: &&str| merge.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
    let merges = merges.iter().filter_map(pair).collect();
    let bpe = Bpe { vocab, merges, ignore_merges: pre.ignores_merges(), ..Bpe::default() };
    Tokenizer::bpe(bpe, pre.normalizer(), Some(pre.pre_tokenizer()?), vocabulary, Decode::ByteLevel)
}
