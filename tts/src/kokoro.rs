//! Kokoro voices: Mandarin, English and more from one network, better sounding and slower than Piper.

mod model;
mod symbols;
mod voice;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use onnx::Runtime;

use crate::audio::Trimmer;
use crate::g2p::{Symbol, english, mandarin, stretches};
use crate::{Clause, ClauseStream, Error, Language, Result, Speech, Synthesizer, VoiceConfig, timing};
use model::Model;
use voice::Voice;

pub use voice::{KokoroVoice, voices};

/// The Kokoro network with one or more voices.
pub struct Kokoro {
    model: Model,
    voices: Vec<Voice>,
    settings: VoiceConfig,
}

/// Samples per second of the network.
const SAMPLE_RATE: u32 = 24_000;
/// Tokens that go through the network at once; its positions end at 512, two of which are the edges.
const MAX_TOKENS: usize = 400;

impl Kokoro {
    /// Opens the network and a voice: a file of 510 style vectors, named by its id (`zf_xiaobei.bin`).
    ///
    /// # Errors
    /// When a file is missing or is not what its name says, or a setting is out of range.
    pub fn open(runtime: &Runtime, model: &Path, voice: &Path, settings: VoiceConfig) -> Result<Kokoro> {
        settings.check()?;
        let voices = vec![Voice::read(voice)?];
        let mut kokoro = Kokoro { model: Model::open(runtime, model, settings.threads)?, voices, settings };
        kokoro.warm_up()?;
        Ok(kokoro)
    }

    /// Adds a voice for clauses in a language that the voices before it do not speak by birth.
    ///
    /// # Errors
    /// When the file is missing or no voice.
    pub fn with_voice(mut self, voice: &Path) -> Result<Kokoro> {
        self.voices.push(Voice::read(voice)?);
        Ok(self)
    }

    fn warm_up(&mut self) -> Result<()> {
        let text = if self.voices.iter().any(|v| v.is_native(Language::Mandarin)) { "你好。" } else { "Ready." };
        let mut stream = ClauseStream::default();
        let mut clauses = stream.push(text);
        clauses.extend(stream.finish());
        for clause in &clauses {
            self.synthesize(clause, &AtomicBool::new(false), &mut |_| {})?;
        }
        Ok(())
    }

    /// Which voice speaks a language: one that was born to it, else one that has learnt it.
    fn voice(&self, language: Language) -> Option<usize> {
        let native = self.voices.iter().position(|v| v.is_native(language));
        native.or_else(|| self.voices.iter().position(|v| v.speaks(language)))
    }
}

impl Synthesizer for Kokoro {
    fn sample_rate(&self) -> u32 {
        SAMPLE_RATE
    }

    fn speaks(&self, language: Language) -> bool {
        self.voice(language).is_some()
    }

    fn synthesize(&mut self, clause: &Clause, cancel: &AtomicBool, sink: &mut dyn FnMut(Speech)) -> Result<()> {
        let Some(voice) = self.voice(clause.language) else {
            let voice = self.voices.iter().map(|v| v.id.as_str()).collect::<Vec<_>>().join(", ");
            return Err(Error::Language { voice, language: clause.language });
        };
        let symbols = match clause.language {
            Language::English => english().phonemes(clause),
            Language::Mandarin => mandarin().phonemes(clause),
        };
        let mut trimmer = Trimmer::new(SAMPLE_RATE);
        let mut timer = timing::Timer::new(clause);
        let mut rendered = 0;
        for stretch in stretches(&symbols, MAX_TOKENS) {
            if cancel.load(Ordering::Relaxed) {
                return Ok(());
            }
            let (tokens, words) = tokens(stretch);
            let rendering = self.model.run(&tokens, self.voices[voice].style(tokens.len() - 2), self.settings.speed)?;
            if cancel.load(Ordering::Relaxed) {
                return Ok(());
            }
            let frames: usize = rendering.durations.iter().sum();
            timer.place(if frames == 0 || rendering.durations.len() != words.len() {
                timing::estimated(&words, &rendering.samples, rendered)
            } else {
                timing::planned(&words, &rendering.durations, rendering.samples.len() / frames, rendered)
            });
            rendered += rendering.samples.len();
            let mut speech = trimmer.push(&rendering.samples);
            self.settings.apply_volume(&mut speech);
            if let Some(speech) = timer.speech(speech, trimmer.trimmed) {
                sink(speech);
            }
        }
        let tail = trimmer.finish(clause.pause_ms);
        if let Some(speech) = timer.finish(tail, trimmer.trimmed) {
            sink(speech);
        }
        Ok(())
    }
}

/// Token ids between two edges, and the word of each.
fn tokens(symbols: &[Symbol]) -> (Vec<i64>, Vec<Option<usize>>) {
    let mut ids = vec![symbols::EDGE];
    let mut words = vec![None];
    for symbol in symbols {
        match symbols::id(symbol.symbol) {
            Some(id) => {
                ids.push(id);
                words.push(symbol.word);
            }
            None => tracing::debug!(symbol = %symbol.symbol, "the Kokoro voices have no such phoneme; it is left out"),
        }
    }
    ids.push(symbols::EDGE);
    words.push(None);
    (ids, words)
}
