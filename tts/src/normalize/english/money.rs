//! Amounts of money.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::number::{cardinal, decimal, is_one};
use super::{NUMBER, Rule, table};

/// Sign or code → one, many, one part, many parts.
static CURRENCIES: LazyLock<HashMap<&str, Vec<&str>>> =
    LazyLock::new(|| table::by_first(include_str!("../../../data/en/currencies.tsv")));

const SCALE: &str = r"(?: ?(?P<scale>thousand|million|billion|trillion|bn|mn|[kKmMbB])\b)?";

pub(super) fn rules() -> Vec<Rule> {
    let any = table::any_of(CURRENCIES.keys().copied());
    let codes = table::any_of(CURRENCIES.keys().copied().filter(|k| k.chars().all(|c| c.is_ascii_uppercase())));
    let signs = "[€£¥₹₩₽]";
    let say: fn(&super::Match<'_, '_>) -> Option<String> = |m| {
        if !m.get("minus").is_empty() && m.before.ends_with(|c: char| c.is_alphanumeric()) {
            return None;
        }
        let sign = if m.get("minus").is_empty() { "" } else { "minus " };
        let singular = m.counts_what_follows() || m.after.starts_with(" bill");
        amount(m.get("currency"), m.get("n"), m.get("scale"), singular).map(|said| format!("{sign}{said}"))
    };
    vec![
        Rule::new(&format!(r"(?P<minus>-)?(?P<currency>{any}) ?(?P<n>{NUMBER}){SCALE}"), say),
        Rule::new(&format!(r"(?P<minus>-)?(?P<n>{NUMBER}){SCALE} ?(?P<currency>{codes}|{signs})"), say),
        Rule::new(r"(?P<n>\d+) ?¢", |m| {
            Some(format!("{} {}", cardinal(m.get("n")), if is_one(m.get("n")) { "cent" } else { "cents" }))
        }),
    ]
}

fn amount(currency: &str, number: &str, scale: &str, singular: bool) -> Option<String> {
    let row = CURRENCIES.get(currency)?;
    let name = |one: bool| row.get(if one || singular { 1 } else { 2 }).copied().unwrap_or_default();
    let part = |one: bool| row.get(if one { 3 } else { 4 }).copied().filter(|p| !p.is_empty());
    let scale = match scale {
        "k" | "K" => "thousand",
        "m" | "M" | "mn" => "million",
        "b" | "B" | "bn" => "billion",
        other => other,
    };
    if !scale.is_empty() {
        return Some(format!("{} {scale} {}", decimal(number), name(false)));
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let zero_whole = whole.chars().all(|c| c == '0');
    match fraction {
        "" | "00" => Some(format!("{} {}", cardinal(whole), name(is_one(whole)))),
        _ if fraction.len() == 2 && part(false).is_some() => {
            let cents = fraction.trim_start_matches('0');
            let parts = format!("{} {}", cardinal(cents), part(is_one(cents)).unwrap_or_default());
            if zero_whole {
                Some(parts)
            } else {
                Some(format!("{} {} and {parts}", cardinal(whole), name(is_one(whole))))
            }
        }
        _ => Some(format!("{} {}", decimal(number), name(false))),
    }
}
