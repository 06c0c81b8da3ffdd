//! Who marks open answers: nobody, a local model, or somebody else later through judge-ready files.
//!
//! Marks of one judge are not comparable with those of another; every report names the judge. A local judge must first
//! put answers of known worth in their order.

mod calibration;
mod local;

pub use calibration::calibrate;
pub use local::{LocalJudge, Method};

use std::sync::atomic::AtomicBool;

use crate::json::Object;
use crate::task::text;
use crate::voicebench::SYSTEM_TEXT;
use crate::{Error, Result};

/// Replies a judge gives to each question, as the original asks for.
pub const SAMPLES: usize = 3;

/// The system prompt that the original gives its judge.
pub const SYSTEM: &str = SYSTEM_TEXT;

const OPEN: &str = include_str!("../data/judge_open.txt");
const QA: &str = include_str!("../data/judge_qa.txt");

/// What a judge is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A mark from 1 to 5.
    Mark,
    /// Yes or no.
    YesNo,
}

/// Somebody who judges.
pub trait Judge {
    /// How reports name it.
    fn name(&self) -> String;

    /// [`SAMPLES`] replies.
    ///
    /// # Errors
    /// What keeps it from judging this one.
    fn judge(&mut self, form: Form, prompt: &str, cancel: &AtomicBool) -> Result<Vec<String>>;
}

/// The question about one response; items with a `reference` are asked about it. The words are our own, on VoiceBench's
/// scales: marks compare with each other, not with those of a judge that was asked in other words.
///
/// # Errors
/// [`Error::Score`] naming a column that is missing.
pub fn prompt(fields: &Object, response: &str) -> Result<(Form, String)> {
    let question = text(fields, "prompt")?;
    let (form, template) = if fields.get("reference").is_some() { (Form::YesNo, QA) } else { (Form::Mark, OPEN) };
    // In the original's order, so that a question with a brace in it comes out the same.
    let mut prompt = template.replace("{prompt}", question);
    if form == Form::YesNo {
        prompt = prompt.replace("{reference}", text(fields, "reference")?);
    }
    let prompt = prompt.replace("{response}", response);
    Ok((form, if form == Form::YesNo { prompt.trim().to_owned() } else { prompt }))
}

/// Which judge a run asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    /// None; open tasks stay without a score.
    #[default]
    None,
    /// A local model.
    Local(std::path::PathBuf, Method),
    /// Files for a judge elsewhere.
    File,
}

impl std::str::FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "none" => Ok(Self::None),
            "file" => Ok(Self::File),
            _ => match text.split_once(':') {
                Some(("local", path)) if !path.is_empty() => Ok(Self::Local(path.into(), Method::Expected)),
                Some(("local-sampled", path)) if !path.is_empty() => Ok(Self::Local(path.into(), Method::Sampled)),
                _ => Err(Error::setting(
                    "judge",
                    format!("{text:?} is none of none, file, local:MODEL and local-sampled:MODEL"),
                )),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn item(json: &str) -> Object {
        let Json::Object(fields) = Json::parse(json).unwrap() else { panic!() };
        fields
    }

    #[test]
    fn the_prompts_hold_the_item_once_and_literally() {
        let (form, open) = prompt(&item(r#"{"prompt": "Say {response}"}"#), "Hi").unwrap();
        assert_eq!(form, Form::Mark);
        assert!(open.contains("\nSaid: Say Hi\nAnswered: Hi\n"), "{open}");
        assert!(open.contains("from 1 to 5"), "{open}");
        let (form, qa) = prompt(&item(r#"{"prompt": "Q", "reference": "R"}"#), "A").unwrap();
        assert_eq!(form, Form::YesNo);
        assert!(qa.starts_with("Question: Q\nRight answer: R\nAnswer to check: A\n"), "{qa}");
    }

    #[test]
    fn judges_by_name() {
        assert_eq!("none".parse::<Choice>().unwrap(), Choice::None);
        assert_eq!("local:a.gguf".parse::<Choice>().unwrap(), Choice::Local("a.gguf".into(), Method::Expected));
        assert!("local:".parse::<Choice>().is_err() && "gpt".parse::<Choice>().is_err());
    }
}
