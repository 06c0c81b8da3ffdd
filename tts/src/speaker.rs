//! Several voices as one: each clause goes to the first voice that speaks its language.

mod resample;

use std::sync::atomic::AtomicBool;

use crate::{Clause, Error, Language, Result, Speech, Synthesizer};
use resample::Resampler;

/// Voices in order of preference, all heard at the rate of the first.
pub struct Speaker {
    voices: Vec<Box<dyn Synthesizer>>,
    sample_rate: u32,
}

impl Speaker {
    /// A speaker with one voice.
    pub fn new(voice: Box<dyn Synthesizer>) -> Speaker {
        Speaker { sample_rate: voice.sample_rate(), voices: vec![voice] }
    }

    /// Adds a voice for the languages that those before it do not speak.
    pub fn with(mut self, voice: Box<dyn Synthesizer>) -> Speaker {
        self.voices.push(voice);
        self
    }
}

impl Synthesizer for Speaker {
    fn sample_rate(&self) -> u32 {
        self.sample_rate
    }

    fn speaks(&self, language: Language) -> bool {
        self.voices.iter().any(|v| v.speaks(language))
    }

    fn synthesize(&mut self, clause: &Clause, cancel: &AtomicBool, sink: &mut dyn FnMut(Speech)) -> Result<()> {
        let rate = self.sample_rate;
        let Some(voice) = self.voices.iter_mut().find(|v| v.speaks(clause.language)) else {
            return Err(Error::Language { voice: "of this speaker".to_owned(), language: clause.language });
        };
        if voice.sample_rate() == rate {
            return voice.synthesize(clause, cancel, sink);
        }
        let mut resampler = Resampler::new(voice.sample_rate(), rate);
        voice.synthesize(clause, cancel, &mut |speech| {
            let words = speech.words.into_iter().map(|mut word| {
                word.samples = resampler.position(word.samples.start)..resampler.position(word.samples.end);
                word
            });
            let words = words.collect();
            sink(Speech { samples: resampler.push(&speech.samples), words });
        })?;
        let tail = resampler.finish();
        if !tail.is_empty() && !cancel.load(std::sync::atomic::Ordering::Relaxed) {
            sink(Speech { samples: tail, words: Vec::new() });
        }
        Ok(())
    }
}
