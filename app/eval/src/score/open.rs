//! Open answers by a judge's marks from 1 to 5 (alpacaeval, commoneval, wildvoice).

use std::sync::LazyLock;

use regex::Regex;

use super::Rules;
use crate::{Error, Result};

/// The number that a judge's reply means: the reply itself, or a whole number in double brackets.
///
/// # Errors
/// [`Error::Score`] where there is none, as the original; with [`Rules::Fixed`], also for marks outside 1 to 5.
pub fn mark(reply: &str, rules: Rules) -> Result<f64> {
    static BRACKETS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[\[([0-9]+)\]\]").ok());
    let number = reply.trim().parse::<f64>().ok().filter(|n| n.is_finite()).or_else(|| {
        let found = BRACKETS.as_ref()?.captures(reply)?;
        found.get(1)?.as_str().parse().ok()
    });
    match number {
        None => Err(Error::Score(format!("a judge said {:?}, which is no mark", shorten(reply)))),
        Some(mark) if rules == Rules::Fixed && !(1.0..=5.0).contains(&mark) => {
            Err(Error::Score(format!("a judge's mark {mark} is not within 1..=5")))
        }
        Some(mark) => Ok(mark),
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks() {
        for (reply, parity, fixed) in [
            ("4", Some(4.0), Some(4.0)),
            (" 3.5\n", Some(3.5), Some(3.5)),
            ("I rate it [[2]].", Some(2.0), Some(2.0)),
            ("7", Some(7.0), None),
            ("nan", None, None),
            ("good", None, None),
            ("", None, None),
        ] {
            assert_eq!(mark(reply, Rules::Parity).ok(), parity, "{reply}");
            assert_eq!(mark(reply, Rules::Fixed).ok(), fixed, "{reply}");
        }
    }
}
