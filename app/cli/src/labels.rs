//! Where the utterances of a recording really end, from a JSON file beside it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pocket_voice::report::Span;
use serde::Deserialize;

/// The part of a label file that is needed; other keys are for people.
#[derive(Debug, Deserialize)]
struct Labels {
    utterances: Vec<Utterance>,
}

#[derive(Debug, Deserialize)]
struct Utterance {
    speech_start_ms: f64,
    speech_end_ms: f64,
}

/// Where the labels of `input` would lie.
pub(crate) fn beside(input: &Path) -> PathBuf {
    input.with_extension("json")
}

/// Where speech begins and ends; an explicitly named file must be right, one that merely lies beside the recording may be
/// something else.
pub(crate) fn read(named: Option<&Path>, input: &Path) -> anyhow::Result<Option<Vec<Span>>> {
    let parse = |path: &Path| -> anyhow::Result<Vec<Span>> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let labels: Labels =
            serde_json::from_str(&text).with_context(|| format!("{} holds no labels", path.display()))?;
        let span = |utterance: Utterance| Span { start_ms: utterance.speech_start_ms, end_ms: utterance.speech_end_ms };
        Ok(labels.utterances.into_iter().map(span).collect())
    };
    match named {
        Some(path) => parse(path).map(Some),
        None => Ok(parse(&beside(input)).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_labels_must_be_right_and_found_ones_may_be_something_else() {
        let dir = tempfile::tempdir().unwrap();
        let input = dir.path().join("a.wav");
        assert!(read(None, &input).unwrap().is_none());
        std::fs::write(
            beside(&input),
            r#"{"utterances": [{"text": "Hi", "speech_start_ms": 500, "speech_end_ms": 900.5}]}"#,
        )
        .unwrap();
        let spans = read(None, &input).unwrap().unwrap();
        assert_eq!(spans.iter().map(|span| (span.start_ms, span.end_ms)).collect::<Vec<_>>(), [(500.0, 900.5)]);
        let other = dir.path().join("report.json");
        std::fs::write(&other, r#"{"turns": []}"#).unwrap();
        let message = format!("{:#}", read(Some(&other), &input).unwrap_err());
        assert!(message.contains("report.json holds no labels"), "{message}");
        std::fs::write(beside(&input), "{").unwrap();
        assert!(read(None, &input).unwrap().is_none());
    }
}
