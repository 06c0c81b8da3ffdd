//! English: one file for each class of written forms; the order of the classes settles who reads what.

pub(super) mod number;
mod symbol;

use std::sync::LazyLock;

use super::Span;
use super::rule::{Rule, apply};
use crate::clause_stream::clean::is_han;

/// All rules, the most specific classes first.
static RULES: LazyLock<Vec<Rule>> =
    LazyLock::new(|| [symbol::rules()].into_iter().flatten().collect());

/// Shares the text out into forms, words and marks.
pub(super) fn spans(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    apply(&RULES, text, &mut spans);
    spans.sort_by_key(|span| span.written.start);
    let mut all = Vec::new();
    let mut at = 0;
    for span in spans {
        symbol::plain(text, at..span.written.start, &mut all);
        at = span.written.end;
        all.push(span);
    }
    symbol::plain(text, at..text.len(), &mut all);
    all
}

/// Whether two neighbouring characters belong to one word: Chinese needs no space around numbers and letters.
pub(super) fn same_script(a: char, b: char) -> bool {
    is_han(a) == is_han(b)
}
