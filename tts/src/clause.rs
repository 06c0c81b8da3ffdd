//! A clause: the unit of text that is synthesised in one go, with the way back to the raw text.

use std::fmt;
use std::ops::Range;

/// A language that the text front end knows how to read aloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Language {
    /// English, as spoken in the United States.
    #[default]
    English,
    /// Mandarin Chinese.
    Mandarin,
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Language::English => "English",
            Language::Mandarin => "Mandarin",
        })
    }
}

/// A piece of text ready to be spoken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clause {
    /// Bytes of the raw text, counted from the first byte ever pushed, that this clause speaks.
    pub source: Range<usize>,
    /// What is said: words and the punctuation that shapes the melody, no digits or symbols.
    pub spoken: String,
    /// The words of `spoken` in order.
    pub words: Vec<SpokenWord>,
    /// The language that most of the clause is in.
    pub language: Language,
    /// Whether a sentence ends here.
    pub ends_sentence: bool,
    /// Silence that the punctuation asks for after the clause, in milliseconds.
    pub pause_ms: u32,
}

/// One word of [`Clause::spoken`]; several words may come from one written form ("$5").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpokenWord {
    /// Bytes in [`Clause::spoken`].
    pub spoken: Range<usize>,
    /// Bytes in the raw text.
    pub source: Range<usize>,
}
