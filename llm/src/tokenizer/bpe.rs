//! A byte pair encoding model for the `tokenizers` crate, cleared of what that crate trusts.

use crate::config::TokenId;
use crate::error::{Error, Result};
use std::collections::HashMap;
use tokenizers::ModelWrapper;
use tokenizers::models::bpe::{BPE, Vocab};

/// Vocabulary and merges as the file has them.
#[derive(Debug, Default)]
pub(crate) struct Bpe {
    pub(crate) vocab: Vec<(String, TokenId)>,
    /// In rank order.
    pub(crate) merges: Vec<(String, String)>,
    /// Letters outside the vocabulary become `<0xAB>` tokens.
    pub(crate) byte_fallback: bool,
    /// A whole word that is a token needs no merges.
    pub(crate) ignore_merges: bool,
    pub(crate) fuse_unk: bool,
    pub(crate) unk_token: Option<String>,
}

impl Bpe {
    pub(super) fn build(self) -> Result<ModelWrapper> {
        let mut ids: HashMap<String, TokenId> = HashMap::with_capacity(self.vocab.len());
        for (text, id) in self.vocab {
            ids.entry(text).or_insert(id);
        }
        // A pruned vocabulary may come with merges whose tokens are gone. They can never apply, and the crate would refuse
        // them, or, when two long halves make no token, panic.
        let mut whole = String::new();
        let mut possible = |(left, right): &(String, String)| {
            whole.clear();
            whole.push_str(left);
            whole.push_str(right);
            ids.contains_key(left) && ids.contains_key(right) && ids.contains_key(&whole)
        };
        let merges = self.merges.into_iter().filter(|merge| possible(merge)).collect();
        let vocab: Vocab = ids.into_iter().collect();
        let unk_token = self.unk_token.filter(|unk| vocab.contains_key(unk));
        let mut builder = BPE::builder()
            .vocab_and_merges(vocab, merges)
            .byte_fallback(self.byte_fallback)
            .ignore_merges(self.ignore_merges)
            .fuse_unk(self.fuse_unk);
        if let Some(unk) = unk_token {
            builder = builder.unk_token(unk);
        }
        Ok(builder.build().map_err(|e| Error::Tokenizer(e.to_string()))?.into())
    }
}
