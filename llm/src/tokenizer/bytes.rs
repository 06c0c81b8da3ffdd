//! The bytes that each token stands for.

use super::{Kind, Token};
use crate::config::TokenId;

/// One buffer for all tokens: a vocabulary has far too many for an allocation each.
pub(super) struct TokenBytes {
    bytes: Vec<u8>,
    ends: Vec<usize>, // [vocab]
}

impl TokenBytes {
    pub(super) fn new(tokens: &[Token], decode: Decode) -> Self {
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(tokens.len());
        for token in tokens {
            bytes.extend(decode.bytes(token));
            ends.push(bytes.len());
        }
        Self { bytes, ends }
    }

    /// Empty for an id outside the vocabulary.
    pub(super) fn get(&self, id: TokenId) -> &[u8] {
        let id = id as usize;
        let Some(&end) = self.ends.get(id) else {
            return &[];
        };
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.bytes[start..end]
    }
}

/// How a token's text stands for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decode {
    /// GPT-2's stand-in letters.
    ByteLevel,
    /// `▁` for a space, `<0xAB>` for a byte, itself for the rest.
    SentencePiece,
}

impl Decode {
    fn bytes(self, token: &Token) -> Vec<u8> {
        match (self, token.kind) {
            (Self::ByteLevel, _) => byte_level(token),
            (Self::SentencePiece, Kind::Normal | Kind::Byte) => match byte_token(&token.text) {
                Some(byte) => vec![byte],
                None => token.text.replace('\u{2581}', " ").into_bytes(),
            },
            (Self::SentencePiece, _) => token.text.clone().into_bytes(),
        }
    }
}

/// The byte of a text like `<0x0A>`.
pub(super) fn byte_token(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 && !digits.starts_with('+') { u8::from_str_radix(digits, 16).ok() } else { None }
}

/// Byte-level BPE: each letter of a normal token stands for one byte. A letter that stands for none keeps its UTF-8.
fn byte_level(token: &Token) -> Vec<u8> {
    if token.kind != Kind::Normal {
        return token.text.clone().into_bytes();
    }
    let mut out = Vec::with_capacity(token.text.len());
    for letter in token.text.chars() {
        match byte_of(letter) {
            Some(byte) => out.push(byte),
            None => out.extend(letter.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    out
}

/// GPT-2's alphabet: printable Latin-1 bytes stand for themselves, the 68 others follow in order from U+0100.
fn byte_of(letter: char) -> Option<u8> {
    let code = u32::from(letter);
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => Some(code as u8),
        0x100..=0x120 => Some((code - 0x100) as u8),        // 0x00..=0x20
        0x121..=0x142 => Some((code - 0x121 + 0x7f) as u8), // 0x7f..=0xa0
        0x143 => Some(0xad),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_letter() {
        let mut seen = [0; 256];
        for letter in (0..0x1000).filter_map(char::from_u32) {
            if let Some(byte) = byte_of(letter) {
                seen[usize::from(byte)] += 1;
            }
        }
        assert_eq!(seen, [1; 256]);
    }

    #[test]
    fn sentencepiece_spells_spaces_and_bytes() {
        let cases: [(&str, &[u8]); 5] =
            [("▁the", b" the"), ("<0x0A>", b"\n"), ("<0xff>", &[255]), ("<0x>", b"<0x>"), ("<0x+1>", b"<0x+1>")];
        for (text, expected) in cases {
            let token = Token { text: text.to_owned(), kind: Kind::Normal };
            assert_eq!(Decode::SentencePiece.bytes(&token), expected, "{text}");
        }
    }

    #[test]
    fn letters_stand_for_bytes() {
        let cases = [("Ġthe", " the"), ("Ċ", "\n"), ("ä½łå¥½", "你好"), ("<tag>", "<tag>"), ("日", "日")];
        for (text, expected) in cases {
            let token = Token { text: text.to_owned(), kind: Kind::Normal };
            assert_eq!(byte_level(&token), expected.as_bytes(), "{text}");
        }
    }
}
