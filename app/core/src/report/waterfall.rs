//! One turn as a picture made of characters: when each stage was done, from the end of the user's speech.

use std::fmt::Write as _;

use super::Turn;

/// Width of the time axis in characters.
const WIDTH: f64 = 48.0;

/// A line a stage, with a bar from the stage before it; empty when the turn never had a speech end.
#[must_use]
pub fn waterfall(turn: &Turn) -> String {
    let events = &turn.events_ms;
    let Some(zero) = events.speech_end.or(events.commit) else {
        return String::new();
    };
    let mut stages = [
        ("speech end", Some(zero)),
        ("VAD end", events.vad_end),
        ("transcript", events.transcript_final),
        ("commit", events.commit),
        ("prefill", events.prefill_done),
        ("first token", events.first_token),
        ("first clause", events.first_clause),
        ("first chunk", events.first_chunk),
        ("first audio", events.first_audio),
    ]
    .into_iter()
    .filter_map(|(name, at)| Some((name, at? - zero)))
    .collect::<Vec<_>>();
    stages.sort_by(|a, b| a.1.total_cmp(&b.1));
    let last = stages.last().map_or(0.0, |s| s.1).max(1.0);
    let column = |ms: f64| ((ms.max(0.0) / last) * WIDTH).round() as usize;

    let mut out = String::new();
    let mut before = 0.0;
    for (name, ms) in stages {
        let start = column(before);
        let bar = "█".repeat(column(ms).saturating_sub(start).max(1));
        let _ = writeln!(out, "  {name:<13}{ms:>7.0} ms  {}{bar}", " ".repeat(start));
        before = ms.max(0.0);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Events, Turn};
    use super::*;

    #[test]
    fn stages_appear_in_the_order_they_happened() {
        let events_ms = Events {
            speech_end: Some(1000.0),
            transcript_final: Some(1120.0),
            first_token: Some(1180.0),
            commit: Some(1210.0),
            first_audio: Some(1400.0),
            ..Events::default()
        };
        let picture = waterfall(&Turn { events_ms, ..Turn::default() });
        let names: Vec<_> = picture.lines().map(|l| l[2..15].trim()).collect();
        assert_eq!(names, ["speech end", "transcript", "first token", "commit", "first audio"]);
        assert!(picture.lines().last().unwrap().contains("400 ms"));
        assert_eq!(waterfall(&Turn::default()), "");
    }
}
