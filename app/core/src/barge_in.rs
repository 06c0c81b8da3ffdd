//! The one gate that decides what speech over an answer means, for VAD and ASR events alike.
//!
//! It is reversible until words are understood: first quieter, then silent but kept, then over or resumed. While an
//! answer has not become audible yet, the same gate holds it back.

use crate::audio::SamplePos;
use crate::words::{Overlap, normalised, overlap};

/// When each step is taken.
#[derive(Debug, Clone, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct BargeInConfig {
    /// Speech that pauses the answer, in ms. Shorter sounds only make it quieter: most coughs and clicks are shorter
    /// than 250 ms, and a listener hears a pause as an answer's end only after about that long.
    pub pause_after_ms: u32,
    /// Silence without understood words after which a held answer resumes, in ms.
    pub resume_after_ms: u32,
    /// Gain of a ducked answer. 0.25 is -12 dB: clearly quieter, still intelligible.
    pub duck_gain: f32,
    /// Words that are no backchannel needed to cancel. "stop" always suffices.
    pub min_words: usize,
    /// Speech needed before a partial transcript may cancel, in ms: shorter clips make Whisper invent words. A
    /// final transcript may always.
    pub trust_partial_after_ms: u32,
}

impl Default for BargeInConfig {
    fn default() -> Self {
        Self { pause_after_ms: 250, resume_after_ms: 1500, duck_gain: 0.25, min_words: 1, trust_partial_after_ms: 450 }
    }
}

/// What the gate wants done to the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Make it quieter.
    Duck,
    /// Silence it, keeping the rest.
    Pause,
    /// It is over.
    Cancel,
    /// Undo ducking and pausing.
    Resume,
}

/// Whether a transcript may still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Decoded while the user speaks.
    Partial,
    /// Decoded through the last sample before a pause.
    Final,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// Nobody speaks over the answer.
    Calm,
    /// Somebody may; the answer is ducked.
    Suspect { speech: u64 },
    /// Somebody does; the answer is silent. `since`: end of the last speech frame.
    Held { speech: u64, since: SamplePos },
    /// What is being said was judged to be no interruption; it may go on until it ends.
    Tolerated,
}

/// The gate for one answer.
#[derive(Debug, Clone)]
pub struct Gate {
    config: BargeInConfig,
    state: State,
    seen: SamplePos,
}

impl Gate {
    /// A gate for a new answer.
    #[must_use]
    pub fn new(config: BargeInConfig) -> Self {
        Self { config, state: State::Calm, seen: 0 }
    }

    /// Whether the answer is ducked or held.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        matches!(self.state, State::Suspect { .. } | State::Held { .. })
    }

    /// Speech began at or before `now`.
    pub fn speech_started(&mut self, now: SamplePos) -> Option<Verdict> {
        if self.state != State::Calm {
            return None;
        }
        self.seen = now;
        self.state = State::Suspect { speech: 0 };
        Some(Verdict::Duck)
    }

    /// One VAD frame that ends at `end`; frames come in order.
    pub fn frame(&mut self, end: SamplePos, is_speech: bool) -> Option<Verdict> {
        let len = end.saturating_sub(self.seen);
        self.seen = end;
        match &mut self.state {
            State::Suspect { speech } => {
                if is_speech {
                    *speech += len;
                }
                if *speech >= ms(self.config.pause_after_ms) {
                    self.state = State::Held { speech: *speech, since: end };
                    return Some(Verdict::Pause);
                }
                None
            }
            State::Held { speech, since } => {
                if is_speech {
                    *speech += len;
                    *since = end;
                }
                None
            }
            State::Tolerated | State::Calm => None,
        }
    }

    /// The sound has been over for a while: whatever was not cancelled goes on. `at`: now.
    pub fn silence(&mut self, at: SamplePos) -> Option<Verdict> {
        match self.state {
            State::Held { since, .. } if at.saturating_sub(since) >= ms(self.config.resume_after_ms) => self.calm(),
            _ => None,
        }
    }

    /// The utterance ended with nothing that asks for an answer.
    pub fn dismissed(&mut self) -> Option<Verdict> {
        let disturbed = self.is_disturbed();
        self.state = State::Calm;
        disturbed.then_some(Verdict::Resume)
    }

    /// What was understood of the speech over the answer, from its beginning.
    pub fn words(&mut self, text: &str, certainty: Certainty) -> Option<Verdict> {
        let speech = match self.state {
            State::Suspect { speech } | State::Held { speech, .. } => speech,
            State::Calm | State::Tolerated => return None,
        };
        match (overlap(text), certainty) {
            (Overlap::Stop, _) => self.cancel(),
            (Overlap::Words, Certainty::Final) if self.enough(text) => self.cancel(),
            (Overlap::Words, Certainty::Partial)
                if self.enough(text) && speech >= ms(self.config.trust_partial_after_ms) =>
            {
                self.cancel()
            }
            (_, Certainty::Final) => self.dismissed(),
            (_, Certainty::Partial) => None,
        }
    }

    fn enough(&self, text: &str) -> bool {
        normalised(text).len() >= self.config.min_words
    }

    fn cancel(&mut self) -> Option<Verdict> {
        self.state = State::Calm;
        Some(Verdict::Cancel)
    }

    fn calm(&mut self) -> Option<Verdict> {
        self.state = State::Tolerated;
        Some(Verdict::Resume)
    }
}

fn ms(ms: u32) -> u64 {
    u64::from(ms) * 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One step of a script: what the gate is told.
    enum Told {
        Onset,
        Speech(u32),
        Silence(u32),
        Partial(&'static str),
        Final(&'static str),
    }
    use Told::*;
    use Verdict::{Cancel, Duck, Pause, Resume};

    fn check(script: &[Told], expected: &[Verdict]) {
        let mut gate = Gate::new(BargeInConfig::default());
        let mut now = 16_000;
        let mut got = Vec::new();
        for told in script {
            match *told {
                Onset => got.extend(gate.speech_started(now)),
                Speech(ms) | Silence(ms) => {
                    for _ in 0..ms / 32 {
                        now += 512;
                        let is_speech = matches!(told, Speech(_));
                        got.extend(gate.frame(now, is_speech));
                        if !is_speech {
                            got.extend(gate.silence(now));
                        }
                    }
                }
                Partial(text) => got.extend(gate.words(text, Certainty::Partial)),
                Final(text) => got.extend(gate.words(text, Certainty::Final)),
            }
        }
        assert_eq!(got, expected);
    }

    #[test]
    fn a_cough_only_ducks() {
        check(&[Onset, Speech(160), Silence(128), Final("")], &[Duck, Resume]);
    }

    #[test]
    fn a_backchannel_pauses_and_resumes() {
        check(&[Onset, Speech(320), Silence(128), Final("Mhm.")], &[Duck, Pause, Resume]);
        check(&[Onset, Speech(320), Partial("yeah"), Silence(128), Final("Yeah, okay.")], &[Duck, Pause, Resume]);
    }

    #[test]
    fn words_cancel_once_they_can_be_trusted() {
        check(&[Onset, Speech(320), Partial("You"), Speech(320), Partial("You know")], &[Duck, Pause, Cancel]);
        check(&[Onset, Speech(192), Silence(128), Final("No")], &[Duck, Cancel]);
    }

    #[test]
    fn stop_cancels_at_once() {
        check(&[Onset, Speech(288), Partial("Stop")], &[Duck, Pause, Cancel]);
        check(&[Onset, Speech(192), Silence(96), Final("停")], &[Duck, Cancel]);
    }

    #[test]
    fn no_transcript_at_the_timeout_resumes() {
        check(&[Onset, Speech(320), Silence(1600)], &[Duck, Pause, Resume]);
    }

    #[test]
    fn the_next_utterance_starts_afresh() {
        check(
            &[Onset, Speech(320), Silence(96), Final("mhm"), Onset, Speech(320), Silence(96), Final("mhm")],
            &[Duck, Pause, Resume, Duck, Pause, Resume],
        );
    }
}
