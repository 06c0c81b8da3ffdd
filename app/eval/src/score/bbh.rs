//! What a response to one of VoiceBench's four BBH tasks answers: yes or no, (b) or (a).

use std::sync::LazyLock;

use super::{Rules, lines};
use crate::{Error, Result};

/// One of the four tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Is a sentence about sports plausible?
    Sports,
    /// Which sentence has its adjectives in order?
    Hyperbaton,
    /// Do these steps lead back to the start?
    Navigate,
    /// Does the last person tell the truth?
    WebOfLies,
}

impl Task {
    /// The task that an item's id names.
    ///
    /// # Errors
    /// [`Error::Score`] where it names none, as the original.
    pub fn of(id: &str) -> Result<Self> {
        // In the order in which the original looks for them.
        let tasks = [
            ("sports_understanding", Self::Sports),
            ("hyperbaton", Self::Hyperbaton),
            ("navigate", Self::Navigate),
            ("web_of_lies", Self::WebOfLies),
        ];
        let found = tasks.iter().find(|(name, _)| id.contains(name));
        found.map(|(_, task)| *task).ok_or_else(|| {
            Error::Score(format!(
                "BBH item {id:?} names none of sports_understanding, hyperbaton, navigate, web_of_lies"
            ))
        })
    }
}

/// What a reference means: `true` for yes and (b).
///
/// # Errors
/// [`Error::Score`] for any other text.
pub fn reference(text: &str) -> Result<bool> {
    match text.to_lowercase().as_str() {
        "yes" | "(b)" => Ok(true),
        "no" | "(a)" => Ok(false),
        other => Err(Error::Score(format!("BBH reference {other:?} is none of yes, no, (a), (b)"))),
    }
}

/// What a response answers: `true` for yes and (b); `None` where no rule reads it.
#[must_use]
pub fn answer(response: &str, task: Task, rules: Rules) -> Option<bool> {
    let response = normalise(response);
    let own = match task {
        Task::Hyperbaton => return apply(&RULES.hyperbaton, &response, rules),
        Task::Sports => &RULES.sports,
        Task::Navigate => &RULES.navigate,
        Task::WebOfLies => &RULES.lies,
    };
    apply(&RULES.yes_no, &response, rules).or_else(|| apply(own, &response, rules))
}

fn normalise(response: &str) -> String {
    let mut text = response.to_lowercase();
    if let Some(before) = text.strip_suffix("<|user|>") {
        text = before.trim().to_owned();
    }
    if let Some(after) = ["<1>", "<2>", "<3>"].iter().find_map(|mark| text.strip_prefix(mark)) {
        text = after.trim().to_owned();
    }
    let text = text.replace("<|turn_end|>", "").replace("**", " ");
    let text = text.replace([':', '"', '-', ',', '.', '：'], " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

enum Match {
    Is,
    Starts,
    Ends,
    Has,
}

struct Rule {
    matching: Match,
    /// Parts with at least one character between each two.
    parts: Vec<String>,
    answer: bool,
    /// The rule says the opposite of its text.
    contradicts: bool,
}

struct RuleSet {
    hyperbaton: Vec<Rule>,
    yes_no: Vec<Rule>,
    lies: Vec<Rule>,
    navigate: Vec<Rule>,
    sports: Vec<Rule>,
}

static RULES: LazyLock<RuleSet> = LazyLock::new(|| {
    let mut set = RuleSet { hyperbaton: vec![], yes_no: vec![], lies: vec![], navigate: vec![], sports: vec![] };
    let mut section = String::new();
    for line in lines(include_str!("../../data/bbh.txt")) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
            continue;
        }
        let into = match section.as_str() {
            "hyperbaton" => &mut set.hyperbaton,
            "yes_no" => &mut set.yes_no,
            "web_of_lies" => &mut set.lies,
            "navigate" => &mut set.navigate,
            _ => &mut set.sports,
        };
        into.extend(parse(&line));
    }
    set
});

/// The one or two rules of a line; see the head of the file.
fn parse(line: &str) -> Vec<Rule> {
    let mut words = line.splitn(3, ' ');
    let (answer, matching, text) = (words.next(), words.next(), words.next());
    let (Some(answer), Some(matching), Some(text)) = (answer, matching, text) else { return Vec::new() };
    let (contradicts, answer) = answer.strip_prefix('!').map_or((false, answer), |rest| (true, rest));
    let fill: &[(&str, bool)] = match answer {
        "0" => &[("", false)],
        "1" => &[("", true)],
        "ab" => &[("a", false), ("b", true)],
        "12" => &[("first", false), ("second", true)],
        "ny" => &[("no", false), ("yes", true)],
        "ft" => &[("false", false), ("true", true)],
        _ => &[],
    };
    fill.iter()
        .map(|&(with, answer)| {
            let matching = match matching {
                "is" => Match::Is,
                "starts" => Match::Starts,
                "ends" => Match::Ends,
                _ => Match::Has,
            };
            let parts = text.split("...").map(|part| part.replace('@', with)).collect();
            Rule { matching, parts, answer, contradicts }
        })
        .collect()
}

fn apply(rules: &[Rule], response: &str, mode: Rules) -> Option<bool> {
    let rule = rules.iter().find(|rule| rule.matches(response))?;
    Some(rule.answer ^ (rule.contradicts && mode == Rules::Fixed))
}

impl Rule {
    fn matches(&self, response: &str) -> bool {
        let [first, rest @ ..] = self.parts.as_slice() else { return false };
        match self.matching {
            Match::Is => response == first,
            Match::Starts => response.starts_with(first.as_str()),
            Match::Ends => response.ends_with(first.as_str()),
            Match::Has => has(response, first, rest),
        }
    }
}

/// `first`, then each of `rest` after at least one character. The response is one line: it has been normalised.
fn has(response: &str, first: &str, rest: &[String]) -> bool {
    // The earliest place of each part leaves most room for the next.
    let Some(at) = response.find(first) else { return false };
    let mut left = &response[at + first.len()..];
    for part in rest {
        let Some(gap) = left.chars().next() else { return false };
        let after = &left[gap.len_utf8()..];
        let Some(at) = after.find(part.as_str()) else { return false };
        left = &after[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_the_originals() {
        let counts = [&RULES.hyperbaton, &RULES.yes_no, &RULES.lies, &RULES.navigate, &RULES.sports].map(Vec::len);
        assert_eq!(counts, [210, 30, 31, 39, 71]);
    }

    #[test]
    fn responses_to_each_task() {
        for (id, response, parity, fixed) in [
            ("hyperbaton_3", "b", Some(false), Some(true)),
            ("hyperbaton_3", "A", Some(false), Some(false)),
            ("hyperbaton_3", "**The correct sentence is: Option (B).**", Some(true), Some(true)),
            ("hyperbaton_3", "B) old red car", Some(true), Some(true)),
            ("hyperbaton_3", "option a is incorrect and option b is correct", Some(true), Some(true)),
            ("hyperbaton_3", "the correct adjective order is given in option b", Some(true), Some(true)),
            ("hyperbaton_3", "the correct adjective order is", None, None),
            ("hyperbaton_3", "", None, None),
            ("web_of_lies_0", "So Fidel must be lying.", Some(true), Some(false)),
            ("web_of_lies_0", "The answer is that Bob lies", Some(false), Some(false)),
            ("web_of_lies_0", "<2> Yes.", Some(true), Some(true)),
            ("web_of_lies_0", "The answer is $\\boxed{\\text{True}}$", Some(true), Some(true)),
            ("navigate_9", "You do not return to the starting point", Some(false), Some(false)),
            ("navigate_9", "Then we are done<|user|>", None, None),
            ("sports_understanding_1", "The sentence about Messi is not plausible", Some(true), Some(false)),
            ("sports_understanding_1", "Not plausible.", Some(false), Some(false)),
            ("sports_understanding_1", "Hmm. Yes", Some(true), Some(true)),
        ] {
            let task = Task::of(id).unwrap();
            assert_eq!(answer(response, task, Rules::Parity), parity, "parity: {response}");
            assert_eq!(answer(response, task, Rules::Fixed), fixed, "fixed: {response}");
        }
    }

    #[test]
    fn unknown_ids_and_references_are_errors() {
        assert!(Task::of("causal_judgement_1").is_err());
        assert!(reference("maybe").is_err());
        assert!(reference("Yes").unwrap() && !reference("(A)").unwrap());
    }
}
