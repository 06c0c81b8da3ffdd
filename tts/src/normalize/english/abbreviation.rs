//! Abbreviations with and without a full stop.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Rule, table};

/// As written → as said, and what its full stop does.
static TABLE: LazyLock<HashMap<&str, Vec<&str>>> =
    LazyLock::new(|| table::by_first(include_str!("../../../data/en/abbreviations.tsv")));

pub(super) fn rules() -> Vec<Rule> {
    let dotted = table::any_of(TABLE.keys().copied().filter(|k| k.ends_with('.')));
    let plain = table::any_of(TABLE.keys().copied().filter(|k| !k.ends_with('.')));
    vec![
        Rule::new(&format!(r"(?P<word>{dotted})"), |m| {
            let word = m.get("word");
            let row = TABLE.get(word)?;
            let name_before = m.before.trim_end().rsplit(' ').next().is_some_and(|w| w.starts_with(char::is_uppercase))
                && m.before.ends_with(' ');
            let name_after = m.after.trim_start().starts_with(char::is_uppercase);
            let said = match word {
                "No." | "Nos." | "p." if !m.after.trim_start().starts_with(|c: char| c.is_ascii_digit()) => {
                    return None;
                }
                "St." if name_before && !name_after => "street",
                "Dr." if name_before && !name_after => "drive",
                "v." if !(name_before && name_after) => return None,
                "Mar." | "ed." | "est." if m.after.trim().is_empty() => return None,
                _ => row.get(1)?,
            };
            // The stop may end the sentence as well.
            let ends = m.after.trim().is_empty() && row.get(2) == Some(&"either");
            Some(if ends { format!("{said} .") } else { said.to_owned() })
        }),
        Rule::new(&format!(r"(?P<word>{plain})"), |m| {
            let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '\'');
            let whole = edge(m.before.chars().next_back()) && edge(m.after.chars().next());
            whole.then(|| TABLE.get(m.get("word")).and_then(|row| row.get(1)).map(|s| (*s).to_owned())).flatten()
        }),
    ]
}
