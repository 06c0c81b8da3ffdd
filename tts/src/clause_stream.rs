//! Cuts a stream of text into clauses, the first one early.

pub(crate) mod clean;
pub(crate) mod cut;
pub(crate) mod mapped;
mod plan;

use crate::{Clause, Language, normalize};
use clean::{Cleaner, Piece, is_han};
use cut::{Cut, LINE_PAUSE_MS, MAX_CHARS, PARAGRAPH_PAUSE_MS, SENTENCE_PAUSE_MS};
use mapped::MappedText;

pub use plan::{ChunkSize, ClausePlan};
use plan::{HAN_CHARS, MS_PER_CHAR};

/// How to cut.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamConfig {
    /// Chooses the size of each chunk.
    pub plan: ClausePlan,
    /// The language of numbers and signs before the first word.
    pub language: Language,
}

/// Takes text in any split and gives back clauses that can be spoken.
///
/// Byte ranges count from the first byte ever pushed. Memory is bounded, whatever is pushed.
///
/// ```
/// let mut stream = tts::ClauseStream::default();
/// let mut clauses = stream.push("**Sure!** It costs $5");
/// clauses.extend(stream.push("0.\n"));
/// clauses.extend(stream.finish());
/// assert_eq!(clauses[1].spoken, "It costs fifty dollars.");
/// assert_eq!(clauses[1].source, 10..23);
/// ```
#[derive(Default)]
pub struct ClauseStream {
    config: StreamConfig,
    cleaner: Cleaner,
    clean: MappedText,
    pieces: Vec<Piece>,
    // audio ahead of the next clause as far as known, in milliseconds
    queued_ms: u32,
    // the language of the clause before, in which numbers without words are read
    language: Language,
    // bytes of a character that is not complete yet
    partial_char: Vec<u8>,
}

impl ClauseStream {
    /// A stream at its beginning.
    pub fn new(config: StreamConfig) -> ClauseStream {
        ClauseStream { config, language: config.language, ..ClauseStream::default() }
    }

    /// Tells how much audio is synthesised and not played yet; chunks grow with it.
    ///
    /// Without this the stream counts what it has cut so far as queued.
    pub fn audio_queued(&mut self, ms: u32) {
        self.queued_ms = ms;
    }

    /// Adds text; returns the clauses that are complete.
    pub fn push(&mut self, text: &str) -> Vec<Clause> {
        let mut clauses = Vec::new();
        self.cleaner.push(text, &mut self.pieces);
        self.take_pieces(&mut clauses);
        self.cut(false, &mut clauses);
        clauses
    }

    /// Adds bytes that may end in the middle of a character; what is not UTF-8 is left out.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Vec<Clause> {
        self.partial_char.extend_from_slice(bytes);
        let buffer = std::mem::take(&mut self.partial_char);
        let mut text = String::new();
        let mut rest = buffer.as_slice();
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    match error.error_len() {
                        // One byte for one byte, so that positions stay true.
                        Some(n) => {
                            text.extend(std::iter::repeat_n('\0', n));
                            rest = &after[n..];
                        }
                        None => {
                            self.partial_char.extend_from_slice(after);
                            break;
                        }
                    }
                }
            }
        }
        self.push(&text)
    }

    /// Ends the text; returns what is left. The stream is then at the beginning of a new text, and positions go on.
    pub fn finish(&mut self) -> Vec<Clause> {
        let mut clauses = Vec::new();
        self.partial_char.clear();
        self.cleaner.finish(&mut self.pieces);
        self.take_pieces(&mut clauses);
        self.end_line(SENTENCE_PAUSE_MS, &mut clauses);
        self.queued_ms = 0;
        clauses
    }

    fn take_pieces(&mut self, clauses: &mut Vec<Clause>) {
        for piece in std::mem::take(&mut self.pieces) {
            match piece {
                Piece::Char(ch, source) => {
                    // A comma that stands for a bracket or a dash closes up to the word before it, and gives way to any
                    // other mark.
                    // A full stop may open a name or number: ".NET", ".5".
                    if is_mark(ch) && ch != '.' {
                        while self.clean.last() == Some(' ') {
                            self.clean.pop();
                        }
                        match self.clean.last() {
                            None => continue,
                            Some(before) if matches!(ch, ',' | '，') && is_mark(before) => continue,
                            Some(',' | '，') => self.clean.pop(),
                            _ => {}
                        }
                    }
                    let after_comma = matches!(self.clean.last(), Some(',')) && ch.is_alphabetic() && !is_han(ch);
                    if after_comma {
                        self.clean.push(' ', source.start..source.start);
                    }
                    self.clean.push(ch, source);
                    if self.clean.len() > 4 * MAX_CHARS {
                        self.cut(false, clauses);
                    }
                }
                Piece::Line => self.end_line(LINE_PAUSE_MS, clauses),
                Piece::Paragraph => self.end_line(PARAGRAPH_PAUSE_MS, clauses),
            }
        }
    }

    fn end_line(&mut self, pause_ms: u32, clauses: &mut Vec<Clause>) {
        self.cut(true, clauses);
        if let Some(clause) = clauses.last_mut() {
            clause.pause_ms = clause.pause_ms.max(pause_ms);
            clause.ends_sentence = true;
            clause.spoken.truncate(clause.spoken.trim_end_matches(',').len());
        }
    }

    fn cut(&mut self, last: bool, clauses: &mut Vec<Clause>) {
        while !self.clean.is_empty() {
            let size = self.config.plan.next(self.queued_ms);
            let whole = Cut { at: self.clean.len(), ends_sentence: true, pause_ms: SENTENCE_PAUSE_MS };
            let cut = match cut::find(self.clean.as_str(), size, last) {
                Some(cut) => cut,
                None if last => whole,
                None => return,
            };
            let text = self.clean.take_front(cut.at).trimmed();
            while self.clean.as_str().starts_with(' ') {
                self.clean.take_front(1);
            }
            clauses.extend(self.clause(&text, cut));
        }
    }

    fn clause(&mut self, text: &MappedText, cut: Cut) -> Option<Clause> {
        let language = language_of(text.as_str()).unwrap_or(self.language);
        self.language = language;
        let (spoken, words) = normalize::spoken(text, language);
        let first = words.first()?;
        let source = first.source.start..words.iter().map(|w| w.source.end).max()?;
        let source = source.start..text.source(0..text.len()).map_or(source.end, |all| all.end.max(source.end));
        let chars = spoken.chars().map(|c| if is_han(c) { HAN_CHARS } else { 1 }).sum::<usize>();
        let chars = u32::try_from(chars).unwrap_or(u32::MAX);
        self.queued_ms = self.queued_ms.saturating_add(chars.saturating_mul(MS_PER_CHAR));
        Some(Clause { source, spoken, words, language, ends_sentence: cut.ends_sentence, pause_ms: cut.pause_ms })
    }
}

fn is_mark(ch: char) -> bool {
    matches!(ch, ',' | '.' | ';' | ':' | '!' | '?' | '…' | '，' | '。' | '；' | '：' | '！' | '？' | '、')
}

/// The language that most of the text is in: a voice for Chinese reads the Latin words in it too, so that one Chinese
/// character counts as much as six letters. `None` without words.
fn language_of(text: &str) -> Option<Language> {
    let (mut han, mut latin) = (0, 0);
    for ch in text.chars() {
        if is_han(ch) {
            han += 1;
        } else if ch.is_alphabetic() {
            latin += 1;
        }
    }
    match (han, latin) {
        (0, 0) => None,
        (han, latin) if han > 0 && 6 * han >= latin => Some(Language::Mandarin),
        _ => Some(Language::English),
    }
}

#[cfg(test)]
mod tests;
