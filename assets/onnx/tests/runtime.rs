//! Loading the real library and real models, and refusing what is neither.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::path::{Path, PathBuf};

use onnx::ort::inputs;
use onnx::ort::value::Tensor;
use onnx::{Error, Runtime};

fn store() -> assets::Store {
    assets::Store::open().unwrap()
}

/// A file of this test's own.
fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, bytes).unwrap();
    path
}

// One test, because a process has one library and the order matters: what is no library must not be in the way of one.
#[test]
fn one_library_per_process_and_sessions_that_run() {
    let missing = Runtime::load(Path::new("no/such/library.so")).unwrap_err();
    assert!(matches!(missing, Error::LibraryUnreadable { .. }), "{missing}");
    assert!(missing.to_string().contains("models fetch"), "{missing}");
    for (name, bytes) in [("empty.so", b"".as_slice()), ("text.so", b"no library"), ("cut.so", b"\x7fELF\x02\x01\x01")]
    {
        let path = scratch(name, bytes);
        let refused = Runtime::load(&path).unwrap_err();
        assert!(matches!(refused, Error::LibraryRefused { .. }), "{refused}");
        assert!(refused.to_string().contains(name), "{refused}");
    }

    let library = store().onnxruntime().unwrap();
    let runtime = Runtime::load(&library).unwrap();
    assert_eq!(Runtime::load(&library).unwrap().library(), runtime.library());
    // Another way to write the same path is the same library.
    let roundabout = library.parent().unwrap().join("..").join("onnxruntime").join(library.file_name().unwrap());
    assert!(Runtime::load(&roundabout).is_ok());
    let other = scratch("other.so", b"another file");
    let refused = Runtime::load(&other).unwrap_err();
    assert!(matches!(refused, Error::AlreadyLoaded { .. }), "{refused}");

    refuses_what_is_no_model(&runtime);
    runs_silero(&runtime);
}

fn refuses_what_is_no_model(runtime: &Runtime) {
    let missing = runtime.session(Path::new("no/such/model.onnx"), 1).unwrap_err();
    assert!(matches!(missing, Error::ModelUnreadable { .. }), "{missing}");
    let whole = fs::read(store().file("silero-vad", "silero_vad_16k_op15.onnx").unwrap()).unwrap();
    for (name, bytes) in [
        ("empty.onnx", &[][..]),
        ("text.onnx", b"not a model"),
        ("gguf.onnx", b"GGUF\x03\0\0\0\0\0\0\0"),
        ("cut.onnx", &whole[..whole.len() / 2]),
    ] {
        let path = scratch(name, bytes);
        let refused = runtime.session(&path, 1).unwrap_err();
        assert!(matches!(refused, Error::ModelRefused { .. }), "{refused}");
        assert!(refused.to_string().contains(name), "{refused}");
    }
}

/// Silero's contract: 64 samples of context and a window of 512 in, a probability out; silence is not speech.
fn runs_silero(runtime: &Runtime) {
    let model = store().file("silero-vad", "silero_vad_16k_op15.onnx").unwrap();
    let mut session = runtime.session(&model, 1).unwrap();
    let outputs = session
        .run(inputs![
            "input" => Tensor::from_array(([1, 576], vec![0.0f32; 576])).unwrap(),
            "state" => Tensor::from_array(([2, 1, 128], vec![0.0f32; 256])).unwrap(),
            "sr" => Tensor::from_array(([1], vec![16_000i64])).unwrap(),
        ])
        .unwrap();
    let (_, probability) = outputs["output"].try_extract_tensor::<f32>().unwrap();
    assert_eq!(probability.len(), 1);
    assert!((0.0..0.5).contains(&probability[0]), "{probability:?}");
}
