//! English pronunciation: a dictionary with part-of-speech tags for words that are said in two ways, then names, then
//! compounds, then letter-to-sound rules.
//!
//! Symbols are those of Misaki, the set the Kokoro voices were trained on: one letter for each diphthong (A eɪ, I aɪ,
//! O oʊ, W aʊ, Y ɔɪ), ʤ and ʧ for affricates, ᵊ for a short schwa, T for a flapped t, stress before the vowel, no length.

mod compound;
mod letters;

use std::collections::HashMap;

use misaki_rs::G2P;
use misaki_rs::lexicon::PhonemeEntry;
use unicode_normalization::UnicodeNormalization;

use super::Symbol;
use crate::Clause;

/// The dictionary and the rules. Loading takes some 0.2 s and 100 MB.
pub(crate) struct English {
    dictionary: G2P,
    names: HashMap<&'static str, &'static str>,
}

impl English {
    pub(crate) fn load() -> English {
        let names = include_str!("../../data/en/names.tsv")
            .lines()
            .filter(|l| !l.starts_with('#'))
            .filter_map(|l| l.split_once('\t'))
            .collect();
        English { dictionary: G2P::new(misaki_rs::Language::EnglishUS), names }
    }

    /// The phonemes of a clause, with spaces between words and punctuation after them.
    pub(crate) fn phonemes(&self, clause: &Clause) -> Vec<Symbol> {
        let mut out = Vec::new();
        let Ok((_, tokens)) = self.dictionary.g2p(&clause.spoken) else {
            tracing::debug!("the dictionary rejects a clause; its words are read by letter-to-sound rules");
            for (index, word) in clause.words.iter().enumerate() {
                push(&mut out, &self.unknown(&clause.spoken[word.spoken.clone()]), Some(index));
                out.push(Symbol { symbol: ' ', word: None });
            }
            return out;
        };
        let mut at = 0;
        for token in &tokens {
            let word = clause.words.iter().position(|w| w.spoken.contains(&at));
            match token.phonemes.as_deref() {
                Some(phonemes) if !phonemes.contains('❓') => {
                    let word = if phonemes.chars().any(char::is_alphabetic) { word } else { None };
                    push(&mut out, phonemes, word);
                }
                _ => push(&mut out, &self.unknown(&token.text), word),
            }
            if !token.whitespace.is_empty() {
                out.push(Symbol { symbol: ' ', word: None });
            }
            at += token.text.len() + token.whitespace.len();
        }
        out
    }

    /// A word that the dictionary does not have.
    fn unknown(&self, word: &str) -> String {
        let plain = plain_letters(word);
        let mut said = String::new();
        for part in plain
            .split(|c: char| !c.is_ascii_alphabetic() && c != '\'')
            .filter(|p| p.chars().any(|c| c.is_ascii_alphabetic()))
        {
            let (stem, possessive) = match part.strip_suffix("'s") {
                Some(stem) => (stem, true),
                None => (part, false),
            };
            said.push_str(&self.unknown_stem(&stem.replace('\'', "")));
            if possessive {
                said.push_str(letters::plural_ending(&said));
            }
        }
        if said.is_empty() && word.chars().any(char::is_alphanumeric) {
            tracing::debug!(chars = word.chars().count(), "left out a word in a script that the voice cannot read");
        }
        said
    }

    fn unknown_stem(&self, word: &str) -> String {
        let lower = word.to_lowercase();
        if let Some(said) = self.names.get(lower.as_str()) {
            return (*said).to_owned();
        }
        if let Some(stem) = lower.strip_suffix('s')
            && let Some(said) = self.names.get(stem)
        {
            return format!("{said}{}", letters::plural_ending(said));
        }
        let pronounceable = lower.contains(['a', 'e', 'i', 'o', 'u', 'y']);
        if !pronounceable && lower.len() <= 6 {
            return lower.to_uppercase().chars().filter_map(|c| self.lookup(&c.to_string())).collect();
        }
        compound::split(&lower, &|part| self.lookup(part)).unwrap_or_else(|| letters::to_sound(&lower))
    }

    fn lookup(&self, word: &str) -> Option<String> {
        let lexicon = &self.dictionary.lexicon;
        match lexicon.golds.get(word).or_else(|| lexicon.silvers.get(word))? {
            PhonemeEntry::Simple(said) => Some(said.clone()),
            PhonemeEntry::Tagged(by_tag) => by_tag.get("DEFAULT").cloned().flatten(),
        }
    }
}

fn push(out: &mut Vec<Symbol>, phonemes: &str, word: Option<usize>) {
    out.extend(phonemes.chars().map(|symbol| Symbol { symbol, word }));
}

/// Letters without their accents: "Zürich" → "Zurich", "Łódź" → "Lodz".
fn plain_letters(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    for ch in word.nfd() {
        match ch {
            'ß' => plain.push_str("ss"),
            'æ' | 'Æ' => plain.push_str("ae"),
            'œ' | 'Œ' => plain.push_str("oe"),
            'ø' | 'Ø' => plain.push('o'),
            'ł' | 'Ł' => plain.push('l'),
            'đ' | 'Đ' | 'ð' => plain.push('d'),
            'þ' | 'Þ' => plain.push_str("th"),
            'ı' => plain.push('i'),
            '’' => plain.push('\''),
            _ if ch.is_ascii() => plain.push(ch),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests;
