//! Plain numbers that no other class has read.

use super::number::{decimal, spell};
use super::{NUMBER, Rule, signed};

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"(?P<n>-?\.\d+)", |m| (!m.before.ends_with(char::is_alphanumeric)).then(|| decimal(m.get("n")))),
        Rule::new(&format!(r"(?P<n>[+-]?(?:{NUMBER}))"), |m| {
            let n = m.get("n");
            let unsigned = n.trim_start_matches(['+', '-']);
            let bare = unsigned.bytes().all(|b| b.is_ascii_digit());
            // Long numbers without separators are names of something, unless they are round.
            if bare
                && (unsigned.len() > 1 && unsigned.starts_with('0') || unsigned.len() > 9 && !unsigned.ends_with("000"))
            {
                return Some(spell(unsigned));
            }
            signed(m)
        }),
    ]
}
