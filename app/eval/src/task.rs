//! The tasks: what an item asks, in which words, and what its answers are scored by.

pub mod choice;
pub mod code;
pub mod math;
pub mod number;
pub mod reviews;

use serde::{Deserialize, Serialize};

use crate::item::Item;
use crate::json::Object;
use crate::respond::grammar::Grammar;
use crate::score::ifeval::Counting;
use crate::voicebench::{Modality, SYSTEM_SPEECH, SYSTEM_TEXT};
use crate::{Error, Result};

/// How a task's answers are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// By a judge's marks.
    Open,
    /// By PEDANTS and a judge's yes or no.
    Qa,
    /// By the letter in the response.
    Mcq,
    /// By yes or no in the response.
    Bbh,
    /// By verifiable instructions.
    IfEval,
    /// The same, counted as Chinese is.
    IfEvalZh,
    /// By refusals.
    Harm,
    /// By the number at the end.
    Number,
    /// By the mathematical expression at the end.
    Math,
    /// By the likelihood of each option.
    Choice,
    /// By running the program.
    Code,
    /// By the extracted quadruples.
    Reviews,
}

/// A set of items under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The name, as data sets and reports have it.
    pub name: String,
    /// The part of it, `test` for most.
    pub split: String,
    /// How it is scored.
    pub kind: Kind,
}

const NAMES: &[(&str, Kind)] = &[
    ("alpacaeval", Kind::Open),
    ("alpacaeval_full", Kind::Open),
    ("alpacaeval_speaker", Kind::Open),
    ("commoneval", Kind::Open),
    ("wildvoice", Kind::Open),
    ("sd-qa", Kind::Qa),
    ("mmsu", Kind::Mcq),
    ("openbookqa", Kind::Mcq),
    ("bbh", Kind::Bbh),
    ("ifeval", Kind::IfEval),
    ("advbench", Kind::Harm),
    ("ifeval-zh", Kind::IfEvalZh),
    ("gsm8k", Kind::Number),
    ("mgsm-zh", Kind::Number),
    ("math", Kind::Math),
    ("mmlu", Kind::Choice),
    ("mmlu-redux", Kind::Choice),
    ("ceval", Kind::Choice),
    ("openbookqa-choice", Kind::Choice),
    ("humaneval", Kind::Code),
    ("reviews", Kind::Reviews),
];

/// The names of all tasks.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name)
}

impl Task {
    /// A split of the task with this name.
    ///
    /// # Errors
    /// [`Error::Setting`] with the names there are.
    pub fn new(name: &str, split: &str) -> Result<Self> {
        let kind = NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind).ok_or_else(|| {
            Error::setting("task", format!("{name:?} is none of {}", names().collect::<Vec<_>>().join(", ")))
        })?;
        Ok(Self { name: name.to_owned(), split: split.to_owned(), kind })
    }
}

/// An item's question, ready to be put.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The instructions to the model.
    pub system: String,
    /// The question in writing; for a spoken one, what is said.
    pub prompt: String,
    /// What to choose from.
    pub options: Vec<String>,
    /// The form that the answer has.
    pub grammar: Option<Grammar>,
}

/// The question of an item.
///
/// # Errors
/// [`Error::Score`] naming a column that is absent or has the wrong type.
pub fn question(task: &Task, item: &Item, modality: Modality) -> Result<Question> {
    let fields = &item.fields;
    let system = match modality {
        Modality::Audio => SYSTEM_SPEECH,
        Modality::Text => SYSTEM_TEXT,
    };
    let plain = |prompt: String| Question { system: system.to_owned(), prompt, options: vec![], grammar: None };
    // What scoring will need is checked before anything is computed.
    match task.kind {
        Kind::Open | Kind::Harm => Ok(plain(text(fields, "prompt")?.to_owned())),
        Kind::Qa => text(fields, "reference").and_then(|_| Ok(plain(text(fields, "prompt")?.to_owned()))),
        Kind::Mcq => {
            reference_letter(fields)?;
            Ok(plain(text(fields, "prompt")?.to_owned()))
        }
        Kind::Bbh => {
            crate::score::bbh::Task::of(text(fields, "id")?)?;
            crate::score::bbh::reference(text(fields, "reference")?)?;
            Ok(plain(text(fields, "prompt")?.to_owned()))
        }
        Kind::IfEval | Kind::IfEvalZh => {
            crate::score::ifeval::Instructions::parse(fields, counting(task.kind))?;
            Ok(plain(text(fields, "prompt")?.to_owned()))
        }
        Kind::Number => {
            number::reference(fields)?;
            let question = text(fields, "question").or_else(|_| text(fields, "prompt"))?;
            Ok(plain(if modality == Modality::Audio { question.to_owned() } else { number::prompt(question) }))
        }
        Kind::Math => {
            math::reference(fields)?;
            Ok(plain(math::prompt(text(fields, "problem").or_else(|_| text(fields, "prompt"))?)))
        }
        Kind::Choice => {
            let (prompt, options) = choice::question(fields)?;
            Ok(Question { system: String::new(), prompt, options, grammar: None })
        }
        Kind::Code => {
            for column in ["test", "entry_point"] {
                text(fields, column)?;
            }
            Ok(plain(code::prompt(text(fields, "prompt")?)))
        }
        Kind::Reviews => {
            reviews::gold(fields)?;
            let (prompt, grammar) = reviews::question(fields)?;
            Ok(Question { system: String::new(), prompt, options: vec![], grammar: Some(grammar) })
        }
    }
}

/// How a kind of task counts words.
pub(crate) fn counting(kind: Kind) -> Counting {
    if kind == Kind::IfEvalZh { Counting::Chinese } else { Counting::English }
}

/// The text of a column.
pub(crate) fn text<'a>(fields: &'a Object, column: &str) -> Result<&'a str> {
    match fields.get(column) {
        None => Err(Error::Score(format!("the column {column} is missing"))),
        Some(value) => value.as_str().ok_or_else(|| Error::Score(format!("the column {column} is {value}, not text"))),
    }
}

/// The letter of a multiple-choice item's reference.
pub(crate) fn reference_letter(fields: &Object) -> Result<char> {
    let reference = text(fields, "reference")?;
    let mut letters = reference.trim().chars();
    match (letters.next(), letters.next()) {
        (Some(letter @ ('A'..='D' | 'a'..='d')), None) => Ok(letter.to_ascii_uppercase()),
        _ => Err(Error::Score(format!("the reference {reference:?} is none of A, B, C, D"))),
    }
}
