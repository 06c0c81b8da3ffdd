//! Word problems with a number at the end (GSM8K, MGSM).

use std::sync::LazyLock;

use regex::Regex;

use super::text;
use crate::json::{Json, Object};
use crate::{Error, Result};

/// The question with a request for the form of the answer, in the question's language.
#[must_use]
pub fn prompt(question: &str) -> String {
    if question.chars().any(|c| matches!(c, '\u{4e00}'..='\u{9fff}')) {
        format!("{question}\n请一步一步地思考，最后一行写“答案：”和一个数字。")
    } else {
        format!("{question}\nThink step by step. End with a line \"Answer:\" and one number.")
    }
}

/// The reference: `final`, or what stands after `####` in `answer`, or `answer` itself.
///
/// # Errors
/// [`Error::Score`] where there is no number.
pub fn reference(fields: &Object) -> Result<f64> {
    let value = ["final", "answer_number", "answer"].iter().find_map(|key| fields.get(key));
    let value =
        value.ok_or_else(|| Error::Score("none of the columns final, answer_number, answer is there".into()))?;
    let number = match value {
        Json::Str(text) => number(text.rsplit("####").next().unwrap_or(text)),
        other => other.as_f64(),
    };
    number.ok_or_else(|| Error::Score(format!("the reference {value} is no number")))
}

/// The number that a response ends up with: after the last mark of an answer, else the last of all.
#[must_use]
pub fn answer(response: &str) -> Option<f64> {
    static MARK: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)####|\banswer\b(?:\s+is)?|\\boxed|答案(?:是|为)?").ok());
    let marked = MARK.as_ref().and_then(|mark| mark.find_iter(response).last()).map(|m| &response[m.end()..]);
    marked.and_then(|rest| numbers(rest).next()).or_else(|| numbers(response).last())
}

/// Whether two numbers are the same answer.
#[must_use]
pub fn equal(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

fn number(text: &str) -> Option<f64> {
    numbers(text).next()
}

/// All numbers of a text; thousands may be separated by commas.
fn numbers(text: &str) -> impl Iterator<Item = f64> {
    static NUMBER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?").ok());
    let found = NUMBER.as_ref().into_iter().flat_map(|number| number.find_iter(text));
    found.filter_map(move |m| {
        // A hyphen after a letter or digit joins; it is no sign.
        let joins = text[..m.start()].chars().next_back().is_some_and(char::is_alphanumeric);
        let digits = if joins { m.as_str().trim_start_matches('-') } else { m.as_str() };
        digits.replace(',', "").parse().ok()
    })
}

/// Whether a task's name says that scoring needs text.
///
/// # Errors
/// As [`reference()`].
pub fn is_correct(fields: &Object, response: &str) -> Result<Option<bool>> {
    let expected = reference(fields)?;
    Ok(answer(response).map(|number| equal(number, expected)))
}

/// The question of an item, without the request for a form.
///
/// # Errors
/// [`Error::Score`] where the column is missing.
pub fn question(fields: &Object) -> Result<&str> {
    text(fields, "question").or_else(|_| text(fields, "prompt"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shared;

    #[test]
    fn the_number_at_the_end() {
        for (response, expected) in [
            ("She has 16 - 3 = 13 eggs.\nAnswer: 13", Some(13.0)),
            ("#### 1,234.50", Some(1234.5)),
            ("The answer is $18 per day, i.e. 126 a week.", Some(18.0)),
            ("先算 5，再算 7。答案：12 元", Some(12.0)),
            ("so \\boxed{-4}", Some(-4.0)),
            ("It takes 3 bolts", Some(3.0)),
            ("covid-19", Some(19.0)),
            ("none", None),
            ("", None),
        ] {
            assert_eq!(answer(response), expected, "{response}");
        }
    }

    #[test]
    fn the_sets_references_are_found_in_their_own_solutions() {
        let Some(folder) = shared("evaldata") else { return };
        let mut items = 0;
        for line in std::fs::read_to_string(folder.join("gsm8k_test_100.jsonl")).unwrap().lines() {
            let Json::Object(fields) = Json::parse(line).unwrap() else { panic!() };
            assert_eq!(is_correct(&fields, fields.text("answer").unwrap()).unwrap(), Some(true), "{line}");
            assert_ne!(is_correct(&fields, "The answer is -7.25").unwrap(), Some(true));
            items += 1;
        }
        assert_eq!(items, 100);
    }
}
