//! One entry for each parser of untrusted bytes, for the fuzz targets and the test that replays their corpus.
//!
//! Each returns whether the bytes were accepted; what matters is that it returns at all.

use crate::chat::{Chat, ChatOptions, Message};
use crate::mapped::Bytes;
use crate::tokenizer::{Kind, Token, Vocabulary, json, pre};
use crate::{gguf, mnn, safetensors};
use std::path::Path;
use std::sync::Arc;

/// A whole GGUF file: header, shapes, tokenizer.
pub fn gguf(bytes: &[u8]) -> bool {
    let file = gguf::File::parse(Path::new("fuzz.gguf"), Bytes::from(bytes.to_vec()));
    file.and_then(|file| gguf::load(&file)).is_ok()
}

/// A safetensors file.
pub fn safetensors(bytes: &[u8]) -> bool {
    safetensors::parse(Path::new("fuzz.safetensors"), bytes)
}

/// An MNN graph.
pub fn mnn_graph(bytes: &[u8]) -> bool {
    mnn::parse_graph(Path::new("fuzz.mnn"), bytes)
}

/// An MNN tokenizer.
pub fn mtok(bytes: &[u8]) -> bool {
    let Ok((tokenizer, _)) = mnn::mtok::tokenizer(Path::new("fuzz.mtok"), bytes) else { return false };
    tokenizer.encode("Hello, 你好 <|im_end|> 123\n\n ").is_ok()
}

/// A `tokenizer.json`.
pub fn tokenizer_json(bytes: &[u8]) -> bool {
    let Ok(tokenizer) = json::tokenizer(Path::new("fuzz.json"), bytes, vec![2]) else { return false };
    tokenizer.encode("Hello, 你好 <|im_end|> 123\n\n ").is_ok()
}

/// A chat template over a short conversation.
pub fn chat_template(bytes: &[u8]) -> bool {
    let Ok(template) = std::str::from_utf8(bytes) else { return false };
    let tokens = (0x21..=0x7eu8).map(|b| Token { text: char::from(b).to_string(), kind: Kind::Normal }).collect();
    let vocabulary = Vocabulary { tokens, ..Vocabulary::default() };
    let Ok(tokenizer) = pre::tokenizer(vocabulary, &[], pre::PreTokenizer::Gpt2) else { return false };
    let chat = Chat::new(Arc::new(tokenizer), Some(template.to_owned()));
    let messages =
        [Message::system("Be brief."), Message::user("Hi"), Message::assistant("Hello."), Message::user("Bye")];
    chat.text(&messages, &ChatOptions { add_generation_prompt: true, ..ChatOptions::default() }).is_ok()
}
