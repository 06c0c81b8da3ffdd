//! What reports say, and that a page needs nothing else.

use super::*;
use crate::score::Rules;
use crate::scores::VERSION;
use crate::task::Task;
use crate::voicebench::{BOARD, Modality};

fn scores(name: &str, value: f64, tasks: &[&str]) -> Scores {
    let score = |name: &&str| TaskScore {
        task: Task::new(name, "test").unwrap(),
        items: 10,
        failed: 1,
        empty: 0,
        cut: 0,
        score: Some(value),
        metrics: vec![("panda".into(), value)],
        notes: vec!["item 3: <null> | audio".into()],
        first_token_ms: pocket_voice::report::quantiles([100.0, 200.0]),
        first_audio_ms: None,
        total_ms: None,
        tokens_per_s: Some(50.0),
        heard_wer: Some(0.125),
    };
    let mut scores = Scores {
        version: VERSION,
        name: name.into(),
        parts: vec![("llm".into(), name.into())],
        modality: Modality::Audio,
        rules: Rules::Parity,
        judge: "none".into(),
        max_tokens: 512,
        limit: None,
        machine: pocket_voice::report::Machine::here(2),
        tasks: tasks.iter().map(score).collect(),
        composite: None,
        judge_free: None,
        rejected: None,
        weight_bytes: Some(98_000_000),
        peak_rss_mb: None,
        energy_j: None,
        seconds: 12.0,
    };
    scores.summarise();
    scores
}

#[test]
fn runs_stand_side_by_side() {
    let runs = [scores("one", 40.0, &BOARD), scores("two", 50.0, &["bbh", "gsm8k"])];
    assert_eq!(runs[0].composite, Some(40.0));
    assert_eq!(runs[1].composite, None, "seven tasks are missing");
    let table = table(&runs);
    for part in [
        "one (audio)",
        "50.00 (10 items, 1 failed)",
        "VB-judge-free",
        "without sd-qa, mmsu",
        "150 / 195",
        "12.5",
        "98.0",
    ] {
        assert!(table.contains(part), "{part} is missing in\n{table}");
    }
    assert!(!table.contains("energy"), "what no run has is left out");
    let markdown = markdown(&runs);
    assert!(markdown.contains("| bbh | 40.00 (10 items, 1 failed) | 50.00 (10 items, 1 failed) |"), "{markdown}");
    assert!(markdown.contains("<null> \\| audio"), "{markdown}");
}

#[test]
fn a_page_stands_alone_and_escapes() {
    let page = html(&[scores("a<b", 40.0, &["bbh"])]);
    assert!(page.contains("a&lt;b") && !page.contains("a<b"));
    assert!(page.contains("<svg") && page.contains("&lt;null&gt;"));
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    for word in ["http", "src=", "href=", "<script", "url("] {
        assert!(!outside.contains(word), "{word}");
    }
}

#[test]
fn mostly_empty_runs_are_no_result() {
    let mut run = scores("silent", 29.0, &["bbh"]);
    run.tasks[0].empty = 9;
    run.summarise();
    assert!(table(std::slice::from_ref(&run)).contains("no: too many answers are empty (bbh 100%)"));
}

#[test]
fn numbers_survive_their_file() {
    let dir = tempfile::tempdir().unwrap();
    let run = scores("one", 40.125, &BOARD);
    run.write(&dir.path().join("scores.json")).unwrap();
    assert_eq!(Scores::read(dir.path()).unwrap(), run);
    std::fs::write(dir.path().join("scores.json"), "{}").unwrap();
    assert!(Scores::read(dir.path()).unwrap_err().to_string().contains("scores.json"));
}
