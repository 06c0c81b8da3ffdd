//! What answers the questions: a language model alone, or the ears of the pipeline before it, or the whole in real time.

mod cascade;
pub mod grammar;
mod live;
mod text;

pub use cascade::Cascade;
pub use live::Live;
pub use text::TextModel;
pub(crate) use text::best;

use std::sync::atomic::AtomicBool;

use assets::Store;
use llm::SamplerConfig;
use pocket_voice::Config;
use pocket_voice::models::llm_path;
use serde::{Deserialize, Serialize};

use crate::Result;
use grammar::Grammar;

/// One question.
#[derive(Debug)]
pub enum Ask<'a> {
    /// Written.
    Text {
        /// The instructions.
        system: &'a str,
        /// The question.
        prompt: &'a str,
        /// Tokens of the longest answer.
        max_tokens: usize,
    },
    /// Spoken.
    Speech {
        /// The instructions.
        system: &'a str,
        /// Mono at 16 kHz.
        samples: &'a [f32],
        /// Tokens of the longest answer.
        max_tokens: usize,
    },
    /// Written, with answers to choose from by their likelihood.
    Choose {
        /// The question, with everything that comes before an answer.
        prompt: &'a str,
        /// What may follow.
        options: &'a [String],
    },
    /// Written, with an answer of a fixed form.
    Fill {
        /// The instructions.
        system: &'a str,
        /// The question.
        prompt: &'a str,
        /// The form.
        grammar: &'a Grammar,
        /// Tokens of the longest answer.
        max_tokens: usize,
    },
}

/// One answer, and how it came about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The answer.
    pub response: String,
    /// What was understood of a spoken question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<String>,
    /// Log-likelihood of each option, in nats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub option_logprobs: Vec<f64>,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the answer.
    pub generated_tokens: usize,
    /// Whether the answer was cut off at its longest.
    pub cut: bool,
    /// How long understanding took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asr_ms: Option<f64>,
    /// From the whole question to the first token; live: from the end of speech.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<f64>,
    /// Live: from the end of speech to the first audio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_audio_ms: Option<f64>,
    /// From the whole question to the whole answer.
    pub total_ms: f64,
}

/// Something that answers questions, the same question always the same way.
pub trait Responder {
    /// What it is made of, by role.
    fn parts(&self) -> Vec<(String, String)>;

    /// Answers one question; nothing of it is remembered.
    ///
    /// # Errors
    /// What keeps this question from being answered. The next may go well.
    fn respond(&mut self, ask: &Ask<'_>, cancel: &AtomicBool) -> Result<Reply>;
}

/// How the questions reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Written, to the language model alone.
    Written,
    /// Spoken, through the ears, as fast as the machine can.
    Heard,
    /// Spoken, through the whole conversation in real time, answers spoken too.
    Live,
}

/// What answers, with what reports say of it.
pub struct Opened {
    /// What answers.
    pub responder: Box<dyn Responder>,
    /// The language model's name.
    pub name: String,
    /// Bytes of its weights, where they are known without loading it twice.
    pub weight_bytes: Option<usize>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Loads what `config` names. Answers are greedy whatever its sampling says, so that a run can be repeated; the
/// conversation in real time keeps its own sampling.
///
/// # Errors
/// The model that is missing or damaged, and the command that brings it.
pub fn open(config: &Config, store: &Store, way: Way) -> Result<Opened> {
    let path = llm_path(config, store)?;
    let name = path.file_stem().map_or_else(|| config.llm.clone(), |name| name.to_string_lossy().into_owned());
    if way == Way::Live {
        let responder = Box::new(Live::new(config.clone(), store.clone()));
        return Ok(Opened { responder, name, weight_bytes: None });
    }
    let model = TextModel::open(&path, config.context, config.threads, SamplerConfig::default())?;
    let weight_bytes = Some(model.weight_bytes());
    let responder: Box<dyn Responder> = match way {
        Way::Written => Box::new(model),
        _ => Box::new(Cascade::open(config, store, model)?),
    };
    Ok(Opened { responder, name, weight_bytes })
}
