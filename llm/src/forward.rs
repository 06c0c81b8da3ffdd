//! From tokens to logits: the interface of a forward pass, and its implementations.
//!
//! [`mod@reference`] is the oracle: plain f32 loops over the weights as the file has them. [`fast`] is the one to use.

pub mod fast;
pub mod reference;

use crate::config::TokenId;
use crate::error::Result;
use std::sync::atomic::AtomicBool;

/// Weights made ready for one way of computing; shared by all sessions of a model.
pub trait Forward: Send + Sync {
    /// A new empty state.
    ///
    /// # Errors
    /// `Error::Setting` when `context` or `threads` cannot work.
    fn state(&self, options: StateOptions) -> Result<Box<dyn State>>;

    /// Bytes of weights that a decode step reads.
    fn bytes_per_token(&self) -> usize;
}

/// What a state must have room for.
#[derive(Debug, Clone, Copy)]
pub struct StateOptions {
    /// Positions in the KV cache.
    pub context: usize,
    /// Threads to compute with, this one included; at least 1.
    pub threads: usize,
}

/// The KV cache and scratch memory of one sequence.
///
/// The state does not know how many positions are valid: the session does. A call writes positions `start..start + n` and
/// reads `0..start + n`, so rolling back is calling again with a smaller `start`.
pub trait State: Send {
    /// Runs `tokens` at positions `start..`, causally, and writes the logits of the last `logits.len() / vocab` of them.
    ///
    /// The session has checked: `tokens` is not empty, every id is below `vocab`, `start + tokens.len() <= context`,
    /// `logits.len()` is a multiple of `vocab` and no longer than `tokens.len()` rows. `logits` may be empty.
    ///
    /// # Errors
    /// `Error::Cancelled` as soon as `cancel` is seen set, at least once a layer.
    fn forward(
        &mut self,
        tokens: &[TokenId],
        start: usize,
        logits: &mut [f32], // [outputs, vocab]
        cancel: &AtomicBool,
    ) -> Result<()>;

    /// Changes the number of threads from the next call on.
    fn set_threads(&mut self, threads: usize);

    /// Asks for copies of the residual stream after these layers (0-based, before the final norm) in later calls.
    fn set_taps(&mut self, layers: &[usize]);

    /// The residual stream at tapped layer `layers[tap]` for every token of the last call. `[tokens, hidden]`
    fn tap(&self, tap: usize) -> &[f32];

    /// Appends the KV cache of positions `0..len` to `out`, in a format that [`State::load`] of the same model reads.
    fn save(&self, len: usize, out: &mut Vec<u8>);

    /// Restores what [`State::save`] wrote for `len` positions.
    ///
    /// # Errors
    /// `Error::State` when `saved` has another size.
    fn load(&mut self, len: usize, saved: &[u8]) -> Result<()>;
}
