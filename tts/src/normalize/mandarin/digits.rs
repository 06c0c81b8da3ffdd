//! Numbers that are names, and all numbers that are left.

use super::number::{decimal, spell, spell_phone};
use super::{NUMBER, Rule};

pub(super) fn phones() -> Vec<Rule> {
    vec![
        Rule::new(r"(?:\+?86[- ]?)?(?P<n>1[3-9]\d[- ]?\d{4}[- ]?\d{4})", |m| Some(spell_phone(m.get("n")))),
        Rule::new(r"(?P<n>0\d{2,3}-\d{7,8})", |m| Some(spell_phone(m.get("n")))),
        Rule::new(r"(?P<n>[48]00-\d{3,4}-\d{3,4})", |m| Some(spell_phone(m.get("n")))),
        Rule::new(r"(?P<n>110|119|120|122|12306|12315|12345|10086|10010|10000)", |m| {
            let called = m.before.trim_end().ends_with(['打', '拨', '叫', '线', '话', '警', '号', '码']);
            called.then(|| spell_phone(m.get("n")))
        }),
        Rule::new(r"(?P<n>\d{3,4})(?P<unit>室|房间|号房)", |m| {
            Some(format!("{}{}", spell_phone(m.get("n")), m.get("unit")))
        }),
        Rule::new(r"(?P<n>\d{3,8})", |m| {
            let names = ["邮编", "房间", "密码", "验证码", "编号", "号码", "代码", "尾号", "工号", "学号"];
            let before = m.before.trim_end_matches(['是', '为', '：', ':', ' ']);
            names.iter().any(|name| before.ends_with(name)).then(|| spell(m.get("n")))
        }),
        Rule::new(r"(?P<n>\d{2,})(?P<unit>号线|路公交|路车|航班)", |m| {
            let long = m.get("n").len() > 2;
            Some(format!("{}{}", if long { spell_phone(m.get("n")) } else { decimal(m.get("n")) }, m.get("unit")))
        }),
    ]
}

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"[vV](?P<v>\d+(?:\.\d+)+)", |m| {
            Some(m.get("v").split('.').map(decimal).collect::<Vec<_>>().join("点"))
        }),
        Rule::new(r"(?P<v>\d+(?:\.\d+){2,})", |m| {
            Some(m.get("v").split('.').map(decimal).collect::<Vec<_>>().join("点"))
        }),
        // "5G", "A4", "MP3", "B2B": letters by name, digits in Chinese
        Rule::new(r"(?P<w>[A-Za-z]{1,4}-?\d{1,4}[A-Za-z]{0,2}|\d{1,4}[A-Za-z]{1,3})", |m| {
            let mut said = String::new();
            for run in crate::normalize::english::runs(&m.get("w").replace('-', "")) {
                said.push(' ');
                if run.starts_with(|c: char| c.is_ascii_digit()) {
                    said.push_str(&if run.len() > 2 { spell(run) } else { decimal(run) });
                } else if run.len() > 1 && run.chars().any(char::is_lowercase) {
                    said.push_str(run);
                } else {
                    said.push_str(&crate::normalize::english::letters(&run.to_uppercase()));
                }
            }
            Some(said)
        }),
        Rule::new(&format!(r"(?P<a>{NUMBER}) ?[–~～] ?(?P<b>{NUMBER})"), |m| {
            Some(format!("{}到{}", decimal(m.get("a")), decimal(m.get("b"))))
        }),
        Rule::new(r"(?P<a>\d{1,3})-(?P<b>\d{1,3})", |m| {
            if m.before.ends_with('-') || m.after.starts_with('-') {
                return None;
            }
            let joint = if m.after.trim_start().starts_with('=') { "减" } else { "到" };
            Some(format!("{}{joint}{}", decimal(m.get("a")), decimal(m.get("b"))))
        }),
        Rule::new(&format!(r"(?P<n>[+-]?(?:{NUMBER}))"), |m| {
            let n = m.get("n");
            let unsigned = n.trim_start_matches(['+', '-']);
            let bare = unsigned.bytes().all(|b| b.is_ascii_digit());
            if bare
                && (unsigned.len() > 1 && unsigned.starts_with('0') || unsigned.len() > 9 && !unsigned.ends_with("000"))
            {
                return Some(spell(unsigned));
            }
            if n.starts_with(['-', '+']) && m.before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
                return None;
            }
            Some(n.strip_prefix('+').map_or_else(|| decimal(n), |rest| format!("正{}", decimal(rest))))
        }),
    ]
}
