//! The report as a table for a terminal.

use std::fmt::Write as _;

use super::{ClockQuantiles, Clocks, Report};

/// One line a turn, then the quantiles. Milliseconds throughout.
#[must_use]
pub fn table(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:>4}  {:>18}  {:>18}  {:>7} {:>6} {:>6}  user",
        "turn", "first token (end/cmt)", "first audio (end/cmt)", "prefill", "reused", "tokens"
    );
    for turn in &report.turns {
        let _ = writeln!(
            out,
            "{:>4}  {:>21}  {:>21}  {:>7} {:>6} {:>6}  {}{}",
            turn.id,
            pair(turn.first_token_ms),
            pair(turn.first_audio_ms),
            turn.prefill_tokens,
            turn.reused_tokens,
            turn.generated_tokens,
            clip(&turn.user, 40),
            if turn.interrupted { "  [interrupted]" } else { "" },
        );
    }
    let summary = &report.summary;
    for (name, quantiles) in [("first token", &summary.first_token_ms), ("first audio", &summary.first_audio_ms)] {
        let _ = writeln!(out, "{name} P50/P95: {}", both(quantiles));
    }
    let _ = writeln!(
        out,
        "{} turns, {} barge-ins, {} false cut-offs, {} underruns; speech end from {}",
        summary.turns,
        report.barge_ins.len(),
        summary.false_cutoffs,
        summary.underruns,
        match report.speech_end_from {
            super::SpeechEndSource::Vad => "the VAD",
            super::SpeechEndSource::Labels => "labels",
        }
    );
    out
}

fn pair(clocks: Clocks) -> String {
    let one = |v: Option<f64>| v.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.0}"));
    format!("{} / {}", one(clocks.from_speech_end), one(clocks.from_commit))
}

fn both(quantiles: &ClockQuantiles) -> String {
    let one =
        |q: &Option<super::Quantiles>| q.map_or_else(|| "-".into(), |q| format!("{:.0} / {:.0} ms", q.p50, q.p95));
    format!(
        "{} from the end of speech, {} from the commit",
        one(&quantiles.from_speech_end),
        one(&quantiles.from_commit)
    )
}

/// The first `width` characters, with an ellipsis where something was cut.
fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
