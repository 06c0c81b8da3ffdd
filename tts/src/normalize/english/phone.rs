//! Telephone numbers: digit by digit, a short rest between groups.

use super::Rule;
use super::number::spell_oh;

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::new(
            r"(?:(?P<cc>\+\d{1,3}|1)[ .-]?)?(?:\((?P<a>\d{3})\) ?|(?P<a2>\d{3})[ .-])(?P<b>\d{3})[ .-](?P<c>\d{4})",
            |m| Some(groups([m.get("cc"), m.get("a"), m.get("a2"), m.get("b"), m.get("c")].into_iter())),
        ),
        Rule::new(r"(?P<all>\+\d{1,3}(?:[ -]\(?\d{1,5}\)?){2,5}|\+\d{9,15})", |m| {
            Some(groups(m.get("all").split([' ', '-'])))
        }),
        Rule::new(r"(?P<all>0\d{1,4}(?:[ -]\d{3,4}){2})", |m| Some(groups(m.get("all").split([' ', '-'])))),
        Rule::new(r"(?P<a>\d{3})-(?P<b>\d{4})", |m| Some(groups([m.get("a"), m.get("b")].into_iter()))),
        Rule::new(r"(?P<n>\d{3})", |m| {
            let called = matches!(m.word_before().as_str(), "call" | "dial" | "called" | "calling" | "dialed");
            let emergency =
                matches!(m.get("n"), "911" | "999" | "112" | "411" | "311" | "988" | "000" | "110" | "119" | "120");
            (called && emergency).then(|| super::number::spell(m.get("n")))
        }),
    ]
}

fn groups<'a>(groups: impl Iterator<Item = &'a str>) -> String {
    let said: Vec<String> = groups
        .filter(|g| !g.is_empty())
        .map(|group| match group.strip_prefix('+') {
            Some(code) => format!("plus {}", spell_oh(code)),
            None if group == "800" => "eight hundred".to_owned(),
            None => spell_oh(group),
        })
        .collect();
    said.join(" , ")
}
