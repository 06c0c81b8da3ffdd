//! Text that remembers, byte by byte, where in the raw text it came from.

use std::ops::Range;

/// A string and the raw byte range behind every one of its bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct MappedText {
    text: String,
    // [text.len()], all bytes of one character carry the same range
    sources: Vec<Range<usize>>,
}

impl MappedText {
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn last(&self) -> Option<char> {
        self.text.chars().next_back()
    }

    pub(crate) fn push(&mut self, ch: char, source: Range<usize>) {
        self.text.push(ch);
        self.sources.extend(std::iter::repeat_n(source, ch.len_utf8()));
    }

    /// Takes the last character away.
    pub(crate) fn pop(&mut self) {
        if self.text.pop().is_some() {
            self.sources.truncate(self.text.len());
        }
    }

    /// Splits off the first `at` bytes; `at` lies on a character boundary.
    pub(crate) fn take_front(&mut self, at: usize) -> MappedText {
        let rest = self.text.split_off(at);
        let rest_sources = self.sources.split_off(at);
        MappedText {
            text: std::mem::replace(&mut self.text, rest),
            sources: std::mem::replace(&mut self.sources, rest_sources),
        }
    }

    /// Drops spaces at both ends.
    pub(crate) fn trimmed(mut self) -> MappedText {
        self.text.truncate(self.text.trim_end().len());
        self.sources.truncate(self.text.len());
        let front = self.text.len() - self.text.trim_start().len();
        self.text.drain(..front);
        self.sources.drain(..front);
        self
    }

    /// The raw bytes behind a range of this text, `None` when that range is empty.
    pub(crate) fn source(&self, range: Range<usize>) -> Option<Range<usize>> {
        let covered = self.sources.get(range)?;
        let start = covered.iter().map(|r| r.start).min()?;
        let end = covered.iter().map(|r| r.end).max()?;
        Some(start..end)
    }
}
