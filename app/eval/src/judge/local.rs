//! A local language model as judge.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use llm::SamplerConfig;

use super::{Form, Judge, SAMPLES, SYSTEM};
use crate::Result;
use crate::respond::{Ask, Responder, TextModel};

/// How a model's judgement is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// The mean of 1 to 5, or yes or no, by the probabilities of the first token: deterministic, and one pass.
    #[default]
    Expected,
    /// Three replies at temperature 0.5 and top-p 0.95, as the original asks its judge.
    Sampled,
}

/// Longest reply. The original allows 1,024 tokens for what should be one.
const MAX_TOKENS: usize = 32;

/// A local model that judges.
#[derive(Debug)]
pub struct LocalJudge {
    models: Vec<TextModel>,
    method: Method,
}

impl LocalJudge {
    /// Loads a model.
    ///
    /// # Errors
    /// [`crate::Error::Llm`]
    pub fn open(path: &Path, method: Method, context: usize, threads: usize) -> Result<Self> {
        let seeds = match method {
            Method::Expected => 1,
            Method::Sampled => SAMPLES as u64,
        };
        let sampling = |seed| match method {
            Method::Expected => SamplerConfig::default(),
            Method::Sampled => SamplerConfig { temperature: 0.5, top_p: 0.95, seed, ..SamplerConfig::default() },
        };
        let models = (0..seeds).map(|seed| TextModel::open(path, context, threads, sampling(seed)));
        Ok(Self { models: models.collect::<Result<_>>()?, method })
    }
}

impl Judge for LocalJudge {
    fn name(&self) -> String {
        let model = self.models.first().map_or("none", |model| model.name());
        match self.method {
            Method::Expected => format!("{model} (expected value of the next token)"),
            Method::Sampled => format!("{model} (3 samples, temperature 0.5)"),
        }
    }

    fn judge(&mut self, form: Form, prompt: &str, cancel: &AtomicBool) -> Result<Vec<String>> {
        if self.method == Method::Sampled {
            let ask = Ask::Text { system: SYSTEM, prompt, max_tokens: MAX_TOKENS };
            let replies = self.models.iter_mut().map(|model| model.respond(&ask, cancel));
            return replies.map(|reply| Ok(reply?.response.trim().to_owned())).collect();
        }
        let Some(model) = self.models.first_mut() else { return Ok(Vec::new()) };
        model.begin(SYSTEM, prompt, cancel)?;
        let reply = match form {
            Form::Mark => {
                let shares = model.shares(&[&["1"], &["2"], &["3"], &["4"], &["5"]])?;
                let mean: f64 = shares.iter().zip(1..).map(|(share, mark)| share * f64::from(mark)).sum();
                format!("{mean:.4}")
            }
            Form::YesNo => {
                let shares = model.shares(&[&["Yes", "yes", "YES"], &["No", "no", "NO"]])?;
                if shares.first() > shares.get(1) { "Yes" } else { "No" }.to_owned()
            }
        };
        Ok(vec![reply; SAMPLES])
    }
}
