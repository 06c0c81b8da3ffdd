//! Scores the audio of an utterance for the end of the turn.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use turn_detect::SmartTurn;

use crate::audio::{EAR_RATE, SamplePos};
use crate::dialogue::Input;
use crate::recording::Recording;

/// Smart-turn looks at the last 8 s.
const WINDOW: u64 = 8 * EAR_RATE as u64;

/// One request.
#[derive(Debug)]
pub(crate) struct Score {
    pub(crate) utterance: u64,
    pub(crate) from: SamplePos,
    pub(crate) to: SamplePos,
    pub(crate) speech_end: SamplePos,
}

/// What judges.
pub(crate) struct TurnJudge {
    pub(crate) smart_turn: SmartTurn,
    pub(crate) recording: Arc<Recording>,
    pub(crate) requests: Receiver<Score>,
    pub(crate) dialogue: Sender<Input>,
}

impl TurnJudge {
    /// Runs until nobody asks any more.
    pub(crate) fn run(mut self) {
        while let Ok(mut request) = self.requests.recv() {
            // Only the latest matters.
            while let Ok(newer) = self.requests.try_recv() {
                request = newer;
            }
            let Score { utterance, from, to, speech_end } = request;
            let audio = self.recording.samples(from.max(to.saturating_sub(WINDOW))..to);
            let input = match self.smart_turn.score(&audio) {
                Ok(p_complete) => Input::Scored { utterance, speech_end, p_complete },
                Err(error) => {
                    // Silence alone still ends the turn.
                    let message = format!("the end of the turn could not be scored: {error}");
                    Input::Failed { turn: None, utterance: None, message }
                }
            };
            if self.dialogue.send(input).is_err() {
                return;
            }
        }
    }
}
