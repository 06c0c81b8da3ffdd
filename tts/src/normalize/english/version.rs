//! Version numbers and network addresses.

use super::Rule;
use super::number::{cardinal, spell, spell_oh};

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"(?P<v>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?::(?P<port>\d{2,5}))?", |m| {
            if m.get("v").split('.').any(|part| part.parse::<u32>().is_ok_and(|n| n > 255)) {
                return None;
            }
            let address: Vec<String> = m.get("v").split('.').map(spell).collect();
            let port = if m.get("port").is_empty() { String::new() } else { format!(" port {}", spell(m.get("port"))) };
            Some(address.join(" dot ") + &port)
        }),
        Rule::new(r"[vV](?P<v>\d+(?:\.\d+)*)", |m| {
            let word = if m.word_before() == "version" { "" } else { "version " };
            Some(format!("{word}{}", points(m.get("v"))))
        }),
        Rule::new(r"(?P<v>\d+(?:\.\d+){2,})", |m| Some(points(m.get("v")))),
        Rule::new(r"(?P<v>\d+\.\d+)", |m| {
            let named = matches!(
                m.word_before().as_str(),
                "python"
                    | "version"
                    | "ios"
                    | "android"
                    | "ubuntu"
                    | "java"
                    | "php"
                    | "node"
                    | "ruby"
                    | "rust"
                    | "macos"
                    | "release"
                    | "chrome"
                    | "firefox"
                    | "linux"
                    | "kernel"
                    | "gpt"
                    | "kubernetes"
                    | "postgres"
                    | "django"
                    | "debian"
                    | "fedora"
            );
            named.then(|| points(m.get("v")))
        }),
    ]
}

/// "3.12" → "three point twelve", "22.04" → "twenty-two point oh four".
fn points(version: &str) -> String {
    let parts: Vec<String> = version
        .split('.')
        .map(|part| match part {
            zero if zero.len() > 1 && zero.starts_with('0') => spell_oh(zero),
            long if long.len() > 3 => spell(long),
            _ => cardinal(part),
        })
        .collect();
    parts.join(" point ")
}
