//! Multiple choice by the likelihood of each option (MMLU, C-Eval, OpenBookQA).

use super::text;
use crate::json::{Json, Object};
use crate::{Error, Result};

/// The text before an option, and what may follow: the letters, each after a space, as MMLU's authors do.
///
/// # Errors
/// [`Error::Score`] naming what the item lacks.
pub fn question(fields: &Object) -> Result<(String, Vec<String>)> {
    let options = options(fields)?;
    reference(fields)?;
    let question = text(fields, "question").or_else(|_| text(fields, "prompt"))?;
    let mut prompt = question.trim().to_owned();
    for (letter, option) in ('A'..).zip(&options) {
        prompt.push_str(&format!("\n{letter}. {option}"));
    }
    let chinese = question.chars().any(|c| matches!(c, '\u{4e00}'..='\u{9fff}'));
    prompt.push_str(if chinese { "\n答案：" } else { "\nAnswer:" });
    let space = if chinese { "" } else { " " };
    Ok((prompt, ('A'..).take(options.len()).map(|letter| format!("{space}{letter}")).collect()))
}

/// The options: a list `choices`, a text `options` with a line each, or columns A, B, C, D.
fn options(fields: &Object) -> Result<Vec<String>> {
    let found: Vec<String> = if let Some(list) = fields.get("choices").and_then(Json::as_array) {
        list.iter().filter_map(|option| option.as_str().map(str::to_owned)).collect()
    } else if let Some(lines) = fields.text("options") {
        let bare = |line: &str| line.split_once(". ").map_or(line, |(_, rest)| rest).trim().to_owned();
        lines.lines().filter(|line| !line.trim().is_empty()).map(bare).collect()
    } else {
        ["A", "B", "C", "D"].iter().map_while(|column| fields.text(column).map(str::to_owned)).collect()
    };
    if (2..=10).contains(&found.len()) {
        Ok(found)
    } else {
        Err(Error::Score(format!(
            "{} options were found in choices, options or A to D; 2 to 10 were expected",
            found.len()
        )))
    }
}

/// Which option is right: `answer` or `reference` as a letter or a number from 0.
///
/// # Errors
/// [`Error::Score`] where it is neither.
pub fn reference(fields: &Object) -> Result<usize> {
    let value = fields.get("answer").or_else(|| fields.get("reference"));
    let value = value.ok_or_else(|| Error::Score("neither of the columns answer and reference is there".into()))?;
    let index = match value {
        Json::Str(text) => match text.trim().chars().next() {
            Some(letter) if letter.is_ascii_alphabetic() && text.trim().len() == 1 => {
                Some(letter.to_ascii_uppercase() as usize - 'A' as usize)
            }
            _ => text.trim().parse().ok(),
        },
        other => other.as_i64().and_then(|n| usize::try_from(n).ok()),
    };
    let count = options(fields)?.len();
    index.filter(|&i| i < count).ok_or_else(|| Error::Score(format!("the answer {value} is none of {count} options")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_of_options() {
        for (json, right) in [
            (r#"{"question": "Q", "choices": ["x", "y"], "answer": 1}"#, 1),
            (r#"{"question": "Q", "options": "A. x\nB. y", "reference": "B"}"#, 1),
            (r#"{"question": "Q", "A": "x", "B": "y", "C": "z", "D": "w", "answer": "d"}"#, 3),
        ] {
            let Json::Object(fields) = Json::parse(json).unwrap() else { panic!() };
            let (prompt, options) = question(&fields).unwrap();
            assert!(prompt.starts_with("Q\nA. x\nB. y") && prompt.ends_with("\nAnswer:"), "{prompt}");
            assert_eq!(options[1], " B");
            assert_eq!(reference(&fields).unwrap(), right);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (json, expected) in [
            (r#"{"question": "Q", "choices": ["x"], "answer": 0}"#, "options"),
            (r#"{"question": "Q", "choices": ["x", "y"], "answer": 2}"#, "none of 2"),
            (r#"{"choices": ["x", "y"], "answer": 0}"#, "prompt"),
            (r#"{"question": "Q", "choices": ["x", "y"]}"#, "answer"),
        ] {
            let Json::Object(fields) = Json::parse(json).unwrap() else { panic!() };
            let message = question(&fields).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
