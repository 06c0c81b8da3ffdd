//! PEDANTS: does a response say what a reference says? A logistic model over words (qa_metrics 0.2.17).
//!
//! Li et al., "PEDANTS: Cheap but Effective and Interpretable Answer Equivalence", arXiv 2402.11161. The weights are
//! read at run time from a table `token, idf, weight` with four head lines `#f1`, `#precision`, `#recall`, `#intercept`.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::contractions::spell_out;
use crate::{Error, Result};

/// The classifier with its weights.
#[derive(Debug)]
pub struct Pedants {
    /// Inverse document frequency and weight of each word.
    words: HashMap<String, (f64, f64)>,
    f1: f64,
    precision: f64,
    recall: f64,
    intercept: f64,
}

/// What PEDANTS says of one response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The reference is part of the response.
    Contained,
    /// The classifier's margin; correct at 0 and below.
    Score(f64),
}

impl Verdict {
    /// Whether the response is correct.
    #[must_use]
    pub fn is_correct(self) -> bool {
        match self {
            Self::Contained => true,
            Self::Score(score) => score <= 0.0,
        }
    }
}

impl Pedants {
    /// Reads the weights.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] naming the line that does not fit.
    pub fn open(path: &Path) -> Result<Self> {
        let file = BufReader::new(File::open(path).map_err(Error::io(path))?);
        let mut this = Self { words: HashMap::new(), f1: 0.0, precision: 0.0, recall: 0.0, intercept: 0.0 };
        let mut heads = 0;
        for (number, line) in file.lines().enumerate() {
            let line = line.map_err(Error::io(path))?;
            let bad = |what: &str| Error::format(path, format!("line {}: {what}", number + 1));
            let fields: Vec<&str> = line.split('\t').collect();
            let value = |text: &str| {
                text.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(|| bad("a number was expected"))
            };
            match fields[..] {
                [head, weight] if head.starts_with('#') => {
                    let slot = match head {
                        "#f1" => &mut this.f1,
                        "#precision" => &mut this.precision,
                        "#recall" => &mut this.recall,
                        "#intercept" => &mut this.intercept,
                        _ => return Err(bad("an unknown head line")),
                    };
                    *slot = value(weight)?;
                    heads += 1;
                }
                [word, idf, weight] => {
                    this.words.insert(word.to_owned(), (value(idf)?, value(weight)?));
                }
                _ => return Err(bad("token, idf and weight were expected, separated by tabs")),
            }
        }
        if heads != 4 || this.words.is_empty() {
            return Err(Error::format(path, "not a PEDANTS table: four head lines and words were expected"));
        }
        Ok(this)
    }

    /// Whether `response` to `question` says what `reference` says.
    #[must_use]
    pub fn judge(&self, reference: &str, response: &str, question: &str) -> Verdict {
        let (reference, response) = (normalise(reference), normalise(response));
        // An empty reference is part of everything; the original has it so.
        if response.contains(&reference) {
            return Verdict::Contained;
        }
        let question = spell_out(&normalise(question));
        let text = format!("[CLS] {response} [SEP] {reference} [SEP] {question} [SEP]");
        let overlap = Overlap::of(&spell_out(&response), &spell_out(&reference));
        let extra = overlap.f1 * self.f1 + overlap.precision * self.precision + overlap.recall * self.recall;
        Verdict::Score(self.bag_of_words(&text) + extra + self.intercept)
    }

    /// w . x for the l2-normalised TF-IDF vector of a text.
    fn bag_of_words(&self, text: &str) -> f64 {
        let text = text.to_lowercase();
        let mut counts: HashMap<&str, f64> = HashMap::new();
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| w.chars().nth(1).is_some());
        for word in words {
            *counts.entry(word).or_default() += 1.0;
        }
        let (mut dot, mut square) = (0.0, 0.0);
        for (word, count) in counts {
            if let Some((idf, weight)) = self.words.get(word) {
                dot += count * idf * weight;
                square += (count * idf) * (count * idf);
            }
        }
        if square > 0.0 { dot / square.sqrt() } else { 0.0 }
    }
}

/// Words that two texts share, as sets.
struct Overlap {
    f1: f64,
    precision: f64,
    recall: f64,
}

impl Overlap {
    fn of(response: &str, reference: &str) -> Self {
        let words = |text: &str| -> HashSet<String> { text.split_whitespace().map(str::to_owned).collect() };
        let (response, reference) = (words(response), words(reference));
        let shared = response.intersection(&reference).count() as f64;
        let share = |of: &HashSet<String>| if of.is_empty() { 0.0 } else { shared / of.len() as f64 };
        let (precision, recall) = (share(&response), share(&reference));
        let sum = precision + recall;
        Self { f1: if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 }, precision, recall }
    }
}

/// Lower case, no ASCII punctuation, no articles, single spaces.
fn normalise(text: &str) -> String {
    let text: String = text.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let words = text.split_whitespace().filter(|word| !matches!(*word, "a" | "an" | "the"));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::testing::shared;

    #[test]
    fn verdicts_and_margins_are_the_originals() {
        let Some(folder) = shared("evaldata") else { return };
        let pedants = Pedants::open(&folder.join("pedant_sgd_tfidf.tsv")).unwrap();
        let lines = std::fs::read_to_string(folder.join("pedant_vectors.jsonl")).unwrap();
        let mut seen = 0;
        for line in lines.lines() {
            let vector = Json::parse(line).unwrap();
            let vector = vector.as_object().unwrap();
            let text = |key| vector.text(key).unwrap();
            let verdict = pedants.judge(text("reference"), text("response"), text("prompt"));
            match vector.get("score").and_then(Json::as_f64) {
                None => assert_eq!(verdict, Verdict::Contained, "{line}"),
                Some(expected) => {
                    let Verdict::Score(score) = verdict else { panic!("{line}") };
                    assert!((score - expected).abs() < 1e-3, "{score} for {line}");
                }
            }
            assert_eq!(Some(&Json::Bool(verdict.is_correct())), vector.get("pedant"), "{line}");
            seen += 1;
        }
        assert_eq!(seen, 12);
    }

    #[test]
    fn a_table_that_does_not_fit_is_named() {
        let dir = tempfile::tempdir().unwrap();
        for (text, expected) in [
            ("word\t1.0\t2.0\n", "not a PEDANTS table"),
            ("word\t1.0\n", "line 1"),
            ("#f1\tx\n", "line 1: a number"),
            ("#f1\t1\n#precision\t1\n#recall\t1\n#intercept\tinf\nword\t1\t1\n", "line 4"),
        ] {
            let path = dir.path().join("table.tsv");
            std::fs::write(&path, text).unwrap();
            let message = Pedants::open(&path).unwrap_err().to_string();
            assert!(message.contains(expected) && message.contains("table.tsv"), "{message}");
        }
    }

    #[test]
    fn a_small_table_decides() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table.tsv");
        let table = "#f1\t-1\n#precision\t-1\n#recall\t-1\n#intercept\t0.5\ncls\t1\t0\nwrong\t1\t5\n";
        std::fs::write(&path, table).unwrap();
        let pedants = Pedants::open(&path).unwrap();
        assert!(pedants.judge("The Eiffel Tower", "It is the Eiffel tower!", "?").is_correct());
        assert!(pedants.judge("Eiffel Tower in Paris", "Paris, Eiffel", "?").is_correct());
        assert!(!pedants.judge("Eiffel Tower", "wrong", "?").is_correct());
        assert!(pedants.judge("", "", "").is_correct(), "an empty reference matches everything");
    }
}
