//! Which samples belong to which word.

use std::ops::Range;

use crate::{Clause, Speech, WordTime};

/// A word's samples, counted from the first sample that the voice rendered for the clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Index into [`Clause::words`].
    pub(crate) word: usize,
    pub(crate) samples: Range<usize>,
}

/// Hands out each word with the piece of speech in which it begins.
pub(crate) struct Timer<'a> {
    clause: &'a Clause,
    // words not handed out yet, in order
    waiting: Vec<WordTime>,
    given: usize,
}

impl<'a> Timer<'a> {
    pub(crate) fn new(clause: &'a Clause) -> Timer<'a> {
        Timer { clause, waiting: Vec::new(), given: 0 }
    }

    /// Adds words. Words that were written as one form ("$5") are one.
    pub(crate) fn place(&mut self, segments: Vec<Segment>) {
        for Segment { word, samples } in segments {
            let Some(source) = self.clause.words.get(word).map(|w| w.source.clone()) else { continue };
            match self.waiting.last_mut() {
                Some(last) if last.source == source => last.samples.end = samples.end,
                _ => self.waiting.push(WordTime { source, samples }),
            }
        }
    }

    /// Makes a piece of speech of these samples. `trimmed`: samples cut off before the first.
    pub(crate) fn speech(&mut self, samples: Vec<f32>, trimmed: usize) -> Option<Speech> {
        if samples.is_empty() {
            return None;
        }
        self.given += samples.len();
        let begun = self.waiting.iter().take_while(|w| w.samples.start.saturating_sub(trimmed) < self.given).count();
        Some(Speech { samples, words: self.take(begun, trimmed) })
    }

    /// Makes the last piece: every word that is left comes with it and ends with it.
    pub(crate) fn finish(&mut self, tail: Vec<f32>, trimmed: usize) -> Option<Speech> {
        if tail.is_empty() {
            return None;
        }
        self.given += tail.len();
        let words = self.take(self.waiting.len(), trimmed);
        Some(Speech { samples: tail, words })
    }

    fn take(&mut self, count: usize, trimmed: usize) -> Vec<WordTime> {
        let shift = |at: usize| at.saturating_sub(trimmed);
        self.waiting
            .drain(..count)
            .map(|w| WordTime { samples: shift(w.samples.start)..shift(w.samples.end), source: w.source })
            .collect()
    }
}

/// Where the words lie by the durations of their phonemes: exact to a frame.
pub(crate) fn planned(words: &[Option<usize>], durations: &[usize], hop: usize, offset: usize) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut at = offset;
    for (word, frames) in words.iter().zip(durations) {
        let end = at + frames * hop;
        if let Some(word) = *word {
            match segments.last_mut() {
                Some(last) if last.word == word => last.samples.end = end,
                _ => segments.push(Segment { word, samples: at..end }),
            }
        }
        at = end;
    }
    segments
}

/// Where the words lie when the voice does not tell: shared out over the sounding part by their number of phonemes.
///
/// Measured against the durations of a voice that does tell, word starts are off by some 80 ms at the median.
pub(crate) fn estimated(words: &[Option<usize>], samples: &[f32], offset: usize) -> Vec<Segment> {
    const SILENCE: f32 = 0.004;
    let first = samples.iter().position(|s| s.abs() > SILENCE).unwrap_or(0);
    let last = samples.iter().rposition(|s| s.abs() > SILENCE).map_or(samples.len(), |at| at + 1);
    let sounding = words
        .iter()
        .position(Option::is_some)
        .map_or(0..0, |start| start..words.iter().rposition(Option::is_some).map_or(start, |e| e + 1));
    let mut segments: Vec<Segment> = Vec::new();
    let place = |i: usize| offset + first + (last - first) * (i - sounding.start) / sounding.len().max(1);
    for i in sounding.clone() {
        if let Some(word) = words[i] {
            match segments.last_mut() {
                Some(segment) if segment.word == word => segment.samples.end = place(i + 1),
                _ => segments.push(Segment { word, samples: place(i)..place(i + 1) }),
            }
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SpokenWord;

    #[test]
    fn words_come_with_the_piece_they_begin_in() {
        let word = |source: Range<usize>| SpokenWord { spoken: 0..0, source };
        // "$5 now" is said "five dollars now".
        let clause = Clause { words: vec![word(0..2), word(0..2), word(3..6)], ..Clause::default() };
        let mut timer = Timer::new(&clause);
        let segment = |word, samples| Segment { word, samples };
        timer.place(vec![segment(0, 100..200), segment(1, 200..300), segment(2, 300..400)]);
        let first = timer.speech(vec![0.0; 150], 100).unwrap();
        assert_eq!(first.words, [WordTime { source: 0..2, samples: 0..200 }]);
        let second = timer.finish(vec![0.0; 150], 100).unwrap();
        assert_eq!(second.words, [WordTime { source: 3..6, samples: 200..300 }]);
    }

    #[test]
    fn estimates_share_out_the_sounding_part() {
        let words = [None, Some(0), Some(0), None, Some(1), None];
        let mut samples = vec![0.0; 100];
        samples.extend(vec![0.5; 400]);
        samples.extend(vec![0.0; 100]);
        let segments = estimated(&words, &samples, 1_000);
        assert_eq!(segments[0], Segment { word: 0, samples: 1_100..1_300 });
        assert_eq!(segments[1], Segment { word: 1, samples: 1_400..1_500 });
    }
}
