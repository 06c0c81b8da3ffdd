//! Whether a response follows the instructions in its prompt (IFEval; Zhou et al., arXiv 2311.07911).
//!
//! Two parts of the original are trained models that are not ported: its language detector (here: whatlang) and NLTK's
//! sentence splitter (here: rules). So response_language, english_capital, english_lowercase and number_sentences can
//! differ on a few responses; everything else is exact.

mod instruction;
mod language;
mod text;

pub use instruction::Instruction;

use serde::{Deserialize, Serialize};

use super::percent;
use crate::json::{Json, Object};
use crate::{Error, Result};

/// The 25 instruction types.
pub const TYPES: [&str; 25] = [
    "keywords:existence",
    "keywords:frequency",
    "keywords:forbidden_words",
    "keywords:letter_frequency",
    "language:response_language",
    "length_constraints:number_sentences",
    "length_constraints:number_paragraphs",
    "length_constraints:number_words",
    "length_constraints:nth_paragraph_first_word",
    "detectable_content:number_placeholders",
    "detectable_content:postscript",
    "detectable_format:number_bullet_lists",
    "detectable_format:constrained_response",
    "detectable_format:number_highlighted_sections",
    "detectable_format:multiple_sections",
    "detectable_format:json_format",
    "detectable_format:title",
    "combination:two_responses",
    "combination:repeat_prompt",
    "startend:end_checker",
    "startend:quotation",
    "change_case:capital_word_frequency",
    "change_case:english_capital",
    "change_case:english_lowercase",
    "punctuation:no_comma",
];

/// How words and sentences are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counting {
    /// As the original, made for English.
    #[default]
    English,
    /// Every Han character is a word, and 。！？ end sentences.
    Chinese,
}

/// The instructions of one prompt.
#[derive(Debug, Clone)]
pub struct Instructions(Vec<Instruction>);

/// What one response did about its instructions, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// As it is.
    pub strict: Vec<bool>,
    /// With the first or last line, or asterisks, left out where that helps.
    pub loose: Vec<bool>,
}

impl Instructions {
    /// The instructions that an item's `instruction_id_list` and `kwargs` describe.
    ///
    /// # Errors
    /// [`Error::Score`] naming an unknown type, or an argument that is absent: the original draws a random one then.
    pub fn parse(fields: &Object, counting: Counting) -> Result<Self> {
        let ids = fields.get("instruction_id_list").and_then(Json::as_array);
        let ids = ids.ok_or_else(|| Error::Score("an IFEval item needs instruction_id_list, a list".into()))?;
        let empty = Object::default();
        let kwargs = fields.get("kwargs").and_then(Json::as_array).unwrap_or_default();
        let parsed = ids.iter().enumerate().map(|(i, id)| {
            let id = id.as_str().ok_or_else(|| Error::Score("an instruction id is not text".into()))?;
            let arguments = kwargs.get(i).and_then(Json::as_object).unwrap_or(&empty);
            Instruction::parse(id, arguments, counting)
        });
        Ok(Self(parsed.collect::<Result<_>>()?))
    }

    /// What `response` does about each.
    #[must_use]
    pub fn check(&self, response: &str) -> Followed {
        let follows = |instruction: &Instruction, text: &str| !text.trim().is_empty() && instruction.follows(text);
        let variants = loose_variants(response);
        Followed {
            strict: self.0.iter().map(|i| follows(i, response)).collect(),
            loose: self.0.iter().map(|i| variants.iter().any(|text| follows(i, text))).collect(),
        }
    }
}

/// The eight readings of a response of which one has to pass.
fn loose_variants(response: &str) -> [String; 8] {
    let lines: Vec<&str> = response.split('\n').collect();
    let join = |from: usize, to: usize| lines.get(from..to).unwrap_or_default().join("\n").trim().to_owned();
    let end = lines.len();
    let without = [join(1, end), join(0, end - 1), join(1, end - 1)];
    let [first, last, both] = without.clone();
    let plain = without.map(|text| text.replace('*', ""));
    let [first_plain, last_plain, both_plain] = plain;
    let all_plain = response.replace('*', "");
    [response.to_owned(), all_plain, first, last, both, first_plain, last_plain, both_plain]
}

/// IFEval's numbers over a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Prompts.
    pub prompts: usize,
    /// Instructions in them.
    pub instructions: usize,
    /// Prompts with every instruction followed, strictly.
    pub prompt_strict: usize,
    /// The same, loosely.
    pub prompt_loose: usize,
    /// Instructions followed, strictly.
    pub instruction_strict: usize,
    /// The same, loosely.
    pub instruction_loose: usize,
}

impl Tally {
    /// Adds one response.
    pub fn add(&mut self, followed: &Followed) {
        let count = |values: &[bool]| values.iter().filter(|&&v| v).count();
        self.prompts += 1;
        self.instructions += followed.strict.len();
        self.instruction_strict += count(&followed.strict);
        self.instruction_loose += count(&followed.loose);
        self.prompt_strict += usize::from(followed.strict.iter().all(|&v| v));
        self.prompt_loose += usize::from(followed.loose.iter().all(|&v| v));
    }

    /// Percent: prompt strict, instruction strict, prompt loose, instruction loose.
    #[must_use]
    pub fn percents(&self) -> [f64; 4] {
        [
            percent(self.prompt_strict as f64, self.prompts),
            percent(self.instruction_strict as f64, self.instructions),
            percent(self.prompt_loose as f64, self.prompts),
            percent(self.instruction_loose as f64, self.instructions),
        ]
    }

    /// VoiceBench's `final`: the mean of the four, in percent.
    #[must_use]
    pub fn last(&self) -> f64 {
        self.percents().iter().sum::<f64>() / 4.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shared;

    fn read(file: &str) -> Option<Vec<Object>> {
        let text = std::fs::read_to_string(shared("evaldata")?.join(file)).unwrap();
        let object = |line| match Json::parse(line).unwrap() {
            Json::Object(object) => object,
            other => panic!("{other}"),
        };
        Some(text.lines().map(object).collect())
    }

    #[test]
    fn the_whole_set_parses_and_a_blank_response_follows_nothing() {
        let Some(items) = read("ifeval_input_data.jsonl") else { return };
        let mut tally = Tally::default();
        let mut types = std::collections::BTreeSet::new();
        for item in &items {
            for id in item.get("instruction_id_list").and_then(Json::as_array).unwrap() {
                types.insert(id.as_str().unwrap().to_owned());
            }
            tally.add(&Instructions::parse(item, Counting::English).unwrap().check("  \n "));
        }
        assert_eq!((tally.prompts, tally.instructions, types.len()), (541, 834, 25));
        assert_eq!(tally.percents(), [0.0; 4]);
        assert_eq!(tally.last(), 0.0);
    }

    #[test]
    fn the_chinese_sample_parses() {
        let Some(items) = read("ifeval_zh_marco_local_100.jsonl") else { return };
        for item in &items {
            Instructions::parse(item, Counting::Chinese).unwrap();
        }
        assert_eq!(items.len(), 100);
    }

    #[test]
    fn loose_forgives_a_frame_around_the_answer() {
        let item = Json::parse(
            r#"{"instruction_id_list": ["startend:quotation", "punctuation:no_comma"], "kwargs": [{}, {}]}"#,
        );
        let Json::Object(item) = item.unwrap() else { panic!() };
        let followed = Instructions::parse(&item, Counting::English).unwrap().check("Sure, here it is:\n*\"Hello\"*");
        assert_eq!(followed, Followed { strict: vec![false, false], loose: vec![true, true] });
        let mut tally = Tally::default();
        tally.add(&followed);
        assert_eq!((tally.percents(), tally.last()), ([0.0, 0.0, 100.0, 100.0], 50.0));
    }

    #[test]
    fn what_the_original_would_draw_at_random_is_an_error() {
        for (json, expected) in [
            (
                r#"{"instruction_id_list": ["keywords:frequency"], "kwargs": [{"keyword": "x", "frequency": 0}]}"#,
                "frequency",
            ),
            (r#"{"instruction_id_list": ["keywords:frequency"]}"#, "keyword"),
            (r#"{"instruction_id_list": ["no:such"], "kwargs": []}"#, "no:such"),
            (r#"{"kwargs": []}"#, "instruction_id_list"),
        ] {
            let Json::Object(item) = Json::parse(json).unwrap() else { panic!() };
            let message = Instructions::parse(&item, Counting::English).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
