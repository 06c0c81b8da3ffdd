//! Mandarin pronunciation: words, readings of characters in their words, tone sandhi, and the symbols of the Kokoro voices.

mod readings;
mod sandhi;
mod syllable;

use std::ops::Range;

use jieba_rs::Jieba;

use super::{Symbol, english};
use crate::clause_stream::clean::is_han;
use crate::{Clause, SpokenWord};
use readings::Readings;

/// The dictionary of words and readings.
pub(crate) struct Mandarin {
    segmenter: Jieba,
    readings: Readings,
}

impl Mandarin {
    pub(crate) fn load() -> Mandarin {
        Mandarin { segmenter: Jieba::new(), readings: Readings::load() }
    }

    /// Whether a word ends at this byte of a text.
    pub(crate) fn ends_word(&self, text: &str, at: usize) -> bool {
        let mut end = 0;
        self.segmenter.cut(text, true).into_iter().any(|token| {
            end += token.word.len();
            end == at
        })
    }

    /// The phonemes of a clause: Chinese words by this module, Latin words by the English one.
    pub(crate) fn phonemes(&self, clause: &Clause) -> Vec<Symbol> {
        let mut out = Vec::new();
        for stretch in stretches(&clause.spoken) {
            let text = &clause.spoken[stretch.clone()];
            match text.chars().next() {
                Some(c) if is_han(c) => self.chinese(text, stretch.start, clause, &mut out),
                Some(c) if c.is_alphanumeric() => latin(stretch, clause, &mut out),
                Some(mark) => punctuation(mark, &mut out),
                None => {}
            }
        }
        while out.last().is_some_and(|s: &Symbol| s.symbol == ' ') {
            out.pop();
        }
        out
    }

    fn chinese(&self, text: &str, offset: usize, clause: &Clause, out: &mut Vec<Symbol>) {
        let words: Vec<&str> = self.segmenter.cut(text, true).into_iter().map(|token| token.word).collect();
        let mut syllables = self.readings.read(&words);
        sandhi::apply(&mut syllables);
        space(out);
        let mut at = offset;
        for (i, syllable) in syllables.iter().enumerate() {
            if i > 0 && syllable.begins_word {
                space(out);
            }
            let word = clause.words.iter().position(|w| w.spoken.contains(&at));
            out.extend(syllable.symbols().chars().map(|symbol| Symbol { symbol, word }));
            at += syllable.character.len_utf8();
        }
    }
}

/// Runs of Chinese characters, runs of other words with the spaces between them, and single marks.
fn stretches(text: &str) -> Vec<Range<usize>> {
    let kind = |c: char| {
        if is_han(c) {
            0
        } else if c.is_alphanumeric() || matches!(c, ' ' | '\'' | '-') {
            1
        } else {
            2
        }
    };
    let mut stretches: Vec<Range<usize>> = Vec::new();
    let mut before = None;
    for (at, ch) in text.char_indices() {
        let kind = kind(ch);
        match stretches.last_mut() {
            Some(last) if before == Some(kind) && kind < 2 => last.end = at + ch.len_utf8(),
            _ if ch == ' ' => {}
            _ => stretches.push(at..at + ch.len_utf8()),
        }
        if ch != ' ' || before == Some(1) {
            before = Some(kind);
        }
    }
    stretches
}

fn latin(stretch: Range<usize>, clause: &Clause, out: &mut Vec<Symbol>) {
    let inside = |w: &SpokenWord| stretch.contains(&w.spoken.start);
    let first = clause.words.iter().position(inside).unwrap_or(0);
    let words = clause.words.iter().filter(|w| inside(w));
    let shifted = words.map(|w| SpokenWord {
        spoken: w.spoken.start - stretch.start..w.spoken.end - stretch.start,
        source: w.source.clone(),
    });
    let part =
        Clause { spoken: clause.spoken[stretch.clone()].to_owned(), words: shifted.collect(), ..Clause::default() };
    space(out);
    out.extend(english().phonemes(&part).into_iter().map(|s| Symbol { word: s.word.map(|w| w + first), ..s }));
}

fn punctuation(mark: char, out: &mut Vec<Symbol>) {
    let symbol = match mark {
        '，' | '、' => ',',
        '。' => '.',
        '！' => '!',
        '？' => '?',
        '；' => ';',
        '：' => ':',
        other => other,
    };
    while out.last().is_some_and(|s| s.symbol == ' ') {
        out.pop();
    }
    if !out.is_empty() {
        out.push(Symbol { symbol, word: None });
    }
}

fn space(out: &mut Vec<Symbol>) {
    if out.last().is_some_and(|s| s.symbol != ' ') {
        out.push(Symbol { symbol: ' ', word: None });
    }
}

#[cfg(test)]
mod tests;
