//! Problems with a mathematical expression at the end (MATH): the last \boxed{...}, compared as written mathematics.

use super::{number, text};
use crate::json::Object;
use crate::{Error, Result};

/// The problem with a request for the form of the answer.
#[must_use]
pub fn prompt(problem: &str) -> String {
    format!("{problem}\nThink step by step and put the final answer in \\boxed{{}}.")
}

/// The reference: `answer`, or what is boxed in `solution`.
///
/// # Errors
/// [`Error::Score`] where there is neither.
pub fn reference(fields: &Object) -> Result<String> {
    if let Ok(answer) = text(fields, "answer") {
        return Ok(answer.to_owned());
    }
    let solution = text(fields, "solution")?;
    boxed(solution).map(str::to_owned).ok_or_else(|| Error::Score("the solution has no \\boxed{...}".into()))
}

/// What a response ends up with: the last box, else what follows the last "answer is", else the last number.
#[must_use]
pub fn answer(response: &str) -> Option<String> {
    if let Some(boxed) = boxed(response) {
        return Some(boxed.to_owned());
    }
    let lower = response.to_lowercase();
    let marked = ["answer is", "answer:"].iter().filter_map(|mark| lower.rfind(mark).map(|at| at + mark.len())).max();
    // Lower case can be longer or shorter in bytes; then the mark's place is unknown.
    let rest = marked.filter(|_| lower.len() == response.len()).and_then(|at| response.get(at..));
    let rest = rest.and_then(|rest| rest.lines().next()).map(|rest| rest.trim().trim_end_matches('.').to_owned());
    rest.filter(|rest| !rest.is_empty()).or_else(|| number::answer(response).map(|n| n.to_string()))
}

/// The inside of the last `\boxed{...}`, with its braces matched.
fn boxed(text: &str) -> Option<&str> {
    let start = text.rfind("\\boxed{").map(|at| at + "\\boxed{".len())?;
    let mut depth = 1;
    for (at, c) in text[start..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[start..start + at]);
        }
    }
    None
}

/// Whether two expressions are the same as far as their writing tells.
#[must_use]
pub fn equivalent(a: &str, b: &str) -> bool {
    let (a, b) = (normalise(a), normalise(b));
    if a == b {
        return true;
    }
    match (value(&a), value(&b)) {
        (Some(a), Some(b)) => number::equal(a, b),
        _ => false,
    }
}

/// One way of writing of the several that mean the same.
fn normalise(text: &str) -> String {
    let mut text = text.trim().trim_matches('$').trim_end_matches('.').to_owned();
    for (from, to) in [
        ("\\left", ""),
        ("\\right", ""),
        ("\\!", ""),
        ("\\,", ""),
        ("\\;", ""),
        ("\\ ", ""),
        ("\\$", ""),
        ("$", ""),
        ("\\%", ""),
        ("%", ""),
        ("^\\circ", ""),
        ("^{\\circ}", ""),
        ("\\dfrac", "\\frac"),
        ("\\tfrac", "\\frac"),
        ("\\cdot", "*"),
        ("\\times", "*"),
        ("\\leq", "\\le"),
        ("\\geq", "\\ge"),
        ("\\mathrm", "\\text"),
        ("\\textbf", "\\text"),
        ("\\(", ""),
        ("\\)", ""),
        ("\\[", ""),
        ("\\]", ""),
    ] {
        text = text.replace(from, to);
    }
    // A unit behind a number says nothing of the number; a text by itself is the answer.
    while let Some(at) = text.find("\\text{") {
        let Some(end) = text[at..].find('}').map(|end| at + end) else { break };
        let inner = if text[..at].trim().is_empty() { text[at + 6..end].trim().to_owned() } else { String::new() };
        text.replace_range(at..=end, &inner);
    }
    if let Some((_, value)) = text.split_once('=').filter(|(name, _)| name.trim().chars().count() <= 2) {
        text = value.to_owned();
    }
    let mut text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    // \frac12 is \frac{1}{2}.
    let mut from = 0;
    while let Some(at) = text[from..].find("\\frac").map(|at| from + at + 5) {
        let digits: Vec<char> = text[at..].chars().take(2).collect();
        if let [a, b] = digits[..]
            && a.is_ascii_digit()
            && b.is_ascii_digit()
        {
            text.replace_range(at..at + 2, &format!("{{{a}}}{{{b}}}"));
        }
        from = at;
    }
    if let Some(fraction) = text.strip_prefix('.').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        text = format!("0.{fraction}");
    }
    text
}

/// The value of a number or a fraction of two numbers.
fn value(text: &str) -> Option<f64> {
    let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let plain = |text: &str| text.replace(',', "").parse::<f64>().ok().filter(|v| v.is_finite());
    let fraction = |(a, b): (&str, &str)| Some(plain(a)? / plain(b).filter(|b| *b != 0.0)?);
    let latex =
        text.strip_prefix("\\frac{").and_then(|rest| rest.strip_suffix('}')).and_then(|rest| rest.split_once("}{"));
    let found = plain(text).or_else(|| latex.and_then(fraction)).or_else(|| text.split_once('/').and_then(fraction));
    found.map(|value| sign * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_taken_from_its_box() {
        for (response, expected) in [
            ("so \\boxed{\\frac{1}{2}} and \\boxed{x^{2}}.", Some("x^{2}")),
            ("The answer is 3x + 1.", Some("3x + 1")),
            ("we get 12", Some("12")),
            ("\\boxed{open", None),
        ] {
            assert_eq!(answer(response).as_deref(), expected, "{response}");
        }
    }

    #[test]
    fn one_expression_in_two_ways() {
        for (a, b, same) in [
            ("\\frac{1}{2}", "0.5", true),
            ("\\dfrac12", "1/2", true),
            ("-\\frac{3}{4}", "-.75", true),
            ("10\\%", "10", true),
            ("5\\text{ cm}", "5", true),
            ("\\text{(B)}", "(B)", true),
            ("x = 7", "7", true),
            ("1,000", "1000", true),
            ("\\left( 1, 2 \\right)", "(1,2)", true),
            ("90^\\circ", "90", true),
            ("x+1", "1+x", false),
            ("\\frac{1}{3}", "0.33", false),
            ("1/0", "0", false),
            ("", "0", false),
        ] {
            assert_eq!(equivalent(a, b), same, "{a} and {b}");
        }
    }
}
