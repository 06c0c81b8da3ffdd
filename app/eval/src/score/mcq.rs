//! Which letter a response to a multiple-choice question means (mmsu, openbookqa).

use std::sync::LazyLock;

use regex::Regex;

use super::{Rules, lines};

/// The letters that are looked for, in the order in which they are tried.
pub const LETTERS: [char; 4] = ['a', 'b', 'c', 'd'];

/// The list that `parity` uses, named in reports.
pub const TEMPLATES: &str = "VoiceBench @5338154, 163 templates";

/// Templates with `@` for the letter, in the order in which they are tried.
static PARITY: LazyLock<Vec<String>> =
    LazyLock::new(|| lines(include_str!("../../data/mcq.txt")).map(|line| line.replace("\\n", "\n")).collect());

/// The letter that a response means, upper case; `None` where it means none.
#[must_use]
pub fn letter(response: &str, rules: Rules) -> Option<char> {
    let found = match rules {
        Rules::Parity => parity(&response.to_lowercase()),
        Rules::Fixed => fixed(response),
    };
    found.map(|letter| letter.to_ascii_uppercase())
}

fn parity(response: &str) -> Option<char> {
    let marked = ["<1>", "<2>", "<3>"].iter().find_map(|mark| response.strip_prefix(mark));
    let response = marked.map_or(response, str::trim);
    for template in PARITY.iter() {
        let found =
            LETTERS.iter().find(|&&letter| response.contains(&template.replace('@', letter.encode_utf8(&mut [0; 4]))));
        if found.is_some() {
            return found.copied();
        }
    }
    let begins = |letter: &&char| {
        let rest = response.strip_prefix(**letter);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ',', ':', ')']))
    };
    if let Some(letter) = LETTERS.iter().find(begins) {
        return Some(*letter);
    }
    let last = ["would be a.", "would be \"a.", "the best option from the given choices would be a scorpion (a)"];
    last.iter().any(|text| response.contains(text)).then_some('a')
}

/// The last letter that is said to be the answer; else a letter at the start; else the only capital letter that stands
/// alone. An article is no answer.
fn fixed(response: &str) -> Option<char> {
    static SAID: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r#"(?x)
            (?: (?i: \b(?:answer|option|choice|select|choose|pick)\b ) (?i: \s* (?:is|was|would\ be|should\ be|must\ be|to\ be|option|choice|letter|:) )*
              | 答案 (?: 应该|应当|就)? (?:是|为|选|:|：)* (?:选项)? | 选项? | (?i: \bboxed ) )
            [\s:："'‘“`*(（\[{\\]* (?: text\{ | textbf\{ | mathbf\{ )? [\s*(]*
            ( [A-Da-d] )
            ( $ | \s*[.,:;)）\]}"'’”`*。，、？?!！\n] | \s*$ | \s+(?:is|because|since|as|[-–—(])  | \p{Han} )"#,
        )
        .ok()
    });
    static START: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"^[\s"'‘“`*(（\[]*([A-Da-d])(?:$|[.,:;)）\]"'’”`*。，、：\n]|\s*$)"#).ok());
    static ALONE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?:^|[\s"'‘“`*(（\[])([A-D])(?:[.,:;)）\]"'’”`*]|\s*$)"#).ok());
    let all = |regex: &LazyLock<Option<Regex>>| -> Vec<char> {
        let Some(regex) = regex.as_ref() else { return Vec::new() };
        let letter = |m: regex::Captures<'_>| m.get(1).and_then(|m| m.as_str().chars().next());
        regex.captures_iter(response).filter_map(letter).map(|c| c.to_ascii_lowercase()).collect()
    };
    let first = |letters: Vec<char>| letters.first().copied();
    all(&SAID).last().copied().or_else(|| first(all(&START))).or_else(|| {
        let mut alone = all(&ALONE);
        alone.sort_unstable();
        alone.dedup();
        if alone.len() == 1 { alone.pop() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_the_originals() {
        assert_eq!(PARITY.len(), 163);
        assert!(PARITY.iter().all(|template| template.contains('@')));
        assert!(PARITY.iter().any(|template| template == "is \\( \\boxed{@ "));
    }

    #[test]
    fn letters_with_and_without_the_traps() {
        for (response, parity, fixed) in [
            ("The answer is B.", Some('B'), Some('B')),
            ("", None, None),
            ("It is a, clearly", Some('A'), None),
            ("b", Some('B'), Some('B')),
            ("C) because it burns", Some('C'), Some('C')),
            ("<1> d. yes", Some('D'), None),
            // An early template for a beats a later, correct statement.
            ("This would be a hard one. The answer is C.", Some('C'), Some('C')),
            ("This would be a hard one. So C) it is.", Some('A'), Some('C')),
            ("I see a. Then the correct option is (D).", Some('D'), Some('D')),
            ("答案是C。", Some('C'), Some('C')),
            ("正确答案应该是 B", Some('B'), Some('B')),
            ("The answer is \\(\\boxed{\\text{B}}\\)", None, Some('B')),
            ("The answer is **D**, not A.", Some('D'), Some('D')),
            ("I do not know which one", None, None),
            ("The answer is a scorpion", Some('A'), None),
        ] {
            assert_eq!(letter(response, Rules::Parity), parity, "parity: {response}");
            assert_eq!(letter(response, Rules::Fixed), fixed, "fixed: {response}");
        }
    }
}
