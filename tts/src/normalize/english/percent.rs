//! Percentages.

use super::number::decimal;
use super::{NUMBER, Rule, signed};

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(&format!(r"(?P<a>{NUMBER})%? ?[–-] ?(?P<b>{NUMBER}) ?[%％]"), |m| {
            Some(format!("{} to {} percent", decimal(m.get("a")), decimal(m.get("b"))))
        }),
        Rule::new(&format!(r"(?P<n>[+-]?(?:{NUMBER})) ?[%％]"), |m| Some(format!("{} percent", signed(m)?))),
        Rule::new(&format!(r"(?P<n>[+-]?(?:{NUMBER})) ?‰"), |m| Some(format!("{} per mille", signed(m)?))),
        Rule::new(r"(?P<n>[+-]?\.\d+) ?[%％]", |m| Some(format!("{} percent", signed(m)?))),
    ]
}
