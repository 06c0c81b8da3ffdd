//! Signs of mathematics between, before and after what they work on.

use super::{Match, Rule};

/// Exponents, before their numbers are read as such.
pub(super) fn powers() -> Vec<Rule> {
    vec![
        Rule::new(r"\^ ?\(?(?P<n>-?\d+|[a-z])\)?", |m| Some(power(m.get("n")))),
        Rule::new(r"²", |m| operand_before(m).then(|| "squared".to_owned())),
        Rule::new(r"³", |m| operand_before(m).then(|| "cubed".to_owned())),
    ]
}

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"<=|≤", |m| between(m, "less than or equal to")),
        Rule::new(r">=|≥", |m| between(m, "greater than or equal to")),
        Rule::new(r"!=|≠", |m| between(m, "does not equal")),
        Rule::new(r"==?", |m| between(m, "equals")),
        Rule::new(r"\+", |m| if operand_before(m) || operand_after(m) { Some("plus".to_owned()) } else { None }),
        Rule::new(r" - ", |m| (ends_number(m) && starts_number(m)).then(|| "minus".to_owned())),
        Rule::new(r"×", |m| between(m, "times")),
        Rule::new(r"÷", |m| between(m, "divided by")),
        Rule::new(r" / ", |m| (ends_number(m) && starts_number(m)).then(|| "divided by".to_owned())),
        Rule::new(r"±", |_| Some("plus or minus".to_owned())),
        Rule::new(r"[≈~]", |m| {
            if operand_before(m) && operand_after(m) {
                Some("is about".to_owned())
            } else {
                operand_after(m).then(|| "about".to_owned())
            }
        }),
        Rule::new(r"<", |m| {
            if operand_before(m) {
                between(m, "is less than")
            } else {
                starts_number(m).then(|| "less than".to_owned())
            }
        }),
        Rule::new(r">", |m| {
            if operand_before(m) {
                between(m, "is greater than")
            } else {
                starts_number(m).then(|| "more than".to_owned())
            }
        }),
        Rule::new(r"√", |m| operand_after(m).then(|| "the square root of".to_owned())),
        Rule::new(r"∞", |_| Some("infinity".to_owned())),
        Rule::new(r"π", |_| Some("pi".to_owned())),
    ]
}

fn power(exponent: &str) -> String {
    match exponent {
        "2" => "squared".to_owned(),
        "3" => "cubed".to_owned(),
        n => match n.strip_prefix('-') {
            Some(n) => format!("to the power of minus {}", word(n)),
            None => format!("to the power of {}", word(n)),
        },
    }
}

fn word(n: &str) -> String {
    if n.bytes().all(|b| b.is_ascii_digit()) { super::number::cardinal(n) } else { n.to_owned() }
}

fn between(m: &Match<'_, '_>, said: &str) -> Option<String> {
    (operand_before(m) && operand_after(m)).then(|| said.to_owned())
}

fn operand_before(m: &Match<'_, '_>) -> bool {
    m.before.trim_end().ends_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | '%' | '²' | '³'))
}

fn operand_after(m: &Match<'_, '_>) -> bool {
    m.after.trim_start().starts_with(|c: char| c.is_alphanumeric() || matches!(c, '(' | '-' | '$' | '√' | 'π' | '.'))
}

fn ends_number(m: &Match<'_, '_>) -> bool {
    m.before.ends_with(|c: char| c.is_ascii_digit() || c == '%')
}

fn starts_number(m: &Match<'_, '_>) -> bool {
    m.after.trim_start().starts_with(|c: char| c.is_ascii_digit() || matches!(c, '$' | '€' | '£'))
}
