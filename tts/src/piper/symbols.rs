//! From Misaki's symbols to the IPA of Piper's English voices, which learned it from espeak-ng's American English.
//!
//! That IPA writes diphthongs and affricates with two letters, marks length, and has one letter for r-coloured vowels.

use crate::g2p::Symbol;

/// The same sounds in the other alphabet; each symbol keeps its word.
pub(super) fn to_ipa(symbols: &[Symbol]) -> Vec<Symbol> {
    let mut out = Vec::with_capacity(symbols.len() + symbols.len() / 2);
    let mut at = 0;
    while let Some(&Symbol { symbol, word }) = symbols.get(at) {
        let next = symbols.get(at + 1).filter(|n| n.word == word).map(|n| n.symbol);
        let stressed = at > 0 && matches!(symbols[at - 1].symbol, 'ˈ' | 'ˌ');
        let ends_word = next.is_none();
        let mut taken = 1;
        let ipa = match (symbol, next) {
            ('A', _) => "eɪ",
            ('I', _) => "aɪ",
            ('O', _) => "oʊ",
            ('W', _) => "aʊ",
            ('Y', _) => "ɔɪ",
            ('Q', _) => "əʊ",
            ('ʤ', _) => "dʒ",
            ('ʧ', _) => "tʃ",
            ('ᵊ', _) => "ə",
            ('T', _) => "ɾ",
            ('g', _) => "ɡ",
            ('ɜ', Some('ɹ')) => {
                taken = 2;
                "ɜː"
            }
            ('ə', Some('ɹ')) => {
                taken = 2;
                "ɚ"
            }
            // "happy" ends short, "he" and "sheep" are long.
            ('i', _) if stressed || (ends_word && is_only_vowel(symbols, at)) => "iː",
            ('u', _) => "uː",
            ('ɑ', _) => "ɑː",
            ('ɔ', _) => "ɔː",
            _ => {
                out.push(Symbol { symbol, word });
                at += 1;
                continue;
            }
        };
        out.extend(ipa.chars().map(|symbol| Symbol { symbol, word }));
        at += taken;
    }
    out
}

fn is_only_vowel(symbols: &[Symbol], at: usize) -> bool {
    let word = symbols[at].word;
    let same_word = |s: &&Symbol| s.word == word;
    let before = symbols[..at].iter().rev().take_while(same_word);
    before.filter(|s| "AIOWYaeiouɑæɛɪɔʊʌəɜᵊɐ".contains(s.symbol)).count() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sounds_are_rewritten_and_keep_their_words() {
        for (misaki, ipa) in [
            ("həlˈO", "həlˈoʊ"),
            ("ʤˈʌʤ", "dʒˈʌdʒ"),
            ("wˈɜɹd", "wˈɜːd"),
            ("bˈɛTəɹ", "bˈɛɾɚ"),
            ("hˈæpi", "hˈæpi"),
            ("hi", "hiː"),
            ("ʃˈip", "ʃˈiːp"),
            ("jˈuz", "jˈuːz"),
            ("əɹˈWnd", "ɚˈaʊnd"),
        ] {
            let symbols: Vec<Symbol> = misaki.chars().map(|symbol| Symbol { symbol, word: Some(3) }).collect();
            let rewritten = to_ipa(&symbols);
            assert_eq!(rewritten.iter().map(|s| s.symbol).collect::<String>(), ipa);
            assert!(rewritten.iter().all(|s| s.word == Some(3)));
        }
    }
}
