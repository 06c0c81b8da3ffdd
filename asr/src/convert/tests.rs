//! Conversion: the same bytes every time, and a named error for every kind of damage.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::testing::write_model;
use crate::{Native, Options, Transcriber, Whisper};

fn model_dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_model(dir.path());
    dir
}

/// The error of a directory whose `model.bin` is `bytes`.
fn error_of(dir: &Path, bytes: &[u8]) -> String {
    std::fs::write(dir.join("model.bin"), bytes).unwrap();
    let error = convert(dir, &dir.join("out.bin"), Quant::Q8_0).unwrap_err();
    assert!(matches!(error, Error::Model { .. }), "{error}");
    assert!(!dir.join("out.bin").exists());
    error.to_string()
}

#[test]
fn conversion_is_deterministic_and_leaves_nothing_aside() {
    let dir = model_dir();
    for quant in [Quant::F16, Quant::Q8_0] {
        let (first, second) = (dir.path().join("first"), dir.path().join("second"));
        convert(dir.path(), &first, quant).unwrap();
        convert(dir.path(), &second, quant).unwrap();
        assert!(std::fs::read(&first).unwrap() == std::fs::read(&second).unwrap());
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
}

#[test]
fn quantised_blocks_come_back_within_half_a_step_and_the_rounding_of_the_scale() {
    let dir = model_dir();
    let (f16_path, q8_path) = (dir.path().join("f16"), dir.path().join("q8"));
    convert(dir.path(), &f16_path, Quant::F16).unwrap();
    convert(dir.path(), &q8_path, Quant::Q8_0).unwrap();
    let (exact, coarse) =
        (matrix(&f16_path, "decoder.token_embedding.weight"), matrix(&q8_path, "decoder.token_embedding.weight"));
    let exact: Vec<f32> = exact.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect();
    for (exact, block) in exact.chunks_exact(BLOCK).zip(coarse.chunks_exact(2 + BLOCK)) {
        let scale = f16::from_le_bytes([block[0], block[1]]).to_f32();
        assert!(scale > 0.0);
        for (exact, &code) in exact.iter().zip(&block[2..]) {
            let value = scale * f32::from(code.cast_signed());
            assert!((value - exact).abs() <= 0.57 * scale, "{value} {exact}");
        }
    }
}

/// The bytes behind a tensor's name up to the end of the file.
fn matrix(path: &Path, name: &str) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let at = bytes.windows(name.len()).position(|window| window == name.as_bytes()).unwrap();
    let end = bytes.windows(10).position(|window| window == b"decoder.ln").unwrap() - 16;
    bytes[at + name.len()..end].to_vec()
}

#[test]
fn a_file_cut_anywhere_is_refused_by_name() {
    let dir = model_dir();
    let whole = std::fs::read(dir.path().join("model.bin")).unwrap();
    let step = whole.len() / 97;
    for len in (0..40).chain((40..whole.len()).step_by(step)).chain([whole.len() - 1]) {
        let message = error_of(dir.path(), &whole[..len]);
        assert!(message.contains("model.bin") && message.contains("fetch"), "{len}: {message}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    assert!(error_of(dir.path(), &longer).contains("1 unexpected bytes"));
}

#[test]
fn damage_is_named() {
    let dir = model_dir();
    let whole = std::fs::read(dir.path().join("model.bin")).unwrap();
    let find = |name: &[u8]| whole.windows(name.len()).position(|window| window == name).unwrap();
    let first_tensor = find(b"decoder/embeddings/weight");
    let dims = first_tensor + 26 + 1;
    for (at, bytes, expected) in [
        (0, &[7u8][..], "version"),
        (6, b"Marian", "WhisperSpec"),
        (22, &[255, 255, 255, 255], "too many"),
        (first_tensor, b"elsewhere", "no tensor decoder/embeddings/weight"),
        (first_tensor, &[0xFF, 0xFE], "no tensor name"),
        (dims - 1, &[200], "200 dimensions"),
        (dims, &[255, 255, 255, 255], "bytes"),
        (dims + 8, &[9], "unknown type 9"),
        (dims + 8, &[0], "bytes"),
        (dims + 13, &[0, 0x7C], "not a finite number"),
        (find(b"encoder/num_heads") + 18 + 1 + 1 + 4, &[7, 0], "heads"),
    ] {
        let mut damaged = whole.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        let message = error_of(dir.path(), &damaged);
        assert!(message.contains(expected), "{at}: {message:?} lacks {expected:?}");
    }
}

#[test]
fn missing_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = convert(dir.path(), &dir.path().join("out"), Quant::F16).unwrap_err();
    assert!(error.to_string().contains("model.bin"), "{error}");
    write_model(dir.path());
    std::fs::remove_file(dir.path().join("vocabulary.txt")).unwrap();
    let error = convert(dir.path(), &dir.path().join("out"), Quant::F16).unwrap_err();
    assert!(error.to_string().contains("vocabulary.txt"), "{error}");
    write_model(dir.path());
    let error = convert(dir.path(), &dir.path().join("no/such/folder/out"), Quant::F16).unwrap_err();
    assert!(error.to_string().contains("no/such/folder"), "{error}");
}

#[test]
fn made_up_weights_decode_without_harm() {
    let dir = model_dir();
    let audio: Vec<f32> = (0..40_000).map(|i| (i as f32 * 0.03).sin() * 0.3).collect();
    let mut native = Native::open(dir.path()).unwrap();
    // Gibberish or nothing, but the same every time, whatever was decoded in between.
    let first = native.transcribe(&audio, &Options::default(), &AtomicBool::new(false)).unwrap();
    native.transcribe(&audio[..20_000], &Options::default(), &AtomicBool::new(false)).unwrap();
    assert_eq!(native.transcribe(&audio, &Options::default(), &AtomicBool::new(false)).unwrap(), first);
}

#[test]
fn whisper_cpp_refuses_what_is_no_model() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.bin");
    for bytes in [&b""[..], b"lmgg", &[0x55; 5_000], &[b"lmgg".as_slice(), &[0xFF; 5_000]].concat()] {
        std::fs::write(&path, bytes).unwrap();
        let error = Whisper::open(&path).unwrap_err();
        assert!(matches!(error, Error::Model { .. }), "{error}");
    }
    assert!(matches!(Whisper::open(&dir.path().join("absent")), Err(Error::Io { .. })));
}

#[test]
fn whisper_cpp_refuses_a_real_file_cut_short_or_with_wrong_numbers() {
    let store = assets::Store::open().unwrap();
    let model = store.file("whisper-tiny.en", "ggml-tiny.en-q8_0.bin").unwrap_or_else(|e| panic!("{e}"));
    let whole = std::fs::read(model).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.bin");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(Whisper::open(&path), Err(Error::Model { .. })));
    };
    for len in [3, 20, 47, 60, 70_000, 400_000, whole.len() / 2, whole.len() - 1] {
        refused(&whole[..len]);
    }
    for field in 0..14 {
        for value in [0, u32::MAX, i32::MAX as u32] {
            // The file type may be zero: whisper.cpp then finds every tensor to be of the wrong type.
            let mut damaged = whole.clone();
            damaged[field * 4..][..4].copy_from_slice(&value.to_le_bytes());
            refused(&damaged);
        }
    }
}
