//! Dictated numbers and spelled words: strings that are over only when they are long enough.

use super::{Closed, Open, TextCue};

/// Digits that a telephone number has at least; from here on a dictation may be over.
const TELEPHONE: usize = 10;
/// Digits that a code or PIN has at least.
const CODE: usize = 4;

/// Words that announce a dictated number, and how long it is at least.
const ANNOUNCED: [(&str, usize); 12] = [
    ("phone", TELEPHONE),
    ("telephone", TELEPHONE),
    ("mobile", TELEPHONE),
    ("cell", TELEPHONE),
    ("card", 12),
    ("account", 6),
    ("code", CODE),
    ("pin", CODE),
    ("passcode", CODE),
    ("zip", 5),
    ("postcode", CODE),
    ("order", CODE),
];

/// The digits that a word stands for, if it is one that people dictate.
fn digits(word: &str) -> Option<usize> {
    let single = ["zero", "oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    if single.contains(&word) {
        return Some(1);
    }
    if matches!(word, "double" | "triple") {
        return Some(1);
    }
    let count = word.chars().filter(char::is_ascii_digit).count();
    let plain = word.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '(' | ')' | '+' | '.'));
    (count > 0 && plain).then_some(count)
}

/// Judges words (lower case, without punctuation around them) that end in a dictated string; `None` if they do not.
pub(super) fn english(words: &[&str]) -> Option<TextCue> {
    let groups = words.iter().rev().map_while(|word| digits(word)).count();
    let count: usize = words.iter().rev().map_while(|word| digits(word)).sum();
    if groups > 0 {
        let before = &words[..words.len() - groups];
        let announced = ANNOUNCED.iter().find(|(word, _)| before.iter().rev().take(5).any(|b| b == word));
        return match announced {
            // Seven digits are a whole number within a town, or most of one from elsewhere.
            Some(&(_, TELEPHONE)) if (7..TELEPHONE).contains(&count) => Some(TextCue::Undecided),
            Some(&(_, least)) if count < least => Some(TextCue::Unfinished(Open::Digits)),
            Some(_) => Some(TextCue::Finished(Closed::Dictation)),
            // Three groups or more are dictated even when nobody said what they are.
            None if groups >= 3 && count < TELEPHONE => Some(TextCue::Unfinished(Open::Digits)),
            None if groups >= 3 => Some(TextCue::Finished(Closed::Dictation)),
            None => None,
        };
    }
    address(words).or_else(|| spelling(words))
}

/// "john dot smith at", "my email is john", "jane@example".
fn address(words: &[&str]) -> Option<TextCue> {
    let last = *words.last()?;
    let mentioned = words.iter().any(|w| matches!(*w, "email" | "e-mail" | "mail" | "address" | "website"));
    if let Some((_, domain)) = last.split_once('@') {
        let whole = domain.split_once('.').is_some_and(|(_, top)| top.len() >= 2);
        let verdict = if whole { TextCue::Finished(Closed::Dictation) } else { TextCue::Unfinished(Open::Spelling) };
        return Some(verdict);
    }
    if matches!(last, "dot" | "underscore" | "dash" | "slash") || (mentioned && last == "at") {
        return Some(TextCue::Unfinished(Open::Spelling));
    }
    // An address that was announced is whole when "dot" or a full domain stands behind its "at".
    if !mentioned {
        return None;
    }
    let named = words.iter().rposition(|w| matches!(*w, "is" | "at"))?;
    let rest = &words[named + 1..];
    if rest.is_empty() || rest.len() > 5 {
        return None;
    }
    let dotted = |word: &&str| *word == "dot" || word.contains('.');
    let whole = (words[named] == "at" || rest.len() == 1) && rest.iter().any(dotted);
    Some(if whole { TextCue::Finished(Closed::Dictation) } else { TextCue::Unfinished(Open::Spelling) })
}

/// "s m i": two single letters or more at the end. "a" and "i" are words.
fn spelling(words: &[&str]) -> Option<TextCue> {
    let letters = |w: &&&str| w.len() == 1 && w.chars().all(|c| c.is_ascii_alphabetic());
    let tail: Vec<_> = words.iter().rev().take_while(letters).collect();
    let words_of_their_own = tail.iter().all(|w| **w == "a" || **w == "i");
    (tail.len() >= 2 && !words_of_their_own).then_some(TextCue::Unfinished(Open::Spelling))
}

/// Judges Mandarin text that ends in a dictated number; `None` if it does not.
pub(super) fn mandarin(text: &str) -> Option<TextCue> {
    let is_digit = |c: &char| c.is_ascii_digit() || "零〇一二三四五六七八九幺两".contains(*c);
    let count = text.chars().rev().take_while(is_digit).count();
    if count == 0 {
        return None;
    }
    let announced =
        [("电话", 11), ("手机", 11), ("号码", 11), ("卡号", 16), ("密码", CODE), ("验证码", CODE), ("邮编", 6)]
            .into_iter()
            .filter(|(word, _)| text.contains(word))
            .min_by_key(|&(_, least)| least);
    match announced {
        Some((_, least)) if count < least => Some(TextCue::Unfinished(Open::Digits)),
        Some(_) => Some(TextCue::Finished(Closed::Dictation)),
        None if (4..11).contains(&count) => Some(TextCue::Unfinished(Open::Digits)),
        None if count >= 11 => Some(TextCue::Finished(Closed::Dictation)),
        None => None,
    }
}
