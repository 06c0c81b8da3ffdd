//! Where clean text may be cut into clauses.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::clean::is_han;
use super::plan::{ChunkSize, HAN_CHARS};
use crate::g2p::mandarin;

/// A place to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Bytes of text before the cut.
    pub(crate) at: usize,
    pub(crate) ends_sentence: bool,
    pub(crate) pause_ms: u32,
}

/// Silence after a mark, in milliseconds: the middle of what readers of plain prose leave.
pub(crate) const SENTENCE_PAUSE_MS: u32 = 320;
pub(crate) const LINE_PAUSE_MS: u32 = 360;
pub(crate) const PARAGRAPH_PAUSE_MS: u32 = 520;
const COMMA_PAUSE_MS: u32 = 130;
const SEMICOLON_PAUSE_MS: u32 = 220;
const ENUMERATION_PAUSE_MS: u32 = 80;

/// Text without any place to cut is cut here, so that a chunk stays bounded.
pub(crate) const MAX_CHARS: usize = 220;

/// How sure an abbreviation is that its full stop does not end the sentence.
static ABBREVIATIONS: LazyLock<(HashSet<&str>, HashSet<&str>)> = LazyLock::new(|| {
    let mut inside = HashSet::new();
    let mut either = HashSet::new();
    for line in include_str!("../../data/en/abbreviations.tsv").lines().filter(|l| !l.starts_with('#')) {
        let mut fields = line.split('\t');
        if let (Some(written), Some(_), Some(stop)) = (fields.next(), fields.next(), fields.next()) {
            match stop {
                "inside" => inside.insert(written.trim_end_matches('.')),
                "either" => either.insert(written.trim_end_matches('.')),
                _ => false,
            };
        }
    }
    (inside, either)
});

/// Words after which a phrase never ends, and words with which one begins.
static FUNCTION_WORDS: LazyLock<(HashSet<&str>, HashSet<&str>)> = LazyLock::new(|| {
    let mut weak_end = HashSet::new();
    let mut leader = HashSet::new();
    for line in include_str!("../../data/en/function_words.tsv").lines().filter(|l| !l.starts_with('#')) {
        if let Some((word, roles)) = line.split_once('\t') {
            if roles.contains("binds") {
                weak_end.insert(word);
            }
            if roles.contains("leads") {
                leader.insert(word);
            }
        }
    }
    (weak_end, leader)
});

/// The first good place to cut, or `None` to wait for more text. `last`: no more text will follow.
pub(crate) fn find(text: &str, size: ChunkSize, last: bool) -> Option<Cut> {
    let mut chars = 0;
    let mut phrase_cut = None;
    let mut word_cut = None;
    for (at, ch) in text.char_indices() {
        chars += if is_han(ch) { HAN_CHARS } else { 1 };
        let end = at + ch.len_utf8();
        let rest = &text[end..];
        if let Some(cut) = punctuation_cut(text, at, ch, rest, last) {
            let long_enough =
                if cut.ends_sentence { chars >= (size.min_chars / 2).min(24) } else { chars >= size.min_chars };
            if long_enough {
                return Some(cut);
            }
        }
        if chars > size.hard_chars
            && let Some(cut) = phrase_cut.or(word_cut)
        {
            return Some(cut);
        }
        let unpunctuated = Cut { at, ends_sentence: false, pause_ms: 0 };
        if ch == ' ' && chars >= size.soft_chars && phrase_cut.is_none() && joins_phrases(&text[..at], rest) {
            phrase_cut = Some(unpunctuated);
        }
        if ch == ' ' && chars > size.hard_chars && word_cut.is_none() && splits_words(&text[..at], rest) {
            word_cut = Some(unpunctuated);
        }
        if is_han(ch) && chars > size.hard_chars && word_cut.is_none() && splits_chinese(text, end) {
            word_cut = Some(Cut { at: end, ..unpunctuated });
        }
        if chars > size.hard_chars
            && let Some(cut) = phrase_cut.or(word_cut)
        {
            return Some(cut);
        }
        if chars >= MAX_CHARS || end >= 4 * MAX_CHARS {
            return Some(phrase_cut.or(word_cut).unwrap_or(Cut { at: end, ..unpunctuated }));
        }
    }
    phrase_cut.or(word_cut)
}

/// The cut right after a punctuation mark, if the mark is one here.
fn punctuation_cut(text: &str, at: usize, ch: char, rest: &str, last: bool) -> Option<Cut> {
    let end = at + ch.len_utf8();
    let cut = |ends_sentence, pause_ms| Some(Cut { at: end, ends_sentence, pause_ms });
    match ch {
        '。' | '！' | '？' => return cut(true, SENTENCE_PAUSE_MS),
        '；' | '：' => return cut(false, SEMICOLON_PAUSE_MS),
        '，' => return cut(false, COMMA_PAUSE_MS),
        '、' => return cut(false, ENUMERATION_PAUSE_MS),
        '.' | '!' | '?' | ';' | ':' | ',' | '…' => {}
        _ => return None,
    }
    let next = rest.chars().next();
    let spaced = match next {
        None => last,
        Some(c) => c == ' ' || is_han(c),
    };
    if !spaced {
        return None;
    }
    let following = rest.trim_start().chars().next();
    match ch {
        '.' => ends_sentence(&text[..at], following, last)?.then_some(())?,
        // "May 5, 2024", "5, 6 and 7"
        ',' | ':' if last_word(&text[..at]).contains(|c: char| c.is_ascii_digit()) => match following {
            None if !last => return None,
            Some(c) if c.is_ascii_digit() => return None,
            _ => {}
        },
        _ => {}
    }
    match ch {
        '.' | '!' | '?' => cut(true, SENTENCE_PAUSE_MS),
        '…' => cut(following.is_some_and(char::is_uppercase), SENTENCE_PAUSE_MS),
        ';' | ':' => cut(false, SEMICOLON_PAUSE_MS),
        _ => cut(false, COMMA_PAUSE_MS),
    }
}

/// Whether the full stop after `before` ends a sentence; `None` when the next word must be seen first.
fn ends_sentence(before: &str, following: Option<char>, last: bool) -> Option<bool> {
    if last && following.is_none() {
        return Some(true);
    }
    let word = before.rsplit([' ', '(']).next().unwrap_or(before);
    let (inside, either) = &*ABBREVIATIONS;
    let initial = {
        let mut chars = word.chars();
        chars.next().is_some_and(|c| c.is_uppercase() && c != 'I') && chars.next().is_none()
    };
    let lower = word.to_lowercase();
    if inside.contains(word) || inside.contains(lower.as_str()) && word.len() > 2 {
        // "No. 5" is a number, "No. That is wrong" is not.
        return match lower.as_str() {
            "no" | "fig" => following.map(|c| !c.is_ascii_digit()),
            _ => Some(false),
        };
    }
    if either.contains(word) || either.contains(lower.as_str()) {
        return following.map(char::is_uppercase);
    }
    if initial {
        // "J. R. R. Tolkien", but "vitamin C. It ..."
        let before_initial = before[..before.len() - word.len()].trim_end();
        let name_before = before_initial.rsplit(' ').next().is_some_and(|w| w.starts_with(char::is_uppercase));
        return following.map(|c| c.is_uppercase() && !(before_initial.is_empty() || name_before));
    }
    Some(true)
}

/// Whether a phrase ends between these words. Waits until the second word is whole.
fn joins_phrases(before: &str, after: &str) -> bool {
    let (weak_end, leader) = &*FUNCTION_WORDS;
    let Some((next, _)) = after.split_once(' ') else {
        return false;
    };
    splits_words(before, after)
        && leader.contains(next.to_lowercase().as_str())
        && !weak_end.contains(last_word(before).to_lowercase().as_str())
}

/// Whether a cut between these words tears nothing apart that is read together.
fn splits_words(before: &str, after: &str) -> bool {
    let (weak_end, _) = &*FUNCTION_WORDS;
    let word = last_word(before);
    let number =
        |w: &str| w.contains(|c: char| c.is_ascii_digit() || matches!(c, '$' | '€' | '£' | '¥' | '%' | '=' | '+'));
    let Some((next, _)) = after.split_once(' ') else {
        return false;
    };
    !weak_end.contains(word.to_lowercase().as_str())
        && !number(word)
        && !number(next)
        && !word.ends_with('.')
        && !next.is_empty()
}

/// Whether a Chinese word ends here, with enough after it to be sure and nothing after it that leans on it.
fn splits_chinese(text: &str, at: usize) -> bool {
    /// Characters that lean on the word before them.
    const LEANING: &str = "的了着过吗呢吧啊呀嘛啦们么儿子个位只条张本件杯年月日号点分秒元块度些里上下中";
    let (before, after) = text.split_at(at);
    let following: Vec<char> = after.chars().take(3).collect();
    if following.len() < 3 || !is_han(following[0]) || LEANING.contains(following[0]) {
        return false;
    }
    // Only the words around the cut matter.
    let start = before.char_indices().rev().nth(11).map_or(0, |(i, _)| i);
    let end = after.char_indices().nth(6).map_or(text.len(), |(i, _)| at + i);
    mandarin().ends_word(&text[start..end], at - start)
}

fn last_word(text: &str) -> &str {
    text.trim_end().rsplit(' ').next().unwrap_or(text)
}
