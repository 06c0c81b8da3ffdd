//! The tokens of a Whisper model: bytes of text, and the special ones by name.
//!
//! `vocabulary.txt` has one token a line in GPT-2's printable form, in which every byte is one visible character.

use std::collections::HashMap;
use std::path::Path;

use crate::{Error, Language, Result, TokenId};

/// Longest vocabulary accepted; Whisper large-v3 has 51,866 tokens.
const MAX_TOKENS: usize = 1 << 17;

/// Special tokens, found by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Special {
    pub(crate) end_of_text: TokenId,
    pub(crate) start_of_transcript: TokenId,
    pub(crate) english: TokenId,
    pub(crate) mandarin: TokenId,
    pub(crate) transcribe: TokenId,
    pub(crate) start_of_prev: TokenId,
    pub(crate) no_speech: TokenId,
    pub(crate) no_timestamps: TokenId,
    /// The first of the timestamp tokens, which are the last of the vocabulary, 20 ms apart.
    pub(crate) first_timestamp: TokenId,
}

/// All tokens of a model.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// Raw bytes of each text token, then the printed form of each special one.
    tokens: Vec<Vec<u8>>,
    ids: HashMap<Vec<u8>, TokenId>,
    longest: usize,
    pub(crate) special: Special,
}

impl Vocabulary {
    /// Reads `vocabulary.txt`.
    pub(crate) fn open(path: &Path) -> Result<Vocabulary> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        // 4 MiB is ten times the largest known; a file beyond it is no vocabulary.
        if std::fs::metadata(path).map_err(io)?.len() > 4 << 20 {
            return Err(Error::Model { path: path.to_owned(), what: "too large for a vocabulary".into() });
        }
        let text = std::fs::read_to_string(path).map_err(io)?;
        Vocabulary::parse(&text).map_err(|what| Error::Model { path: path.to_owned(), what })
    }

    fn parse(text: &str) -> std::result::Result<Vocabulary, String> {
        let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
        if lines.len() > MAX_TOKENS {
            return Err(format!("{} lines are too many for a vocabulary", lines.len()));
        }
        let find = |names: &[&str]| {
            let found = lines.iter().position(|line| names.contains(line));
            found.map(|id| id as TokenId).ok_or_else(|| format!("no token {}", names[0]))
        };
        let special = Special {
            end_of_text: find(&["<|endoftext|>"])?,
            start_of_transcript: find(&["<|startoftranscript|>"])?,
            english: find(&["<|en|>"])?,
            mandarin: find(&["<|zh|>"])?,
            transcribe: find(&["<|transcribe|>"])?,
            start_of_prev: find(&["<|startofprev|>"])?,
            no_speech: find(&["<|nospeech|>", "<|nocaptions|>"])?,
            no_timestamps: find(&["<|notimestamps|>"])?,
            first_timestamp: find(&["<|0.00|>"])?,
        };
        if special.first_timestamp < special.end_of_text || special.end_of_text == 0 {
            return Err("special tokens are out of order".into());
        }
        let n_text = special.end_of_text as usize;
        let byte_of = byte_of_char();
        let mut tokens = Vec::with_capacity(lines.len());
        for (id, line) in lines.iter().enumerate() {
            let bytes = if id < n_text {
                let bytes: Option<Vec<u8>> = line.chars().map(|c| byte_of.get(&c).copied()).collect();
                bytes.ok_or_else(|| format!("line {} is no byte-level token", id + 1))?
            } else {
                line.as_bytes().to_vec()
            };
            tokens.push(bytes);
        }
        let mut ids = HashMap::with_capacity(n_text);
        for (id, bytes) in tokens[..n_text].iter().enumerate().filter(|(_, bytes)| !bytes.is_empty()) {
            ids.entry(bytes.clone()).or_insert(id as TokenId);
        }
        let longest = tokens[..n_text].iter().map(Vec::len).max().unwrap_or(0);
        Ok(Vocabulary { tokens, ids, longest, special })
    }

    /// Number of tokens, special ones included.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// True if the model knows more than English: then text tokens reach one further, for the empty token.
    pub(crate) fn is_multilingual(&self) -> bool {
        self.len() >= 51_865
    }

    /// Number of text tokens; they come first.
    pub(crate) fn n_text(&self) -> usize {
        self.special.end_of_text as usize
    }

    /// Bytes of a text token; empty for a special one or one out of range.
    pub(crate) fn bytes(&self, id: TokenId) -> &[u8] {
        if (id as usize) < self.n_text() { &self.tokens[id as usize] } else { &[] }
    }

    /// Text of a token sequence; bytes that are no UTF-8 become U+FFFD.
    pub(crate) fn decode(&self, tokens: &[TokenId]) -> String {
        let bytes: Vec<u8> = tokens.iter().flat_map(|&id| self.bytes(id)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Tokens of a text by longest match, good enough for a prompt: any split into known tokens reads the same.
    pub(crate) fn encode(&self, text: &str) -> Vec<TokenId> {
        let mut rest = text.as_bytes();
        let mut tokens = Vec::new();
        while !rest.is_empty() {
            let found = (1..=self.longest.min(rest.len())).rev().find_map(|n| Some((n, *self.ids.get(&rest[..n])?)));
            let (len, id) = match found {
                Some((len, id)) => (len, Some(id)),
                None => (1, None),
            };
            tokens.extend(id);
            rest = &rest[len..];
        }
        tokens
    }

    /// The token that tells the decoder the language.
    pub(crate) fn language_token(&self, language: Language) -> TokenId {
        match language {
            Language::Mandarin => self.special.mandarin,
            Language::English | Language::Auto => self.special.english,
        }
    }
}

/// GPT-2's map from printable characters to the bytes they stand for.
fn byte_of_char() -> HashMap<char, u8> {
    let printable = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let mut shifted = 0u32;
    let mut map = HashMap::with_capacity(256);
    for byte in 0..=u8::MAX {
        let code = if printable(byte) {
            u32::from(byte)
        } else {
            shifted += 1;
            255 + shifted
        };
        map.extend(char::from_u32(code).map(|c| (c, byte)));
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_character() {
        let map = byte_of_char();
        assert_eq!(map.len(), 256);
        for (c, byte) in [('!', b'!'), ('Ġ', b' '), ('Ċ', b'\n'), ('Ā', 0), ('ÿ', 255), ('\u{143}', 0xAD)] {
            assert_eq!(map.get(&c), Some(&byte), "{c}");
        }
    }

    #[test]
    fn a_vocabulary_without_special_tokens_is_refused() {
        let error = Vocabulary::parse("a\nb\n").unwrap_err();
        assert!(error.contains("<|endoftext|>"), "{error}");
    }
}
