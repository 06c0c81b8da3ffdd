//! Mandarin: numbers and signs inside Chinese text are read in Chinese; Latin words go to the English rules.

mod date;
mod digits;
mod maths;
mod measure;
mod money;
pub(crate) mod number;
mod time;

use std::sync::LazyLock;

use super::rule::{Match, Rule};
use super::{Span, english};

/// A written number without its sign.
const NUMBER: &str = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?";

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let classes = [
        english::names(),
        digits::phones(),
        date::rules(),
        time::rules(),
        money::rules(),
        measure::rules(),
        digits::rules(),
        maths::rules(),
        english::acronyms(),
    ];
    classes.into_iter().flatten().collect()
});

/// Shares the text out into forms, words and marks.
pub(super) fn spans(text: &str) -> Vec<Span> {
    super::share_out(&RULES, text)
}
