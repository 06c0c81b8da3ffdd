//! The whole conversation in real time, loudspeaker included: what a user waits for.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use assets::Store;
use pocket_voice::audio::{FileHost, Samples};
use pocket_voice::{Assistant, Config, Models};

use super::{Ask, Reply, Responder};
use crate::sound::RATE;
use crate::{Error, Result};

/// Silence before a question, so that the VAD knows the room.
const BEFORE: usize = RATE as usize / 2;

/// A conversation of one question, made anew for each.
#[derive(Debug)]
pub struct Live {
    config: Config,
    store: Store,
}

impl Live {
    /// Conversations under `config`.
    #[must_use]
    pub fn new(config: Config, store: Store) -> Self {
        Self { config, store }
    }
}

impl Responder for Live {
    fn parts(&self) -> Vec<(String, String)> {
        let part = |role: &str, name: &str| (role.to_owned(), name.to_owned());
        vec![
            part("pipeline", "real time"),
            part("asr", &self.config.asr),
            part("llm", &self.config.llm),
            part("voice", &self.config.voice),
        ]
    }

    fn respond(&mut self, ask: &Ask<'_>, _cancel: &AtomicBool) -> Result<Reply> {
        let Ask::Speech { system, samples, max_tokens } = *ask else {
            return Err(Error::setting("speak", "the pipeline in real time takes spoken questions only"));
        };
        let config = Config { system_prompt: system.to_owned(), max_tokens, ..self.config.clone() };
        let models = Models::load(&config, &self.store)?;
        let started = Instant::now();
        let question = [&vec![0.0; BEFORE][..], samples].concat();
        let host = FileHost::new(Samples::from(question));
        let report = Assistant::start(&config, models, Box::new(host))?.join()?;
        let join = |parts: Vec<&str>| parts.join(" ").trim().to_owned();
        let last = report.turns.last();
        Ok(Reply {
            response: join(report.turns.iter().map(|t| t.assistant.as_str()).collect()),
            heard: Some(join(report.turns.iter().map(|t| t.user.as_str()).collect())),
            option_logprobs: Vec::new(),
            prompt_tokens: report.turns.iter().map(|t| t.prefill_tokens + t.reused_tokens).sum(),
            generated_tokens: report.turns.iter().map(|t| t.generated_tokens).sum(),
            cut: last.is_some_and(|t| t.generated_tokens >= max_tokens),
            asr_ms: None,
            first_token_ms: last.and_then(|t| t.first_token_ms.from_speech_end),
            first_audio_ms: last.and_then(|t| t.first_audio_ms.from_speech_end),
            total_ms: started.elapsed().as_secs_f64() * 1000.0,
        })
    }
}
