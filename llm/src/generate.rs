//! Tokens one after the other: sample, hand over, compute.

use crate::config::TokenId;
use crate::error::{Error, Result};
use crate::sampler::Sampler;
use crate::session::Session;
use std::sync::atomic::{AtomicBool, Ordering};

/// An iterator over the tokens that follow a session's; made by [`Session::generate`].
pub struct Generator<'a> {
    session: &'a mut Session,
    sampler: &'a mut Sampler,
    cancel: &'a AtomicBool,
    yielded: Option<TokenId>, // not in the KV cache yet
    done: bool,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(session: &'a mut Session, sampler: &'a mut Sampler, cancel: &'a AtomicBool) -> Self {
        Self { session, sampler, cancel, yielded: None, done: false }
    }

    fn step(&mut self) -> Result<Option<TokenId>> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        if let Some(token) = self.yielded {
            self.session.append(&[token], self.cancel)?;
            self.yielded = None;
        }
        let logits = self.session.logits();
        if logits.is_empty() {
            let reason = "nothing to continue: advance the session first".to_owned();
            return Err(Error::Setting { setting: "generate", reason });
        }
        let token = self.sampler.sample(logits)?;
        if self.session.model().tokenizer().is_stop(token) {
            return Ok(None);
        }
        self.yielded = Some(token);
        Ok(Some(token))
    }
}

impl Iterator for Generator<'_> {
    type Item = Result<TokenId>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let step = self.step().transpose();
        self.done = !matches!(step, Some(Ok(_)));
        step
    }
}
