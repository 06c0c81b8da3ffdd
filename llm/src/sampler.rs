//! From logits to a token: repetition penalty, temperature, top-k, top-p, min-p, in that order, with an explicit seed.

use crate::config::TokenId;
use crate::error::{Error, Result};

/// How tokens are chosen. The default is greedy.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplerConfig {
    /// Divides the logits; 0 takes the most likely token always.
    pub temperature: f32,
    /// Keeps this many of the most likely tokens; 0 keeps all.
    pub top_k: usize,
    /// Keeps the smallest set of most likely tokens with at least this probability; 1 keeps all.
    pub top_p: f32,
    /// Drops tokens less likely than this times the most likely one; 0 drops none.
    pub min_p: f32,
    /// Divides positive logits of recent tokens by this, multiplies negative ones; 1 changes nothing.
    pub repetition_penalty: f32,
    /// How many of the last tokens the penalty looks at.
    pub repetition_window: usize,
    /// Same seed, same logits: same tokens.
    pub seed: u64,
}

impl Default for SamplerConfig {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            repetition_window: 64, // llama.cpp's default
            seed: 0,
        }
    }
}

/// A [`SamplerConfig`] at work: its random numbers, the tokens it may not repeat, its scratch memory.
#[derive(Debug, Clone)]
pub struct Sampler {
    config: SamplerConfig,
    random: SplitMix64,
    recent: Vec<TokenId>, // ring of at most repetition_window
    next: usize,
    candidates: Vec<(f32, TokenId)>,
}

impl Sampler {
    /// Checks the configuration.
    ///
    /// # Errors
    /// [`Error::Setting`] naming a value out of range.
    pub fn new(config: SamplerConfig) -> Result<Self> {
        let check = |setting, value: f32, ok: bool, range: &str| {
            let error = || Error::Setting { setting, reason: format!("{value} is not {range}") };
            if ok && value.is_finite() { Ok(()) } else { Err(error()) }
        };
        let c = &config;
        check("temperature", c.temperature, c.temperature >= 0.0, "at least 0")?;
        check("top_p", c.top_p, c.top_p > 0.0 && c.top_p <= 1.0, "within 0..=1 and above 0")?;
        check("min_p", c.min_p, (0.0..=1.0).contains(&c.min_p), "within 0..=1")?;
        check("repetition_penalty", c.repetition_penalty, c.repetition_penalty > 0.0, "above 0")?;
        let random = SplitMix64(config.seed);
        Ok(Self { config, random, recent: Vec::new(), next: 0, candidates: Vec::new() })
    }

    /// The configuration it was made with.
    pub fn config(&self) -> &SamplerConfig {
        &self.config
    }

    /// Chooses the next token and remembers it for the repetition penalty.
    ///
    /// # Errors
    /// [`Error::NotFinite`] when a logit is NaN or +infinity, or none is finite.
    pub fn sample(&mut self, logits: &[f32]) -> Result<TokenId> {
        let token = if self.config.temperature == 0.0 && self.config.repetition_penalty == 1.0 {
            argmax(logits)?
        } else {
            self.draw(logits)?
        };
        self.accept(token);
        Ok(token)
    }

    /// Probabilities after every filter, most likely first; what [`Sampler::sample`] draws from.
    ///
    /// # Errors
    /// As [`Sampler::sample`].
    pub fn distribution(&mut self, logits: &[f32]) -> Result<&[(f32, TokenId)]> {
        self.filter(logits)?;
        Ok(&self.candidates)
    }

    /// A uniform random number in [0, 1), from the sampler's seed.
    pub fn uniform(&mut self) -> f32 {
        self.random.uniform()
    }

    /// Remembers a token for the repetition penalty that was chosen elsewhere.
    pub fn accept(&mut self, token: TokenId) {
        if self.config.repetition_penalty == 1.0 || self.config.repetition_window == 0 {
            return;
        }
        if self.recent.len() < self.config.repetition_window {
            self.recent.push(token);
        } else {
            self.recent[self.next] = token;
            self.next = (self.next + 1) % self.recent.len();
        }
    }

    fn draw(&mut self, logits: &[f32]) -> Result<TokenId> {
        self.filter(logits)?;
        let mut left = self.random.uniform();
        for &(p, token) in &self.candidates {
            left -= p;
            if left < 0.0 {
                return Ok(token);
            }
        }
        // Rounding can leave a hair above the last one.
        Ok(self.candidates.last().map_or(0, |&(_, token)| token))
    }

    /// Leaves the filtered, normalised probabilities in `candidates`, most likely first.
    fn filter(&mut self, logits: &[f32]) -> Result<()> {
        argmax(logits)?;
        let c = &self.config;
        self.candidates.clear();
        self.candidates.extend(logits.iter().zip(0..).map(|(&logit, token)| (logit, token)));
        if c.repetition_penalty != 1.0 {
            for (i, &token) in self.recent.iter().enumerate() {
                // A token is penalised once, however often it appeared.
                if let Some((logit, _)) = self.candidates.get_mut(token as usize)
                    && !self.recent[..i].contains(&token)
                {
                    *logit *= if *logit > 0.0 { c.repetition_penalty.recip() } else { c.repetition_penalty };
                }
            }
        }
        let keep = match (c.temperature, c.top_k) {
            (0.0, _) => 1,
            (_, 0) => self.candidates.len(),
            (_, k) => k.min(self.candidates.len()),
        };
        let descending = |a: &(f32, TokenId), b: &(f32, TokenId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if keep < self.candidates.len() {
            self.candidates.select_nth_unstable_by(keep - 1, descending);
            self.candidates.truncate(keep);
        }
        let temperature = if c.temperature == 0.0 { 1.0 } else { c.temperature };
        let max = self.candidates.iter().fold(f32::NEG_INFINITY, |max, &(logit, _)| max.max(logit));
        // What is this far below the best (e^-30) can never be drawn with 24 random bits; sorting it would be waste.
        self.candidates.retain(|&(logit, _)| (logit - max) / temperature > -30.0);
        self.candidates.sort_unstable_by(descending);
        for (logit, _) in &mut self.candidates {
            *logit = ((*logit - max) / temperature).exp();
        }
        normalise(&mut self.candidates);
        if c.top_p < 1.0 {
            let mut total = 0.0;
            let inside = self.candidates.iter().take_while(|&&(p, _)| {
                let before = total;
                total += p;
                before < c.top_p
            });
            let keep = inside.count();
            self.candidates.truncate(keep);
            normalise(&mut self.candidates);
        }
        if c.min_p > 0.0 {
            let floor = self.candidates[0].0 * c.min_p;
            self.candidates.retain(|&(p, _)| p >= floor);
            normalise(&mut self.candidates);
        }
        Ok(())
    }
}

/// The index of the largest logit, the first of equals.
pub(crate) fn argmax(logits: &[f32]) -> Result<TokenId> {
    let not_finite = |at: String| Error::NotFinite { at };
    let mut best = (f32::NEG_INFINITY, None);
    for (&logit, token) in logits.iter().zip(0..) {
        if logit > best.0 {
            best = (logit, Some(token));
        } else if logit.is_nan() {
            return Err(not_finite(format!("the logit of token {token}")));
        }
    }
    match best {
        (logit, Some(token)) if logit.is_finite() => Ok(token),
        (_, Some(token)) => Err(not_finite(format!("the logit of token {token}"))),
        (_, None) => Err(not_finite("every logit".to_owned())),
    }
}

fn normalise(candidates: &mut [(f32, TokenId)]) {
    let sum: f32 = candidates.iter().map(|&(p, _)| p).sum();
    candidates.iter_mut().for_each(|(p, _)| *p /= sum);
}

/// Vigna's splitmix64: small, seedable by any number, and good enough to pick words.
#[derive(Debug, Clone)]
struct SplitMix64(u64);

impl SplitMix64 {
    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 40) as f32 / (1u64 << 24) as f32
    }
}

#[cfg(test)]
mod tests;
