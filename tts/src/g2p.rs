//! From words to phonemes, each of which knows the word it belongs to.

mod english;

use std::sync::LazyLock;

use english::English;

/// English pronunciation, loaded once per process: 100 MB that all voices share.
pub(crate) fn english() -> &'static English {
    static ENGLISH: LazyLock<English> = LazyLock::new(English::load);
    &ENGLISH
}

/// A phoneme symbol, a stress or length mark, a space or a punctuation mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) symbol: char,
    /// Index into [`crate::Clause::words`]; `None` between words.
    pub(crate) word: Option<usize>,
}
