//! Turns what is written into what is said, and remembers for each word where it came from.

mod english;
mod rule;

use std::ops::Range;

use crate::clause_stream::mapped::MappedText;
use crate::{Language, SpokenWord};

/// The words of clean text as they are said, with the marks that shape the melody.
pub(crate) fn spoken(text: &MappedText, language: Language) -> (String, Vec<SpokenWord>) {
    let spans = match language {
        Language::English | Language::Mandarin => english::spans(text.as_str()),
    };
    let mut out = Spoken::default();
    for span in spans {
        if let Some(source) = text.source(span.written.clone()) {
            out.add(&span.said, source);
        }
    }
    (out.text, out.words)
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
    /// Adds words, or a mark that closes up to the word before it.
    fn add(&mut self, said: &str, source: Range<usize>) {
        for part in said.split(' ').filter(|p| !p.is_empty()) {
            if part.chars().any(char::is_alphanumeric) {
                if !self.text.is_empty() && !self.text.ends_with(' ') {
                    self.text.push(' ');
                }
                let start = self.text.len();
                self.text.push_str(part);
                self.words.push(SpokenWord { spoken: start..self.text.len(), source: source.clone() });
            } else if !self.words.is_empty() {
                self.text.push_str(part);
            }
        }
    }
}
