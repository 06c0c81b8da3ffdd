//! Tokens in, text out, as soon as it is whole UTF-8.

use super::Tokenizer;
use crate::config::TokenId;
use crate::model::Model;
use std::sync::Arc;

/// Holds back the bytes of a letter that is not complete yet.
pub struct TextStream {
    tokenizer: Arc<Tokenizer>,
    pending: Vec<u8>,
}

impl TextStream {
    /// A stream over the tokens of `model`.
    pub fn new(model: &Model) -> Self {
        Self::over(model.tokenizer().clone())
    }

    /// A stream over the tokens of `tokenizer`.
    pub fn over(tokenizer: Arc<Tokenizer>) -> Self {
        Self { tokenizer, pending: Vec::new() }
    }

    /// The text that `token` completes; empty in the middle of a letter and for control tokens.
    /// Bytes that can become no letter are replaced by U+FFFD.
    pub fn push(&mut self, token: TokenId) -> String {
        self.pending.extend_from_slice(self.tokenizer.shown_bytes(token));
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.pending) {
                Ok(valid) => {
                    text.push_str(valid);
                    self.pending.clear();
                    return text;
                }
                Err(error) => {
                    let (valid, rest) = self.pending.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    match error.error_len() {
                        None => {
                            self.pending = rest.to_vec();
                            return text;
                        }
                        Some(bad) => {
                            text.push(char::REPLACEMENT_CHARACTER);
                            self.pending = rest[bad..].to_vec();
                        }
                    }
                }
            }
        }
    }

    /// What is left at the end: U+FFFD for an incomplete letter, else nothing.
    pub fn finish(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        text
    }
}
