//! E-mail addresses, host names, file names and handles.

use super::Rule;
use super::acronym::letters;
use super::number::spell;

const DOMAINS: &str = "com|org|net|io|edu|gov|ai|dev|app|co|uk|de|fr|jp|cn|eu|ca|au|us|info|me|tv|rs|ch|nl";
const FILES: &str = "py|rs|js|ts|txt|pdf|md|json|html|css|exe|zip|png|jpg|jpeg|gif|csv|docx|doc|xlsx|mp3|mp4|wav|toml|yaml|yml|sh|cpp|java|xml|log";

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"(?P<user>[A-Za-z0-9][A-Za-z0-9._%+-]*)@(?P<host>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)", |m| {
            Some(format!("{} at {}", parts(m.get("user")), parts(m.get("host"))))
        }),
        Rule::new(
            &format!(r"(?P<host>(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+(?:{DOMAINS}))\b(?P<path>/[^\s,;!?]*[A-Za-z0-9/])?"),
            |m| {
                // A capital after the dot is the next sentence, typed without a space.
                Some(parts(m.get("host")))
            },
        ),
        Rule::new(&format!(r"(?P<name>[A-Za-z0-9][A-Za-z0-9-]*)\.(?P<kind>{FILES})\b"), |m| {
            Some(format!("{} dot {}", parts(m.get("name")), extension(m.get("kind"))))
        }),
        Rule::new(r"@(?P<name>[A-Za-z][A-Za-z0-9]*)", |m| Some(format!("at {}", parts(m.get("name"))))),
    ]
}

/// Words as they are, digits one by one, the marks between them by name.
fn parts(address: &str) -> String {
    let mut said = String::new();
    let mut labels = address.split_inclusive(['.', '-', '_', '+', '%']).peekable();
    while let Some(label) = labels.next() {
        let (word, mark) = match label.chars().next_back() {
            Some(c) if !c.is_alphanumeric() => (&label[..label.len() - 1], Some(c)),
            _ => (label, None),
        };
        let is_last = labels.peek().is_none();
        for run in runs(word) {
            let run_said = match run {
                digits if digits.starts_with(|c: char| c.is_ascii_digit()) => spell(digits),
                // "uk" and "io" are spelled, "com" and "org" are not.
                short if short.len() == 2 && is_last && !matches!(short, "co" | "me") => letters(&short.to_uppercase()),
                word => word.to_owned(),
            };
            push(&mut said, &run_said);
        }
        match mark {
            Some('.') => push(&mut said, "dot"),
            Some('-') => push(&mut said, "dash"),
            Some('_') => push(&mut said, "underscore"),
            Some('+') => push(&mut said, "plus"),
            Some(_) => push(&mut said, "percent"),
            None => {}
        }
    }
    said
}

/// Runs of digits and runs of other characters.
pub(crate) fn runs(word: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut start = 0;
    let mut before: Option<bool> = None;
    for (at, ch) in word.char_indices() {
        let digit = ch.is_ascii_digit();
        if before.is_some_and(|b| b != digit) {
            runs.push(&word[start..at]);
            start = at;
        }
        before = Some(digit);
    }
    if start < word.len() {
        runs.push(&word[start..]);
    }
    runs
}

fn extension(kind: &str) -> String {
    let upper = kind.to_uppercase();
    if let Some(row) = super::acronym::TABLE.get(upper.as_str()).filter(|row| row.len() > 1) {
        return row[1].to_owned();
    }
    match kind {
        "txt" => "text".into(),
        "zip" | "java" | "log" | "toml" => kind.into(),
        "docx" | "doc" => "doc".into(),
        "yml" => "yammel".into(),
        "mp3" => "M P three".into(),
        "mp4" => "M P four".into(),
        "wav" => "wave".into(),
        _ => letters(&upper),
    }
}

fn push(said: &mut String, word: &str) {
    if !said.is_empty() {
        said.push(' ');
    }
    said.push_str(word);
}
