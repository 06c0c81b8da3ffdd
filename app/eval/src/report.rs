//! Runs side by side: a table for the terminal, Markdown, and one HTML page that needs nothing else.

mod chart;
mod html;

use std::fmt::Write;

use crate::scores::Scores;
use crate::tally::TaskScore;

pub use html::html;

/// One row of a comparison.
struct Row {
    name: String,
    /// One cell a run.
    cells: Vec<String>,
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
}

/// The names of all tasks in all runs, in order of appearance.
fn task_names(runs: &[Scores]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for task in runs.iter().flat_map(|run| &run.tasks) {
        if !names.contains(&task.task.name) {
            names.push(task.task.name.clone());
        }
    }
    names
}

fn task<'a>(run: &'a Scores, name: &str) -> Option<&'a TaskScore> {
    run.tasks.iter().find(|t| t.task.name == name)
}

fn head(runs: &[Scores]) -> Vec<String> {
    runs.iter().map(|run| format!("{} ({})", run.name, run.modality.name())).collect()
}

fn rows(runs: &[Scores]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |name: String, cell: &dyn Fn(&Scores) -> String| {
        rows.push(Row { name, cells: runs.iter().map(cell).collect() });
    };
    for name in task_names(runs) {
        row(name.clone(), &|run| match task(run, &name) {
            None => String::new(),
            Some(task) => {
                let failed = if task.failed > 0 { format!(", {} failed", task.failed) } else { String::new() };
                let empty = if task.empty > 0 { format!(", {} empty", task.empty) } else { String::new() };
                format!("{} ({} items{failed}{empty})", number(task.score, 2), task.items)
            }
        });
    }
    row("VoiceBench, nine tasks".into(), &|run| number(run.composite, 2));
    row(crate::voicebench::JUDGE_FREE.into(), &|run| match &run.judge_free {
        None => "–".into(),
        Some(mean) if mean.missing.is_empty() => number(Some(mean.value), 2),
        Some(mean) => format!("{:.2} (without {})", mean.value, mean.missing.join(", ")),
    });
    row("is a result".into(), &|run| run.rejected.clone().map_or_else(|| "yes".into(), |why| format!("no: {why}")));
    row("judge".into(), &|run| run.judge.clone());
    row("reading of answers".into(), &|run| format!("{:?}", run.rules).to_lowercase());
    let worst = |run: &Scores, of: fn(&TaskScore) -> Option<pocket_voice::report::Quantiles>| {
        // Items weigh the same; the tail is the worst task's, which is what a user would notice.
        let all: Vec<_> = run.tasks.iter().filter_map(|t| Some((of(t)?, (t.items - t.failed) as f64))).collect();
        let weight: f64 = all.iter().map(|(_, w)| w).sum();
        let p50 = all.iter().map(|(q, w)| q.p50 * w).sum::<f64>() / weight;
        let p95 = all.iter().map(|(q, _)| q.p95).fold(0.0, f64::max);
        if all.is_empty() { "–".into() } else { format!("{p50:.0} / {p95:.0}") }
    };
    row("first token, ms (P50 / worst P95)".into(), &|run| worst(run, |t| t.first_token_ms));
    row("first audio, ms (P50 / worst P95)".into(), &|run| worst(run, |t| t.first_audio_ms));
    row("whole answer, ms (P50 / worst P95)".into(), &|run| worst(run, |t| t.total_ms));
    row("tokens a second".into(), &|run| {
        let speeds: Vec<f64> = run.tasks.iter().filter_map(|t| t.tokens_per_s).collect();
        number(crate::score::mean(speeds), 1)
    });
    row("word error rate heard, %".into(), &|run| {
        let rates: Vec<f64> = run.tasks.iter().filter_map(|t| Some(100.0 * t.heard_wer?)).collect();
        number(crate::score::mean(rates), 1)
    });
    row("weights, MB".into(), &|run| number(run.weight_bytes.map(|b| b as f64 / 1e6), 1));
    row("peak memory, MB".into(), &|run| number(run.peak_rss_mb, 0));
    row("energy, J".into(), &|run| number(run.energy_j, 0));
    row("time, s".into(), &|run| number(Some(run.seconds), 0));
    row("longest answer, tokens".into(), &|run| run.max_tokens.to_string());
    row("machine".into(), &|run| {
        format!("{}, {} cores, {} threads", run.machine.platform, run.machine.cores, run.machine.threads)
    });
    // A measure that no run has says nothing.
    rows.retain(|row| row.cells.iter().any(|cell| cell != "–"));
    rows
}

/// A table for the terminal.
#[must_use]
pub fn table(runs: &[Scores]) -> String {
    let (head, rows) = (head(runs), rows(runs));
    let width = |text: &str| text.chars().map(|c| if c >= '\u{2e80}' { 2 } else { 1 }).sum::<usize>();
    let first = rows.iter().map(|row| width(&row.name)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..runs.len())
        .map(|i| rows.iter().filter_map(|row| row.cells.get(i)).chain(head.get(i)).map(|c| width(c)).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    let mut line = |name: &str, cells: &[String]| {
        let pad = |text: &str, to: usize| format!("{text}{}", " ".repeat(to.saturating_sub(width(text))));
        let mut line = pad(name, first);
        for (cell, &to) in cells.iter().zip(&widths) {
            line.push_str("  ");
            line.push_str(&pad(cell, to));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line("", &head);
    for row in &rows {
        line(&row.name, &row.cells);
    }
    text
}

/// A report in Markdown: the comparison, then each task's parts and notes.
#[must_use]
pub fn markdown(runs: &[Scores]) -> String {
    let mut text = String::from("# Evaluation\n\n");
    table_markdown(&mut text, &head(runs), &rows(runs));
    for name in task_names(runs) {
        let _ = writeln!(text, "## {name}\n");
        table_markdown(&mut text, &head(runs), &parts(runs, &name));
        for run in runs {
            for note in task(run, &name).map(|t| t.notes.as_slice()).unwrap_or_default() {
                let _ = writeln!(text, "- {}: {}", run.name, escape(note));
            }
        }
    }
    text
}

fn escape(cell: &str) -> String {
    cell.replace('|', "\\|").replace('\n', " ")
}

/// Writing to a text cannot fail.
fn table_markdown(text: &mut String, head: &[String], rows: &[Row]) {
    let line = |cells: &[String]| cells.iter().map(|cell| escape(cell)).collect::<Vec<_>>().join(" | ");
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "| | {} |\n| --- |{}", line(head), " --- |".repeat(head.len()));
    for row in rows {
        let _ = writeln!(text, "| {} | {} |", escape(&row.name), line(&row.cells));
    }
    text.push('\n');
}

/// The parts of one task's score.
fn parts(runs: &[Scores], name: &str) -> Vec<Row> {
    let mut names: Vec<&str> = Vec::new();
    for (part, _) in runs.iter().filter_map(|run| task(run, name)).flat_map(|t| &t.metrics) {
        if !names.contains(&part.as_str()) {
            names.push(part);
        }
    }
    let cell = |run: &Scores, part: &str| number(task(run, name).and_then(|t| t.metric(part)), 2);
    names
        .iter()
        .map(|part| Row { name: (*part).to_owned(), cells: runs.iter().map(|run| cell(run, part)).collect() })
        .collect()
}

#[cfg(test)]
mod tests;
