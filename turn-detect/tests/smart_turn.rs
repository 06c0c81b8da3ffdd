//! Parity with the reference, features and probability, on synthetic signals and on the clips where they are to be had.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod signals;

use std::collections::BTreeMap;

use turn_detect::SmartTurn;
use turn_detect::mel::{FRAMES, LogMel, MELS};

const TOLERANCE: f32 = 1e-3;

#[derive(serde::Deserialize)]
struct Golden {
    step: usize,
    synthetic: BTreeMap<String, Entry>,
    clips: BTreeMap<String, Entry>,
}

#[derive(serde::Deserialize)]
struct Entry {
    probability: f32,
    /// Every `step`-th cell of the features.
    cells: Vec<f32>,
}

/// Each signal with what the reference makes of it.
fn golden() -> (usize, Vec<(String, Vec<f32>, Entry)>) {
    let mut golden: Golden = serde_json::from_str(include_str!("golden/smart_turn.json")).unwrap();
    let mut cases = Vec::new();
    for (name, samples) in signals::synthetic() {
        let entry = golden.synthetic.remove(&name).unwrap_or_else(|| panic!("the golden file lacks {name}"));
        cases.push((name, samples, entry));
    }
    assert!(golden.synthetic.is_empty());
    for (name, entry) in golden.clips {
        if let Some(samples) = signals::clip(&name) {
            cases.push((name, samples, entry));
        }
    }
    (golden.step, cases)
}

/// The model of the store; the message of a failure names the command that brings it.
fn open() -> SmartTurn {
    let store = assets::Store::open().unwrap();
    let library = store.onnxruntime().unwrap_or_else(|e| panic!("{e}"));
    let model = store.file("smart-turn-v3.2", "smart-turn-v3.2-cpu.onnx").unwrap_or_else(|e| panic!("{e}"));
    SmartTurn::open(&onnx::Runtime::load(&library).unwrap(), &model).unwrap()
}

#[test]
fn features_agree_with_the_reference() {
    let (step, cases) = golden();
    let mut mel = LogMel::default();
    for (name, samples, entry) in cases {
        let features = mel.features(&samples);
        assert_eq!(features.len(), MELS * FRAMES);
        let got: Vec<f32> = features.iter().copied().step_by(step).collect();
        assert_eq!(got.len(), entry.cells.len());
        for (i, (got, expected)) in got.iter().zip(&entry.cells).enumerate() {
            assert!((got - expected).abs() < TOLERANCE, "{name}, cell {}: {got}, not {expected}", i * step);
        }
    }
}

#[test]
fn probabilities_agree_with_the_reference() {
    let (_, cases) = golden();
    let mut smart_turn = open();
    for (name, samples, entry) in cases {
        let got = smart_turn.score(&samples).unwrap();
        assert!((got - entry.probability).abs() < TOLERANCE, "{name}: {got}, not {}", entry.probability);
    }
}

#[test]
fn broken_audio_is_scored_all_the_same() {
    let mut smart_turn = open();
    for value in [f32::NAN, f32::INFINITY, f32::MAX, 1e-42] {
        let p = smart_turn.score(&[value; 20_000]).unwrap();
        assert!((0.0..=1.0).contains(&p), "{value}: {p}");
    }
}

#[test]
fn another_model_is_refused_by_name() {
    let store = assets::Store::open().unwrap();
    let library = store.onnxruntime().unwrap_or_else(|e| panic!("{e}"));
    let runtime = onnx::Runtime::load(&library).unwrap();
    let other = store.file("silero-vad", "silero_vad_16k_op15.onnx").unwrap_or_else(|e| panic!("{e}"));
    for (path, reason) in [(other, "input_features"), ("no/such/model.onnx".into(), "models fetch")] {
        let message = SmartTurn::open(&runtime, &path).unwrap_err().to_string();
        assert!(message.contains(reason) && message.contains(&*path.to_string_lossy()), "{message}");
    }
}
