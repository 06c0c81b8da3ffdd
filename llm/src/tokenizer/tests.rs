//! Control tokens, streaming and byte-level details over a vocabulary of the 256 bytes and a few merges.

use super::pre::PreTokenizer;
use super::*;
use std::sync::Arc;

/// Ids 0..256 are the bytes in order, then "Ġt" 256, "he" 257, "Ġthe" 258, "<|end|>" 259, "<|im_end|>" 260, "[x]" 261.
pub(crate) fn tokenizer(pre: PreTokenizer) -> Arc<Tokenizer> {
    let letter = |byte: u8| {
        let from = |code: u32| char::from_u32(code).unwrap();
        match byte {
            0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => char::from(byte),
            0x00..=0x20 => from(0x100 + u32::from(byte)),
            0x7f..=0xa0 => from(0x121 + u32::from(byte) - 0x7f),
            0xad => from(0x143),
        }
    };
    let token = |text: &str, kind| Token { text: text.to_owned(), kind };
    let mut tokens: Vec<Token> = (0..=255u8).map(|b| token(&letter(b).to_string(), Kind::Normal)).collect();
    tokens.extend(["Ġt", "he", "Ġthe"].map(|text| token(text, Kind::Normal)));
    tokens.extend(["<|end|>", "<|im_end|>"].map(|text| token(text, Kind::Control)));
    tokens.push(token("[x]", Kind::UserDefined));
    let vocabulary = Vocabulary { tokens, ..Vocabulary::default() };
    // The last merge's result is not in the vocabulary, as after pruning: it is skipped.
    Arc::new(pre::tokenizer(vocabulary, &["Ġ t", "h e", "Ġt he", "Ġthe h", "no-space"], pre).unwrap())
}

#[test]
fn text_is_split_at_control_tokens_and_merged() {
    let t = tokenizer(PreTokenizer::Gpt2);
    let cases: [(&str, &[TokenId]); 7] = [
        ("", &[]),
        (" the", &[258]),
        ("the", &[116, 257]),
        (" the<|im_end|> the", &[258, 260, 258]),
        ("<|im_<|end|>", &[60, 124, 105, 109, 95, 259]),
        ("a[x]", &[97, 261]),
        ("é", &[0xc3, 0xa9]),
    ];
    for (text, expected) in cases {
        assert_eq!(t.encode(text).unwrap(), expected, "{text:?}");
    }
}

#[test]
fn plain_text_can_not_forge_control_tokens() {
    let t = tokenizer(PreTokenizer::Gpt2);
    let ids = t.encode_plain("<|im_end|>").unwrap();
    assert!(ids.iter().all(|&id| !t.is_control(id)), "{ids:?}");
    assert_eq!(t.decode(&ids), "<|im_end|>");
    let cases = [
        ("hello", "hello"),
        ("a<|im_end|>b", "ab"),
        ("<|im_<|im_end|>end|>", ""),
        ("<|<|end|>end|><|im_end|>x", "x"),
        ("[x]", "[x]"),
    ];
    for (text, expected) in cases {
        assert_eq!(t.without_control(text), expected, "{text:?}");
    }
}

#[test]
fn decoding_undoes_encoding() {
    for pre in [PreTokenizer::Gpt2, PreTokenizer::DigitsGpt2, PreTokenizer::Qwen2, PreTokenizer::Llama3] {
        let t = tokenizer(pre);
        for text in ["", " the  the\n\n\tend ", "12345", "你好，世界", "👩‍👩‍👧", "\u{0}\u{7f}\u{ad}", "don't", "\r\n \r\n"]
        {
            assert_eq!(t.decode(&t.encode(text).unwrap()), text, "{pre:?} {text:?}");
        }
    }
}

#[test]
fn a_stream_yields_whole_letters_only() {
    let mut stream = TextStream::over(tokenizer(PreTokenizer::Gpt2));
    let mut push = |ids: &[TokenId]| ids.iter().map(|&id| stream.push(id)).collect::<Vec<_>>();
    assert_eq!(push(&[97, 0xe4, 0xbd, 0xa0, 98]), ["a", "", "", "你", "b"]);
    // A byte that can continue nothing is replaced at once, an abandoned letter when the next byte shows it.
    assert_eq!(push(&[0xff, 0xe4, 98]), ["\u{fffd}", "", "\u{fffd}b"]);
    // Control tokens and ids outside the vocabulary are not shown; user-defined tokens are.
    assert_eq!(push(&[260, 261, 9999]), ["", "[x]", ""]);
    assert_eq!(push(&[0xe4]), [""]);
    assert_eq!(stream.finish(), "\u{fffd}");
    assert_eq!(stream.finish(), "");
}

#[test]
fn stops_are_found_by_name() {
    let t = tokenizer(PreTokenizer::Gpt2);
    assert_eq!(t.stop_tokens(), [259, 260]);
    assert!(t.is_stop(260) && !t.is_stop(97) && !t.is_stop(9999));
}
