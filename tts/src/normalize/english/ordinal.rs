//! Ordinals in digits.

use super::Rule;
use super::number::ordinal;

pub(super) fn rules() -> Vec<Rule> {
    vec![Rule::new(r"(?P<n>\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th|ST|ND|RD|TH)", |m| Some(ordinal(m.get("n"))))]
}
