//! Every parser of untrusted bytes against mangled versions of good files: no panic, no hang, no runaway memory.
//!
//! The same entries are fuzz targets (see ../fuzz). This needs no fuzzer: seeded mutations, a few hundred by default;
//! `POCKET_VOICE_FUZZ_SECONDS=600` goes on for that long with each parser.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use llm::fuzzing;
use std::path::Path;
use std::time::{Duration, Instant};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % n.max(1)
    }
}

/// Numbers that break careless arithmetic.
const EXTREMES: [u64; 8] = [0, 1, 0x7f, 0x7fff_ffff, 0xffff_ffff, 1 << 40, i64::MAX as u64, u64::MAX];

/// One to four mutations, most of them within the first `header` bytes, where the structure lies.
fn mutate(bytes: &mut Vec<u8>, header: usize, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let within = if random.below(8) == 0 { bytes.len() } else { header.min(bytes.len()) };
        let at = random.below(within);
        match random.below(6) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            2 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            3 => {
                let width = [1, 2, 4, 8][random.below(4)];
                let value = EXTREMES[random.below(EXTREMES.len())].to_le_bytes();
                let end = (at + width).min(bytes.len());
                bytes[at..end].copy_from_slice(&value[..end - at]);
            }
            4 => {
                let (from, len) = (random.below(within), random.below(64));
                let piece = bytes[from..(from + len).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let end = (at + random.below(64)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
}

fn survive(parse: fn(&[u8]) -> bool, seeds: &[Vec<u8>], header: usize, rounds: usize) {
    assert!(seeds.iter().all(|seed| parse(seed)), "the seeds themselves are good");
    let seconds = std::env::var("POCKET_VOICE_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let limit = seconds.map(Duration::from_secs);
    // A long run takes other paths each time and prints the seed that repeats it.
    // Each input lies in a file while it is parsed, for those that end the process.
    let start = Instant::now();
    let last = std::env::temp_dir().join(format!("pocket-voice-mangled-{header}-{}", seeds[0].len()));
    let mut random = Random(limit.map_or(1, |_| u64::from(std::process::id())));
    let (mut accepted, mut round) = (0, 0);
    while limit.map_or(round < rounds, |limit| start.elapsed() < limit) {
        let seed = random.0;
        let mut bytes = seeds[random.below(seeds.len())].clone();
        mutate(&mut bytes, header, &mut random);
        if limit.is_some() {
            std::fs::write(&last, &bytes).unwrap();
        }
        let outcome = std::panic::catch_unwind(|| parse(&bytes));
        accepted +=
            usize::from(outcome.unwrap_or_else(|_| panic!("panicked on the mutation of random state {seed:#x}")));
        round += 1;
    }
    println!("{round} mutations in {:.1?}, {accepted} accepted", start.elapsed());
    assert!(accepted < round, "mutations must not all be harmless");
}

#[test]
fn gguf() {
    let seeds = ["gguf-tiny/qwen3-tiny-Q4_1.gguf", "architectures/gemma3-tiny.gguf", "architectures/llama-tiny.gguf"];
    survive(fuzzing::gguf, &seeds.map(fixture), 12_000, 400);
}

#[test]
fn safetensors() {
    survive(fuzzing::safetensors, &[fixture("mnn-tiny/qwen3-hf/model.safetensors")], 2_400, 400);
}

#[test]
fn mnn_graph() {
    let seeds = ["mnn-tiny/qwen3-a-q4/llm.mnn", "mnn-tiny/qwen3-b-q4/llm.mnn", "mnn-tiny/llama-b-q4/llm.mnn"];
    survive(fuzzing::mnn_graph, &seeds.map(fixture), usize::MAX, 2_000);
}

#[test]
fn mtok() {
    survive(fuzzing::mtok, &[fixture("mnn-tiny/qwen3-b-q4/tokenizer.mtok")], usize::MAX, 400);
}

#[test]
fn tokenizer_json() {
    survive(fuzzing::tokenizer_json, &[fixture("mnn-tiny/qwen3-hf/tokenizer.json")], usize::MAX, 400);
}

#[test]
fn chat_template() {
    let seeds = [
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m['content'].strip() + '<|im_end|>\\n' }}{% endfor %}",
        "{%- set ns = namespace(n=0, s='') %}{%- for i in range(9) %}{%- set ns.s = ns.s ~ 'ab' * i %}{%- endfor %}{{ ns.s }}",
        "{%- macro f(x, d=2) %}{% if d %}{{ x|upper }}{{ f(x, d - 1) }}{% endif %}{% endmacro %}{{ f(messages[0].role) }}",
        "{% if messages[0].role == 'system' %}{{ messages[0].content.split(' ')[-1] | tojson }}{% endif %}",
    ];
    survive(fuzzing::chat_template, &seeds.map(|seed| seed.as_bytes().to_vec()), usize::MAX, 2_000);
}
