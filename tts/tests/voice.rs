//! The real English voice: exact windows, word times, silence, cancelling, and bad files.
//!
//! Needs the fetched models and fails without them.

#![allow(clippy::unwrap_used, reason = "a step that fails here is a failed test")]

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use onnx::Runtime;
use tts::{Clause, ClauseStream, Error, Language, Piper, Speech, Synthesizer, VoiceConfig};

fn runtime() -> Runtime {
    let store = assets::Store::open().unwrap();
    Runtime::load(&store.onnxruntime().unwrap()).unwrap()
}

fn joe() -> PathBuf {
    let store = assets::Store::open().unwrap();
    store.file("piper-en-us-joe", "en_US-joe-medium.onnx.json").unwrap();
    store.file("piper-en-us-joe", "en_US-joe-medium.onnx").unwrap()
}

fn open(settings: VoiceConfig) -> Piper {
    Piper::open_with(&runtime(), &joe(), settings).unwrap()
}

fn exact() -> VoiceConfig {
    VoiceConfig { deterministic: true, ..VoiceConfig::default() }
}

fn clauses(text: &str) -> Vec<Clause> {
    let mut stream = ClauseStream::default();
    let mut clauses = stream.push(text);
    clauses.extend(stream.finish());
    clauses
}

fn speak(voice: &mut Piper, clause: &Clause) -> Vec<Speech> {
    let mut pieces = Vec::new();
    voice.synthesize(clause, &AtomicBool::new(false), &mut |speech| pieces.push(speech)).unwrap();
    pieces
}

fn samples(pieces: &[Speech]) -> Vec<f32> {
    pieces.iter().flat_map(|p| p.samples.iter().copied()).collect()
}

#[test]
fn speech_comes_in_pieces_with_every_word_in_its_place() {
    let mut voice = open(exact());
    let text = "The weather in Paris, which is mild, stays dry all day and all night.";
    let clause = &clauses(text)[1];
    let pieces = speak(&mut voice, clause);
    assert!(pieces.len() > 2, "one piece only");
    let audio = samples(&pieces);
    let words: Vec<_> = pieces.iter().flat_map(|p| &p.words).collect();
    let read: Vec<&str> = words.iter().map(|w| &text[w.source.clone()]).collect();
    let wanted: Vec<&str> = clause.words.iter().map(|w| &text[w.source.clone()]).collect();
    assert_eq!(read, wanted);
    let mut begun = 0;
    let mut heard = 0;
    for piece in &pieces {
        heard += piece.samples.len();
        for word in &piece.words {
            assert!(word.samples.start < heard && word.samples.start >= begun && word.samples.start < word.samples.end);
            begun = word.samples.start;
        }
    }
    // Each word sounds where it is said to lie.
    for word in &words {
        let stretch = &audio[word.samples.start..word.samples.end.min(audio.len())];
        let loudest = stretch.iter().fold(0.0_f32, |peak, s| peak.max(s.abs()));
        assert!(loudest > 0.02, "{:?} is silent", &text[word.source.clone()]);
    }
    // Leading silence is gone, the pause at the end is what was asked for.
    let rate = voice.sample_rate() as usize;
    let onset = audio.iter().position(|s| s.abs() > 0.01).unwrap();
    assert!(onset < rate / 20, "sound begins after {onset} samples");
    let last = audio.iter().rposition(|s| s.abs() > 0.004).unwrap();
    let pause_ms = (audio.len() - last) * 1000 / rate;
    assert!(pause_ms.abs_diff(clause.pause_ms as usize) <= 60, "{pause_ms} ms of pause");
}

#[test]
fn the_same_clause_sounds_the_same_and_speed_and_volume_do_what_they_say() {
    let clause = &clauses("Numbers sound the same every time we say them.")[0];
    let first = samples(&speak(&mut open(exact()), clause));
    assert_eq!(first, samples(&speak(&mut open(exact()), clause)));
    let fast = samples(&speak(&mut open(VoiceConfig { speed: 2.0, ..exact() }), clause));
    assert!((fast.len() as f32) < 0.7 * first.len() as f32, "{} against {}", fast.len(), first.len());
    let quiet = samples(&speak(&mut open(VoiceConfig { volume: 0.5, ..exact() }), clause));
    let peak = |audio: &[f32]| audio.iter().fold(0.0_f32, |p, s| p.max(s.abs()));
    assert!((peak(&quiet) / peak(&first) - 0.5).abs() < 0.01);
    for speed in [0.0, 100.0, -1.0, f32::NAN] {
        let refused = Piper::open_with(&runtime(), &joe(), VoiceConfig { speed, ..exact() });
        assert!(matches!(refused, Err(Error::Setting { setting: "speed", .. })));
    }
}

#[test]
fn cancelling_ends_within_one_window() {
    let mut voice = open(exact());
    let long = "the quick brown fox jumps over the lazy dog and ".repeat(4);
    let clause = Clause { pause_ms: 300, ..clauses(&long).pop().unwrap() };
    let cancel = AtomicBool::new(false);
    let mut pieces = 0;
    voice
        .synthesize(&clause, &cancel, &mut |_| {
            pieces += 1;
            cancel.store(true, Ordering::Relaxed);
        })
        .unwrap();
    assert_eq!(pieces, 1);
    let mut after = 0;
    voice.synthesize(&clause, &cancel, &mut |_| after += 1).unwrap();
    assert_eq!(after, 0);
    // The voice goes on to speak as if nothing had happened.
    assert!(!speak(&mut voice, &clause).is_empty());
}

#[test]
fn any_text_is_read_or_left_out() {
    let mut voice = open(exact());
    let unbroken = "a".repeat(2_000);
    for text in [
        "",
        "...",
        "🎉",
        "Привет",
        "x",
        "1234567890123456789012345678901234567890",
        unbroken.as_str(),
        "ʘǀ ǃ",
        "\u{202e}abc",
    ] {
        for clause in clauses(text) {
            for piece in speak(&mut voice, &clause) {
                assert!(piece.samples.iter().all(|s| s.abs() <= 1.0));
            }
        }
    }
    let chinese = Clause { language: Language::Mandarin, spoken: "你好".into(), ..Clause::default() };
    let refused = voice.synthesize(&chinese, &AtomicBool::new(false), &mut |_| {});
    assert!(matches!(refused, Err(Error::Language { .. })));
}

#[test]
fn a_voice_that_lies_is_refused() {
    static FOLDER: Mutex<()> = Mutex::new(());
    let _one_at_a_time = FOLDER.lock();
    let folder = std::env::temp_dir().join(format!("pocket-voice-tts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let model = folder.join("voice.onnx");
    let description = folder.join("voice.onnx.json");
    let truth = std::fs::read_to_string(joe().with_extension("onnx.json")).unwrap();
    let try_open = |bytes: &[u8], text: &str| {
        std::fs::write(&model, bytes).unwrap();
        std::fs::write(&description, text).unwrap();
        Piper::open(&runtime(), &model, 1).map(|_| ()).map_err(|e| e.to_string())
    };
    let real = std::fs::read(joe()).unwrap();
    // The model has ids for 256 symbols; an id beyond them must not reach it.
    let shifted = truth
        .replace("\"num_symbols\": 256", "\"num_symbols\": 5000")
        .replace("[\n      32\n    ]", "[\n      4000\n    ]");
    assert_ne!(shifted, truth);
    for (bytes, text, part) in [
        (&real[..real.len() / 2], truth.as_str(), "voice.onnx"),
        (b"not a model".as_slice(), truth.as_str(), "voice.onnx"),
        (b"".as_slice(), truth.as_str(), "voice.onnx"),
        (real.as_slice(), "{", "voice.onnx.json"),
        (real.as_slice(), truth.replace("\"num_speakers\": 1", "\"num_speakers\": 4").as_str(), "speakers"),
        (real.as_slice(), shifted.as_str(), "voice.onnx"),
    ] {
        let message = try_open(bytes, text).expect_err(part);
        assert!(message.contains(part), "{message}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let missing = Piper::open(&runtime(), Path::new("/nowhere/voice.onnx"), 1).map(|_| ()).unwrap_err().to_string();
    assert!(missing.contains("/nowhere/voice.onnx.json"), "{missing}");
}
