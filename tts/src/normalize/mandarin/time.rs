//! Clock times.

use super::Rule;
use super::number::cardinal;

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"(?P<a>\d{1,2}[:：]\d\d) ?[-–~至] ?(?P<b>\d{1,2}[:：]\d\d)", |m| {
            Some(format!("{}到{}", clock(m.get("a"))?, clock(m.get("b"))?))
        }),
        Rule::new(r"(?P<h>\d{1,2})[:：](?P<m>[0-5]\d)[:：](?P<s>[0-5]\d)", |m| {
            Some(format!("{}点{}分{}秒", cardinal(m.get("h")), padded(m.get("m")), padded(m.get("s"))))
        }),
        Rule::new(r"(?P<t>\d{1,2}[:：][0-5]\d)(?: ?(?P<half>[AaPp][Mm]))?", |m| {
            let half = match m.get("half") {
                "" => "",
                h if h.starts_with(['a', 'A']) => "上午",
                _ => "下午",
            };
            Some(format!("{half}{}", clock(m.get("t"))?))
        }),
        // A ratio, where the minutes are none.
        Rule::new(r"(?P<a>\d+)[:：](?P<b>\d+)", |m| {
            Some(format!("{}比{}", cardinal(m.get("a")), cardinal(m.get("b"))))
        }),
        Rule::new(r"(?P<h>\d{1,2}) ?点(?P<m>\d{1,2}) ?分", |m| {
            Some(format!("{}点{}分", hour(m.get("h")), padded(m.get("m"))))
        }),
        Rule::new(r"(?P<h>\d{1,2}) ?点", |m| Some(format!("{}点", hour(m.get("h"))))),
    ]
}

/// "8:05" → 八点零五分, "8:30" → 八点三十分, "8:00" → 八点.
fn clock(written: &str) -> Option<String> {
    let (h, m) = written.split_once([':', '：'])?;
    if h.parse::<u32>().ok()? > 24 || m.parse::<u32>().ok()? > 59 {
        return None;
    }
    Some(if m == "00" { format!("{}点", hour(h)) } else { format!("{}点{}分", hour(h), padded(m)) })
}

fn hour(written: &str) -> String {
    if written == "2" || written == "02" { "两".into() } else { cardinal(written) }
}

fn padded(written: &str) -> String {
    match written.strip_prefix('0') {
        Some("0") => "零".into(),
        Some(ones) => format!("零{}", cardinal(ones)),
        None => cardinal(written),
    }
}
