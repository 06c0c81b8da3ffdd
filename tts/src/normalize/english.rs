//! English: one file for each class of written forms; the order of the classes settles who reads what.

mod abbreviation;
mod acronym;
mod address;
mod cardinal;
mod code;
mod date;
mod fraction;
mod maths;
mod money;
pub(crate) mod number;
mod ordinal;
mod percent;
mod phone;
mod range;
mod roman;
mod symbol;
mod time;
mod unit;
mod version;

use std::sync::LazyLock;

use super::rule::{Match, Rule};
use super::{Span, table};
pub(crate) use acronym::letters;
pub(crate) use address::runs;

/// All rules, the most specific classes first.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let classes = [
        acronym::special_rules(),
        address::rules(),
        phone::rules(),
        date::rules(),
        maths::powers(),
        version::rules(),
        time::rules(),
        money::rules(),
        percent::rules(),
        unit::rules(),
        fraction::rules(),
        ordinal::rules(),
        roman::rules(),
        abbreviation::rules(),
        acronym::rules(),
        code::rules(),
        range::rules(),
        cardinal::rules(),
        maths::rules(),
        symbol::rules(),
    ];
    classes.into_iter().flatten().collect()
});

/// A written number without its sign: digits in groups of three or without groups, and a fraction.
const NUMBER: &str = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?";

/// The named part `n`, a number that may have a sign. A hyphen after a word or number is no sign: declines.
fn signed(m: &Match<'_, '_>) -> Option<String> {
    let n = m.get("n");
    let joined = m.before.ends_with(|c: char| c.is_alphanumeric() || c == ')');
    match n.chars().next() {
        Some('-' | '+') if joined => None,
        Some('+') => Some(format!("plus {}", number::decimal(&n[1..]))),
        _ => Some(number::decimal(n)),
    }
}

/// Shares the text out into forms, words and marks.
pub(super) fn spans(text: &str) -> Vec<Span> {
    super::share_out(&RULES, text)
}

/// Rules for names that are the same in every language's text.
pub(super) fn names() -> Vec<Rule> {
    acronym::special_rules().into_iter().chain(address::rules()).collect()
}

/// Rules for words in capitals.
pub(super) fn acronyms() -> Vec<Rule> {
    acronym::rules()
}
