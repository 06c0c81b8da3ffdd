//! Speaks answers while they are being written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use tts::{Clause, ClausePlan, ClauseStream, StreamConfig, Synthesizer};

use crate::audio::{Queued, Speaker};
use crate::budget::Budget;
use crate::clock::Clock;
use crate::dialogue::{Input, SpokenWord};
use crate::message::TurnId;

/// With less audio than this ahead, the next chunk is urgent: it takes the voice about this long to make one.
const URGENT_BELOW: Duration = Duration::from_millis(400);

/// What the voice is told.
#[derive(Debug)]
pub(crate) enum Say {
    /// More of an answer's text.
    Text {
        /// Which answer.
        turn: TurnId,
        /// Whole characters.
        text: String,
        /// Raised when the answer is not wanted any more.
        cancel: Arc<AtomicBool>,
    },
    /// All of an answer's text was told.
    End {
        /// Which answer.
        turn: TurnId,
        /// As above.
        cancel: Arc<AtomicBool>,
    },
}

/// What speaks.
pub(crate) struct Voice {
    pub(crate) synthesizer: Box<dyn Synthesizer>,
    /// How large its chunks are.
    pub(crate) plan: ClausePlan,
    pub(crate) speaker: Speaker,
    pub(crate) requests: Receiver<Say>,
    pub(crate) dialogue: Sender<Input>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) clock: Arc<Clock>,
}

/// The answer that is being spoken.
struct Answer {
    turn: TurnId,
    clauses: ClauseStream,
    /// Samples given to the speaker so far.
    samples: u64,
    started: bool,
}

/// The dialogue or the host is gone.
struct Gone;

impl Voice {
    /// Runs until nobody tells anything any more.
    pub(crate) fn run(mut self) {
        let mut answer = None;
        while let Ok(say) = self.requests.recv() {
            if self.take(say, &mut answer).is_err() {
                return;
            }
        }
    }

    fn take(&mut self, say: Say, answer: &mut Option<Answer>) -> Result<(), Gone> {
        let (turn, cancel) = match &say {
            Say::Text { turn, cancel, .. } | Say::End { turn, cancel } => (*turn, cancel.clone()),
        };
        if cancel.load(Ordering::Acquire) {
            return Ok(());
        }
        let answer = match answer {
            Some(answer) if answer.turn == turn => answer,
            other => {
                let clauses = ClauseStream::new(StreamConfig { plan: self.plan, ..StreamConfig::default() });
                other.insert(Answer { turn, clauses, samples: 0, started: false })
            }
        };
        answer.clauses.audio_queued(u32::try_from(self.speaker.queued().as_millis()).unwrap_or(u32::MAX));
        let clauses = match &say {
            Say::Text { text, .. } => answer.clauses.push(text),
            Say::End { .. } => answer.clauses.finish(),
        };
        for clause in clauses {
            self.speak(answer, &clause, &cancel)?;
        }
        if let Say::End { .. } = say {
            self.budget.voice_is_urgent(false);
            if self.speaker.finish(turn.0, &cancel) == Queued::Closed {
                return Err(Gone);
            }
        }
        Ok(())
    }

    fn speak(&mut self, answer: &mut Answer, clause: &Clause, cancel: &AtomicBool) -> Result<(), Gone> {
        let turn = answer.turn;
        if !answer.started {
            answer.started = true;
            self.dialogue.send(Input::Clause { turn, at: self.clock.now() }).map_err(|_| Gone)?;
        }
        self.budget.wait_to_speak(cancel);
        self.budget.voice_is_urgent(self.speaker.queued() < URGENT_BELOW);
        let base = answer.samples;
        let mut gone = false;
        let result = self.synthesizer.synthesize(clause, cancel, &mut |speech| {
            self.budget.voice_is_urgent(false);
            let words = speech.words.iter();
            let words =
                words.map(|w| SpokenWord { source: w.source.clone(), end: base + w.samples.end as u64 }).collect();
            let told = self.dialogue.send(Input::Chunk { turn, words, at: self.clock.now() });
            gone |= told.is_err() || self.speaker.play(turn.0, &speech.samples, cancel) == Queued::Closed;
            answer.samples += speech.samples.len() as u64;
        });
        self.budget.voice_is_urgent(false);
        if let Err(error) = result {
            let message = format!("the answer could not be spoken: {error}");
            let input = Input::Failed { turn: Some(turn), utterance: None, message };
            self.dialogue.send(input).map_err(|_| Gone)?;
        }
        if gone { Err(Gone) } else { Ok(()) }
    }
}
