//! Roman numerals, where the word before them makes clear that they are numbers.

use super::Rule;
use super::number::{cardinal, ordinal};

/// Things that are numbered: "chapter four".
const NUMBERED: &[&str] = &[
    "war",
    "chapter",
    "part",
    "act",
    "scene",
    "phase",
    "type",
    "section",
    "volume",
    "book",
    "level",
    "stage",
    "class",
    "title",
    "article",
    "bowl",
    "season",
    "episode",
    "fantasy",
    "rocky",
    "appendix",
    "figure",
    "table",
    "category",
    "mark",
    "generation",
    "tier",
    "schedule",
];
/// People who are numbered: "Henry the eighth".
const REGNAL: &[&str] = &[
    "henry",
    "louis",
    "elizabeth",
    "george",
    "charles",
    "james",
    "edward",
    "richard",
    "william",
    "mary",
    "philip",
    "napoleon",
    "francis",
    "leopold",
    "frederick",
    "catherine",
    "peter",
    "ivan",
    "nicholas",
    "alexander",
    "pius",
    "benedict",
    "john",
    "paul",
    "leo",
    "gregory",
    "innocent",
    "clement",
    "urban",
    "ramses",
    "ramesses",
    "thutmose",
    "ptolemy",
    "cleopatra",
    "darius",
    "xerxes",
    "constantine",
    "otto",
    "wilhelm",
    "albert",
    "alfonso",
    "ferdinand",
    "isabella",
    "harald",
    "olaf",
    "christian",
    "gustav",
    "umberto",
    "victor",
    "emmanuel",
    "boniface",
    "sixtus",
    "julius",
];

pub(super) fn rules() -> Vec<Rule> {
    vec![Rule::new(r"(?P<r>[IVXLC]+)", |m| {
        let value = value(m.get("r"))?.to_string();
        if !m.before.ends_with(' ') || matches!(m.get("r"), "L" | "C") {
            return None;
        }
        let before = m.word_before();
        let capital = m.before.trim_end().rsplit(' ').next()?.starts_with(char::is_uppercase);
        if REGNAL.contains(&before.as_str()) && capital {
            Some(format!("the {}", ordinal(&value)))
        } else if NUMBERED.contains(&before.as_str())
            || (capital && m.get("r").len() > 1 && !m.get("r").contains(['L', 'C']))
        {
            Some(cardinal(&value))
        } else {
            None
        }
    })]
}

/// The value of a well-formed numeral below 400.
fn value(numeral: &str) -> Option<u32> {
    let digit = |c: char| match c {
        'I' => 1,
        'V' => 5,
        'X' => 10,
        'L' => 50,
        _ => 100,
    };
    let mut total = 0;
    let mut chars = numeral.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().map_or(0, |n| digit(*n));
        if next > digit(c) {
            total += next - digit(c);
            chars.next();
        } else {
            total += digit(c);
        }
    }
    (write(total) == numeral).then_some(total)
}

fn write(mut value: u32) -> String {
    let mut numeral = String::new();
    for (worth, sign) in
        [(100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    {
        while value >= worth {
            numeral.push_str(sign);
            value -= worth;
        }
    }
    numeral
}
