//! Names made of letters and digits, and numbers that are names: "MP3", "COVID-19", "room 404".

use super::acronym::letters;
use super::address::runs;
use super::number::{cardinal, spell, spell_oh};
use super::{Match, Rule};

/// Things that are told apart by a number.
pub(super) const NUMBERED: &[&str] = &[
    "room",
    "flight",
    "route",
    "highway",
    "boeing",
    "airbus",
    "interstate",
    "bus",
    "apartment",
    "suite",
    "extension",
    "area",
    "error",
    "code",
    "channel",
    "rtx",
    "gtx",
    "ryzen",
    "psalm",
    "building",
];

pub(super) fn rules() -> Vec<Rule> {
    let mixed: fn(&Match<'_, '_>) -> Option<String> = |m| {
        let word = m.get("word");
        let said: Vec<String> = runs(word)
            .into_iter()
            .map(|run| match run {
                digits if digits.starts_with(|c: char| c.is_ascii_digit()) => name(digits),
                upper if upper.len() <= 3 && upper.chars().all(char::is_uppercase) => letters(upper),
                single if single.len() == 1 => single.to_uppercase(),
                word => word.to_owned(),
            })
            .collect();
        Some(said.join(" "))
    };
    vec![
        Rule::new(r"(?P<word>[A-Za-z]+\d+[A-Za-z0-9]*|\d+[A-Za-z][A-Za-z0-9]*)", mixed),
        Rule::new(r"(?P<n>\d{3,4})", |m| {
            let named = NUMBERED.contains(&m.word_before().as_str()) && m.before.ends_with([' ', '-']);
            // "room 1,200" counts; "room 404, please" does not.
            let goes_on =
                m.after.strip_prefix([',', '.']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            (named && !goes_on).then(|| name(m.get("n")))
        }),
        // "COVID-19", "GPT-4": the hyphen is no minus
        Rule::new(r"-(?P<n>\d{1,4})\b", |m| {
            let after_letter = m.before.ends_with(char::is_alphabetic);
            (after_letter && !m.after.starts_with(['.', ','])).then(|| format!(" {}", name(m.get("n"))))
        }),
    ]
}

/// "747" → "seven forty-seven", "4090" → "forty ninety", "404" → "four oh four".
pub(super) fn name(digits: &str) -> String {
    let pair = |two: &str| match two.strip_prefix('0') {
        Some(one) => format!("oh {}", spell_oh(one)),
        None => cardinal(two),
    };
    match digits.len() {
        1 | 2 if digits.starts_with('0') => spell(digits),
        1 | 2 => cardinal(digits),
        3 if digits.ends_with("00") => cardinal(digits),
        3 => format!("{} {}", cardinal(&digits[..1]), pair(&digits[1..])),
        4 if digits.ends_with("000") => cardinal(digits),
        4 if digits.ends_with("00") => format!("{} hundred", cardinal(&digits[..2])),
        4 => format!("{} {}", pair(&digits[..2]), pair(&digits[2..])),
        _ => spell(digits),
    }
}
