//! What stands between two numbers of a range.

use super::Rule;

pub(super) fn rules() -> Vec<Rule> {
    vec![Rule::new(r"(?P<dash>–| – |-)", |m| {
        let left = m.before.rsplit([' ', '(']).next()?;
        let starts_number = |s: &str| s.starts_with(|c: char| c.is_ascii_digit() || "$€£¥.".contains(c));
        let clock = matches!(left, "AM" | "PM" | "am" | "pm" | "a.m." | "p.m.");
        ((starts_number(left) || clock) && !left.contains('-') && starts_number(m.after)).then(|| "to".to_owned())
    })]
}
