//! From words to phonemes, each of which knows the word it belongs to.

mod english;
mod mandarin;

use std::sync::LazyLock;

use english::English;
use mandarin::Mandarin;

/// English pronunciation, loaded once per process: 100 MB that all voices share.
pub(crate) fn english() -> &'static English {
    static ENGLISH: LazyLock<English> = LazyLock::new(English::load);
    &ENGLISH
}

/// Mandarin pronunciation, loaded once per process.
pub(crate) fn mandarin() -> &'static Mandarin {
    static MANDARIN: LazyLock<Mandarin> = LazyLock::new(Mandarin::load);
    &MANDARIN
}

/// A phoneme symbol, a stress or length mark, a space or a punctuation mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) symbol: char,
    /// Index into [`crate::Clause::words`]; `None` between words.
    pub(crate) word: Option<usize>,
}

/// Stretches of at most `most` symbols, cut between words where there are any.
pub(crate) fn stretches(symbols: &[Symbol], most: usize) -> Vec<&[Symbol]> {
    let mut stretches = Vec::new();
    let mut rest = symbols;
    while rest.len() > most {
        let cut = rest[..most].iter().rposition(|s| s.symbol == ' ').filter(|at| *at > 0).unwrap_or(most);
        let (stretch, after) = rest.split_at(cut);
        stretches.push(stretch);
        rest = after;
    }
    if rest.iter().any(|s| s.word.is_some()) {
        stretches.push(rest);
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_clauses_go_through_in_stretches() {
        let symbols: Vec<Symbol> = (0..5_000)
            .map(|i| Symbol { symbol: if i % 7 == 6 { ' ' } else { 'a' }, word: (i % 7 != 6).then_some(i / 7) })
            .collect();
        let stretches = stretches(&symbols, 400);
        assert!(stretches.iter().all(|s| s.len() <= 400));
        assert_eq!(stretches.iter().map(|s| s.len()).sum::<usize>(), symbols.len());
        let unbroken = vec![Symbol { symbol: 'a', word: Some(0) }; 5_000];
        assert_eq!(super::stretches(&unbroken, 400).iter().map(|s| s.len()).sum::<usize>(), 5_000);
    }
}
