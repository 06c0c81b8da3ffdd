//! Damaged, self-contradicting and hostile files: each must be an error that says where and why.

use super::*;
use std::panic::catch_unwind;

fn fixture() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/gguf-tiny/qwen3-tiny-Q4_1.gguf");
    std::fs::read(path).unwrap()
}

fn open_bytes(bytes: Vec<u8>) -> Result<Loaded> {
    load(&File::parse(Path::new("test.gguf"), Bytes::from(bytes))?)
}

/// A small file built key by key and tensor by tensor.
#[derive(Default)]
struct Builder {
    metadata: Vec<u8>,
    n_metadata: u64,
    table: Vec<u8>,
    n_tensors: u64,
    data: Vec<u8>,
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

impl Builder {
    fn key(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        self.metadata.extend([&string(key)[..], &kind.to_le_bytes(), value].concat());
        self.n_metadata += 1;
        self
    }

    fn uint(self, key: &str, value: u32) -> Self {
        self.key(key, 4, &value.to_le_bytes())
    }

    fn tensor(mut self, name: &str, dims: &[u64], kind: u32, offset: u64) -> Self {
        self.table.extend(string(name));
        self.table.extend((dims.len() as u32).to_le_bytes());
        dims.iter().for_each(|dim| self.table.extend(dim.to_le_bytes()));
        self.table.extend(kind.to_le_bytes());
        self.table.extend(offset.to_le_bytes());
        self.n_tensors += 1;
        self
    }

    fn build(self) -> Vec<u8> {
        let counts = [self.n_tensors.to_le_bytes(), self.n_metadata.to_le_bytes()].concat();
        let mut out = [&MAGIC[..], &3u32.to_le_bytes(), &counts, &self.metadata, &self.table].concat();
        out.resize(out.len().next_multiple_of(32), 0);
        out.extend(self.data);
        out
    }
}

#[track_caller]
fn check(bytes: Vec<u8>, expected: &str) {
    let error = open_bytes(bytes).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains(expected) && error.contains("test.gguf"), "{error:?} does not say {expected:?}");
}

#[test]
fn headers_that_claim_too_much() {
    let huge = u64::MAX.to_le_bytes();
    let array = |kind: u32, count: u64| [&kind.to_le_bytes()[..], &count.to_le_bytes()].concat();
    let b = Builder::default;
    check(b"GGUX".to_vec(), "does not begin with GGUF");
    check(b"GG".to_vec(), "does not begin with GGUF");
    check([&MAGIC[..], &1u32.to_le_bytes()].concat(), "GGUF version 1");
    check([&MAGIC[..], &3u32.to_be_bytes()].concat(), "GGUF version");
    check([&MAGIC[..], &3u32.to_le_bytes(), &huge, &huge].concat(), "metadata key 0");
    check([&MAGIC[..], &3u32.to_le_bytes(), &huge, &[0; 8]].concat(), "name of tensor 0");
    check(b().key("k", 8, &huge).build(), "k: needs 18446744073709551615 bytes");
    check(b().key("k", 9, &array(8, u64::MAX)).build(), "k: needs");
    check(b().key("k", 9, &array(4, u64::MAX)).build(), "k: needs 4 bytes");
    check(b().key("k", 9, &array(9, 1)).build(), "an array of arrays");
    check(b().key("k", 13, &[]).build(), "unknown value type 13");
    check(b().key("k", 7, &[2]).build(), "2 is no boolean");
    check(b().uint("k", 1).uint("k", 2).build(), "k: appears twice");
    check(b().uint("general.alignment", 24).build(), "no power of two");
    check(b().uint("general.alignment", 0).build(), "no power of two");
    check(b().key("general.alignment", 8, &string("32")).build(), "is not a number");
}

#[test]
fn tensors_that_can_not_be() {
    let b = Builder::default;
    check(b().tensor("t", &[32], 0, u64::MAX - 31).build(), "beyond the end");
    check(b().tensor("t", &[32], 0, 0).build(), "128 bytes at offset 0 reach beyond the end");
    check(b().tensor("t", &[32], 0, 8).build(), "not aligned");
    check(b().tensor("t", &[33], 3, 0).build(), "no whole number of Q4_1 blocks");
    check(b().tensor("t", &[1 << 62, 16], 0, 0).build(), "overflows");
    check(b().tensor("t", &[u64::MAX], 0, 0).build(), "overflow");
    check(b().tensor("t", &[0], 0, 0).build(), "dimension of 0");
    check(b().tensor("t", &[], 0, 0).build(), "0 dimensions");
    check(b().tensor("t", &[1, 1, 1, 1, 1], 0, 0).build(), "5 dimensions");
    check(b().tensor("t", &[32], 99, 0).build(), "tensor type 99");
    check(b().tensor(&"n".repeat(65), &[32], 0, 0).build(), "has 65 bytes");
}

/// The fixture with the value of a u32 key replaced.
fn with_u32(key: &str, value: u32) -> Vec<u8> {
    let mut bytes = fixture();
    let at = bytes.windows(key.len()).position(|w| w == key.as_bytes()).unwrap() + key.len() + 4;
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// The fixture with a name replaced by another of the same length, wherever it stands.
fn renamed(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = fixture();
    for at in 0..bytes.len() - from.len() {
        if &bytes[at..at + from.len()] == from.as_bytes() {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    bytes
}

#[test]
fn models_that_contradict_themselves() {
    check(with_u32("qwen3.block_count", 3), "blk.2.attn_q.weight: is missing");
    check(with_u32("qwen3.block_count", 1), "blk.1.attn_k.weight: a qwen3 model with this tensor is not supported");
    check(with_u32("qwen3.block_count", u32::MAX), "layers");
    check(with_u32("qwen3.embedding_length", 64), "token_embd.weight: shape [128, 608], expected [64, any]");
    check(with_u32("qwen3.attention.head_count", 0), "attention heads: 0");
    check(with_u32("qwen3.attention.head_count", 3), "do not divide");
    check(with_u32("qwen3.attention.head_count_kv", 0), "key/value heads: 0");
    check(with_u32("qwen3.attention.key_length", 33), "value size that differs");
    check(with_u32("qwen3.context_length", 0), "context length");
    check(with_u32("tokenizer.ggml.eos_token_id", 608), "608 is not among 608 tokens");
    check(with_u32("qwen3.rope.freq_base", f32::NAN.to_bits()), "rope.freq_base");
    check(with_u32("qwen3.attention.layer_norm_rms_epsilon", (-1.0f32).to_bits()), "RMSNorm epsilon");
    check(renamed("general.architecture", "general.architexture"), "general.architecture: is missing");
    check(renamed("blk.0.attn_norm.weight", "blk.0.attn_form.weight"), "blk.0.attn_norm.weight: is missing");
    check(renamed("blk.0.attn_q.weight", "blk.1.attn_q.weight"), "appears twice");
    check(renamed("tokenizer.ggml.merges", "tokenizer.ggml.morges"), "tokenizer.ggml.merges: is missing");
    check(renamed("qwen2", "qwix2"), "the pre-tokenizer \"qwix2\" is not supported");
}

#[test]
fn a_norm_that_is_no_number_is_named() {
    let mut bytes = fixture();
    let file = File::parse(Path::new("test.gguf"), Bytes::from(bytes.clone())).unwrap();
    let gamma = file.tensor("output_norm.weight").unwrap().data.to_vec();
    let at = bytes.windows(gamma.len()).position(|w| w == gamma).unwrap();
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    check(bytes, "tensor output_norm.weight: element 0 is NaN");
}

#[test]
fn truncated_and_flipped_files_never_panic() {
    let whole = fixture();
    let header = 14_000.min(whole.len());
    let mut outcomes = [0, 0];
    let mut probe = |bytes: Vec<u8>, what: String| {
        let outcome = catch_unwind(|| open_bytes(bytes).is_ok()).unwrap_or_else(|_| panic!("panicked on {what}"));
        outcomes[usize::from(outcome)] += 1;
    };
    for len in (0..header).step_by(97).chain([whole.len() - 1]) {
        probe(whole[..len].to_vec(), format!("the first {len} bytes"));
    }
    for at in (0..header).step_by(13) {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            probe(bytes, format!("byte {at} ^ {flip:#x}"));
        }
    }
    // Most flips hit token texts and merges, where anything goes; the rest must be seen.
    assert!(outcomes[0] > 200, "{outcomes:?}");
}
