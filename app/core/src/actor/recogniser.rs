//! Decodes stretches of the recording.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use asr::{Stream, Transcriber};
use crossbeam_channel::{Receiver, Sender};

use crate::audio::SamplePos;
use crate::clock::Clock;
use crate::dialogue::{Input, Purpose};
use crate::recording::Recording;

/// One request.
#[derive(Debug)]
pub(crate) struct Decode {
    pub(crate) utterance: u64,
    pub(crate) from: SamplePos,
    pub(crate) to: SamplePos,
    pub(crate) speech_end: SamplePos,
    pub(crate) purpose: Purpose,
    pub(crate) cancel: Arc<AtomicBool>,
}

/// What recognises.
pub(crate) struct Recogniser {
    pub(crate) stream: Stream<Box<dyn Transcriber>>,
    pub(crate) recording: Arc<Recording>,
    pub(crate) requests: Receiver<Decode>,
    pub(crate) dialogue: Sender<Input>,
    pub(crate) clock: Arc<Clock>,
}

impl Recogniser {
    /// Runs until nobody asks any more.
    pub(crate) fn run(mut self) {
        // Utterance, its first sample, and the end of what the stream holds of it.
        let mut held = (0, 0, 0);
        while let Ok(request) = self.requests.recv() {
            if (held.0, held.1) != (request.utterance, request.from) || held.2 > request.to {
                self.stream.reset();
                held = (request.utterance, request.from, request.from);
            }
            for (samples, is_speech) in self.recording.judged(held.2..request.to) {
                self.stream.push_judged(&samples, is_speech);
            }
            held.2 = request.to;
            if let Some(input) = self.decode(&request)
                && self.dialogue.send(input).is_err()
            {
                return;
            }
        }
    }

    /// `None` when it was cancelled: somebody has asked for something newer.
    fn decode(&mut self, request: &Decode) -> Option<Input> {
        let &Decode { utterance, speech_end, purpose, .. } = request;
        let text = match purpose {
            Purpose::Partial => {
                self.stream.partial(&request.cancel).map(|p| [p.stable.trim(), p.unstable.trim()].join(" "))
            }
            Purpose::Final => self.stream.finish(&request.cancel).map(|t| t.text),
        };
        match text {
            Ok(text) => {
                let text = text.trim().to_owned();
                tracing::debug!(utterance, ?purpose, text, "transcript");
                Some(match purpose {
                    Purpose::Partial => Input::Partial { utterance, text },
                    Purpose::Final => Input::Final { utterance, speech_end, text, at: self.clock.now() },
                })
            }
            Err(error) if error.is_cancelled() => None,
            Err(error) => {
                let message = format!("the speech could not be recognised: {error}");
                Some(Input::Failed { turn: None, utterance: Some(utterance), message })
            }
        }
    }
}
