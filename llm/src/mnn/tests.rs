//! Damaged and hostile MNN files, and codes of every width.

use super::weights::{Codes, matrix};
use super::*;
use std::panic::catch_unwind;

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mnn-tiny").join(name)
}

/// Loads the directory with its graph replaced by `bytes`.
fn load_graph(settings: &Settings, bytes: &[u8]) -> Result<()> {
    let path = Path::new("llm.mnn");
    let weights = settings.file("llm_weight", "llm.mnn.weight")?;
    let file = weights::File { bytes: Bytes::map(&weights)?, path: weights };
    layout::model(settings, path, &graph::Graph::parse(path, bytes)?, &file).map(|_| ())
}

/// Every truncation and flip of `whole` at a step of `step` bytes goes through `load` without a panic; most are refused.
fn mangle(whole: &[u8], step: usize, load: impl Fn(&[u8]) -> bool + std::panic::RefUnwindSafe) -> usize {
    let mut refused = 0;
    let mut probe = |bytes: &[u8], what: String| {
        let accepted = catch_unwind(|| load(bytes)).unwrap_or_else(|_| panic!("panicked on {what}"));
        refused += usize::from(!accepted);
    };
    for at in (0..whole.len()).step_by(step) {
        probe(&whole[..at], format!("the first {at} bytes"));
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.to_vec();
            bytes[at] ^= flip;
            probe(&bytes, format!("byte {at} ^ {flip:#x}"));
        }
    }
    refused
}

#[test]
fn mangled_graphs_never_panic() {
    for name in ["qwen3-a-q4", "qwen3-b-q4", "llama-b-q4"] {
        let settings = Settings::read(&directory(name)).unwrap();
        let whole = std::fs::read(directory(name).join("llm.mnn")).unwrap();
        assert!(load_graph(&settings, &whole).is_ok());
        let refused = mangle(&whole, 61, |bytes| load_graph(&settings, bytes).is_ok());
        assert!(refused > 100, "{name}: {refused}");
    }
}

#[test]
fn mangled_tokenizers_never_panic() {
    let path = Path::new("tokenizer.mtok");
    let whole = std::fs::read(directory("qwen3-b-q4").join("tokenizer.mtok")).unwrap();
    let refused = mangle(&whole, 61, |bytes| mtok::tokenizer(path, bytes).is_ok());
    assert!(refused > 100, "{refused}");
    let text = std::fs::read(directory("qwen3-v320-q4").join("tokenizer.txt")).unwrap();
    let refused = mangle(&text, 31, |bytes| tokenizer::text_file(path, bytes, None).is_ok());
    assert!(refused > 50, "{refused}");
}

#[test]
fn weights_that_do_not_fit_are_named() {
    let settings = Settings::read(&directory("qwen3-b-q4")).unwrap();
    let graph_path = directory("qwen3-b-q4").join("llm.mnn");
    let graph = graph::Graph::parse(&graph_path, &std::fs::read(&graph_path).unwrap()).unwrap();
    let whole = std::fs::read(directory("qwen3-b-q4").join("llm.mnn.weight")).unwrap();
    let load = |bytes: Vec<u8>| {
        let file = weights::File { path: "llm.mnn.weight".into(), bytes: Bytes::from(bytes) };
        layout::model(&settings, &graph_path, &graph, &file).map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(load(whole.clone()), Ok(()));
    let cut = load(whole[..whole.len() - 1].to_vec()).unwrap_err();
    assert!(cut.contains("llm.mnn.weight") && cut.contains("are not within"), "{cut}");
    // The first linear begins with its number of dimensions, then its shape.
    let at = usize::try_from(graph.linears[0].external[0]).unwrap();
    for (offset, expected) in [(0, "dimensions"), (1, "the graph says"), (3, "the graph says"), (6, "no even steps")] {
        let mut bytes = whole.clone();
        bytes[at + offset] ^= 1;
        let error = load(bytes).unwrap_err();
        assert!(error.contains("layer 0 q_proj") && error.contains(expected), "{error}");
    }
    let scales = at + usize::try_from(graph.linears[0].external[1]).unwrap();
    let mut bytes = whole;
    bytes[scales..scales + 4].fill(0xff);
    assert!(load(bytes).unwrap_err().contains("scale 0 is NaN"));
}

#[test]
fn file_names_stay_inside_the_directory() {
    for name in ["", "/etc/passwd", "../x", "a/../../x"] {
        assert_eq!(inside(Path::new("/models"), name), None, "{name:?}");
    }
    assert_eq!(inside(Path::new("/models"), "sub/x.bin"), Some("/models/sub/x.bin".into()));
}

#[test]
fn codes_of_every_width_stand_for_their_values() {
    // One row of eight columns in two blocks: codes 0, 1, 2, ... modulo 2^bits, scales 1 and 2, zeros 0.5 and -1.
    for bits in 2..=8usize {
        let codes: Vec<u8> = (0..8u32).map(|i| (i % (1 << bits)) as u8).collect();
        let stream: Vec<bool> = codes.iter().flat_map(|&c| (0..bits).rev().map(move |b| c >> b & 1 == 1)).collect();
        let byte = |chunk: &[bool]| chunk.iter().enumerate().map(|(i, &bit)| u8::from(bit) << (7 - i)).sum::<u8>();
        let packed: Vec<u8> = stream.chunks(8).map(byte).collect();
        let alpha: Vec<u8> = [0.5f32, 1.0, -1.0, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let format = Codes { bits, asymmetric: true, half_scales: false, zero_shift: 0.0, scale: 1.0 };
        let m = matrix((1, 8), Bytes::from(packed), &alpha, &format).unwrap();
        let mut row = [0.0; 8];
        m.row(0, &mut row);
        let half = (1 << (bits - 1)) as f32;
        for (i, (&w, &code)) in row.iter().zip(&codes).enumerate() {
            let (zero, scale) = if i < 4 { (0.5, 1.0) } else { (-1.0, 2.0) };
            assert_eq!(w, (f32::from(code) - half) * scale + zero, "{bits} bits, column {i}");
        }
    }
}
