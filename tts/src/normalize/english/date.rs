//! Dates, years, decades and eras.

use super::Rule;
use super::number::{cardinal, decade, ordinal, year};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const MONTH: &str = r"(?P<mon>January|February|March|April|May|June|July|August|September|October|November|December|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\b\.?)";
const YEAR: &str = r"1[0-9]\d\d|20\d\d";

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})", |m| numeric(m.get("m"), m.get("d"), m.get("y"))),
        Rule::new(r"(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>\d{4}|\d{2})", |m| {
            numeric(m.get("m"), m.get("d"), m.get("y")).or_else(|| numeric(m.get("d"), m.get("m"), m.get("y")))
        }),
        Rule::new(r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})", |m| numeric(m.get("m"), m.get("d"), m.get("y"))),
        Rule::new(
            &format!(
                r"{MONTH} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:(?: ?[–-] ?| to )(?P<e>\d{{1,2}})(?:st|nd|rd|th)?)?(?:,? (?P<y>{YEAR}))?"
            ),
            |m| {
                let day = day(m.get("d"))?;
                let until =
                    if m.get("e").is_empty() { String::new() } else { format!(" to {}", self::day(m.get("e"))?) };
                Some(format!("{} {day}{until}{}", month(m.get("mon"))?, with_year(m.get("y"))))
            },
        ),
        Rule::new(&format!(r"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {MONTH}(?:,? (?P<y>{YEAR}))?"), |m| {
            let article = if m.word_before() == "the" { "" } else { "the " };
            Some(format!("{article}{} of {}{}", day(m.get("d"))?, month(m.get("mon"))?, with_year(m.get("y"))))
        }),
        Rule::new(&format!(r"{MONTH},? (?P<y>{YEAR})"), |m| {
            Some(format!("{} {}", month(m.get("mon"))?, year(m.get("y"))))
        }),
        Rule::new(r"(?P<y>(?:1[0-9]|20)\d0)['’]?s", |m| Some(decade(m.get("y")))),
        Rule::new(r"'?(?P<y>[2-9]0)['’]?s", |m| Some(decade(m.get("y")))),
        Rule::new(r"(?P<y>\d{1,4}) ?(?P<era>BCE|BC|AD|CE)", |m| {
            Some(format!("{} {}", year(m.get("y")), super::acronym::letters(m.get("era"))))
        }),
        Rule::new(r"AD (?P<y>\d{1,4})", |m| Some(format!("A D {}", year(m.get("y"))))),
        Rule::new(&format!(r"(?P<a>{YEAR}) ?[–-] ?(?P<b>{YEAR}|\d\d)"), |m| {
            let (a, b) = (m.get("a"), m.get("b"));
            let grows = if b.len() == 2 { a[2..] < *b } else { a < b };
            let until = if b.len() == 2 { cardinal(b) } else { year(b) };
            grows.then(|| format!("{} to {until}", year(a)))
        }),
        Rule::new(&format!(r"(?P<y>{YEAR})"), |m| {
            let before = m.word_before();
            let after = m.word_after();
            let by_before = matches!(
                before.as_str(),
                "in" | "since"
                    | "until"
                    | "till"
                    | "from"
                    | "year"
                    | "circa"
                    | "during"
                    | "late"
                    | "early"
                    | "mid"
                    | "spring"
                    | "summer"
                    | "autumn"
                    | "fall"
                    | "winter"
                    | "by"
                    | "before"
                    | "after"
                    | "between"
                    | "of"
                    | "copyright"
                    | "born"
                    | "died"
            );
            let by_after =
                m.before.trim().is_empty() && matches!(after.as_str(), "was" | "is" | "saw" | "will" | "has");
            // "between 1914 and 1918", "from 1990 to 1995"
            let second = matches!(before.as_str(), "and" | "to" | "or")
                && m.before.split_whitespace().rev().nth(1).is_some_and(looks_like_year);
            // "of 1500 people", "by 2000 votes", "in 1500 meters"
            let counts = after.len() > 3 && after.ends_with('s') && !matches!(after.as_str(), "this" | "was")
                || after == "people";
            let attached = m.before.ends_with(['$', '-', '.', ',', '/', '#'])
                || m.after.starts_with(['%', '°', '/'])
                || m.after.starts_with(".0");
            ((by_before || by_after || second) && !counts && !attached).then(|| year(m.get("y")))
        }),
    ]
}

fn looks_like_year(word: &str) -> bool {
    word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()) && (word.starts_with('1') || word.starts_with("20"))
}

fn numeric(month: &str, day: &str, year_written: &str) -> Option<String> {
    let name = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    let year_said = match year_written.len() {
        4 => year(year_written),
        // Two digits: no century is known.
        _ if year_written.starts_with('0') => format!("oh {}", cardinal(year_written)),
        _ => cardinal(year_written),
    };
    Some(format!("{name} {} , {year_said}", self::day(day)?))
}

fn day(written: &str) -> Option<String> {
    written.parse::<u32>().is_ok_and(|d| (1..=31).contains(&d)).then(|| ordinal(written))
}

fn month(written: &str) -> Option<&'static str> {
    MONTHS.iter().copied().find(|name| {
        name.starts_with(written.trim_end_matches('.')) || (written.starts_with("Sept") && *name == "September")
    })
}

fn with_year(written: &str) -> String {
    if written.is_empty() { String::new() } else { format!(" , {}", year(written)) }
}
