//! Which tokens a transcript may not hold.

use crate::TokenId;
use crate::vocabulary::Vocabulary;

/// Symbols that stand for sounds or layout, not for words; Whisper's own list of non-speech tokens.
const SYMBOLS: &str = "\"#()*+/:;<=>@[\\]^_`{|}~「」『』♩♪♫♬♭♮♯";
/// Longer runs of the same list.
const RUNS: [&str; 19] = [
    "<<", ">>", "<<<", ">>>", "--", "---", "-(", "-[", "('", "(\"", "((", "))", "(((", ")))", "[[", "]]", "{{", "}}",
    "♪♪",
];

/// Tokens that are never chosen.
pub(super) struct Suppress {
    /// By token: true if it may never occur.
    always: Vec<bool>,
    /// Tokens that may not come first: a lone space, and the end.
    first: Vec<TokenId>,
}

impl Suppress {
    pub(super) fn new(vocabulary: &Vocabulary) -> Suppress {
        let end_of_text = vocabulary.special.end_of_text;
        let always = (0..vocabulary.len() as TokenId).map(|id| match id.cmp(&end_of_text) {
            std::cmp::Ordering::Less => is_no_speech(vocabulary.bytes(id)),
            std::cmp::Ordering::Equal => false,
            std::cmp::Ordering::Greater => true,
        });
        let mut first = vocabulary.encode(" ");
        first.push(end_of_text);
        Suppress { always: always.collect(), first }
    }

    /// Takes the tokens out of the running.
    pub(super) fn apply(&self, logits: &mut [f32], is_first: bool) {
        for (logit, &never) in logits.iter_mut().zip(&self.always) {
            if never {
                *logit = f32::NEG_INFINITY;
            }
        }
        if is_first {
            for &id in &self.first {
                logits[id as usize] = f32::NEG_INFINITY;
            }
        }
    }
}

fn is_no_speech(token: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(token) else { return false };
    let bare = text.strip_prefix(' ').unwrap_or(text);
    let mut chars = bare.chars();
    match (chars.next(), chars.next()) {
        // A hyphen or an apostrophe is fine inside a word, not at the beginning of one.
        (Some('-' | '\''), None) => text.starts_with(' '),
        (Some(symbol), None) => SYMBOLS.contains(symbol),
        _ => RUNS.contains(&bare) || bare == "♪♪♪",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_pass_and_symbols_do_not() {
        for (token, suppressed) in [
            (" the", false),
            ("-", false),
            (" -", true),
            ("'", false),
            (" '", true),
            ("'s", false),
            ("(", true),
            (" [", true),
            ("♪", true),
            (" ♪♪", true),
            ("((", true),
            ("a(", false),
            ("%", false),
            ("$", false),
            (",", false),
        ] {
            assert_eq!(is_no_speech(token.as_bytes()), suppressed, "{token:?}");
        }
        assert!(!is_no_speech(&[0xE2, 0x99]));
    }
}
