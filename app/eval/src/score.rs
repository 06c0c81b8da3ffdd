//! What responses are worth: VoiceBench's six evaluators, with and without their faults.
//!
//! `parity` reproduces the original scripts, faults included; `fixed` is our second reading of the same responses. Where
//! the original guesses at random, both report what the guess is worth on average, so a score never depends on chance.

pub mod bbh;
pub mod harm;
pub mod ifeval;
pub mod mcq;
pub mod open;
pub mod qa;
mod sentence;

use serde::{Deserialize, Serialize};

/// Whether to repeat the faults of the original scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rules {
    /// As the original, for comparison with published numbers.
    #[default]
    Parity,
    /// Without its known faults.
    Fixed,
}

/// How many of a task's answers were right, and how many could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Accuracy {
    /// Answers that were looked at.
    pub items: usize,
    /// Read and right.
    pub correct: usize,
    /// Not read.
    pub unread: usize,
}

impl Accuracy {
    /// Adds one answer: `None` where it could not be read.
    pub fn add(&mut self, correct: Option<bool>) {
        self.items += 1;
        self.correct += usize::from(correct == Some(true));
        self.unread += usize::from(correct.is_none());
    }

    /// Percent right, with what could not be read counted as wrong; 0 without answers.
    #[must_use]
    pub fn percent(&self) -> f64 {
        percent(self.correct as f64, self.items)
    }

    /// Percent that could not be read.
    #[must_use]
    pub fn unread_percent(&self) -> f64 {
        percent(self.unread as f64, self.items)
    }

    /// Percent right on average, where what could not be read is guessed among `choices`, as the original does.
    #[must_use]
    pub fn expected(&self, choices: usize) -> f64 {
        percent(self.correct as f64 + self.unread as f64 / choices.max(1) as f64, self.items)
    }
}

pub(crate) fn percent(part: f64, items: usize) -> f64 {
    if items == 0 { 0.0 } else { 100.0 * part / items as f64 }
}

/// The mean; `None` without values.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Data lines of a list file: no comments, no empty lines; `\s` at the end is a space.
pub(crate) fn lines(text: &'static str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| match line.strip_suffix("\\s") {
        Some(line) => format!("{line} "),
        None => line.to_owned(),
    })
}
