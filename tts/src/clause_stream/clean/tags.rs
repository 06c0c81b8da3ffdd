//! Tags: some hide what they enclose, some end a line, the rest vanish.

use super::{Hidden, Step};

/// What a model writes for itself and nobody is meant to hear.
const HIDING: &[&str] =
    &["think", "thinking", "thought", "reasoning", "reflection", "tool_call", "tool_response", "script", "style"];
const BREAKING: &[&str] =
    &["br", "p", "div", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "blockquote"];
/// Tags that may carry attributes; any other name counts as a tag only when `>` follows it directly.
const WITH_ATTRIBUTES: &[&str] = &[
    "a", "abbr", "b", "code", "details", "em", "font", "i", "img", "input", "kbd", "mark", "pre", "q", "s", "small",
    "span", "strong", "sub", "summary", "sup", "td", "th", "u",
];
const MAX_NAME: usize = 32;
const MAX_TAG: usize = 400;

/// The unit that begins with `<`.
pub(super) fn step(rest: &str, last: bool) -> Step {
    if let Some(after) = rest.strip_prefix("<|") {
        // A control token of a chat template.
        return match after.find("|>") {
            Some(at) if at <= MAX_NAME => Step::Drop(at + 4),
            None if after.len() <= MAX_NAME && !last => Step::Need,
            _ => Step::Keep(1),
        };
    }
    if rest.starts_with("<!--") {
        return Step::Hide(4, Hidden::Until("-->".into()));
    }
    if "<!--".starts_with(rest) && !last {
        return Step::Need;
    }
    let closing = rest[1..].starts_with('/');
    let body = &rest[1 + usize::from(closing)..];
    let name_len =
        body.len() - body.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-').len();
    if name_len > MAX_NAME || (name_len == 0 && (!body.is_empty() || last)) {
        return Step::Keep(1);
    }
    if name_len > 0 && !body.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Step::Keep(1);
    }
    let name = body[..name_len].to_ascii_lowercase();
    let after = &body[name_len..];
    let is = |list: &[&str]| list.contains(&name.as_str());
    let close = match after.chars().next() {
        None if last => return Step::Keep(1),
        None => return Step::Need,
        Some('>') => Some(0),
        Some('/') if after.len() == 1 && !last => return Step::Need,
        Some('/') if after[1..].starts_with('>') => Some(1),
        Some(c) if c.is_whitespace() && (is(HIDING) || is(BREAKING) || is(WITH_ATTRIBUTES)) => after.find('>'),
        Some(_) => return Step::Keep(1),
    };
    let Some(close) = close else {
        return if after.len() < MAX_TAG && !last { Step::Need } else { Step::Keep(1) };
    };
    let taken = rest.len() - after.len() + close + 1;
    if is(HIDING) && !closing && !after[..close].ends_with('/') {
        Step::Hide(taken, Hidden::Until(format!("</{name}>")))
    } else if is(BREAKING) {
        Step::Line(taken)
    } else {
        Step::Drop(taken)
    }
}
