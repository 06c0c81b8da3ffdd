//! An answer on its way: what the model wrote, where its words lie in the audio, how much of that was played.

use std::ops::Range;

use crate::audio::{SamplePos, to_ms};
use crate::barge_in::Gate;
use crate::message::TurnId;
use crate::report::{Events, Turn};

/// Where one spoken word lies in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpokenWord {
    /// Bytes of the raw text that it speaks.
    pub source: Range<usize>,
    /// One past its last sample, counted from the answer's first sample, at the voice's rate.
    pub end: u64,
}

/// One answer, speculative until its turn is committed.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub turn: TurnId,
    /// What it answers.
    pub user: String,
    /// First sample of the utterance that it answers, pre-roll included.
    pub utterance_from: SamplePos,
    /// All that the model wrote.
    pub text: String,
    pub words: Vec<SpokenWord>,
    /// Samples of it that left the sink, at the voice's rate.
    pub played: u64,
    /// Whether a sample above the audible level has left the sink.
    pub audible: bool,
    /// Judges what is said over it.
    pub gate: Gate,
    pub prefill_tokens: usize,
    pub reused_tokens: usize,
    pub generated_tokens: usize,
    pub speculations: u32,
    pub events: Events,
}

impl Reply {
    pub(super) fn new(turn: TurnId, user: String, utterance_from: SamplePos, gate: Gate) -> Self {
        Self {
            turn,
            user,
            utterance_from,
            text: String::new(),
            words: Vec::new(),
            played: 0,
            audible: false,
            gate,
            prefill_tokens: 0,
            reused_tokens: 0,
            generated_tokens: 0,
            speculations: 0,
            events: Events::default(),
        }
    }

    /// Sets one event's time unless it already happened.
    pub(super) fn mark(slot: &mut Option<f64>, at: SamplePos) {
        slot.get_or_insert(to_ms(at));
    }

    /// The part of the text whose audio has left the sink, through the last word of which more than half was played.
    pub(super) fn heard(&self) -> &str {
        let mut start = 0;
        let mut heard = 0;
        for word in &self.words {
            if (start + word.end) / 2 >= self.played {
                break;
            }
            heard = heard.max(word.source.end);
            start = word.end;
        }
        // A word's source may end inside what a later token completes.
        let mut end = heard.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        &self.text[..end]
    }

    /// The report of this turn; `number` counts committed turns from 1.
    pub(super) fn into_turn(self, number: u64, interrupted: bool) -> Turn {
        let heard = if interrupted { self.heard().to_owned() } else { self.text.clone() };
        let mut turn = Turn {
            id: number,
            heard,
            user: self.user,
            assistant: self.text,
            interrupted,
            speculations: self.speculations,
            prefill_tokens: self.prefill_tokens,
            reused_tokens: self.reused_tokens,
            generated_tokens: self.generated_tokens,
            events_ms: self.events,
            ..Turn::default()
        };
        turn.measure();
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barge_in::BargeInConfig;

    fn heard(played: u64) -> String {
        let gate = Gate::new(BargeInConfig::default());
        let mut reply = Reply::new(TurnId(1), "hi".into(), 0, gate);
        reply.text = "One two, **three**.".into();
        for (source, end) in [(0..3, 1000), (4..7, 2000), (11..16, 3000)] {
            reply.words.push(SpokenWord { source, end });
        }
        reply.played = played;
        reply.heard().to_owned()
    }

    #[test]
    fn heard_is_a_prefix_that_ends_with_a_played_word() {
        for (played, expected) in
            [(0, ""), (400, ""), (600, "One"), (1400, "One"), (1600, "One two"), (99_999, "One two, **three")]
        {
            assert_eq!(heard(played), expected, "{played}");
        }
    }
}
