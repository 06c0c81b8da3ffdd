//! An utterance decoded while it grows.

use std::sync::atomic::AtomicBool;

use crate::{Options, Pass, Result, Transcriber, Transcript};

/// What is known of an unfinished utterance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partial {
    /// Words that two decodes in a row agreed on; only ever grows until `reset`.
    pub stable: String,
    /// The rest of the latest hypothesis; may change.
    pub unstable: String,
}

/// One utterance: push audio as it comes, ask for a partial whenever there is time, finish at a pause.
#[derive(Debug)]
pub struct Stream<T> {
    transcriber: T,
    options: Options,
    audio: Vec<f32>,
}

impl<T: Transcriber> Stream<T> {
    /// A stream for one utterance after another; `options.pass` and `options.draft` are set by the stream itself.
    pub fn new(transcriber: T, options: Options) -> Self {
        Stream {
            transcriber,
            options,
            audio: Vec::new(),
        }
    }

    /// Appends samples of which the caller does not know whether they are speech.
    pub fn push(&mut self, samples: &[f32]) {
        self.audio.extend_from_slice(samples);
    }

    /// Appends samples that a voice activity detector has judged.
    pub fn push_judged(&mut self, samples: &[f32], is_speech: bool) {
        let _ = is_speech;
        self.push(samples);
    }

    /// Decodes what is there.
    ///
    /// # Errors
    /// As [`Transcriber::transcribe`]; the stream stays usable after any error.
    pub fn partial(&mut self, cancel: &AtomicBool) -> Result<Partial> {
        let options = Options {
            pass: Pass::Partial,
            ..self.options.clone()
        };
        let transcript = self.transcriber.transcribe(&self.audio, &options, cancel)?;
        Ok(Partial {
            stable: String::new(),
            unstable: transcript.text,
        })
    }

    /// The transcript of everything pushed since `reset`, through the last sample. The utterance stays open: push more
    /// and finish again if the user goes on. If only silence was added since, the earlier result comes back at once.
    ///
    /// # Errors
    /// As [`Transcriber::transcribe`]; the stream stays usable after any error.
    pub fn finish(&mut self, cancel: &AtomicBool) -> Result<Transcript> {
        let options = Options {
            pass: Pass::Final,
            ..self.options.clone()
        };
        self.transcriber.transcribe(&self.audio, &options, cancel)
    }

    /// Forgets the utterance and starts the next.
    pub fn reset(&mut self) {
        self.audio.clear();
    }

    /// Samples pushed since `reset`.
    pub fn len(&self) -> usize {
        self.audio.len()
    }

    /// True if nothing was pushed since `reset`.
    pub fn is_empty(&self) -> bool {
        self.audio.is_empty()
    }

    /// The options, to change language, threads or prompt between decodes.
    pub fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }
}
