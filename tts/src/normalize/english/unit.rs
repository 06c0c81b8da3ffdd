//! Numbers with units of measurement, and the letters that stand for thousand, million and billion.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::number::{cardinal, decimal, is_one};
use super::{NUMBER, Rule, signed, table};

/// Unit → one, many.
static UNITS: LazyLock<HashMap<&str, Vec<&str>>> =
    LazyLock::new(|| table::by_first(include_str!("../../../data/en/units.tsv")));

/// Units that are also words or letters: read only where nothing stands between them and the number.
const ATTACHED_ONLY: &[&str] = &["in", "A", "b", "B", "x", "J", "cal", "cl", "ha", "mi", "gal", "MP"];

pub(super) fn rules() -> Vec<Rule> {
    let any = table::any_of(UNITS.keys().copied());
    vec![
        Rule::new(r"(?P<f>\d)′ ?(?P<i>\d{1,2})″?", |m| {
            Some(format!("{} foot {}", cardinal(m.get("f")), cardinal(m.get("i"))))
        }),
        Rule::new(r"(?P<f>\d+) ?ft\.? ?(?P<i>\d+) ?in\b\.?", |m| {
            let inches = if is_one(m.get("i")) { "inch" } else { "inches" };
            Some(format!("{} feet {} {inches}", cardinal(m.get("f")), cardinal(m.get("i"))))
        }),
        // "3x4" is a size; "3 × 4" is a product, see maths.
        Rule::new(&format!(r"(?P<a>{NUMBER}) ?x ?(?P<b>{NUMBER})(?: ?x ?(?P<c>{NUMBER}))?"), |m| {
            let third = if m.get("c").is_empty() { String::new() } else { format!(" by {}", side(m.get("c"))) };
            Some(format!("{} by {}{third}", side(m.get("a")), side(m.get("b"))))
        }),
        Rule::new(&format!(r"(?P<n>{NUMBER})(?P<scale>[kKMB])\+?"), |m| {
            let n = m.get("n");
            let few = n.len() < 2 || n == "10";
            let race = few
                && (matches!(m.word_after().as_str(), "run" | "race" | "walk")
                    || matches!(m.word_before().as_str(), "a" | "the"));
            if super::code::NUMBERED.contains(&m.word_before().as_str()) {
                return None;
            }
            let scale = match m.get("scale") {
                "K" if few => return None,
                "k" if race => return None,
                "k" | "K" => "thousand",
                "M" => "million",
                _ => "billion",
            };
            Some(format!("{} {scale}", decimal(m.get("n"))))
        }),
        Rule::new(&format!(r"(?P<n>[+-]?(?:{NUMBER}))(?P<gap>[ -]?)(?P<unit>{any})"), |m| {
            let (unit, gap) = (m.get("unit"), m.get("gap"));
            let row = UNITS.get(unit)?;
            if gap.is_empty() && unit == "B" && super::code::NUMBERED.contains(&m.word_before().as_str()) {
                return None;
            }
            let loose = gap == " " && ATTACHED_ONLY.contains(&unit) && !(unit == "in" && ends(m.after));
            if loose || m.after.starts_with('/') && !super::symbol::is_per(m.after) {
                return None;
            }
            let one = is_one(m.get("n")) || gap == "-" || m.counts_what_follows();
            Some(format!("{} {}", signed(m)?, row.get(if one { 1 } else { 2 })?))
        }),
    ]
}

/// The side of a screen or a room: "1920" is read in pairs.
fn side(written: &str) -> String {
    if written.len() == 4 && written.bytes().all(|b| b.is_ascii_digit()) {
        super::code::name(written)
    } else {
        decimal(written)
    }
}

fn ends(after: &str) -> bool {
    let after = after.trim_start();
    after.is_empty() || after.starts_with(['.', ',', ';', ')'])
}
