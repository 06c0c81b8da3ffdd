//! Both engines on real models and real sound.
//!
//! The models come from the store: a failure names the command that fetches them. The clips are those of
//! assets/audio; the shared collection beside the project adds more where it is present.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use asr::{
    AudioContext, Engine, Error, Language, Native, Options, Rejection, SAMPLE_RATE, Stream, Transcriber, Transcript,
    open,
};

mod common;

use common::{errors, read_wav};

/// The folder of a model in the store, after a look at the files that matter here.
fn folder(id: &str) -> PathBuf {
    let store = assets::Store::open().unwrap();
    for name in ["model.bin", "vocabulary.txt"] {
        store.file(id, name).unwrap_or_else(|error| panic!("{error}"));
    }
    store.folder(id)
}

/// Our engine with the English model, loaded once; tests take turns.
fn tiny() -> MutexGuard<'static, Native> {
    static TINY: OnceLock<Mutex<Native>> = OnceLock::new();
    let tiny = TINY.get_or_init(|| Mutex::new(Native::open(&folder("whisper-tiny.en")).unwrap()));
    tiny.lock().unwrap_or_else(PoisonError::into_inner)
}

fn decode(engine: &mut dyn Transcriber, audio: &[f32], options: &Options) -> Transcript {
    engine.transcribe(audio, options, &AtomicBool::new(false)).unwrap()
}

fn audio_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/audio")
}

/// Clips of a folder of assets/audio with what is said in them.
fn labelled(dir: &str) -> Vec<(String, String, Vec<f32>)> {
    let dir = audio_dir().join(dir);
    let labels = std::fs::read_to_string(dir.join("labels.tsv")).unwrap();
    let clips = labels.lines().skip(1).map(|line| {
        let mut fields = line.split('\t').map(str::to_owned);
        let (file, text) = (fields.next().unwrap(), fields.next().unwrap());
        let audio = read_wav(&dir.join(&file));
        (file, text, audio)
    });
    clips.collect()
}

#[test]
fn everyday_questions_are_understood() {
    let mut engine = tiny();
    let (mut wrong, mut words) = (0, 0);
    for (file, text, audio) in labelled("questions") {
        let heard = decode(&mut *engine, &audio, &Options::default());
        let (errors, n) = errors(&text, &heard.text);
        println!("{file}: {errors}/{n} {:?}", heard.text);
        assert_eq!((heard.language, heard.rejection), (Language::English, None), "{file}");
        wrong += errors;
        words += n;
    }
    let rate = wrong as f64 / words as f64;
    println!("word error rate {:.1} % of {words}", rate * 100.0);
    assert!(words > 100 && rate <= 0.05, "{wrong} of {words} words wrong");
}

#[test]
fn shared_clips_are_understood_in_english_and_mandarin() {
    let Some(clips) = common::shared_clips() else { return };
    let mut base = Native::open(&folder("whisper-base")).unwrap();
    let mut tiny = tiny();
    // Model and language, with the share of wrong words or characters allowed: measured 3.3, 3.0 and 18 %.
    for (model, language, allowed) in [("tiny.en", "en", 0.06), ("base", "en", 0.06), ("base", "zh", 0.25)] {
        let engine: &mut dyn Transcriber = if model == "base" { &mut base } else { &mut *tiny };
        let (mut wrong, mut units) = (0, 0);
        for clip in clips.iter().filter(|clip| clip.language == language && !clip.text.is_empty()) {
            let heard = decode(engine, &clip.audio, &Options::default());
            let (errors, n) = errors(&clip.text, &heard.text);
            println!("{model} {}: {errors}/{n} {:?}", clip.name, heard.text);
            let expected = if language == "zh" { Language::Mandarin } else { Language::English };
            assert_eq!((heard.language, heard.rejection), (expected, None), "{}", clip.name);
            wrong += errors;
            units += n;
        }
        println!("{model} {language}: {:.1} % of {units}", 100.0 * wrong as f64 / units as f64);
        assert!(wrong as f64 <= allowed * units as f64, "{model} {language}: {wrong} of {units} wrong");
    }
}

#[test]
fn both_engines_hear_the_same() {
    let mut whisper = open(&folder("whisper-tiny.en"), Engine::WhisperCpp).unwrap();
    let mut native = tiny();
    let contexts: [&[AudioContext]; 3] =
        [&[AudioContext::Fit, AudioContext::Full], &[AudioContext::Fit], &[AudioContext::Fit]];
    for ((file, text, audio), contexts) in labelled("questions").into_iter().zip(contexts) {
        for &audio_context in contexts {
            let options = Options { audio_context, ..Options::default() };
            let (a, b) = (decode(&mut *native, &audio, &options), decode(&mut *whisper, &audio, &options));
            // Punctuation may differ: the engines round differently.
            assert_eq!(errors(&a.text, &b.text).0, 0, "{file} {audio_context:?}: {:?} {:?}", a.text, b.text);
            assert_eq!(errors(&text, &a.text).0, 0, "{file}: {:?}", a.text);
            assert!((a.avg_logprob - b.avg_logprob).abs() < 0.15, "{file}: {} {}", a.avg_logprob, b.avg_logprob);
            assert!((a.no_speech_prob - b.no_speech_prob).abs() < 0.1, "{file}");
        }
    }
}

#[test]
fn what_is_no_speech_makes_no_words() {
    let mut clips: Vec<(String, Vec<f32>)> =
        labelled("noises").into_iter().map(|(file, _, audio)| (file, audio)).collect();
    clips.extend(made_up_sounds());
    if let Some(shared) = common::shared_clips() {
        // A guitar lesson in the collection counts itself in, so music is made up above instead.
        let quiet = shared.into_iter().filter(|clip| clip.language == "-" && !clip.name.starts_with("music"));
        clips.extend(quiet.map(|clip| (clip.name, clip.audio)));
    }
    let mut engine = tiny();
    for (name, audio) in clips {
        let heard = decode(&mut *engine, &audio, &Options::default());
        assert_eq!(heard.text, "", "{name}: {heard:?}");
        assert!(matches!(heard.rejection, Some(Rejection::NoSpeech | Rejection::Silence)), "{name}");
    }
}

/// Hiss, hum, knocks and a tune, 4 s each.
fn made_up_sounds() -> Vec<(String, Vec<f32>)> {
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let n = 4 * SAMPLE_RATE;
    let sine = |i: usize, hz: f32| (i as f32 / SAMPLE_RATE as f32 * hz * std::f32::consts::TAU).sin();
    let hiss = |level: f32, noise: &mut dyn FnMut() -> f32| (0..n).map(|_| noise() * level).collect::<Vec<_>>();
    let knocks = (0..n).map(|i| noise() * (0.001 + 0.5 * (-((i % 13_000) as f32) / 300.0).exp())).collect();
    let tune = (0..n).map(|i| {
        let hz = [262.0, 330.0, 392.0, 523.0, 440.0, 349.0, 294.0, 262.0][i / 8_000 % 8];
        let decay = (-((i % 8_000) as f32) / 5_000.0).exp();
        (1..5).map(|h| sine(i, hz * h as f32) / h as f32).sum::<f32>() * 0.1 * decay
    });
    vec![
        ("nothing".into(), vec![0.0; n]),
        ("quiet hiss".into(), hiss(0.003, &mut noise)),
        ("hiss".into(), hiss(0.1, &mut noise)),
        ("hum".into(), (0..n).map(|i| 0.1 * sine(i, 50.0) + 0.03 * sine(i, 150.0) + 0.002 * noise()).collect()),
        ("knocks".into(), knocks),
        ("tune".into(), tune.collect()),
    ]
}

#[test]
fn odd_input_is_met_with_an_empty_text_or_an_error() {
    let mut engine = tiny();
    for (what, audio) in [
        ("nothing", vec![]),
        ("one sample", vec![0.5]),
        ("a constant", vec![0.9; 20_000]),
        ("the largest numbers", vec![f32::MAX; 5_000]),
        ("the smallest numbers", vec![f32::MIN_POSITIVE; 5_000]),
    ] {
        let heard = decode(&mut *engine, &audio, &Options { threads: 0, ..Options::default() });
        assert_eq!(heard.text, "", "{what}: {heard:?}");
    }
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut audio = vec![0.1; 3_000];
        audio[1_234] = bad;
        let error = engine.transcribe(&audio, &Options::default(), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, Error::NotFinite { index: 1_234 }), "{error}");
    }
    let mandarin = Options { language: Language::Mandarin, ..Options::default() };
    let error = engine.transcribe(&[0.1; 3_000], &mandarin, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, Error::Language(_)) && error.to_string().contains("multilingual"), "{error}");
}

#[test]
fn a_draft_changes_nothing_but_the_time() {
    let mut engine = tiny();
    let clips = labelled("questions");
    let alone: Vec<Transcript> =
        clips[..6].iter().map(|clip| decode(&mut *engine, &clip.2, &Options::default())).collect();
    for (i, transcript) in alone.iter().enumerate() {
        let tokens = &transcript.tokens;
        let mut altered = tokens.clone();
        altered[tokens.len() / 2] = 1_000;
        let mut shorter = tokens.clone();
        shorter.remove(1);
        for draft in [
            tokens.clone(),
            tokens[..tokens.len() / 2].to_vec(),
            altered,
            shorter,
            alone[(i + 1) % alone.len()].tokens.clone(),
            vec![u32::MAX, 50_257, 7],
            vec![300; 1_000],
        ] {
            let options = Options { draft: draft.clone(), ..Options::default() };
            let drafted = decode(&mut *engine, &clips[i].2, &options);
            assert_eq!(drafted.text, transcript.text, "{draft:?}");
        }
    }
}

/// Several questions one after another, each with its text.
fn long_speech(n: usize) -> (String, Vec<f32>) {
    let (mut text, mut audio) = (String::new(), Vec::new());
    for (_, sentence, clip) in labelled("questions").into_iter().take(n) {
        text.push_str(&sentence);
        text.push(' ');
        audio.extend(clip);
    }
    (text, audio)
}

#[test]
fn speech_longer_than_the_window_loses_nothing() {
    let (text, audio) = long_speech(18);
    assert!(audio.len() > 40 * SAMPLE_RATE, "{} samples", audio.len());
    let mut engine = tiny();
    let whole = decode(&mut *engine, &audio, &Options::default());
    let (wrong, words) = errors(&text, &whole.text);
    assert!(wrong as f64 <= 0.08 * words as f64, "{wrong} of {words}: {}", whole.text);

    // Pushed in uneven pieces, with partials in between.
    let mut stream = Stream::new(&mut *engine, Options::default());
    let never = AtomicBool::new(false);
    let mut stable = String::new();
    for (i, piece) in audio.chunks(7_777).enumerate() {
        stream.push_judged(piece, true);
        if i % 9 == 0 {
            let partial = stream.partial(&never).unwrap();
            assert!(partial.stable.starts_with(&stable), "{:?} after {stable:?}", partial.stable);
            stable = partial.stable;
        }
    }
    let streamed = stream.finish(&never).unwrap();
    let (wrong, words) = errors(&text, &streamed.text);
    assert!(wrong as f64 <= 0.08 * words as f64, "{wrong} of {words}: {}", streamed.text);
    // What was shown as stable is nearly what came out.
    let (unstable, _) = errors(&stable, &streamed.text[..stable.len().min(streamed.text.len())]);
    assert!(unstable <= 4, "{unstable} words of {stable:?} changed: {:?}", streamed.text);
}

#[test]
fn the_size_of_pieces_makes_no_difference() {
    let never = AtomicBool::new(false);
    let mut engine = tiny();
    for (file, text, audio) in labelled("questions").into_iter().skip(6).take(3) {
        let mut heard = Vec::new();
        for size in [audio.len(), 160, 999, 16_000] {
            let mut stream = Stream::new(&mut *engine, Options::default());
            audio.chunks(size).for_each(|piece| stream.push(piece));
            heard.push(stream.finish(&never).unwrap());
        }
        assert!(heard.iter().all(|transcript| *transcript == heard[0]), "{file}: {heard:?}");
        assert_eq!(errors(&text, &heard[0].text).0, 0, "{file}: {:?}", heard[0].text);
    }
}

#[test]
fn a_raised_flag_ends_a_decode_and_harms_nothing() {
    let (_, audio) = long_speech(24);
    let long = audio.repeat(8);
    let question = labelled("questions").swap_remove(0).2;
    let mut whisper = open(&folder("whisper-tiny.en"), Engine::WhisperCpp).unwrap();
    let mut native = tiny();
    let engines: [&mut dyn Transcriber; 2] = [&mut *native, &mut *whisper];
    for engine in engines {
        let before = decode(engine, &question, &Options::default()).text;
        let raised = AtomicBool::new(true);
        assert!(engine.transcribe(&question, &Options::default(), &raised).unwrap_err().is_cancelled());
        // Minutes of speech: the flag goes up long before its end.
        let cancel = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                cancel.store(true, Ordering::Relaxed);
            });
            let error = engine.transcribe(&long, &Options::default(), &cancel).unwrap_err();
            assert!(error.is_cancelled(), "{error}");
        });
        assert_eq!(decode(engine, &question, &Options::default()).text, before);
    }
}
