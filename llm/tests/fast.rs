//! The fast forward pass against the reference: on the tiny models in four types, and in every way in which
//! positions can arrive.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use llm::{Engine, Model, OpenOptions, Session, SessionConfig};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Largest difference of a logit relative to the largest logit, from rounding activations to 8 bits and keys
/// and values to halves, in a model of random weights that averages little out.
const TOLERANCE: f32 = 0.06;

fn open(kind: &str, engine: Engine) -> Arc<Model> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/gguf-tiny/qwen3-tiny-{kind}.gguf"));
    Model::open_with(&path, &OpenOptions { engine }).unwrap()
}

/// Logits after every one of `tokens`, given to a session in steps of the given lengths.
fn logits(model: &Arc<Model>, threads: usize, tokens: &[u32], steps: &[usize]) -> Vec<f32> {
    let vocab = model.config().vocab;
    let mut session = Session::new(model.clone(), SessionConfig { context: 512, threads }).unwrap();
    let mut logits = vec![f32::NAN; tokens.len() * vocab];
    let (mut at, mut step) = (0, steps.iter().cycle());
    while at < tokens.len() {
        let n = (*step.next().unwrap()).min(tokens.len() - at);
        session
            .append_with_logits(&tokens[at..at + n], &mut logits[at * vocab..(at + n) * vocab], &AtomicBool::new(false))
            .unwrap();
        at += n;
    }
    logits
}

fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert!(a.iter().chain(b).all(|v| v.is_finite()));
    let largest = b.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    a.iter().zip(b).fold(0.0f32, |m, (a, b)| m.max((a - b).abs())) / largest
}

fn tokens(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| (i * i * 7 + 13 * i) % 600).collect()
}

#[test]
fn logits_stay_close_to_the_reference() {
    let tokens = tokens(40);
    for kind in ["F16", "Q8_0", "Q4_1", "Q4_0"] {
        let expected = logits(&open(kind, Engine::Reference), 1, &tokens, &[40]);
        let off = difference(&logits(&open(kind, Engine::Fast), 2, &tokens, &[40]), &expected);
        assert!(off < TOLERANCE, "{kind}: {off}");
    }
}

#[test]
fn it_does_not_matter_how_positions_arrive() {
    let tokens = tokens(300);
    let model = open("Q4_1", Engine::Fast);
    let whole = logits(&model, 1, &tokens, &[300]);
    for (threads, steps) in [(2, vec![300]), (1, vec![1]), (2, vec![1]), (2, vec![3, 8, 1, 30, 2, 17]), (3, vec![257])]
    {
        // The kernels for one and for many positions add in different orders, and a code may then round the other way.
        let off = difference(&logits(&model, threads, &tokens, &steps), &whole);
        assert!(off < TOLERANCE / 2.0, "{threads} threads, steps {steps:?}: {off}");
    }
    assert_eq!(logits(&model, 1, &tokens, &[1]), logits(&model, 2, &tokens, &[1]), "threads change nothing");
    assert_eq!(whole, logits(&model, 2, &tokens, &[300]), "threads change nothing");
}
