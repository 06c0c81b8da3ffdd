//! Words as they are, and the marks between them.

use std::ops::Range;

use super::Rule;
use crate::normalize::Span;

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

/// Text that no rule reads: words go through, punctuation is kept where it shapes the melody, other signs are gaps.
pub(super) fn plain(text: &str, range: Range<usize>, out: &mut Vec<Span>) {
    let mut word: Option<Range<usize>> = None;
    let flush = |word: &mut Option<Range<usize>>, out: &mut Vec<Span>| {
        if let Some(written) = word.take() {
            let said = text[written.clone()].trim_end_matches(['\'', '-']).to_owned();
            out.push(Span { written, said });
        }
    };
    for (offset, ch) in text[range.clone()].char_indices() {
        let at = range.start + offset;
        let end = at + ch.len_utf8();
        let joins = word.is_some() && matches!(ch, '\'' | '-');
        if ch.is_alphanumeric() || joins {
            word.get_or_insert(at..at).end = end;
            continue;
        }
        flush(&mut word, out);
        let said = match ch {
            // A stop inside a sentence belongs to an abbreviation.
            '.' if text[end..].trim_start().starts_with(char::is_lowercase) => String::new(),
            ',' | '.' | ';' | ':' | '!' | '?' | '…' => ch.to_string(),
            '，' | '、' => ",".into(),
            '。' => ".".into(),
            '！' => "!".into(),
            '？' => "?".into(),
            '；' => ";".into(),
            '：' => ":".into(),
            _ => String::new(),
        };
        out.push(Span { written: at..end, said });
    }
    flush(&mut word, out);
}
