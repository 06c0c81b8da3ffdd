//! Tokens one after the other: sample, hand over, compute; with drafts, several of them in one step.

use crate::config::TokenId;
use crate::error::{Error, Result};
use crate::sampler::Sampler;
use crate::session::Session;
use crate::speculate::{Drafter, Speculation};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

/// An iterator over the tokens that follow a session's; made by [`Session::generate`].
pub struct Generator<'a> {
    session: &'a mut Session,
    sampler: &'a mut Sampler,
    cancel: &'a AtomicBool,
    drafter: Drafter,
    /// Sampled and not handed over yet. All but the last are in the KV cache.
    ready: VecDeque<TokenId>,
    /// The last one sampled: not in the KV cache.
    pending: Option<TokenId>,
    batch: Vec<TokenId>, // `pending` and its draft
    draft: Vec<TokenId>,
    history: Vec<TokenId>, // the session's tokens and `pending`, when drafts are wanted
    done: bool,
    stats: Stats,
}

/// What speculation did for a generation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Forward passes.
    pub steps: usize,
    /// Tokens drafted.
    pub drafted: usize,
    /// Drafted tokens that were right.
    pub accepted: usize,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(session: &'a mut Session, sampler: &'a mut Sampler, cancel: &'a AtomicBool) -> Self {
        Self {
            session,
            sampler,
            cancel,
            drafter: Drafter::new(Speculation::off()),
            ready: VecDeque::new(),
            pending: None,
            batch: Vec::new(),
            draft: Vec::new(),
            history: Vec::new(),
            done: false,
            stats: Stats::default(),
        }
    }

    /// Guesses ahead as `speculation` says. The tokens are the same as without, as far as a batch computes the same
    /// logits as single steps.
    pub fn speculate(mut self, speculation: Speculation) -> Self {
        self.drafter = Drafter::new(speculation);
        self
    }

    /// What speculation did so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    fn step(&mut self) -> Result<Option<TokenId>> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        if self.ready.is_empty() {
            self.refill()?;
        }
        let token = self.ready.pop_front();
        Ok(token.filter(|&token| !self.session.model().tokenizer().is_stop(token)))
    }

    /// Samples at least one token.
    fn refill(&mut self) -> Result<()> {
        let Some(pending) = self.pending else {
            if self.session.logits().is_empty() {
                let reason = "nothing to continue: advance the session first".to_owned();
                return Err(Error::Setting { setting: "generate", reason });
            }
            let token = self.sampler.sample(self.session.logits())?;
            self.sampled(token);
            return Ok(());
        };
        self.make_batch(pending);
        self.session.verify(&self.batch, self.cancel)?;
        self.pending = None;
        let mut kept = 1;
        let outcome = loop {
            match self.sampler.sample(self.session.verified(kept)) {
                Err(e) => break Err(e),
                Ok(token) => {
                    self.sampled(token);
                    let stop = self.session.model().tokenizer().is_stop(token);
                    if stop || self.batch.get(kept) != Some(&token) {
                        break Ok(());
                    }
                    kept += 1;
                }
            }
        };
        let drafted = self.batch.len() - 1;
        self.session.keep(kept, self.batch.len());
        self.drafter.learn(drafted, kept - 1);
        self.stats.steps += 1;
        self.stats.drafted += drafted;
        self.stats.accepted += kept - 1;
        outcome
    }

    fn make_batch(&mut self, pending: TokenId) {
        self.batch.clear();
        self.batch.push(pending);
        if self.drafter.is_on() {
            self.history.clear();
            self.history.extend_from_slice(self.session.tokens());
            self.history.push(pending);
            let room = self.session.context().saturating_sub(self.history.len());
            self.drafter.draft(&self.history, room, &mut self.draft);
            self.batch.extend_from_slice(&self.draft);
        }
    }

    fn sampled(&mut self, token: TokenId) {
        self.ready.push_back(token);
        self.pending = Some(token);
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

impl Drop for Generator<'_> {
    /// The session keeps no token that was not handed over.
    fn drop(&mut self) {
        let ahead = self.ready.len().saturating_sub(1);
        self.session.truncate(self.session.tokens().len() - ahead);
    }
}
