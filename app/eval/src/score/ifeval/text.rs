//! Counting and finding parts of a response, each as IFEval does.

use std::sync::LazyLock;

use regex::Regex;

use super::Counting;
use crate::json::Json;

/// Fixed patterns are checked by the tests, which use all of them.
macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(WORD, r"\w+");
pattern!(PARAGRAPH_MARK, r"\s?\*\*\*\s?");
pattern!(PLACEHOLDER, r"\[.*?\]");
pattern!(STAR_BULLET, r"(?m)^\s*\*[^\*].*$");
pattern!(DASH_BULLET, r"(?m)^\s*-.*$");
pattern!(HIGHLIGHT, r"\*[^\n\*]*\*");
pattern!(DOUBLE_HIGHLIGHT, r"\*\*[^\n\*]*\*\*");
pattern!(TITLE, r"<<[^\n]+>>");

fn matches<'t>(pattern: &'static LazyLock<Option<Regex>>, text: &'t str) -> impl Iterator<Item = &'t str> {
    pattern.as_ref().into_iter().flat_map(move |regex| regex.find_iter(text)).map(|m| m.as_str())
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

/// Words: runs of letters, digits and underscores; in Chinese counting, each Han character by itself.
pub(super) fn words(text: &str, counting: Counting) -> usize {
    match counting {
        Counting::English => matches(&WORD, text).count(),
        Counting::Chinese => {
            let han = text.chars().filter(|&c| is_han(c)).count();
            let rest: String = text.chars().map(|c| if is_han(c) { ' ' } else { c }).collect();
            han + matches(&WORD, &rest).count()
        }
    }
}

/// Abbreviations whose period ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "etc", "inc", "ltd", "co", "corp", "gen", "gov", "sen",
    "rep", "lt", "col", "capt", "sgt", "rev", "hon", "pres", "no", "fig", "vol", "ed", "pp", "al", "ca", "cf", "dept",
    "est", "approx", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "mt", "ave",
];

/// Sentences: they end at . ! ? before white space, except after abbreviations and initials. Line breaks end none.
pub(super) fn sentences(text: &str, counting: Counting) -> usize {
    let chars: Vec<char> = text.trim().chars().collect();
    let mut count = 0;
    let mut open = false; // something of the current sentence was seen
    let mut word = String::new();
    for (i, &c) in chars.iter().enumerate() {
        let ends_here = match c {
            '。' | '！' | '？' => counting == Counting::Chinese,
            '.' | '!' | '?' => {
                let closers = chars[i + 1..]
                    .iter()
                    .take_while(|c| matches!(c, '"' | '\'' | ')' | ']' | '”' | '’' | '*' | '.' | '!' | '?'));
                let next = chars.get(i + 1 + closers.count());
                let before_space = next.is_none_or(|c| c.is_whitespace());
                let last_mark = !chars.get(i + 1).is_some_and(|c| matches!(c, '.' | '!' | '?'));
                before_space && last_mark && !(c == '.' && is_abbreviation(&word))
            }
            _ => false,
        };
        open |= c.is_alphanumeric();
        if ends_here {
            count += usize::from(open);
            open = false;
        }
        if c.is_whitespace() || ends_here {
            word.clear();
        } else {
            word.push(c);
        }
    }
    count + usize::from(open)
}

fn is_abbreviation(word: &str) -> bool {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let initial = word.chars().count() == 1 && word.chars().all(|c| c.is_alphabetic()) && word != "I";
    let dotted = word.contains('.') && word.split('.').all(|part| part.chars().count() <= 1);
    initial || dotted || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

/// Paragraphs separated by `***`; `None` where one between two marks is empty.
pub(super) fn marked_paragraphs(text: &str) -> Option<usize> {
    let parts: Vec<&str> = PARAGRAPH_MARK.as_ref()?.split(text).collect();
    let empty = |part: &&&str| part.trim().is_empty();
    let inner_empty = parts.iter().skip(1).take(parts.len().saturating_sub(2)).any(|part| empty(&part));
    if inner_empty {
        return None;
    }
    Some(parts.iter().filter(|part| !empty(part)).count())
}

/// How many paragraphs there are, and the first word of the nth in lower case up to its first punctuation.
pub(super) fn nth_paragraph_first_word(text: &str, nth: usize) -> Option<(usize, String)> {
    let parts: Vec<&str> = text.split("\n\n").collect();
    let count = parts.iter().filter(|part| !part.trim().is_empty()).count();
    if nth == 0 || nth > count {
        return None;
    }
    let word = parts.get(nth - 1)?.split_whitespace().next()?;
    let word = word.trim_start_matches('\'').trim_start_matches('"');
    let word = word.split(['.', ',', '?', '!', '\'', '"']).next().unwrap_or_default();
    Some((count, word.to_lowercase()))
}

/// Placeholders in square brackets.
pub(super) fn placeholders(text: &str) -> usize {
    matches(&PLACEHOLDER, text).count()
}

/// Lines that begin with a star or a dash.
pub(super) fn bullets(text: &str) -> usize {
    matches(&STAR_BULLET, text).count() + matches(&DASH_BULLET, text).count()
}

/// Parts between asterisks, one or two.
pub(super) fn highlights(text: &str) -> usize {
    let single = matches(&HIGHLIGHT, text).filter(|part| !part.trim_matches('*').trim().is_empty()).count();
    let double = matches(&DOUBLE_HIGHLIGHT, text).filter(|part| {
        let inner = part.strip_prefix("**").unwrap_or(part);
        !inner.strip_suffix("**").unwrap_or(inner).trim().is_empty()
    });
    single + double.count()
}

/// JSON, bare or in a code fence.
pub(super) fn is_json(text: &str) -> bool {
    let mut text = text.trim();
    for fence in ["```json", "```Json", "```JSON", "```"] {
        text = text.strip_prefix(fence).unwrap_or(text);
    }
    Json::parse(text.strip_suffix("```").unwrap_or(text).trim()).is_ok()
}

/// A title in double angle brackets.
pub(super) fn has_title(text: &str) -> bool {
    matches(&TITLE, text).any(|title| !title.trim_start_matches('<').trim_end_matches('>').trim().is_empty())
}

/// Two different answers separated by six asterisks.
pub(super) fn has_two_responses(text: &str) -> bool {
    let parts: Vec<&str> = text.split("******").collect();
    let last = parts.len() - 1;
    let inner_empty = parts.iter().enumerate().any(|(i, part)| part.trim().is_empty() && i != 0 && i != last);
    let whole: Vec<&str> = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    !inner_empty && whole.len() == 2 && whole[0] != whole[1]
}

/// `str.isupper`: some cased letter and none in lower case.
pub(super) fn is_upper(text: &str) -> bool {
    text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase)
}

/// `str.islower`: some cased letter and none in upper case.
pub(super) fn is_lower(text: &str) -> bool {
    text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase)
}

/// Words in capitals, split as the Penn Treebank does: punctuation apart, `n't` and `'s` apart.
pub(super) fn capital_words(text: &str) -> usize {
    let apart = |c: char| {
        matches!(
            c,
            ',' | ';'
                | ':'
                | '!'
                | '?'
                | '"'
                | '('
                | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | '<'
                | '>'
                | '“'
                | '”'
                | '@'
                | '#'
                | '$'
                | '%'
                | '&'
                | '`'
        )
    };
    let tokens = text.split(|c: char| c.is_whitespace() || apart(c)).flat_map(|token| token.split("--"));
    let pieces = tokens.flat_map(|token| {
        let token = token.trim_matches(|c| matches!(c, '\'' | '.' | '*' | '_'));
        let lower = token.to_lowercase();
        let cut = if lower.len() == token.len() && lower.ends_with("n't") && token.len() > 3 {
            token.len() - 3
        } else {
            ["'s", "'m", "'d", "'ll", "'re", "'ve"]
                .iter()
                .find(|ending| lower.len() == token.len() && lower.ends_with(**ending))
                .map_or(token.len(), |ending| token.len() - ending.len())
        };
        // Both cuts are before ASCII endings.
        let (head, tail) = token.split_at_checked(cut).unwrap_or((token, ""));
        [head, tail]
    });
    pieces.filter(|piece| is_upper(piece)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_they_should() {
        for (text, count) in [
            ("", 0),
            ("Hello", 1),
            ("Hello. World.", 2),
            ("Hello.World.", 1),
            ("Mr. J. Smith of the U.S. army paid 3.5 dollars. Done.", 2),
            ("Really?! Yes... no. \"Stop!\" he said.", 4),
            ("Line one\nLine two\nLine three.", 1),
            ("1. First\n2. Second", 3),
            ("你好。再见！", 1),
        ] {
            assert_eq!(sentences(text, Counting::English), count, "{text}");
        }
        assert_eq!(sentences("你好。再见！走吧", Counting::Chinese), 3);
    }

    #[test]
    fn words_in_both_countings() {
        for (text, english, chinese) in [("It's 5 o'clock", 5, 5), ("我爱北京 very much", 3, 6), ("", 0, 0)] {
            assert_eq!(words(text, Counting::English), english, "{text}");
            assert_eq!(words(text, Counting::Chinese), chinese, "{text}");
        }
    }

    #[test]
    fn capital_words_as_tokens() {
        for (text, count) in [("DON'T STOP", 3), ("I am A.B. and U.S.A", 3), ("Hello World", 0), ("NASA's X-RAY", 2)] {
            assert_eq!(capital_words(text), count, "{text}");
        }
    }
}
