//! Tiny random llama, qwen2 and gemma3 models against llama.cpp, and every quantized type against the gguf package
//! (see fixtures/architectures/README.md).
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use llm::quant::GgmlType;
use llm::{Engine, Model, OpenOptions, Sampler, SamplerConfig, Session, SessionConfig};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const ARCHITECTURES: [&str; 3] = ["llama", "qwen2", "gemma3"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/architectures").join(name)
}

fn json(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(fixture(name)).unwrap()).unwrap()
}

fn open(arch: &str, engine: Engine) -> Arc<Model> {
    let path = fixture(&format!("{arch}-tiny.gguf"));
    Model::open_with(&path, &OpenOptions { engine }).unwrap_or_else(|e| panic!("{e}"))
}

fn session(model: &Arc<Model>) -> Session {
    Session::new(model.clone(), SessionConfig { context: 64, threads: 2 }).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

/// Logits at every position of the prompt, and llama.cpp's.
fn logits(arch: &str, engine: Engine, expected: &Value) -> (Vec<f64>, Vec<f64>) {
    let model = open(arch, engine);
    let prompt = ids(&expected["prompt"]);
    let mut logits = vec![f32::NAN; prompt.len() * model.config().vocab];
    session(&model).append_with_logits(&prompt, &mut logits, &AtomicBool::new(false)).unwrap();
    let rows = expected["logits"].as_array().unwrap();
    let theirs: Vec<f64> = rows.iter().flat_map(|row| row.as_array().unwrap()).map(|x| x.as_f64().unwrap()).collect();
    assert_eq!(logits.len(), theirs.len());
    (logits.into_iter().map(f64::from).collect(), theirs)
}

#[test]
fn the_reference_computes_llama_cpps_logits() {
    let expected = json("expected.json");
    for arch in ARCHITECTURES {
        let (ours, theirs) = logits(arch, Engine::Reference, &expected["models"][arch]);
        let largest = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // llama.cpp looks exp and GELU up in half precision.
        assert!(largest < 0.02, "{arch}: {largest}");
    }
}

#[test]
fn the_fast_forward_stays_near() {
    let expected = json("expected.json");
    for arch in ARCHITECTURES {
        let (ours, theirs) = logits(arch, Engine::Fast, &expected["models"][arch]);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let cosine = dot(&ours, &theirs) / (dot(&ours, &ours) * dot(&theirs, &theirs)).sqrt();
        println!("{arch}: cosine {cosine}");
        // Weights and activations in 8 bits.
        assert!(cosine > 0.999, "{arch}: {cosine}");
    }
}

#[test]
fn greedy_tokens_are_llama_cpps() {
    let expected = json("expected.json");
    for arch in ARCHITECTURES {
        let expected = &expected["models"][arch];
        let model = open(arch, Engine::Reference);
        let (mut session, cancel) = (session(&model), AtomicBool::new(false));
        session.advance_to(&ids(&expected["prompt"]), &cancel).unwrap();
        let mut sampler = Sampler::new(SamplerConfig::default()).unwrap();
        let tokens: Vec<u32> = session.generate(&mut sampler, &cancel).take(8).map(Result::unwrap).collect();
        assert_eq!(tokens, ids(&expected["greedy"]), "{arch}");
    }
}

#[test]
fn texts_become_llama_cpps_tokens() {
    let expected = json("expected.json");
    for arch in ARCHITECTURES {
        let model = open(arch, Engine::Reference);
        for case in expected["models"][arch]["texts"].as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            let tokens = model.tokenizer().encode(text).unwrap();
            assert_eq!(tokens, ids(&case["ids"]), "{arch}: {text:?}");
            let shown = text.replace("<|end|>", "");
            assert_eq!(model.tokenizer().decode(&tokens), shown, "{arch}");
        }
    }
}

#[test]
fn blocks_have_the_gguf_packages_values() {
    let types = [
        GgmlType::F16,
        GgmlType::BF16,
        GgmlType::Q4_0,
        GgmlType::Q4_1,
        GgmlType::Q5_0,
        GgmlType::Q5_1,
        GgmlType::Q8_0,
        GgmlType::Q4_K,
        GgmlType::Q5_K,
        GgmlType::Q6_K,
    ];
    let blocks = json("blocks.json");
    for kind in types {
        let block = &blocks[kind.name()];
        let hex = block["hex"].as_str().unwrap();
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect();
        let expected: Vec<f32> =
            block["values"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect();
        let mut values = vec![f32::NAN; expected.len()];
        kind.dequantize(&bytes, &mut values);
        for (i, (ours, theirs)) in values.iter().zip(&expected).enumerate() {
            let close = (ours - theirs).abs() <= 1e-6 * theirs.abs().max(1.0);
            assert!(close, "{} element {i}: {ours}, expected {theirs}", kind.name());
        }
    }
}
