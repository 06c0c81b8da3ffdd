//! Writes a GGUF file with the geometry of MNN-Pocket-0.3B and random weights, to measure speed and memory without the
//! real ones. What it generates means nothing.
//!
//! `cargo run --release -p pocket-voice-llm --example make_pocket_gguf -- OUT.gguf [--group64] [--untied]`
//!
//! `--group64` gives neighbouring blocks the same scale and minimum, as the published file has them; without it every
//! block has its own, which is the harder case.

use half::f16;
use std::fs::File;
use std::io::{BufWriter, Result, Write};

const HIDDEN: u64 = 896;
const FFN: u64 = 2560;
const LAYERS: u64 = 28;
const HEADS: u64 = 14;
const KV_HEADS: u64 = 2;
const HEAD_SIZE: u64 = 64;
const VOCAB: u64 = 65_536;
const F32: u32 = 0;
const Q4_1: u32 = 3;
const BLOCK_BYTES: u64 = 20;

fn main() -> Result<()> {
    let (flags, paths): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let Some(path) = paths.first() else {
        eprintln!("usage: make_pocket_gguf OUT.gguf [--group64] [--untied]");
        std::process::exit(2);
    };
    let group64 = flags.iter().any(|f| f == "--group64");
    let tensors = tensors(flags.iter().any(|f| f == "--untied"));
    let mut out = Counted { inner: BufWriter::new(File::create(path)?), written: 0 };
    header(&mut out, &tensors)?;
    out.pad()?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for t in &tensors {
        match t.kind {
            Q4_1 => blocks(&mut out, t.rows * t.cols / 32, group64, &mut random)?,
            _ => (0..t.rows * t.cols).try_for_each(|_| out.write_all(&1f32.to_le_bytes()))?,
        }
        out.pad()?;
    }
    out.flush()
}

struct Tensor {
    name: String,
    rows: u64,
    cols: u64,
    kind: u32,
}

impl Tensor {
    fn bytes(&self) -> u64 {
        if self.kind == Q4_1 { self.rows * self.cols / 32 * BLOCK_BYTES } else { 4 * self.rows * self.cols }
    }
}

fn tensors(untied: bool) -> Vec<Tensor> {
    let matrix = |name: &str, rows, cols| Tensor { name: format!("{name}.weight"), rows, cols, kind: Q4_1 };
    let norm = |name: &str, cols| Tensor { name: format!("{name}.weight"), rows: 1, cols, kind: F32 };
    let mut all = vec![matrix("token_embd", VOCAB, HIDDEN), norm("output_norm", HIDDEN)];
    if untied {
        all.push(matrix("output", VOCAB, HIDDEN));
    }
    for l in 0..LAYERS {
        let name = |part: &str| format!("blk.{l}.{part}");
        all.push(norm(&name("attn_norm"), HIDDEN));
        all.push(matrix(&name("attn_q"), HEADS * HEAD_SIZE, HIDDEN));
        all.push(matrix(&name("attn_k"), KV_HEADS * HEAD_SIZE, HIDDEN));
        all.push(matrix(&name("attn_v"), KV_HEADS * HEAD_SIZE, HIDDEN));
        all.push(norm(&name("attn_q_norm"), HEAD_SIZE));
        all.push(norm(&name("attn_k_norm"), HEAD_SIZE));
        all.push(matrix(&name("attn_output"), HIDDEN, HEADS * HEAD_SIZE));
        all.push(norm(&name("ffn_norm"), HIDDEN));
        all.push(matrix(&name("ffn_gate"), FFN, HIDDEN));
        all.push(matrix(&name("ffn_up"), FFN, HIDDEN));
        all.push(matrix(&name("ffn_down"), HIDDEN, FFN));
    }
    all
}

/// A value of GGUF's metadata.
enum Value {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(&'static str),
    Texts(Vec<String>),
    Kinds(Vec<i32>),
}

fn header(out: &mut impl Write, tensors: &[Tensor]) -> Result<()> {
    let letters: Vec<char> = letters();
    // Every pair of bytes is a token: as many texts and merges as the real tokenizer has.
    let pairs: Vec<(char, char)> = letters.iter().flat_map(|&a| letters.iter().map(move |&b| (a, b))).collect();
    let pairs = &pairs[..VOCAB as usize - letters.len()];
    let mut texts: Vec<String> = letters.iter().map(char::to_string).collect();
    texts.extend(pairs.iter().map(|(a, b)| format!("{a}{b}")));
    let merges = pairs.iter().map(|(a, b)| format!("{a} {b}")).collect();
    let metadata = [
        ("general.architecture", Value::Text("qwen3")),
        ("general.name", Value::Text("pocket geometry, random weights")),
        ("qwen3.context_length", Value::U32(40_960)),
        ("qwen3.embedding_length", Value::U32(HIDDEN as u32)),
        ("qwen3.block_count", Value::U32(LAYERS as u32)),
        ("qwen3.feed_forward_length", Value::U32(FFN as u32)),
        ("qwen3.attention.head_count", Value::U32(HEADS as u32)),
        ("qwen3.attention.head_count_kv", Value::U32(KV_HEADS as u32)),
        ("qwen3.attention.key_length", Value::U32(HEAD_SIZE as u32)),
        ("qwen3.attention.value_length", Value::U32(HEAD_SIZE as u32)),
        ("qwen3.attention.layer_norm_rms_epsilon", Value::F32(1e-6)),
        ("qwen3.rope.freq_base", Value::F32(1e6)),
        ("general.file_type", Value::U32(Q4_1)),
        ("tokenizer.ggml.model", Value::Text("gpt2")),
        ("tokenizer.ggml.pre", Value::Text("qwen2")),
        ("tokenizer.ggml.tokens", Value::Texts(texts)),
        ("tokenizer.ggml.token_type", Value::Kinds(vec![1; VOCAB as usize])),
        ("tokenizer.ggml.merges", Value::Texts(merges)),
        ("tokenizer.ggml.eos_token_id", Value::U32(VOCAB as u32 - 1)),
        ("tokenizer.ggml.add_bos_token", Value::Bool(false)),
    ];
    out.write_all(b"GGUF")?;
    out.write_all(&3u32.to_le_bytes())?;
    out.write_all(&(tensors.len() as u64).to_le_bytes())?;
    out.write_all(&(metadata.len() as u64).to_le_bytes())?;
    for (key, value) in &metadata {
        text(out, key)?;
        self::value(out, value)?;
    }
    let mut offset = 0u64;
    for t in tensors {
        text(out, &t.name)?;
        let dimensions: &[u64] = if t.kind == Q4_1 { &[t.cols, t.rows] } else { &[t.cols] };
        out.write_all(&(dimensions.len() as u32).to_le_bytes())?;
        dimensions.iter().try_for_each(|d| out.write_all(&d.to_le_bytes()))?;
        out.write_all(&t.kind.to_le_bytes())?;
        out.write_all(&offset.to_le_bytes())?;
        offset += t.bytes().next_multiple_of(32);
    }
    Ok(())
}

/// The letters that stand for the 256 bytes in byte-level BPE: printable ones for themselves, the others from 256 on.
fn letters() -> Vec<char> {
    let printable = |b: &u8| matches!(b, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let mut others = 256u32..;
    (0..=255u8)
        .map(|b| if printable(&b) { char::from(b) } else { others.next().and_then(char::from_u32).unwrap_or('\0') })
        .collect()
}

fn text(out: &mut impl Write, text: &str) -> Result<()> {
    out.write_all(&(text.len() as u64).to_le_bytes())?;
    out.write_all(text.as_bytes())
}

fn value(out: &mut impl Write, value: &Value) -> Result<()> {
    let mut kind = |number: u32| out.write_all(&number.to_le_bytes());
    match value {
        Value::U32(v) => kind(4).and_then(|()| out.write_all(&v.to_le_bytes())),
        Value::F32(v) => kind(6).and_then(|()| out.write_all(&v.to_le_bytes())),
        Value::Bool(v) => kind(7).and_then(|()| out.write_all(&[u8::from(*v)])),
        Value::Text(v) => kind(8).and_then(|()| text(out, v)),
        Value::Texts(v) => {
            [9, 8].into_iter().try_for_each(&mut kind)?;
            out.write_all(&(v.len() as u64).to_le_bytes())?;
            v.iter().try_for_each(|v| text(out, v))
        }
        Value::Kinds(v) => {
            [9, 5].into_iter().try_for_each(&mut kind)?;
            out.write_all(&(v.len() as u64).to_le_bytes())?;
            v.iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))
        }
    }
}

/// Q4_1 blocks with a standard deviation near 0.02, as trained weights have it.
fn blocks(out: &mut impl Write, count: u64, group64: bool, random: &mut Random) -> Result<()> {
    let mut scales = [0; 4];
    for i in 0..count {
        if !(group64 && i % 2 == 1) {
            let scale = 0.003 + 0.002 * (random.next() % 1024) as f32 / 1024.0;
            scales[..2].copy_from_slice(&f16::from_f32(scale).to_le_bytes());
            scales[2..].copy_from_slice(&f16::from_f32(-7.5 * scale).to_le_bytes());
        }
        out.write_all(&scales)?;
        out.write_all(&random.next().to_le_bytes())?;
        out.write_all(&random.next().to_le_bytes())?;
    }
    Ok(())
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Counts bytes, to align tensors.
struct Counted<W> {
    inner: W,
    written: u64,
}

impl<W: Write> Counted<W> {
    /// Zeros up to the next multiple of 32.
    fn pad(&mut self) -> Result<()> {
        let missing = self.written.next_multiple_of(32) - self.written;
        self.write_all(&[0; 32][..missing as usize])
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let n = self.inner.write(bytes)?;
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }
}
