//! Signs that are read as a word.

use super::Rule;

/// Units of time and trade that follow a slash: "$5/month".
const PER: &str = "second|minute|hour|day|night|week|month|year|person|kg|lb|mile|km|unit|item|piece|share|gallon|liter|head|capita|seat|user";

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(&format!(r"/ ?(?P<unit>{PER})\b"), |m| {
            let number = m.before.rsplit(' ').take(2).any(|w| w.contains(|c: char| c.is_ascii_digit()));
            let unit = match m.get("unit") {
                "kg" => "kilogram",
                "lb" => "pound",
                "km" => "kilometer",
                word => word,
            };
            number.then(|| format!("per {unit}"))
        }),
        Rule::new(r"&", |_| Some("and".to_owned())),
        Rule::new(r"#", |m| m.after.starts_with(|c: char| c.is_ascii_digit()).then(|| "number".to_owned())),
        Rule::new(r"§", |_| Some("section".to_owned())),
        Rule::new(r"@", |m| m.after.starts_with(' ').then(|| "at".to_owned())),
        Rule::new(r"[%％]", |m| m.before.ends_with(char::is_alphanumeric).then(|| "percent".to_owned())),
        Rule::new(r"°", |m| m.before.ends_with(char::is_alphanumeric).then(|| "degrees".to_owned())),
    ]
}

/// Whether what follows a unit is a slash and what the unit is counted by.
pub(super) fn is_per(after: &str) -> bool {
    let word = after
        .strip_prefix('/')
        .map(|rest| rest.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default());
    word.is_some_and(|word| PER.split('|').any(|unit| unit == word))
}
