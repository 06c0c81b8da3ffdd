//! Dates and years.

use super::number::{cardinal, spell};
use super::{Match, Rule};

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})", |m| {
            let (month, day) = (m.get("m").parse::<u32>().ok()?, m.get("d").parse::<u32>().ok()?);
            ((1..=12).contains(&month) && (1..=31).contains(&day))
                .then(|| format!("{}年{}月{}日", spell(m.get("y")), cardinal(m.get("m")), cardinal(m.get("d"))))
        }),
        Rule::new(r"(?P<a>\d{4}) ?[-–~至到] ?(?P<b>\d{4}) ?年", |m| {
            Some(format!("{}到{}年", spell(m.get("a")), spell(m.get("b"))))
        }),
        Rule::new(r"(?P<y>\d{4}) ?年", |m| Some(format!("{}年", spell(m.get("y"))))),
        Rule::new(r"(?P<y>\d0) ?年代", |m| Some(format!("{}年代", cardinal(m.get("y"))))),
        // "24年5月", "98年出生": a year without its century
        Rule::new(r"(?P<y>\d\d) ?年(?P<m>\d{1,2}) ?月", |m| {
            Some(format!("{}年{}月", spell(m.get("y")), cardinal(m.get("m"))))
        }),
        Rule::new(r"(?P<a>\d{1,2}) ?[-–~] ?(?P<b>\d{1,2}) ?(?P<unit>月|日|号)", |m| {
            Some(format!("{}到{}{}", cardinal(m.get("a")), cardinal(m.get("b")), m.get("unit")))
        }),
        Rule::new(r"(?P<n>\d{1,2}) ?(?P<unit>月份|月|日|号)", |m: &Match<'_, '_>| {
            // "2个月" is a count, "2月" a month.
            Some(format!("{}{}", cardinal(m.get("n")), m.get("unit")))
        }),
    ]
}
