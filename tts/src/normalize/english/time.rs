//! Clock times and durations.

use super::Rule;
use super::number::cardinal;

const HALF: &str = r"(?: ?(?P<half>[AaPp]\.[Mm]\.|[AaPp][Mm]\b))";

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"(?P<h>\d{1,2}):(?P<m>[0-5]\d):(?P<s>[0-5]\d)", |m| {
            let parts = [(m.get("h"), "hour"), (m.get("m"), "minute"), (m.get("s"), "second")];
            let said: Vec<String> = parts
                .iter()
                .filter(|(n, _)| !n.trim_start_matches('0').is_empty())
                .map(|(n, unit)| count(n, unit))
                .collect();
            Some(said.join(" "))
        }),
        Rule::new(&format!(r"(?P<h>\d{{1,2}})[:.](?P<m>[0-5]\d){HALF}"), |m| {
            let minutes = if m.get("m") == "00" { String::new() } else { minutes(m.get("m")) };
            Some(format!("{}{minutes} {}", hour(m.get("h"), 12)?, half(m.get("half"), m.after)))
        }),
        Rule::new(r"(?P<h>\d{1,2}):(?P<m>[0-5]\d)", |m| {
            let hour_said = hour(m.get("h"), 24)?;
            Some(match (m.get("h").parse::<u32>().ok()?, m.get("m")) {
                (0 | 24, "00") => "midnight".to_owned(),
                (0, minutes_written) => format!("twelve{} A M", minutes(minutes_written)),
                (1..=12, "00") => format!("{hour_said} o'clock"),
                (_, "00") => format!("{hour_said} hundred"),
                (_, minutes_written) => format!("{hour_said}{}", minutes(minutes_written)),
            })
        }),
        Rule::new(r"(?P<a>\d+):(?P<b>\d+)", |m| Some(format!("{} to {}", cardinal(m.get("a")), cardinal(m.get("b"))))),
        Rule::new(&format!(r"(?P<h>\d{{1,2}}){HALF}"), |m| {
            // "the number 5 am I" has no clock in it, but nobody writes that.
            Some(format!("{} {}", hour(m.get("h"), 12)?, half(m.get("half"), m.after)))
        }),
    ]
}

fn hour(written: &str, most: u32) -> Option<String> {
    written.parse::<u32>().is_ok_and(|h| h <= most).then(|| cardinal(written))
}

fn minutes(written: &str) -> String {
    match written.strip_prefix('0') {
        Some(ones) => format!(" oh {}", cardinal(ones)),
        None => format!(" {}", cardinal(written)),
    }
}

fn half(written: &str, after: &str) -> String {
    let said = if written.starts_with(['a', 'A']) { "A M" } else { "P M" };
    // Its last full stop may end the sentence too.
    if written.ends_with('.') && after.trim().is_empty() { format!("{said} .") } else { said.to_owned() }
}

fn count(written: &str, unit: &str) -> String {
    let number = written.trim_start_matches('0');
    format!("{} {unit}{}", cardinal(number), if number == "1" { "" } else { "s" })
}
