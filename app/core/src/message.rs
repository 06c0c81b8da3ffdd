//! What passes between the conversation and the world around it: commands in, events out.

use std::fmt;

use crate::audio::SamplePos;

/// One attempt at an answer, from the moment the model starts on a transcript. A barge-in, a revised transcript
/// and a new question each raise it, and whatever carries an older one is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TurnId(pub u64);

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What a shell may ask of a running conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Stop speaking and thinking now. Keeps what was heard.
    Interrupt,
    /// Answer this text as though the user had said it.
    Ask(String),
    /// Speak this text as it stands; it becomes part of the conversation.
    Say(String),
    /// End the conversation once the present answer has been spoken.
    Finish,
    /// End the conversation now.
    Shutdown,
}

/// Why a paused or ducked answer stopped being paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BargeInOutcome {
    /// The user meant it: the answer is over.
    Cancelled,
    /// A cough, a "mhm", a noise: the answer goes on where it stopped.
    Resumed,
}

/// What a conversation tells its shell, in the past tense. Positions are on the sample clock of the input.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Everything is loaded and warm; the microphone is open.
    Ready,
    /// The user began to speak.
    SpeechStarted {
        /// First sample with speech in it.
        at: SamplePos,
    },
    /// What has been understood so far of an utterance that is still going on.
    PartialTranscript {
        /// All words so far; later ones may still change.
        text: String,
    },
    /// The user's turn is over and this is what was understood.
    TurnCommitted {
        /// The answer that now may be heard.
        turn: TurnId,
        /// The transcript.
        user: String,
    },
    /// The user went on before anything of the answer was heard: the turn is taken back and its words become the
    /// beginning of the utterance that goes on.
    TurnWithdrawn {
        /// The answer that will never be heard.
        turn: TurnId,
    },
    /// The model produced text for a committed turn.
    AssistantText {
        /// Which answer.
        turn: TurnId,
        /// The new piece only.
        text: String,
    },
    /// The first audible sample of an answer left for the loudspeaker.
    SpeakingStarted {
        /// Which answer.
        turn: TurnId,
    },
    /// The user spoke over the answer, which is paused until it is clear whether it was meant.
    Paused {
        /// Which answer.
        turn: TurnId,
    },
    /// An answer that had been paused goes on.
    Resumed {
        /// Which answer.
        turn: TurnId,
    },
    /// A turn is over: spoken to the end, or interrupted.
    TurnFinished(Box<crate::report::Turn>),
    /// A sound that was not words, or words that ask for nothing ("stop"), ended without a turn.
    Dismissed,
    /// An audio device went away; the conversation waits for it.
    DeviceLost(String),
    /// An audio device is back, or another took its place.
    DeviceRecovered(String),
    /// One stage failed on one turn; the conversation goes on.
    Failed {
        /// What happened and what to do about it.
        message: String,
    },
    /// The conversation is over; nothing follows.
    Ended,
}
