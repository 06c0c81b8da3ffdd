//! One conversation over a model: which tokens the KV cache holds, and the logits after the last of them.

mod saved;

use crate::config::TokenId;
use crate::error::{Error, Result};
use crate::forward::{State, StateOptions};
use crate::generate::Generator;
use crate::model::Model;
use crate::sampler::Sampler;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a session computes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionConfig {
    /// Tokens that the KV cache has room for; at most what the model was trained for.
    pub context: usize,
    /// Threads to compute with, the caller's included.
    pub threads: usize,
}

impl Default for SessionConfig {
    fn default() -> Self {
        // A voice conversation of some ten turns; small enough for a phone.
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(4));
        Self { context: 2048, threads }
    }
}

/// What [`Session::advance_to`] had to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefill {
    /// Tokens that were in the KV cache already.
    pub reused: usize,
    /// Tokens that were computed.
    pub computed: usize,
}

/// Tokens of one prompt that are computed in one go: large enough for full speed, small enough to bound scratch memory.
const PREFILL_BATCH: usize = 512;

/// A KV cache with the tokens it holds. Made of plain data: one thread at a time, any thread.
pub struct Session {
    model: Arc<Model>,
    state: Box<dyn State>,
    context: usize,
    tokens: Vec<TokenId>,
    logits: Vec<f32>,  // [1 + longest draft, vocab]
    logits_row: usize, // the row that belongs to the last token
    logits_at: usize,  // tokens.len() that `logits_row` belongs to; 0 for none
}

impl Session {
    /// A session with an empty KV cache.
    ///
    /// # Errors
    /// [`Error::Setting`] when the context or the number of threads cannot work.
    pub fn new(model: Arc<Model>, config: SessionConfig) -> Result<Self> {
        let max = model.config().context;
        if config.context == 0 || config.context > max {
            let reason = format!("{} is not within 1..={max}, what the model was trained for", config.context);
            return Err(Error::Setting { setting: "context", reason });
        }
        check_threads(config.threads)?;
        let state = model.forward().state(StateOptions { context: config.context, threads: config.threads })?;
        let logits = vec![0.0; model.config().vocab];
        Ok(Self {
            model,
            state,
            context: config.context,
            tokens: Vec::with_capacity(config.context),
            logits,
            logits_row: 0,
            logits_at: 0,
        })
    }

    /// The model it runs.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Tokens that fit.
    pub fn context(&self) -> usize {
        self.context
    }

    /// The tokens in the KV cache. Their number is the mark to roll back to.
    pub fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// Forgets all tokens from `len` on; more than there are changes nothing.
    pub fn truncate(&mut self, len: usize) {
        self.tokens.truncate(len);
    }

    /// Makes the KV cache hold exactly `target`, computing only what follows the longest common prefix, and the logits
    /// that follow it ready.
    ///
    /// # Errors
    /// [`Error::ContextFull`] and [`Error::UnknownToken`] before anything changed; [`Error::Cancelled`] with what was
    /// computed so far kept.
    pub fn advance_to(&mut self, target: &[TokenId], cancel: &AtomicBool) -> Result<Prefill> {
        self.check(target, 0)?;
        let mut common = self.tokens.iter().zip(target).take_while(|(a, b)| a == b).count();
        if common == target.len() && self.logits_at != common {
            // All is cached but the logits belong elsewhere: the last token is computed once more.
            common = common.saturating_sub(1);
        }
        self.truncate(common);
        self.append(&target[common..], cancel)?;
        Ok(Prefill { reused: common, computed: target.len() - common })
    }

    /// Computes `tokens` after those in the cache and makes the logits that follow them ready.
    ///
    /// # Errors
    /// As [`Session::advance_to`].
    pub fn append(&mut self, tokens: &[TokenId], cancel: &AtomicBool) -> Result<()> {
        self.check(tokens, self.tokens.len())?;
        let vocab = self.model.config().vocab;
        let batches = tokens.len().div_ceil(PREFILL_BATCH);
        for (i, batch) in tokens.chunks(PREFILL_BATCH).enumerate() {
            let rows = usize::from(i + 1 == batches);
            self.compute(batch, rows * vocab, cancel)?;
        }
        Ok(())
    }

    /// Computes one batch, with the logits of its last tokens in the first `logits` elements of the buffer.
    fn compute(&mut self, batch: &[TokenId], logits: usize, cancel: &AtomicBool) -> Result<()> {
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        self.logits_at = 0;
        self.state.forward(batch, self.tokens.len(), &mut self.logits[..logits], cancel)?;
        self.tokens.extend_from_slice(batch);
        if logits > 0 {
            self.logits_row = logits / self.model.config().vocab - 1;
            self.logits_at = self.tokens.len();
        }
        Ok(())
    }

    /// Computes `tokens` (a token to keep and a draft) in one batch with the logits after each.
    pub(crate) fn verify(&mut self, tokens: &[TokenId], cancel: &AtomicBool) -> Result<()> {
        self.check(tokens, self.tokens.len())?;
        let needed = tokens.len() * self.model.config().vocab;
        if self.logits.len() < needed {
            self.logits.resize(needed, 0.0);
        }
        self.compute(tokens, needed, cancel)
    }

    /// After [`Session::verify`] of `of` tokens: the logits that follow the first `n` of them.
    pub(crate) fn verified(&self, n: usize) -> &[f32] {
        let vocab = self.model.config().vocab;
        &self.logits[(n - 1) * vocab..n * vocab]
    }

    /// After [`Session::verify`] of `of` tokens: forgets all but the first `n` of them; their logits stay known.
    pub(crate) fn keep(&mut self, n: usize, of: usize) {
        self.tokens.truncate(self.tokens.len() - (of - n));
        self.logits_row = n - 1;
        self.logits_at = self.tokens.len();
    }

    /// As [`Session::append`], but writes the logits after every one of `tokens` into `logits`. `[tokens, vocab]`
    ///
    /// # Errors
    /// As [`Session::append`]; [`Error::Setting`] when `logits` has another size.
    pub fn append_with_logits(&mut self, tokens: &[TokenId], logits: &mut [f32], cancel: &AtomicBool) -> Result<()> {
        self.check(tokens, self.tokens.len())?;
        let vocab = self.model.config().vocab;
        if tokens.len().checked_mul(vocab) != Some(logits.len()) {
            let reason =
                format!("{} tokens need {} x {vocab} elements, not {}", tokens.len(), tokens.len(), logits.len());
            return Err(Error::Setting { setting: "logits", reason });
        }
        for (batch, logits) in tokens.chunks(PREFILL_BATCH).zip(logits.chunks_mut(PREFILL_BATCH * vocab)) {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            self.logits_at = 0;
            self.state.forward(batch, self.tokens.len(), logits, cancel)?;
            self.tokens.extend_from_slice(batch);
            self.logits[..vocab].copy_from_slice(&logits[logits.len() - vocab..]);
            (self.logits_row, self.logits_at) = (0, self.tokens.len());
        }
        Ok(())
    }

    /// Logits of the token that follows [`Session::tokens`]; empty when they are not known, after a rollback or before the
    /// first token. `[vocab]`
    pub fn logits(&self) -> &[f32] {
        if self.logits_at == self.tokens.len() && self.logits_at > 0 { self.verified(self.logits_row + 1) } else { &[] }
    }

    /// Tokens that follow, one at a time, until an end-of-message token (not yielded), an error or a full context.
    /// A cancel ends it with `Err(Error::Cancelled)`.
    ///
    /// The token last yielded is not in [`Session::tokens`] yet: it is computed when the next one is asked for.
    pub fn generate<'a>(&'a mut self, sampler: &'a mut Sampler, cancel: &'a AtomicBool) -> Generator<'a> {
        Generator::new(self, sampler, cancel)
    }

    /// Changes the number of threads from the next call on.
    ///
    /// # Errors
    /// [`Error::Setting`] when it cannot work.
    pub fn set_threads(&mut self, threads: usize) -> Result<()> {
        check_threads(threads)?;
        self.state.set_threads(threads);
        Ok(())
    }

    /// Asks for the residual stream after these layers in later calls; see [`Session::tap`].
    ///
    /// # Errors
    /// [`Error::Setting`] when the model has no such layer.
    pub fn set_taps(&mut self, layers: &[usize]) -> Result<()> {
        let n_layers = self.model.config().n_layers;
        if let Some(layer) = layers.iter().find(|&&layer| layer >= n_layers) {
            return Err(Error::Setting { setting: "taps", reason: format!("layer {layer} of {n_layers}") });
        }
        self.state.set_taps(layers);
        Ok(())
    }

    /// Hidden states after the `tap`-th of the layers given to [`Session::set_taps`], for the tokens of the last batch
    /// computed (at most 512). `[tokens, hidden]`
    ///
    /// # Panics
    /// When there are fewer taps.
    pub fn tap(&self, tap: usize) -> &[f32] {
        self.state.tap(tap)
    }

    /// The tokens and their KV cache as bytes, for [`Session::restore`] in a later run of the same model and engine.
    pub fn save(&self) -> Vec<u8> {
        saved::write(self.model.fingerprint(), &self.tokens, &*self.state)
    }

    /// Makes this session hold what [`Session::save`] wrote. The logits are not part of it: advance by a token, or to the
    /// same tokens again, to have them.
    ///
    /// # Errors
    /// [`Error::State`] when the bytes are damaged or belong to another model, [`Error::ContextFull`] when they hold more
    /// tokens than fit; the session is then empty or as before.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        let (tokens, cache) = saved::read(self.model.fingerprint(), bytes)?;
        self.check(&tokens, 0)?;
        self.truncate(0);
        self.logits_at = 0;
        self.state.load(tokens.len(), cache)?;
        self.tokens.extend(tokens);
        Ok(())
    }

    pub(crate) fn check(&self, tokens: &[TokenId], start: usize) -> Result<()> {
        let needed = start + tokens.len();
        if needed > self.context {
            return Err(Error::ContextFull { needed, context: self.context });
        }
        let vocab = self.model.config().vocab;
        match tokens.iter().find(|&&token| token as usize >= vocab) {
            Some(&token) => Err(Error::UnknownToken { token, vocab }),
            None => Ok(()),
        }
    }
}

fn check_threads(threads: usize) -> Result<()> {
    // More than any machine that this engine gains from.
    if threads == 0 || threads > 256 {
        return Err(Error::Setting { setting: "threads", reason: format!("{threads} is not within 1..=256") });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
