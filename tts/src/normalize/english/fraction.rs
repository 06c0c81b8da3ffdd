//! Fractions.

use super::Rule;
use super::number::{cardinal, ordinal};

const GLYPHS: [(char, u32, u32); 18] = [
    ('½', 1, 2),
    ('⅓', 1, 3),
    ('⅔', 2, 3),
    ('¼', 1, 4),
    ('¾', 3, 4),
    ('⅕', 1, 5),
    ('⅖', 2, 5),
    ('⅗', 3, 5),
    ('⅘', 4, 5),
    ('⅙', 1, 6),
    ('⅚', 5, 6),
    ('⅛', 1, 8),
    ('⅜', 3, 8),
    ('⅝', 5, 8),
    ('⅞', 7, 8),
    ('⅐', 1, 7),
    ('⅑', 1, 9),
    ('⅒', 1, 10),
];

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"(?:(?P<w>\d+) ?)?(?P<glyph>[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅐⅑⅒])", |m| {
            let glyph = m.get("glyph").chars().next()?;
            let (_, a, b) = GLYPHS.iter().find(|(g, ..)| *g == glyph)?;
            Some(mixed(m.get("w"), *a, *b))
        }),
        Rule::new(r"(?:(?P<w>\d{1,3})[ -])?(?P<a>\d{1,4})/(?P<b>\d{1,4})", |m| {
            if m.after.starts_with(['/', '-']) && m.after[1..].starts_with(|c: char| c.is_ascii_digit())
                || m.before.ends_with('/')
            {
                return None;
            }
            let (a, b) = (m.get("a").parse::<u32>().ok()?, m.get("b").parse::<u32>().ok()?);
            let rated = matches!(m.word_after().as_str(), "star" | "stars" | "points" | "rating");
            if m.get("w").is_empty() && (matches!(b, 10 | 100) && a <= b && a > 1 || rated || b < 2 || a == b) {
                return Some(format!("{} out of {}", cardinal(m.get("a")), cardinal(m.get("b"))));
            }
            Some(mixed(m.get("w"), a, b))
        }),
    ]
}

fn mixed(whole: &str, a: u32, b: u32) -> String {
    if whole.is_empty() {
        return fraction(a, b, "one");
    }
    format!("{} and {}", cardinal(whole), fraction(a, b, "a"))
}

fn fraction(a: u32, b: u32, one: &str) -> String {
    let count = if a == 1 { one.to_owned() } else { cardinal(&a.to_string()) };
    let name = match (b, a) {
        (2, 1) => "half".to_owned(),
        (2, _) => "halves".to_owned(),
        (4, 1) => "quarter".to_owned(),
        (4, _) => "quarters".to_owned(),
        (_, 1) => ordinal(&b.to_string()),
        _ => format!("{}s", ordinal(&b.to_string())),
    };
    // "a eighth" is said "an eighth".
    if count == "a" && name.starts_with(['e', 'a', 'o']) { format!("an {name}") } else { format!("{count} {name}") }
}
