//! A language model by itself.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use llm::{Message, Model, Sampler, SamplerConfig, Session, SessionConfig, TextStream, TokenId};

use super::grammar::Grammar;
use super::{Ask, Reply, Responder};
use crate::{Error, Result};

/// A language model with a session that forgets each question.
pub struct TextModel {
    session: Session,
    sampling: SamplerConfig,
    name: String,
    /// Instructions whose tokens are at the front of the cache, and those tokens.
    system: Option<(String, Vec<TokenId>)>,
}

impl std::fmt::Debug for TextModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextModel").field("name", &self.name).finish_non_exhaustive()
    }
}

impl TextModel {
    /// Loads a model.
    ///
    /// # Errors
    /// [`Error::Llm`]
    pub fn open(path: &Path, context: usize, threads: usize, sampling: SamplerConfig) -> Result<Self> {
        let model = Model::open(path)?;
        let context = context.min(model.config().context);
        let session = Session::new(model, SessionConfig { context, threads })?;
        let name = path.file_stem().map_or_else(|| "model".into(), |n| n.to_string_lossy().into_owned());
        Ok(Self { session, sampling, name, system: None })
    }

    /// What it is called in reports and file names.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of its weights.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        self.session.model().weight_bytes()
    }

    fn messages(system: &str, prompt: &str) -> Vec<Message> {
        let mut messages = Vec::new();
        if !system.is_empty() {
            messages.push(Message::system(system));
        }
        messages.push(Message::user(prompt));
        messages
    }

    /// Computes a conversation of one question, so that logits of the answer's first token are ready; tells its length.
    ///
    /// The cache is cut back to what all questions under the same instructions share, and never to what happens to be
    /// shared with the question before: an answer must not depend on which questions came earlier in this process.
    pub(crate) fn begin(&mut self, system: &str, prompt: &str, cancel: &AtomicBool) -> Result<usize> {
        let chat = self.session.model().clone();
        let chat = chat.chat();
        if self.system.as_ref().is_none_or(|(known, _)| known != system) {
            let one = chat.render(&Self::messages(system, "1"), true)?;
            let two = chat.render(&Self::messages(system, "a b"), true)?;
            let shared = one.iter().zip(&two).take_while(|(a, b)| a == b).count();
            self.system = Some((system.to_owned(), one[..shared].to_vec()));
            self.session.truncate(0);
        }
        let tokens = chat.render(&Self::messages(system, prompt), true)?;
        let shared = match &self.system {
            Some((_, front)) if tokens.starts_with(front) => front.len(),
            _ => 0,
        };
        self.check_length(tokens.len())?;
        let (front, rest) = tokens.split_at(shared);
        self.start(front, rest, cancel)?;
        Ok(tokens.len())
    }

    fn start(&mut self, front: &[TokenId], rest: &[TokenId], cancel: &AtomicBool) -> Result<()> {
        self.session.truncate(front.len());
        if self.session.tokens() != front {
            self.session.truncate(0);
            self.session.append(front, cancel)?;
        }
        Ok(self.session.append(rest, cancel)?)
    }

    fn check_length(&self, tokens: usize) -> Result<()> {
        let context = self.session.context();
        if tokens + 1 > context {
            let reason = format!("the question takes {tokens} tokens and there is room for {context}; raise --context");
            return Err(Error::setting("context", reason));
        }
        Ok(())
    }

    fn generate(&mut self, system: &str, prompt: &str, max_tokens: usize, cancel: &AtomicBool) -> Result<Reply> {
        let started = Instant::now();
        let prompt_tokens = self.begin(system, prompt, cancel)?;
        let room = self.session.context() - prompt_tokens;
        let most = max_tokens.min(room);
        let model = self.session.model().clone();
        let mut text = TextStream::new(&model);
        let mut sampler = Sampler::new(self.sampling.clone())?;
        let mut reply = Reply { prompt_tokens, ..Reply::default() };
        for token in self.session.generate(&mut sampler, cancel).take(most) {
            let token = token?;
            if reply.generated_tokens == 0 {
                reply.first_token_ms = Some(ms(started));
            }
            reply.generated_tokens += 1;
            reply.response.push_str(&text.push(token));
        }
        reply.response.push_str(&text.finish());
        reply.cut = reply.generated_tokens == most;
        reply.total_ms = ms(started);
        Ok(reply)
    }

    /// Log-likelihoods of each of `options` after `prompt`.
    fn choose(&mut self, prompt: &str, options: &[String], cancel: &AtomicBool) -> Result<Reply> {
        let started = Instant::now();
        let model = self.session.model().clone();
        let front = model.tokenizer().encode(prompt)?;
        let mut reply = Reply { prompt_tokens: front.len(), ..Reply::default() };
        self.system = None;
        self.session.truncate(0);
        self.check_length(front.len())?;
        self.session.append(&front, cancel)?;
        // Every option's first token is judged by the same logits.
        let after_prompt = self.session.logits().to_vec();
        let vocab = model.config().vocab;
        for option in options {
            let option = model.tokenizer().encode_plain(option)?;
            let Some((first, rest)) = option.split_first() else {
                return Err(Error::Score("an option has no token".into()));
            };
            let mut sum = log_softmax(&after_prompt, *first);
            if !rest.is_empty() {
                self.check_length(front.len() + option.len())?;
                self.session.truncate(front.len());
                let before = &option[..rest.len()];
                let mut logits = vec![0.0; before.len() * vocab];
                self.session.append_with_logits(before, &mut logits, cancel)?;
                sum += logits.chunks(vocab).zip(rest).map(|(row, &id)| log_softmax(row, id)).sum::<f64>();
            }
            reply.option_logprobs.push(sum);
        }
        let best = best(&reply.option_logprobs);
        reply.response = best.and_then(|i| options.get(i)).map(|o| o.trim().to_owned()).unwrap_or_default();
        reply.total_ms = ms(started);
        Ok(reply)
    }

    /// The most likely text that a grammar allows, greedily.
    fn fill(
        &mut self,
        system: &str,
        prompt: &str,
        grammar: &Grammar,
        max: usize,
        cancel: &AtomicBool,
    ) -> Result<Reply> {
        let started = Instant::now();
        let prompt_tokens = self.begin(system, prompt, cancel)?;
        let model = self.session.model().clone();
        let tokenizer = model.tokenizer();
        let mut reply = Reply { prompt_tokens, cut: true, ..Reply::default() };
        let mut state = grammar.start();
        let mut bytes = Vec::new();
        for _ in 0..max.min(self.session.context() - prompt_tokens) {
            if grammar.is_done(&state) {
                reply.cut = false;
                break;
            }
            let next = allowed(self.session.logits(), |id| {
                let bytes = tokenizer.token_bytes(id);
                if bytes.is_empty() || tokenizer.is_control(id) { None } else { grammar.advance(&state, bytes) }
            });
            let Some((token, after)) = next else {
                return Err(Error::Score("the model's vocabulary cannot spell the form of the answer".into()));
            };
            if reply.generated_tokens == 0 {
                reply.first_token_ms = Some(ms(started));
            }
            reply.generated_tokens += 1;
            state = after;
            bytes.extend_from_slice(tokenizer.token_bytes(token));
            self.session.append(&[token], cancel)?;
        }
        reply.response = String::from_utf8_lossy(&bytes).into_owned();
        reply.total_ms = ms(started);
        Ok(reply)
    }

    /// Probability mass on each of `groups` of texts as the beginning of an answer, relative to all of them.
    pub(crate) fn shares(&self, groups: &[&[&str]]) -> Result<Vec<f64>> {
        let model = self.session.model().clone();
        let logits = self.session.logits();
        let mut weights = Vec::new();
        for group in groups {
            let mut first: Vec<TokenId> = Vec::new();
            for text in *group {
                first.extend(model.tokenizer().encode_plain(text)?.first());
            }
            first.sort_unstable();
            first.dedup();
            weights.push(first.iter().map(|&id| log_softmax(logits, id).exp()).sum::<f64>());
        }
        let all: f64 = weights.iter().sum();
        if all.is_nan() || all <= 0.0 {
            return Err(Error::Score("a judge gave none of the marks any probability".into()));
        }
        Ok(weights.into_iter().map(|w| w / all).collect())
    }
}

impl Responder for TextModel {
    fn parts(&self) -> Vec<(String, String)> {
        vec![("llm".to_owned(), self.name.clone())]
    }

    fn respond(&mut self, ask: &Ask<'_>, cancel: &AtomicBool) -> Result<Reply> {
        match *ask {
            Ask::Text { system, prompt, max_tokens } => self.generate(system, prompt, max_tokens, cancel),
            Ask::Choose { prompt, options } => self.choose(prompt, options, cancel),
            Ask::Fill { system, prompt, grammar, max_tokens } => self.fill(system, prompt, grammar, max_tokens, cancel),
            Ask::Speech { .. } => Err(Error::setting("modality", "a language model alone hears nothing; use text")),
        }
    }
}

fn ms(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1000.0
}

/// ln of the probability of one token.
fn log_softmax(logits: &[f32], token: TokenId) -> f64 {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|&l| f64::from(l - max).exp()).sum();
    let own = logits.get(token as usize).copied().unwrap_or(f32::NEG_INFINITY);
    f64::from(own - max) - sum.ln()
}

/// The first of the largest.
pub(crate) fn best(values: &[f64]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (i, value) in values.iter().enumerate() {
        if best.is_none_or(|b| *value > values[b]) {
            best = Some(i);
        }
    }
    best
}

/// The most likely token for which `check` says something, and what it says.
fn allowed<T>(logits: &[f32], check: impl Fn(TokenId) -> Option<T>) -> Option<(TokenId, T)> {
    // Mostly one of the likeliest fits; the whole vocabulary is sorted only where none does.
    let mut order: Vec<TokenId> = (0..logits.len() as TokenId).collect();
    let by_logit = |a: &TokenId, b: &TokenId| logits[*b as usize].total_cmp(&logits[*a as usize]).then(a.cmp(b));
    let head = 64.min(order.len());
    if head < order.len() {
        order.select_nth_unstable_by(head, by_logit);
    }
    let (front, back) = order.split_at_mut(head);
    front.sort_unstable_by(by_logit);
    let found = front.iter().find_map(|&id| Some((id, check(id)?)));
    found.or_else(|| {
        back.sort_unstable_by(by_logit);
        back.iter().find_map(|&id| Some((id, check(id)?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_allowed_token() {
        let logits: Vec<f32> = (0..200).map(|i| ((i * 37) % 200) as f32).collect();
        let only = |wanted: TokenId| move |id: TokenId| (id == wanted).then_some(());
        for wanted in [0, 27, 199] {
            assert_eq!(allowed(&logits, only(wanted)).map(|(id, ())| id), Some(wanted));
        }
        assert_eq!(allowed(&logits, |_| Some(())).map(|(id, ())| logits[id as usize]), Some(199.0));
        assert_eq!(allowed(&logits, |_| None::<()>), None);
    }

    #[test]
    fn log_probabilities_add_up() {
        let logits = [1.0, 2.0, -3.0];
        let sum: f64 = (0..3).map(|id| log_softmax(&logits, id).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        assert_eq!(best(&[0.5, 2.0, 2.0]), Some(1));
        assert_eq!(best(&[]), None);
    }
}
