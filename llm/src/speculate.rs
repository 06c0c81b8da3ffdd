//! Drafts without a draft model: what followed the last few tokens when they occurred before ("prompt lookup").
//!
//! A draft is verified in one batch. Every position is sampled as if there were no draft; the tokens are kept as long as
//! the sample equals the draft. So the tokens have the distribution, and with the same seed the values, of plain
//! generation: exact for greedy and for sampling alike.

use crate::config::TokenId;

/// How generation may guess ahead.
#[derive(Debug, Clone, PartialEq)]
pub struct Speculation {
    /// Longest draft; 0 turns speculation off.
    pub max_draft: usize,
    /// Tokens that must match for what followed them to be a draft.
    pub min_match: usize,
    /// Price of one more position in a batch, in decode steps. A draft is made only as long as it is expected to pay.
    pub position_cost: f32,
}

impl Default for Speculation {
    fn default() -> Self {
        // A batch of 8 costs at most twice a single position on the fast forward.
        Self { max_draft: 7, min_match: 2, position_cost: 1.0 / 7.0 }
    }
}

impl Speculation {
    /// No guessing: one token a step.
    pub fn off() -> Self {
        Self { max_draft: 0, ..Self::default() }
    }
}

/// Longest suffix that is looked up: longer ones rarely differ in what follows.
const MAX_MATCH: usize = 4;
/// How much one draft moves the estimate.
const LEARNING: f32 = 0.15;
/// Even when drafts seem not to pay, every this many chances one is tried: texts change.
const PROBE: u32 = 16;

/// The estimate of how good drafts are, kept from one to the next.
#[derive(Debug, Clone)]
pub(crate) struct Drafter {
    config: Speculation,
    /// Probability that a drafted token is right, given that those before it were.
    accept: f32,
    declined: u32,
}

impl Drafter {
    pub(crate) fn new(config: Speculation) -> Self {
        Self { config, accept: 0.5, declined: 0 }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.config.max_draft > 0
    }

    /// Writes into `draft` what may follow `tokens`; nothing when there is no match or a draft is not expected to pay.
    pub(crate) fn draft(&mut self, tokens: &[TokenId], room: usize, draft: &mut Vec<TokenId>) {
        draft.clear();
        let longest = self.config.max_draft.min(room);
        if longest == 0 {
            return;
        }
        let Some(follows) = lookup(tokens, self.config.min_match) else { return };
        let mut length = self.worthwhile(longest);
        if length == 0 {
            self.declined += 1;
            if self.declined < PROBE {
                return;
            }
            self.declined = 0;
            length = longest.min(2);
        }
        draft.extend_from_slice(&follows[..length.min(follows.len())]);
    }

    /// The length with the largest expected gain: tokens won less positions paid.
    fn worthwhile(&self, longest: usize) -> usize {
        let (mut best, mut gain, mut reach) = ((0, 0.0), 0.0, 1.0);
        for length in 1..=longest {
            reach *= self.accept;
            gain += reach - self.config.position_cost;
            if gain > best.1 {
                best = (length, gain);
            }
        }
        best.0
    }

    /// Learns how many tokens of a draft were right.
    pub(crate) fn learn(&mut self, drafted: usize, accepted: usize) {
        for i in 0..drafted.min(accepted + 1) {
            let right = if i < accepted { 1.0 } else { 0.0 };
            self.accept += LEARNING * (right - self.accept);
        }
    }
}

/// What followed the most recent earlier occurrence of the longest suffix of `tokens` that occurred before.
fn lookup(tokens: &[TokenId], min_match: usize) -> Option<&[TokenId]> {
    for n in (min_match.max(1)..=MAX_MATCH.max(min_match)).rev() {
        let Some(start) = tokens.len().checked_sub(n + 1) else { continue };
        let suffix = &tokens[tokens.len() - n..];
        if let Some(at) = (0..=start).rev().find(|&at| &tokens[at..at + n] == suffix) {
            return Some(&tokens[at + n..]);
        }
    }
    None
}

#[cfg(test)]
mod tests;
