//! The ears of a conversation before a language model: VAD, recogniser, model, one question at a time.
//!
//! The same library as a conversation, without its clock: a question is heard as fast as the machine can, so answers do
//! not depend on how busy it is. For delays as a user has them, see [`super::Live`].

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use asr::Transcriber;
use assets::Store;
use pocket_voice::Config;
use pocket_voice::models::{asr_options, load_asr};
use vad::{Vad, VadConfig, VadEvent};

use super::{Ask, Reply, Responder, TextModel};
use crate::sound::RATE;
use crate::{Error, Result};

/// Audio before the first and after the last speech that is recognised with it, as in a conversation.
const LEAD_IN: usize = RATE as usize / 2;
const LEAD_OUT: usize = RATE as usize / 5;

/// Ears and a language model.
pub struct Cascade {
    vad: Vad,
    recogniser: Box<dyn Transcriber>,
    options: asr::Options,
    model: TextModel,
    asr_name: String,
}

impl std::fmt::Debug for Cascade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cascade").field("asr", &self.asr_name).field("model", &self.model).finish_non_exhaustive()
    }
}

impl Cascade {
    /// Loads the ears that `config` names before `model`.
    ///
    /// # Errors
    /// The model that is missing or damaged, and the command that brings it.
    pub fn open(config: &Config, store: &Store, model: TextModel) -> Result<Self> {
        let library = store.onnxruntime().map_err(pocket_voice::Error::from)?;
        let silero = store.file("silero-vad", "silero_vad_16k_op15.onnx").map_err(pocket_voice::Error::from)?;
        let runtime = onnx::Runtime::load(&library).map_err(pocket_voice::Error::from)?;
        let vad = Vad::open(&runtime, &silero, VadConfig::default()).map_err(pocket_voice::Error::from)?;
        let recogniser = load_asr(config, store)?;
        Ok(Self { vad, recogniser, options: asr_options(config), model, asr_name: config.asr.clone() })
    }

    /// The language model behind the ears.
    pub fn model(&mut self) -> &mut TextModel {
        &mut self.model
    }

    /// What is said in a recording; empty where nothing is.
    fn hear(&mut self, samples: &[f32], cancel: &AtomicBool) -> Result<String> {
        self.vad.reset();
        let mut events = self.vad.push(samples).map_err(pocket_voice::Error::from)?;
        events.extend(self.vad.finish().map_err(pocket_voice::Error::from)?);
        let (mut first, mut last) = (None, 0usize);
        let (mut speech, mut frames) = (0usize, 0usize);
        for event in events {
            match event {
                VadEvent::SpeechStart { at } => {
                    first.get_or_insert(at.0 as usize);
                    last = samples.len(); // until its end is known
                }
                VadEvent::SpeechEnd { at } => last = at.0 as usize,
                VadEvent::Frame { is_speech, .. } if first.is_some() => {
                    frames += 1;
                    speech += usize::from(is_speech);
                }
                VadEvent::Frame { .. } => {}
            }
        }
        let Some(first) = first else { return Ok(String::new()) };
        let begin = first.saturating_sub(LEAD_IN).min(samples.len());
        let end = (last + LEAD_OUT).clamp(begin, samples.len());
        let voiced = (frames > 0).then(|| speech as f32 / frames as f32);
        let options = asr::Options { voiced, ..self.options.clone() };
        let transcript = self.recogniser.transcribe(&samples[begin..end], &options, cancel);
        Ok(transcript.map_err(pocket_voice::Error::from)?.text)
    }
}

impl Responder for Cascade {
    fn parts(&self) -> Vec<(String, String)> {
        let mut parts = vec![("vad".to_owned(), "silero-vad".to_owned()), ("asr".to_owned(), self.asr_name.clone())];
        parts.extend(self.model.parts());
        parts
    }

    fn respond(&mut self, ask: &Ask<'_>, cancel: &AtomicBool) -> Result<Reply> {
        let Ask::Speech { system, samples, max_tokens } = *ask else { return self.model.respond(ask, cancel) };
        let started = Instant::now();
        let heard = self.hear(samples, cancel)?;
        let asr_ms = started.elapsed().as_secs_f64() * 1000.0;
        if heard.trim().is_empty() {
            // In a conversation nothing would be answered.
            return Ok(Reply { heard: Some(heard), asr_ms: Some(asr_ms), total_ms: asr_ms, ..Reply::default() });
        }
        let mut reply = self.model.respond(&Ask::Text { system, prompt: &heard, max_tokens }, cancel)?;
        reply.heard = Some(heard);
        reply.asr_ms = Some(asr_ms);
        reply.first_token_ms = reply.first_token_ms.map(|ms| ms + asr_ms);
        reply.total_ms += asr_ms;
        Ok(reply)
    }
}

impl From<pocket_voice::Error> for Error {
    fn from(error: pocket_voice::Error) -> Self {
        Self::Pipeline(Box::new(error))
    }
}
