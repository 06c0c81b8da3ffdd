//! An utterance decoded while it grows.
//!
//! Audio is kept from the start of the current window. A window that is full is decoded once more, its text is
//! committed and its audio dropped, so that an utterance may last as long as it likes.

use std::sync::atomic::AtomicBool;

use crate::audio::{FRAME, is_silent};
use crate::decode::{self, WINDOW, window_len};
use crate::{Error, Options, Pass, Rejection, Result, SAMPLE_RATE, Transcriber, Transcript};

mod agreement;
use agreement::Agreement;

/// Silence kept after the last speech when the rest is left undecoded: a soft ending may lie in it.
const TAIL: usize = SAMPLE_RATE * 3 / 10;
/// Audio that may wait undecoded, 10 minutes; a caller that never decodes must not fill the memory.
const MAX_PENDING: usize = 600 * SAMPLE_RATE;
/// New audio that makes another partial worth its time.
const MIN_NEWS: usize = SAMPLE_RATE / 10;

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
    /// Samples of the current window.
    audio: Vec<f32>,
    /// Where the last speech in `audio` ends, up to `heard`.
    speech_end: usize,
    /// How far `audio` was searched for speech: whole frames only, so that the size of pushes makes no difference.
    heard: usize,
    /// Samples of `audio` that a detector called speech; `None` while no detector has spoken.
    judged_speech: Option<usize>,
    /// Samples pushed since `reset`.
    pushed: usize,
    dropped: usize,
    /// Text of the windows before this one.
    committed: Option<Transcript>,
    latest: Option<Decoded>,
    agreement: Agreement,
}

/// A completed decode of the current window.
#[derive(Clone, Debug)]
struct Decoded {
    transcript: Transcript,
    /// Samples of `audio` it has seen.
    end: usize,
    pass: Pass,
}

impl<T: Transcriber> Stream<T> {
    /// A stream for one utterance after another; `pass`, `draft` and `voiced` of the options are set by the stream.
    pub fn new(transcriber: T, options: Options) -> Self {
        Stream {
            transcriber,
            options,
            audio: Vec::new(),
            speech_end: 0,
            heard: 0,
            judged_speech: None,
            pushed: 0,
            dropped: 0,
            committed: None,
            latest: None,
            agreement: Agreement::default(),
        }
    }

    /// Appends samples of which the caller does not know whether they are speech: whatever is louder than a quiet room
    /// counts as such.
    pub fn push(&mut self, samples: &[f32]) {
        self.append(samples);
        for frame in self.audio[self.heard..].chunks_exact(FRAME) {
            self.heard += FRAME;
            if !is_silent(frame) {
                self.speech_end = self.heard;
            }
        }
    }

    /// Appends samples that a voice activity detector has judged.
    pub fn push_judged(&mut self, samples: &[f32], is_speech: bool) {
        let speech_end = self.speech_end();
        let start = self.append(samples);
        let speech = if is_speech { self.audio.len() - start } else { 0 };
        *self.judged_speech.get_or_insert(0) += speech;
        self.speech_end = if is_speech { self.audio.len() } else { speech_end };
        self.heard = self.audio.len();
    }

    /// Where the last speech ends, the frame that is not whole yet included.
    fn speech_end(&self) -> usize {
        if is_silent(&self.audio[self.heard..]) { self.speech_end } else { self.audio.len() }
    }

    fn append(&mut self, samples: &[f32]) -> usize {
        let start = self.audio.len();
        let room = MAX_PENDING.saturating_sub(start).min(samples.len());
        self.audio.extend_from_slice(&samples[..room]);
        self.pushed += samples.len();
        self.dropped += samples.len() - room;
        start
    }

    /// Decodes what is there. Without enough new speech the last partial comes back at once.
    ///
    /// # Errors
    /// As [`Transcriber::transcribe`]; the stream stays usable after a cancel.
    pub fn partial(&mut self, cancel: &AtomicBool) -> Result<Partial> {
        self.commit_full_windows(cancel)?;
        let seen = self.latest.as_ref().map_or(0, |decoded| decoded.end);
        if self.speech_end() >= seen + MIN_NEWS {
            self.decode(Pass::Partial, cancel)?;
        }
        Ok(self.current())
    }

    /// The transcript of everything pushed since `reset`, through the last sample. The utterance stays open: push more
    /// and finish again if the user goes on. If only silence was added since the last decode, its result comes back at
    /// once.
    ///
    /// # Errors
    /// As [`Transcriber::transcribe`]; [`Error::TooLong`] if audio had to be dropped because nothing was decoded for
    /// ten minutes. The stream stays usable after a cancel.
    pub fn finish(&mut self, cancel: &AtomicBool) -> Result<Transcript> {
        if self.dropped > 0 {
            return Err(Error::TooLong { seconds: (self.pushed / SAMPLE_RATE) as u64 });
        }
        self.commit_full_windows(cancel)?;
        if !self.is_covered() {
            self.decode(Pass::Final, cancel)?;
        }
        let last = self.latest.as_ref().map(|decoded| decoded.transcript.clone());
        let mut whole = self.committed.clone().unwrap_or_else(|| Transcript {
            language: self.options.language,
            rejection: Some(Rejection::Silence),
            ..Transcript::default()
        });
        if let Some(last) = last {
            decode::append(&mut whole, last);
        }
        Ok(whole)
    }

    /// True if the latest decode is as good as a final one of the audio that is there.
    fn is_covered(&self) -> bool {
        match &self.latest {
            Some(decoded) => {
                let sure = decoded.pass == Pass::Final || decoded.transcript.rejection.is_none();
                sure && decoded.end >= self.speech_end()
            }
            None => self.speech_end() == 0,
        }
    }

    fn commit_full_windows(&mut self, cancel: &AtomicBool) -> Result<()> {
        while self.audio.len() > WINDOW {
            let cut = window_len(&self.audio);
            let transcript = self.run(cut, Pass::Final, cancel)?;
            self.agreement.commit(&transcript.text);
            let committed = self.committed.get_or_insert_with(Transcript::default);
            decode::append(committed, transcript);
            self.audio.drain(..cut);
            self.speech_end = self.speech_end.saturating_sub(cut);
            self.heard = self.heard.saturating_sub(cut);
            // The share of speech in what remains is not known in detail; the whole's is the best guess.
            let total = cut + self.audio.len();
            self.judged_speech = self.judged_speech.map(|speech| speech * self.audio.len() / total);
            self.latest = None;
        }
        Ok(())
    }

    fn decode(&mut self, pass: Pass, cancel: &AtomicBool) -> Result<()> {
        let end = self.audio.len().min(self.speech_end() + TAIL);
        let transcript = self.run(end, pass, cancel)?;
        self.agreement.add(&transcript.text);
        self.latest = Some(Decoded { transcript, end, pass });
        Ok(())
    }

    fn run(&mut self, end: usize, pass: Pass, cancel: &AtomicBool) -> Result<Transcript> {
        let voiced = self.judged_speech.map(|speech| speech.min(end) as f32 / end.max(1) as f32);
        let draft = self.latest.as_ref().map(|decoded| decoded.transcript.tokens.clone()).unwrap_or_default();
        let mut options = Options { pass, voiced, draft, ..self.options.clone() };
        if let Some(committed) = &self.committed {
            options.initial_prompt.clone_from(&committed.text);
        }
        self.transcriber.transcribe(&self.audio[..end], &options, cancel)
    }

    fn current(&self) -> Partial {
        self.agreement.partial()
    }

    /// Forgets the utterance and starts the next.
    pub fn reset(&mut self) {
        self.audio.clear();
        self.speech_end = 0;
        self.heard = 0;
        self.judged_speech = None;
        self.pushed = 0;
        self.dropped = 0;
        self.committed = None;
        self.latest = None;
        self.agreement = Agreement::default();
    }

    /// Samples pushed since `reset`.
    pub fn len(&self) -> usize {
        self.pushed
    }

    /// True if nothing was pushed since `reset`.
    pub fn is_empty(&self) -> bool {
        self.pushed == 0
    }

    /// The options, to change language, threads or prompt between decodes.
    pub fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }
}

#[cfg(test)]
mod tests;
