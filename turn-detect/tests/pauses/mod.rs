//! Measured pauses and ends, and what a policy makes of them.
//!
//! `../data/pauses.tsv` has one line for each: whether the speaker goes on (`hold`) or not (`end`); the source (`real`:
//! read speech; `kokoro`, `asset`: synthetic users, whose pauses lack the sound of hesitation); the model's probability
//! after 100, 200, ... ms of silence, as the example `score` prints it; and Whisper tiny.en's transcript up to there.

use turn_detect::{Decision, Endpointing};

/// A silence after speech.
pub(crate) struct Pause {
    /// Whether the speaker goes on.
    pub(crate) hold: bool,
    pub(crate) source: String,
    /// The model's probability after 100 and 200 ms.
    pub(crate) p: [f32; 2],
    pub(crate) text: String,
}

/// Milliseconds between two looks of the dialogue: one frame of the detector.
const STEP: usize = 32;

/// The table.
pub(crate) fn table() -> Vec<Pause> {
    let lines = include_str!("../data/pauses.tsv").lines().skip(1);
    lines.map(|line| parse(line).unwrap_or_else(|| panic!("not a line of pauses.tsv: {line}"))).collect()
}

fn parse(line: &str) -> Option<Pause> {
    let fields: Vec<_> = line.split('\t').collect();
    let [kind, source, _name, p100, p200, _, _, _, _, text] = fields[..] else { return None };
    let hold = match kind {
        "hold" => true,
        "end" => false,
        _ => return None,
    };
    Some(Pause { hold, source: source.into(), p: [p100.parse().ok()?, p200.parse().ok()?], text: text.into() })
}

/// The silence after which the policy commits, in milliseconds, looking once a frame as the dialogue does.
pub(crate) fn commit_ms(policy: &Endpointing, pause: &Pause) -> u32 {
    let score = |ms| match ms {
        0..100 => None,
        100..200 => Some(pause.p[0]),
        _ => Some(pause.p[1]),
    };
    (0..)
        .step_by(STEP)
        .find(|&ms| policy.decide(ms, score(ms), &pause.text) == Decision::Commit)
        .expect("the cap ends it")
}

/// Share of pauses, of lengths spread evenly over 0.2 to 1.5 s, in which the policy commits before the speaker goes on.
pub(crate) fn cut_off<'a>(policy: &Endpointing, holds: impl Iterator<Item = &'a Pause>) -> f64 {
    let shares: Vec<f64> =
        holds.map(|p| ((1_500.0 - f64::from(commit_ms(policy, p))) / 1_300.0).clamp(0.0, 1.0)).collect();
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

/// Delays of the ends in milliseconds, in order.
pub(crate) fn delays<'a>(policy: &Endpointing, ends: impl Iterator<Item = &'a Pause>) -> Vec<u32> {
    let mut delays: Vec<u32> = ends.map(|p| commit_ms(policy, p)).collect();
    delays.sort_unstable();
    delays
}
