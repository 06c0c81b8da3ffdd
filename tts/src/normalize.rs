//! Turns what is written into what is said, and remembers for each word where it came from.

mod english;
mod mandarin;
mod plain;
mod rule;
mod table;

use std::ops::Range;

use crate::clause_stream::clean::is_han;
use crate::clause_stream::mapped::MappedText;
use crate::{Language, SpokenWord};

/// The words of clean text as they are said, with the marks that shape the melody.
pub(crate) fn spoken(text: &MappedText, language: Language) -> (String, Vec<SpokenWord>) {
    let spans = match language {
        Language::English => english::spans(text.as_str()),
        Language::Mandarin => mandarin::spans(text.as_str()),
    };
    let mut out = Spoken::default();
    for span in spans {
        if let Some(source) = text.source(span.written.clone()) {
            out.add(&span.said, source);
        }
    }
    (out.text, out.words)
}

/// Applies rules; what they leave is words and marks.
fn share_out(rules: &[rule::Rule], text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    rule::apply(rules, text, &mut spans);
    spans.sort_by_key(|span| span.written.start);
    let mut all = Vec::new();
    let mut at = 0;
    for span in spans {
        plain::spans(text, at..span.written.start, &mut all);
        at = span.written.end;
        all.push(span);
    }
    plain::spans(text, at..text.len(), &mut all);
    all
}

/// A stretch of written text and what is said for it. An empty saying is a gap between words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) written: Range<usize>,
    pub(crate) said: String,
}

#[derive(Default)]
struct Spoken {
    text: String,
    words: Vec<SpokenWord>,
}

impl Spoken {
    /// Adds words, or a mark that closes up to the word before it. Each Chinese character is a word of its own.
    fn add(&mut self, said: &str, source: Range<usize>) {
        for part in said.split(' ').filter(|p| !p.is_empty()) {
            if !part.chars().any(char::is_alphanumeric) {
                if !self.words.is_empty() {
                    self.text.push_str(part);
                }
                continue;
            }
            let mut rest = part;
            while let Some(first) = rest.chars().next() {
                let end = if is_han(first) { first.len_utf8() } else { rest.find(is_han).unwrap_or(rest.len()) };
                let (word, after) = rest.split_at(end);
                self.word(word, is_han(first), source.clone());
                rest = after;
            }
        }
    }

    fn word(&mut self, word: &str, han: bool, source: Range<usize>) {
        let before = self.text.chars().next_back();
        let joined = before.is_none_or(|c| c == ' ' || is_wide_mark(c)) || han && before.is_some_and(is_han);
        if !joined {
            self.text.push(' ');
        }
        let start = self.text.len();
        self.text.push_str(word);
        self.words.push(SpokenWord { spoken: start..self.text.len(), source });
    }
}

/// Chinese punctuation, which brings its own space.
fn is_wide_mark(ch: char) -> bool {
    matches!(ch, '，' | '。' | '！' | '？' | '；' | '：' | '、')
}
