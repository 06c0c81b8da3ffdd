//! Rules that read a class of written forms, and how they share out a text.

use std::ops::Range;

use regex::{Captures, Regex};

use super::Span;
use crate::clause_stream::clean::is_han;

/// Reads one written form.
pub(super) struct Rule {
    pattern: Regex,
    say: fn(&Match<'_, '_>) -> Option<String>,
}

/// A found form with what stands around it.
pub(super) struct Match<'a, 't> {
    captures: &'a Captures<'t>,
    /// The text before the form.
    pub(super) before: &'t str,
    /// The text after the form.
    pub(super) after: &'t str,
}

impl<'t> Match<'_, 't> {
    /// A named part of the form; empty when it is not there.
    pub(super) fn get(&self, name: &str) -> &'t str {
        self.captures.name(name).map_or("", |m| m.as_str())
    }

    /// The word before the form, in lower case.
    pub(super) fn word_before(&self) -> String {
        let before = self.before.trim_end();
        before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase()
    }

    /// Whether the form tells how much of what follows: "a 5 km run".
    pub(super) fn counts_what_follows(&self) -> bool {
        let mut after = self.after.chars();
        matches!(self.word_before().as_str(), "a" | "an")
            && after.next() == Some(' ')
            && after.next().is_some_and(char::is_alphabetic)
    }

    /// The word after the form, in lower case.
    pub(super) fn word_after(&self) -> String {
        let after = self.after.trim_start();
        after.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase()
    }
}

impl Rule {
    /// A rule; `say` may decline a form that only looks like one.
    ///
    /// # Panics
    /// When the pattern is malformed: patterns are part of the program, and a test builds every rule.
    #[expect(clippy::expect_used, reason = "patterns are constants, checked by a test")]
    pub(super) fn new(pattern: &str, say: fn(&Match<'_, '_>) -> Option<String>) -> Rule {
        Rule { pattern: Regex::new(pattern).expect("the rule's pattern is well formed"), say }
    }
}

/// Applies rules in order: a stretch of text belongs to the first rule that reads it.
pub(super) fn apply(rules: &[Rule], text: &str, taken: &mut Vec<Span>) {
    for rule in rules {
        let mut from = 0;
        while let Some(captures) = rule.pattern.captures_at(text, from) {
            let Some(whole) = captures.get(0) else { break };
            let range = whole.range();
            from = if range.is_empty() { next_char(text, range.end) } else { range.end };
            if from > text.len() || range.is_empty() {
                if from > text.len() {
                    break;
                }
                continue;
            }
            if taken.iter().any(|span| overlap(&span.written, &range)) || splits_word(text, &range) {
                // A form may hide behind the beginning of one that is taken.
                from = next_char(text, range.start);
                continue;
            }
            let found = Match { captures: &captures, before: &text[..range.start], after: &text[range.end..] };
            match (rule.say)(&found) {
                Some(said) => taken.push(Span { written: range, said }),
                None => from = next_char(text, range.start),
            }
        }
    }
}

fn next_char(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Whether a form begins or ends in the middle of a word or number.
fn splits_word(text: &str, range: &Range<usize>) -> bool {
    let edge = |inside: Option<char>, outside: Option<char>| match (inside, outside) {
        (Some('²' | '³'), _) => false,
        // Chinese has no spaces, so there a form may touch a word.
        (Some(i), Some(o)) => i.is_alphanumeric() && o.is_alphanumeric() && !is_han(i) && !is_han(o),
        _ => false,
    };
    let inside = &text[range.clone()];
    edge(inside.chars().next(), text[..range.start].chars().next_back())
        || edge(inside.chars().next_back(), text[range.end..].chars().next())
}
