//! Signs between numbers.

use super::{Match, Rule};

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(r"(?:>=|≥)", |m| between(m, "大于等于")),
        Rule::new(r"(?:<=|≤)", |m| between(m, "小于等于")),
        Rule::new(r"≠", |m| between(m, "不等于")),
        Rule::new(r"=", |m| between(m, "等于")),
        Rule::new(r"\+", |m| between(m, "加")),
        Rule::new(r"×", |m| between(m, "乘以")),
        Rule::new(r"÷", |m| between(m, "除以")),
        Rule::new(r" - ", |m| between(m, "减")),
        Rule::new(r"<", |m| between(m, "小于")),
        Rule::new(r">", |m| between(m, "大于")),
        Rule::new(r"≈", |_| Some("约等于".to_owned())),
        Rule::new(r"±", |_| Some("正负".to_owned())),
        Rule::new(r"~", |m| after(m).then(|| "约".to_owned())),
        Rule::new(r"&", |_| Some("和".to_owned())),
        Rule::new(r"²", |_| Some("的平方".to_owned())),
        Rule::new(r"³", |_| Some("的立方".to_owned())),
        Rule::new(r"°", |m| m.before.ends_with(|c: char| c.is_ascii_digit()).then(|| "度".to_owned())),
        Rule::new(r"√", |m| after(m).then(|| "根号".to_owned())),
        Rule::new(r"π", |_| Some("派".to_owned())),
        Rule::new(r"[%％]", |m| m.before.ends_with(char::is_alphanumeric).then(|| "百分号".to_owned())),
        // A slash after a unit: "5元/斤"
        Rule::new(r"/", |m| {
            let counted = m.before.ends_with(['元', '块', '次', '个', '人', '美'])
                && m.after.starts_with(|c: char| c.is_alphabetic());
            counted.then(|| "每".to_owned())
        }),
    ]
}

fn before(m: &Match<'_, '_>) -> bool {
    m.before.trim_end().ends_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | '%'))
}

fn after(m: &Match<'_, '_>) -> bool {
    m.after.trim_start().starts_with(|c: char| c.is_alphanumeric() || matches!(c, '(' | '-'))
}

fn between(m: &Match<'_, '_>, said: &str) -> Option<String> {
    (before(m) && after(m)).then(|| said.to_owned())
}
