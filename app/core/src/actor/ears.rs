//! Blocks from the microphone to VAD events.

use std::sync::Arc;

use crossbeam_channel::Sender;
use vad::{Vad, VadEvent};

use crate::audio::Microphone;
use crate::clock::Clock;
use crate::dialogue::Input;
use crate::echo::EchoCanceller;
use crate::recording::Recording;

/// What hears.
pub(crate) struct Ears {
    pub(crate) microphone: Microphone,
    pub(crate) echo: Option<EchoCanceller>,
    pub(crate) vad: Vad,
    pub(crate) clock: Arc<Clock>,
    pub(crate) recording: Arc<Recording>,
    pub(crate) dialogue: Sender<Input>,
}

impl Ears {
    /// Runs until the microphone or the dialogue is gone.
    pub(crate) fn run(mut self) {
        while let Some(mut block) = self.microphone.read() {
            self.clock.tick(block.end());
            if let Some(echo) = &mut self.echo {
                echo.clean(&mut block.near, &block.far);
            }
            self.recording.push(&block.near);
            let events = match self.vad.push(&block.near) {
                Ok(events) => events,
                Err(error) => {
                    let message = format!("the voice activity detector failed: {error}");
                    let _ = self.dialogue.send(Input::Failed { turn: None, utterance: None, message });
                    return;
                }
            };
            for event in events {
                if let VadEvent::Frame { is_speech, .. } = event {
                    self.recording.judge(is_speech);
                }
                if self.dialogue.send(Input::Vad(event)).is_err() {
                    return;
                }
            }
        }
    }
}
