//! The staged decision: how much silence is enough, given how finished the turn sounds and reads.
//!
//! A short silence is enough when the audio model is sure, a longer one when it is not, and a hard cap ends every turn.
//! Words that cannot end a sentence ask for more, a closed question for less. Speculation starts at the first
//! checkpoint and costs nothing but work: no audio leaves before [`Decision::Commit`].

use crate::text::{self, TextCue};
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
    /// Silence at which speculation starts, in milliseconds.
    pub speculate_ms: u32,
    /// Checkpoints of growing silence and falling demands.
    pub stages: Vec<Stage>,
    /// Added to the probability's log-odds when the words read finished.
    pub finished_bonus: f32,
    /// Taken from the probability's log-odds when the words cannot end a sentence.
    pub unfinished_malus: f32,
    /// Silence that ends any turn, in milliseconds.
    pub cap_ms: u32,
}

impl Default for EndpointingConfig {
    fn default() -> Self {
        let stage = |silence_ms, p_complete| Stage { silence_ms, p_complete };
        Self {
            speculate_ms: 100,
            stages: vec![stage(200, 0.9), stage(500, 0.6), stage(1_200, 0.2)],
            finished_bonus: 0.7,
            unfinished_malus: 2.0,
            cap_ms: 3_000,
        }
    }
}

/// Decides when a turn is over. A pure function of silence, probability and words.
#[derive(Clone, Debug)]
pub struct Endpointing {
    config: EndpointingConfig,
}

impl Default for Endpointing {
    fn default() -> Self {
        Self { config: EndpointingConfig::default() }
    }
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
        for (name, value) in [("finished_bonus", config.finished_bonus), ("unfinished_malus", config.unfinished_malus)]
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

    /// The next length of silence, after `silence_ms`, at which a decision may change: when to ask the audio model.
    #[must_use]
    pub fn next_checkpoint_ms(&self, silence_ms: u32) -> Option<u32> {
        let config = &self.config;
        std::iter::once(config.speculate_ms)
            .chain(config.stages.iter().map(|stage| stage.silence_ms))
            .chain(std::iter::once(config.cap_ms))
            .find(|&checkpoint| checkpoint > silence_ms)
    }

    /// The probability after the words have had their say.
    fn weigh(&self, p: f32, text: &str) -> f32 {
        let shift = match text::cue(text) {
            TextCue::Finished(_) => self.config.finished_bonus,
            TextCue::Undecided => 0.0,
            TextCue::Unfinished(_) => -self.config.unfinished_malus,
        };
        // NaN stays NaN and commits nothing but the cap.
        let p = p.clamp(1e-6, 1.0 - 1e-6);
        1.0 / (1.0 + (-((p / (1.0 - p)).ln() + shift)).exp())
    }
}
