//! One verifiable instruction and how it is checked.

use regex::{Regex, RegexBuilder};

use super::{Counting, language, text};
use crate::json::{Json, Object};
use crate::{Error, Result};

/// "less than" or "at least" some number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    at_least: bool,
    number: usize,
}

impl Bound {
    fn holds(self, count: usize) -> bool {
        if self.at_least { count >= self.number } else { count < self.number }
    }
}

/// An instruction with its arguments.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the variants are IFEval's own names")]
pub enum Instruction {
    KeywordsExistence(Vec<Regex>),
    KeywordFrequency(Regex, Bound),
    ForbiddenWords(Vec<Regex>),
    LetterFrequency(char, Bound),
    ResponseLanguage(String),
    NumberSentences(Bound, Counting),
    NumberParagraphs(usize),
    NumberWords(Bound, Counting),
    NthParagraphFirstWord { paragraphs: usize, nth: usize, word: String },
    NumberPlaceholders(usize),
    Postscript(Regex),
    NumberBulletLists(usize),
    ConstrainedResponse,
    NumberHighlightedSections(usize),
    MultipleSections(Regex, usize),
    JsonFormat,
    Title,
    TwoResponses,
    RepeatPrompt(String),
    EndChecker(String),
    Quotation,
    CapitalWordFrequency(Bound),
    EnglishCapital,
    EnglishLowercase,
    NoComma,
}

impl Instruction {
    /// The instruction that an id and its `kwargs` describe. Falsy arguments count as absent, as in the original.
    ///
    /// # Errors
    /// [`Error::Score`] for an unknown id or an absent argument.
    pub fn parse(id: &str, kwargs: &Object, counting: Counting) -> Result<Self> {
        let args = Arguments { id, kwargs };
        Ok(match id {
            "keywords:existence" => Self::KeywordsExistence(args.patterns("keywords", |k| k.to_owned())?),
            "keywords:frequency" => {
                Self::KeywordFrequency(pattern(args.text("keyword")?.trim()), args.bound("relation", "frequency")?)
            }
            "keywords:forbidden_words" => {
                Self::ForbiddenWords(args.patterns("forbidden_words", |word| format!(r"\b{word}\b"))?)
            }
            "keywords:letter_frequency" => {
                let letter = args.text("letter")?.to_lowercase();
                let letter = letter.chars().next().ok_or_else(|| args.absent("letter"))?;
                Self::LetterFrequency(letter, args.bound("let_relation", "let_frequency")?)
            }
            "language:response_language" => Self::ResponseLanguage(args.text("language")?.to_owned()),
            "length_constraints:number_sentences" => {
                Self::NumberSentences(args.bound("relation", "num_sentences")?, counting)
            }
            "length_constraints:number_paragraphs" => Self::NumberParagraphs(args.number("num_paragraphs")?),
            "length_constraints:number_words" => Self::NumberWords(args.bound("relation", "num_words")?, counting),
            "length_constraints:nth_paragraph_first_word" => Self::NthParagraphFirstWord {
                paragraphs: args.number("num_paragraphs")?,
                nth: args.number("nth_paragraph")?,
                word: args.text("first_word")?.to_lowercase(),
            },
            "detectable_content:number_placeholders" => Self::NumberPlaceholders(args.number("num_placeholders")?),
            "detectable_content:postscript" => Self::Postscript(postscript(args.text("postscript_marker")?.trim())),
            "detectable_format:number_bullet_lists" => Self::NumberBulletLists(args.number("num_bullets")?),
            "detectable_format:constrained_response" => Self::ConstrainedResponse,
            "detectable_format:number_highlighted_sections" => {
                Self::NumberHighlightedSections(args.number("num_highlights")?)
            }
            "detectable_format:multiple_sections" => {
                let splitter = args.text("section_spliter")?.trim();
                Self::MultipleSections(
                    case_sensitive(&format!(r"\s?{splitter}\s?\d+\s?"))
                        .or_else(|| case_sensitive(&format!(r"\s?{}\s?\d+\s?", regex::escape(splitter))))
                        .ok_or_else(|| args.absent("section_spliter"))?,
                    args.number("num_sections")?,
                )
            }
            "detectable_format:json_format" => Self::JsonFormat,
            "detectable_format:title" => Self::Title,
            "combination:two_responses" => Self::TwoResponses,
            "combination:repeat_prompt" => Self::RepeatPrompt(args.text("prompt_to_repeat")?.trim().to_lowercase()),
            "startend:end_checker" => Self::EndChecker(args.text("end_phrase")?.trim().to_lowercase()),
            "startend:quotation" => Self::Quotation,
            "change_case:capital_word_frequency" => {
                Self::CapitalWordFrequency(args.bound("capital_relation", "capital_frequency")?)
            }
            "change_case:english_capital" => Self::EnglishCapital,
            "change_case:english_lowercase" => Self::EnglishLowercase,
            "punctuation:no_comma" => Self::NoComma,
            _ => return Err(Error::Score(format!("unknown IFEval instruction {id:?}"))),
        })
    }

    /// Whether a response that is not blank follows it.
    #[must_use]
    pub fn follows(&self, response: &str) -> bool {
        match self {
            Self::KeywordsExistence(keywords) => keywords.iter().all(|keyword| keyword.is_match(response)),
            Self::KeywordFrequency(keyword, bound) => bound.holds(keyword.find_iter(response).count()),
            Self::ForbiddenWords(words) => !words.iter().any(|word| word.is_match(response)),
            Self::LetterFrequency(letter, bound) => {
                bound.holds(response.to_lowercase().chars().filter(|c| c == letter).count())
            }
            Self::ResponseLanguage(expected) => language::is(response, expected),
            Self::NumberSentences(bound, counting) => bound.holds(text::sentences(response, *counting)),
            Self::NumberParagraphs(expected) => text::marked_paragraphs(response) == Some(*expected),
            Self::NumberWords(bound, counting) => bound.holds(text::words(response, *counting)),
            Self::NthParagraphFirstWord { paragraphs, nth, word } => {
                text::nth_paragraph_first_word(response, *nth) == Some((*paragraphs, word.clone()))
            }
            Self::NumberPlaceholders(expected) => text::placeholders(response) >= *expected,
            Self::Postscript(pattern) => pattern.is_match(&response.to_lowercase()),
            Self::NumberBulletLists(expected) => text::bullets(response) == *expected,
            Self::ConstrainedResponse => ["My answer is yes.", "My answer is no.", "My answer is maybe."]
                .iter()
                .any(|option| response.contains(option)),
            Self::NumberHighlightedSections(expected) => text::highlights(response) >= *expected,
            Self::MultipleSections(splitter, expected) => splitter.find_iter(response).count() >= *expected,
            Self::JsonFormat => text::is_json(response),
            Self::Title => text::has_title(response),
            Self::TwoResponses => text::has_two_responses(response),
            Self::RepeatPrompt(prompt) => response.trim().to_lowercase().starts_with(prompt.as_str()),
            Self::EndChecker(phrase) => response.trim().trim_matches('"').to_lowercase().ends_with(phrase.as_str()),
            Self::Quotation => {
                let response = response.trim();
                response.len() > 1 && response.starts_with('"') && response.ends_with('"')
            }
            Self::CapitalWordFrequency(bound) => bound.holds(text::capital_words(response)),
            Self::EnglishCapital => text::is_upper(response) && language::is(response, "en"),
            Self::EnglishLowercase => text::is_lower(response) && language::is(response, "en"),
            Self::NoComma => !response.contains(','),
        }
    }
}

/// Postscripts begin a line's rest; the two usual marks may have spaces inside. The text is in lower case.
fn postscript(marker: &str) -> Regex {
    let spelled = match marker {
        "P.P.S" => r"\s*p\.\s?p\.\s?s.*$".to_owned(),
        "P.S." => r"\s*p\.\s?s\..*$".to_owned(),
        other => format!(r"\s*{}.*$", regex::escape(&other.to_lowercase())),
    };
    pattern(&format!("(?m){spelled}"))
}

/// Keywords are regular expressions in the original; one that is none is taken literally.
fn pattern(text: &str) -> Regex {
    let build = |text: &str| RegexBuilder::new(text).case_insensitive(true).size_limit(1 << 20).build().ok();
    let literal = || build(&regex::escape(text));
    // A literal of unreasonable size matches nothing.
    build(text).or_else(literal).or_else(|| build(r"[^\s\S]")).unwrap_or_else(never)
}

fn case_sensitive(text: &str) -> Option<Regex> {
    RegexBuilder::new(text).size_limit(1 << 20).build().ok()
}

#[allow(clippy::unwrap_used, reason = "a fixed pattern; covered by a test")]
fn never() -> Regex {
    Regex::new("$.").unwrap()
}

struct Arguments<'a> {
    id: &'a str,
    kwargs: &'a Object,
}

impl Arguments<'_> {
    fn absent(&self, name: &str) -> Error {
        Error::Score(format!("{} has no {name}; the original draws a random one then", self.id))
    }

    fn get(&self, name: &str) -> Result<&Json> {
        self.kwargs.get(name).filter(|value| value.is_truthy()).ok_or_else(|| self.absent(name))
    }

    fn text(&self, name: &str) -> Result<&str> {
        self.get(name)?.as_str().ok_or_else(|| self.absent(name))
    }

    fn number(&self, name: &str) -> Result<usize> {
        let number = self.get(name)?.as_i64().and_then(|n| usize::try_from(n).ok());
        number.ok_or_else(|| self.absent(name))
    }

    fn bound(&self, relation: &str, number: &str) -> Result<Bound> {
        let at_least = match self.text(relation)? {
            "at least" => true,
            "less than" => false,
            other => return Err(Error::Score(format!("{}: {relation} {other:?} is unknown", self.id))),
        };
        Ok(Bound { at_least, number: self.number(number)? })
    }

    fn patterns(&self, name: &str, wrap: impl Fn(&str) -> String) -> Result<Vec<Regex>> {
        let words = self.get(name)?.as_array().ok_or_else(|| self.absent(name))?;
        words.iter().map(|w| w.as_str().map(|w| pattern(&wrap(w))).ok_or_else(|| self.absent(name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (id, kwargs, response, follows); the verdicts are IFEval's.
    const CASES: &[(&str, &str, &str, bool)] = &[
        ("keywords:existence", r#"{"keywords": ["Blue", "sky"]}"#, "The SKY is blue", true),
        ("keywords:existence", r#"{"keywords": ["Blue", "sea"]}"#, "The sky is blue", false),
        ("keywords:frequency", r#"{"keyword": "ha", "frequency": 3, "relation": "at least"}"#, "ha Haha", true),
        ("keywords:frequency", r#"{"keyword": "ha", "frequency": 3, "relation": "less than"}"#, "ha Haha", false),
        ("keywords:forbidden_words", r#"{"forbidden_words": ["art"]}"#, "A start", true),
        ("keywords:forbidden_words", r#"{"forbidden_words": ["art"]}"#, "Art!", false),
        (
            "keywords:letter_frequency",
            r#"{"letter": "E", "let_frequency": 2, "let_relation": "at least"}"#,
            "Eve",
            true,
        ),
        (
            "keywords:letter_frequency",
            r##"{"letter": "#", "let_frequency": 2, "let_relation": "less than"}"##,
            "##",
            false,
        ),
        (
            "language:response_language",
            r#"{"language": "de"}"#,
            "Das ist ein schöner Tag, und wir gehen in den Park.",
            true,
        ),
        ("language:response_language", r#"{"language": "zh-cn"}"#, "今天天气很好，我们去公园散步。", true),
        ("language:response_language", r#"{"language": "ko"}"#, "This is an English sentence about parks.", false),
        (
            "language:response_language",
            r#"{"language": "sw"}"#,
            "Hii ni barua kwa rafiki yangu na familia yake katika mji wa Nairobi.",
            true,
        ),
        (
            "length_constraints:number_sentences",
            r#"{"num_sentences": 3, "relation": "at least"}"#,
            "Hi. Yes! No?",
            true,
        ),
        (
            "length_constraints:number_sentences",
            r#"{"num_sentences": 3, "relation": "less than"}"#,
            "Dr. Smith came. He left",
            true,
        ),
        (
            "length_constraints:number_sentences",
            r#"{"num_sentences": 3, "relation": "less than"}"#,
            "One. Two. Three.",
            false,
        ),
        ("length_constraints:number_paragraphs", r#"{"num_paragraphs": 2}"#, "One\n***\nTwo", true),
        ("length_constraints:number_paragraphs", r#"{"num_paragraphs": 2}"#, "***\nOne\n***\nTwo\n***", true),
        ("length_constraints:number_paragraphs", r#"{"num_paragraphs": 2}"#, "One\n***\n***\nTwo", false),
        ("length_constraints:number_words", r#"{"num_words": 4, "relation": "at least"}"#, "It's a test", true),
        ("length_constraints:number_words", r#"{"num_words": 4, "relation": "less than"}"#, "It's a test", false),
        (
            "length_constraints:nth_paragraph_first_word",
            r#"{"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Weekend"}"#,
            "One\n\n\"weekend, two",
            true,
        ),
        (
            "length_constraints:nth_paragraph_first_word",
            r#"{"num_paragraphs": 3, "nth_paragraph": 2, "first_word": "weekend"}"#,
            "One\n\nweekend",
            false,
        ),
        ("detectable_content:number_placeholders", r#"{"num_placeholders": 2}"#, "[name] lives at [address]", true),
        ("detectable_content:number_placeholders", r#"{"num_placeholders": 2}"#, "[name\n] [address]", false),
        ("detectable_content:postscript", r#"{"postscript_marker": "P.S."}"#, "Bye\nP. S. I came", true),
        ("detectable_content:postscript", r#"{"postscript_marker": "P.P.S"}"#, "P.S. I came", false),
        ("detectable_format:number_bullet_lists", r#"{"num_bullets": 3}"#, "* a\n  - b\n**bold**\n* c", true),
        ("detectable_format:number_bullet_lists", r#"{"num_bullets": 3}"#, "* a\n* b", false),
        ("detectable_format:constrained_response", "{}", "Hm. My answer is maybe.", true),
        ("detectable_format:constrained_response", "{}", "My answer is Yes.", false),
        ("detectable_format:number_highlighted_sections", r#"{"num_highlights": 2}"#, "*one* and *two*", true),
        ("detectable_format:number_highlighted_sections", r#"{"num_highlights": 2}"#, "*one* and ** **", false),
        (
            "detectable_format:multiple_sections",
            r#"{"section_spliter": "Section", "num_sections": 2}"#,
            "Section 1\na\nSection 2\nb",
            true,
        ),
        (
            "detectable_format:multiple_sections",
            r#"{"section_spliter": "Section", "num_sections": 2}"#,
            "SECTION 1\nSECTION 2",
            false,
        ),
        ("detectable_format:json_format", "{}", "```json\n{\"a\": [1]}\n```", true),
        ("detectable_format:json_format", "{}", "Here: {\"a\": 1}", false),
        ("detectable_format:title", "{}", "<<A poem>>\nline", true),
        ("detectable_format:title", "{}", "<< >>", false),
        ("combination:two_responses", "{}", "One\n******\nTwo", true),
        ("combination:two_responses", "{}", "One******One", false),
        ("combination:repeat_prompt", r#"{"prompt_to_repeat": "Say hi."}"#, "say HI. Hi!", true),
        ("combination:repeat_prompt", r#"{"prompt_to_repeat": "Say hi."}"#, "Sure: Say hi.", false),
        ("startend:end_checker", r#"{"end_phrase": "Is there more?"}"#, "No. \"is there more?\"", true),
        ("startend:end_checker", r#"{"end_phrase": "Is there more?"}"#, "Is there more? No", false),
        ("startend:quotation", "{}", " \"Hi\" ", true),
        ("startend:quotation", "{}", "\"", false),
        (
            "change_case:capital_word_frequency",
            r#"{"capital_frequency": 2, "capital_relation": "at least"}"#,
            "I said NO, Bob",
            true,
        ),
        (
            "change_case:capital_word_frequency",
            r#"{"capital_frequency": 2, "capital_relation": "less than"}"#,
            "Don't STOP NOW",
            false,
        ),
        ("change_case:english_capital", "{}", "THE WEATHER IS FINE TODAY AND WE ARE GOING OUT.", true),
        ("change_case:english_capital", "{}", "The weather", false),
        ("change_case:english_lowercase", "{}", "the weather is fine today and we are going out.", true),
        ("change_case:english_lowercase", "{}", "das wetter ist heute schön und wir gehen hinaus in den wald.", false),
        ("punctuation:no_comma", "{}", "Yes; no", true),
        ("punctuation:no_comma", "{}", "Yes, no", false),
    ];

    #[test]
    fn each_instruction_can_be_followed_and_not() {
        let mut types = std::collections::BTreeSet::new();
        for (id, kwargs, response, follows) in CASES {
            let Json::Object(kwargs) = Json::parse(kwargs).unwrap() else { panic!() };
            let instruction = Instruction::parse(id, &kwargs, Counting::English).unwrap();
            assert_eq!(instruction.follows(response), *follows, "{id} {kwargs}: {response}");
            types.insert((*id, *follows));
        }
        for id in super::super::TYPES {
            assert!(types.contains(&(id, true)) && types.contains(&(id, false)), "{id} has no case for both verdicts");
        }
    }

    #[test]
    fn odd_keywords_are_taken_literally() {
        assert!(pattern("c++ (").is_match("I like C++ (a lot)"));
        assert!(!never().is_match("anything\n"));
    }
}
