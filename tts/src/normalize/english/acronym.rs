//! Acronyms: from a table where they are said as words, spelled otherwise.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Rule, table};
use crate::clause_stream::clean::is_han;

/// As written → as said.
pub(super) static TABLE: LazyLock<HashMap<&str, Vec<&str>>> =
    LazyLock::new(|| table::by_first(include_str!("../../../data/en/acronyms.tsv")));

/// Short words that people write in capitals for emphasis.
const EMPHASIS: &[&str] = &[
    "NOT", "AND", "OR", "ALL", "DO", "YOU", "YOUR", "VERY", "MUST", "STOP", "ONLY", "NO", "YES", "IF", "THE", "IS",
    "ARE", "NOW", "NEW", "FREE", "BEST", "MORE", "WHY", "HOW", "WHO", "WHAT", "WHEN", "THIS", "THAT", "SO", "TOO",
    "ANY", "EVER", "BUT", "BIG", "TO", "OF", "IN", "ON", "AT", "BE", "MY", "WE", "HE", "SHE", "IT", "ME", "CAN",
    "WILL", "DID", "HAS", "HAVE", "HAD", "WAS", "BOTH", "EACH", "SAME", "LESS", "MOST", "DONT", "NEED", "WANT", "GO",
    "AN", "AS", "BY", "FOR", "FROM", "UP", "OUT", "OFF", "ONE", "TWO", "HELP", "HELLO", "HI", "WOW", "HEY", "OH",
    "AFTER", "DAY", "LOVE",
];

/// Special forms, before any other rule can take them apart.
pub(super) fn special_rules() -> Vec<Rule> {
    let any = table::any_of(TABLE.keys().copied());
    vec![Rule::new(&format!(r"(?P<word>{any})"), |m| {
        let edge =
            |c: Option<char>| c.is_none_or(|c| (!c.is_alphanumeric() || is_han(c)) && !matches!(c, '/' | '&' | '@'));
        let hyphened = m.before.ends_with('-') || m.after.starts_with('-');
        let whole = edge(m.before.chars().next_back()) && edge(m.after.chars().next());
        let dotted = m.after.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
        (whole && !dotted && !(hyphened && m.get("word").contains('/')))
            .then(|| TABLE.get(m.get("word")).and_then(|row| row.get(1)).map(|s| (*s).to_owned()))
            .flatten()
    })]
}

pub(super) fn rules() -> Vec<Rule> {
    vec![
        // "U.S.A", "U.S.": single letters with stops
        Rule::new(r"(?P<word>(?:[A-Z]\.){2,}[A-Z]?)", |m| {
            let said = letters(&m.get("word").replace('.', ""));
            let ends = m.get("word").ends_with('.') && m.after.trim().is_empty();
            Some(if ends { format!("{said} .") } else { said })
        }),
        Rule::new(r"(?P<word>[A-Z]{2,})(?P<s>'?s\b)?", |m| {
            let (word, s) = (m.get("word"), m.get("s"));
            let has_vowel = word.contains(['A', 'E', 'I', 'O', 'U', 'Y']);
            let shouting = !m.before.contains(char::is_lowercase)
                && !m.after.contains(char::is_lowercase)
                && (m.before.contains(char::is_uppercase) || m.after.contains(char::is_uppercase));
            let as_word = EMPHASIS.contains(&word) || has_vowel && (word.len() > 4 || shouting);
            if as_word {
                return Some(format!("{}{s}", word.to_lowercase()));
            }
            // The apostrophe keeps the letter's name: "C E O's".
            Some(if s.is_empty() { letters(word) } else { format!("{}'s", letters(word)) })
        }),
    ]
}

/// "FBI" → "F B I".
pub(crate) fn letters(word: &str) -> String {
    let letters: Vec<String> = word.chars().filter(|c| c.is_alphanumeric()).map(String::from).collect();
    letters.join(" ")
}
