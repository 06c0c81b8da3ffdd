//! The staged decision: how much silence is enough, given how finished the turn sounds and reads.
//!
//! A short silence is enough when the audio model is sure, a longer one when it is not, and a hard cap ends every turn.
//! Words that cannot end a sentence ask for more, an answer that is complete by itself for less. Speculation starts at
//! the first checkpoint and costs nothing but work: no audio leaves before [`Decision::Commit`].
//!
//! The defaults come from 252 pauses and 146 ends (`tests/data/pauses.tsv`, with a recogniser's own transcripts); the
//! example `curve` prints what they give and what else could be had. Three findings shaped them:
//! - The audio model tells ends from pauses best after 200 ms, almost as well after 100 ms, and worse with every later
//!   look (area under the curve 0.75, 0.74, then 0.71 at 500 ms and 0.69 at 1200 ms), for long silence alone sounds
//!   finished to it. So it is asked twice and no more.
//! - An unfinished text is worth more than any score: 145 of the 252 pauses had one, and 4 of the 146 ends.
//! - Full stops and question marks are worth nothing: the recogniser sets them behind almost every pause.

use crate::text::{self, Closed, TextCue};
use crate::{Error, Result};

/// What to do at this length of silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// Go on listening.
    Wait,
    /// Start on the provisional transcript, but let no audio out.
    Speculate,
    /// The turn is over: answer.
    Commit,
}

/// At `silence_ms` and later, a probability of at least `p_complete` ends the turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// Milliseconds since the last speech sample.
    pub silence_ms: u32,
    /// The least probability that commits from here on.
    pub p_complete: f32,
}

/// The staged decision's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointingConfig {
    /// Silence at which speculation starts, in milliseconds. Stop consonants close the mouth for up to 80 ms.
    pub speculate_ms: u32,
    /// Checkpoints of growing silence and falling demands.
    pub stages: Vec<Stage>,
    /// Added to the probability's log-odds when the words are complete by themselves ("yes", a whole number).
    pub complete_bonus: f32,
    /// Taken from the probability's log-odds when the words cannot end a sentence. The model's surest answer, 0.99, is
    /// 4.6; the default outweighs it, so such a turn waits for the cap.
    pub unfinished_malus: f32,
    /// Silence that ends any turn, in milliseconds.
    pub cap_ms: u32,
}

impl Default for EndpointingConfig {
    /// Three of four ends are committed at the first stage. The second is for turns that sound complete but not surely
    /// so, the third for all others but the unfinished ones; most thinking pauses are over by then.
    fn default() -> Self {
        let stage = |silence_ms, p_complete| Stage { silence_ms, p_complete };
        Self {
            speculate_ms: 100,
            stages: vec![stage(200, 0.94), stage(700, 0.88), stage(1_400, 0.05)],
            complete_bonus: 2.5,
            unfinished_malus: 10.0,
            cap_ms: 3_000,
        }
    }
}

/// Decides when a turn is over. A pure function of silence, probability and words.
#[derive(Clone, Debug, Default)]
pub struct Endpointing {
    config: EndpointingConfig,
}

impl Endpointing {
    /// Checks the settings.
    ///
    /// # Errors
    /// Names the field, its value and its range.
    pub fn new(config: EndpointingConfig) -> Result<Self> {
        let refuse = |name, value: String, range| Err(Error::Config { name, value, range });
        let mut before = config.speculate_ms;
        for stage in &config.stages {
            if stage.silence_ms < before || stage.silence_ms > config.cap_ms {
                return refuse("stages", format!("{stage:?}"), "of growing silence between speculate_ms and cap_ms");
            }
            if !(0.0..=1.0).contains(&stage.p_complete) {
                return refuse("stages", format!("{stage:?}"), "of probabilities from 0 to 1");
            }
            before = stage.silence_ms;
        }
        if config.cap_ms < config.speculate_ms {
            return refuse("cap_ms", config.cap_ms.to_string(), "at least speculate_ms");
        }
        for (name, value) in [("complete_bonus", config.complete_bonus), ("unfinished_malus", config.unfinished_malus)]
        {
            if !(0.0..=20.0).contains(&value) {
                return refuse(name, value.to_string(), "from 0 to 20");
            }
        }
        Ok(Self { config })
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &EndpointingConfig {
        &self.config
    }

    /// What to do after `silence_ms` without speech, when the audio model gave `p_complete` (if it was asked already)
    /// and the transcript so far reads `text`.
    #[must_use]
    pub fn decide(&self, silence_ms: u32, p_complete: Option<f32>, text: &str) -> Decision {
        let config = &self.config;
        if silence_ms >= config.cap_ms {
            return Decision::Commit;
        }
        if silence_ms < config.speculate_ms {
            return Decision::Wait;
        }
        let reached = config.stages.iter().rev().find(|stage| silence_ms >= stage.silence_ms);
        match (reached, p_complete) {
            (Some(stage), Some(p)) if self.weigh(p, text) >= stage.p_complete => Decision::Commit,
            _ => Decision::Speculate,
        }
    }

    /// The next length of silence, after `silence_ms`, at which asking the audio model pays off; `None` when another
    /// answer would only mislead. The decision itself costs nothing and may be asked for at every frame.
    #[must_use]
    pub fn next_checkpoint_ms(&self, silence_ms: u32) -> Option<u32> {
        let first_stage = self.config.stages.first().map(|stage| stage.silence_ms);
        [Some(self.config.speculate_ms), first_stage].into_iter().flatten().find(|&checkpoint| checkpoint > silence_ms)
    }

    /// The probability after the words have had their say.
    fn weigh(&self, p: f32, text: &str) -> f32 {
        let shift = match text::cue(text) {
            TextCue::Finished(Closed::Reply | Closed::Dictation) => self.config.complete_bonus,
            TextCue::Finished(Closed::Question | Closed::Sentence) | TextCue::Undecided => 0.0,
            TextCue::Unfinished(_) => -self.config.unfinished_malus,
        };
        // NaN stays NaN and commits nothing but the cap.
        let p = p.clamp(1e-6, 1.0 - 1e-6);
        1.0 / (1.0 + (-((p / (1.0 - p)).ln() + shift)).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{Commit, Speculate, Wait};

    #[test]
    fn decides_by_stages() {
        let endpointing = Endpointing::default();
        let cases = [
            // Too short to mean anything, whatever the model says.
            (0, Some(0.99), "yes", Wait),
            (96, Some(0.99), "what time is it?", Wait),
            // The first pause: think, but keep quiet.
            (100, Some(0.99), "what time is it?", Speculate),
            (100, None, "what time is it?", Speculate),
            // Sure.
            (200, Some(0.95), "what time is it?", Commit),
            (199, Some(0.95), "what time is it?", Speculate),
            (200, None, "what time is it?", Speculate),
            // Less sure: later.
            (200, Some(0.9), "what time is it?", Speculate),
            (700, Some(0.9), "what time is it?", Commit),
            (700, Some(0.5), "what time is it?", Speculate),
            (1_400, Some(0.5), "what time is it?", Commit),
            (1_400, Some(0.01), "what time is it?", Speculate),
            // Complete by itself.
            (200, Some(0.7), "Yes.", Commit),
            (200, Some(0.7), "Yesterday.", Speculate),
            // Unfinished: not even for a sure model, but the cap ends it.
            (1_400, Some(0.99), "Could you tell me the name of?", Speculate),
            (2_999, Some(0.99), "I'd like to book a, um,", Speculate),
            (3_000, Some(0.0), "I'd like to book a, um,", Commit),
            (3_000, None, "", Commit),
            (u32::MAX, None, "", Commit),
            // A broken score is no score.
            (2_999, Some(f32::NAN), "what time is it?", Speculate),
        ];
        for (silence_ms, p_complete, text, expected) in cases {
            let got = endpointing.decide(silence_ms, p_complete, text);
            assert_eq!(got, expected, "{silence_ms} ms, {p_complete:?}, {text:?}");
        }
    }

    #[test]
    fn more_silence_never_takes_a_decision_back() {
        let endpointing = Endpointing::default();
        for text in ["", "yes", "and", "what time is it?"] {
            for p in [0.0, 0.3, 0.6, 0.9, 1.0] {
                let decisions: Vec<_> = (0..3_100).map(|ms| endpointing.decide(ms, Some(p), text)).collect();
                assert!(decisions.is_sorted(), "{text:?}, {p}");
                assert_eq!(decisions.last(), Some(&Commit));
            }
        }
    }

    #[test]
    fn the_model_is_asked_at_the_first_pause_and_at_the_first_stage() {
        let endpointing = Endpointing::default();
        let cases = [(0, Some(100)), (99, Some(100)), (100, Some(200)), (128, Some(200)), (200, None), (5_000, None)];
        for (silence_ms, expected) in cases {
            assert_eq!(endpointing.next_checkpoint_ms(silence_ms), expected, "{silence_ms}");
        }
    }

    #[test]
    fn refuses_what_cannot_work_and_names_it() {
        type Change = fn(&mut EndpointingConfig);
        let cases: [(&str, Change); 5] = [
            ("stages", |c| c.stages.reverse()),
            ("stages", |c| c.stages[0].p_complete = f32::NAN),
            ("cap_ms", |c| (c.stages.clear(), c.cap_ms = 50).1),
            ("complete_bonus", |c| c.complete_bonus = -1.0),
            ("unfinished_malus", |c| c.unfinished_malus = f32::INFINITY),
        ];
        for (field, change) in cases {
            let mut config = EndpointingConfig::default();
            change(&mut config);
            let message = Endpointing::new(config).unwrap_err().to_string();
            assert!(message.contains(field), "{message}");
        }
        Endpointing::new(EndpointingConfig::default()).unwrap();
    }
}
