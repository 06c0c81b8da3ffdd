//! The detector on the real model: parity with the Python binding, invariance to chunking, and what it hears in clips.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod signals;

use std::collections::BTreeMap;

use signals::{clip, clips, noise, voice};
use vad::{GateConfig, SamplePos, Vad, VadConfig, VadEvent};

/// A detector on the model of the store; the message of a failure names the command that brings it.
fn open(config: VadConfig) -> Vad {
    let store = assets::Store::open().unwrap();
    let library = store.onnxruntime().unwrap_or_else(|e| panic!("{e}"));
    let model = store.file("silero-vad", "silero_vad_16k_op15.onnx").unwrap_or_else(|e| panic!("{e}"));
    let runtime = onnx::Runtime::load(&library).unwrap();
    Vad::open(&runtime, &model, config).unwrap()
}

fn without_gate() -> VadConfig {
    let gate = GateConfig { enabled: false, ..GateConfig::default() };
    VadConfig { gate, ..VadConfig::default() }
}

fn hear(vad: &mut Vad, samples: &[f32]) -> Vec<VadEvent> {
    let mut events = vad.push(samples).unwrap();
    events.extend(vad.finish().unwrap());
    events
}

/// Beginnings and ends of the segments.
fn segments(events: &[VadEvent]) -> Vec<(SamplePos, SamplePos)> {
    let mut segments = Vec::new();
    let mut start = None;
    for event in events {
        match *event {
            VadEvent::SpeechStart { at } => assert_eq!(start.replace(at), None),
            VadEvent::SpeechEnd { at } => segments.push((start.take().expect("an end follows a start"), at)),
            VadEvent::Frame { .. } => {}
        }
    }
    assert_eq!(start, None, "finish closes the last segment");
    segments
}

fn probabilities(events: &[VadEvent]) -> Vec<f32> {
    let prob = |event: &VadEvent| match *event {
        VadEvent::Frame { speech_prob, .. } => Some(speech_prob),
        _ => None,
    };
    events.iter().filter_map(prob).collect()
}

#[derive(serde::Deserialize)]
struct Golden {
    synthetic: BTreeMap<String, Vec<f32>>,
    clips: BTreeMap<String, Vec<f32>>,
}

#[test]
fn probabilities_agree_with_the_python_binding() {
    let golden: Golden = serde_json::from_str(include_str!("golden/silero.json")).unwrap();
    let second = 16_000;
    let voiced_noise = voice(210.0, 2_400, 3 * second).zip(noise(2)).map(|(v, n)| v * 0.1 + n * 0.02);
    let signals: [(&str, Vec<f64>); 5] = [
        ("silence", vec![0.0; second]),
        ("noise", noise(1).take(second).map(|n| n * 0.05).collect()),
        ("voice", voice(120.0, 3_200, 3 * second).map(|v| v * 0.2).collect()),
        ("voice in noise", voiced_noise.collect()),
        ("clipped voice", voice(160.0, 4_000, 2 * second).map(|v| (v * 4.0).clamp(-1.0, 1.0)).collect()),
    ];
    assert_eq!(golden.synthetic.len(), signals.len());
    let mut all: Vec<(String, Vec<f32>, &Vec<f32>)> = Vec::new();
    for (name, samples) in signals {
        all.push((name.into(), samples.iter().map(|&s| s as f32).collect(), &golden.synthetic[name]));
    }
    for (name, expected) in &golden.clips {
        if let Some(samples) = clip(name) {
            all.push((name.clone(), samples, expected));
        }
    }
    for (name, samples, expected) in all {
        let got = probabilities(&open(without_gate()).push(&samples).unwrap());
        assert_eq!(got.len(), expected.len(), "{name}");
        for (frame, (got, expected)) in got.iter().zip(expected).enumerate() {
            assert!((got - expected).abs() < 1e-3, "{name}, frame {frame}: {got}, not {expected}");
        }
    }
}

#[test]
fn events_do_not_depend_on_how_the_samples_are_cut() {
    // Silence, a voice, silence, noise: the gate opens and closes. The length is no multiple of a frame.
    let quiet = || noise(3).map(|n| n * 3e-5);
    let mut samples: Vec<f32> = quiet().take(20_000).map(|s| s as f32).collect();
    samples.extend(voice(120.0, 3_200, 24_000).zip(quiet()).map(|(v, q)| (v * 0.2 + q) as f32));
    samples.extend(quiet().take(30_000).map(|s| s as f32));
    samples.extend(noise(4).take(8_123).map(|n| (n * 0.1) as f32));
    // The buzz is no person to the model, so the bar is low: what counts here is that there are segments.
    let config = VadConfig { start_threshold: 0.2, end_threshold: 0.1, confirm_threshold: 0.3, ..VadConfig::default() };
    let expected = hear(&mut open(config.clone()), &samples);
    assert!(!segments(&expected).is_empty());
    let mut vad = open(config);
    for size in [1, 37, 160, 512, 16_000] {
        let mut events = Vec::new();
        for chunk in samples.chunks(size) {
            events.extend(vad.push(chunk).unwrap());
        }
        events.extend(vad.finish().unwrap());
        assert_eq!(events, expected, "chunks of {size}");
        vad.reset();
    }
}

#[test]
fn broken_samples_neither_stop_nor_mislead_it() {
    let mut vad = open(VadConfig::default());
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-41, f32::MAX, 0.0] {
        let events = vad.push(&[value; 8_000]).unwrap();
        assert!(probabilities(&events).iter().all(|p| (0.0..=0.3).contains(p)), "{value}: {events:?}");
    }
    assert_eq!(vad.push(&[]).unwrap(), []);
    // Afterwards a voice is still found.
    let samples: Vec<f32> = voice(120.0, 3_200, 24_000).map(|v| (v * 0.2) as f32).collect();
    assert!(!segments(&hear(&mut vad, &samples)).is_empty());
}

#[test]
fn every_speech_clip_is_covered_and_little_else_is() {
    let Some(clips) = clips() else { return };
    for (name, samples) in clips {
        let segments = segments(&hear(&mut open(VadConfig::default()), &samples));
        let seconds = |pos: SamplePos| pos.0 as f64 / 16e3;
        let covered: f64 = segments.iter().map(|&(start, end)| seconds(end) - seconds(start)).sum();
        match &name[..3] {
            _ if name.contains("babble") => assert!(!segments.is_empty(), "{name}: other people's speech is speech"),
            "en_" | "zh_" => {
                // Where a word is spoken the level is high: those blocks must lie within segments.
                let (inside, loud) = loud_blocks(&samples, &segments);
                assert!(inside * 100 >= loud * 97, "{name}: {inside} of {loud} loud blocks in {segments:?}");
            }
            // A plucked guitar does sound like a voice to the model; it must stay the exception.
            "mus" => assert!(covered < 5.0, "{name}: {segments:?}"),
            _ => assert!(segments.is_empty(), "{name}: {segments:?}"),
        }
    }
}

/// How many blocks of 10 ms within 12 dB of the loudest there are, and how many of them lie within segments.
fn loud_blocks(samples: &[f32], segments: &[(SamplePos, SamplePos)]) -> (usize, usize) {
    let power = |block: &[f32]| block.iter().map(|s| s * s).sum::<f32>();
    let loudest = samples.chunks_exact(160).map(power).fold(0.0, f32::max);
    let loud = samples.chunks_exact(160).enumerate().filter(|(_, block)| power(block) > loudest / 16.0);
    let inside =
        |i: usize| segments.iter().any(|&(start, end)| start.0 < 160 * i as u64 + 160 && 160 * (i as u64) < end.0);
    let (mut within, mut all) = (0, 0);
    for (i, _) in loud {
        all += 1;
        within += usize::from(inside(i));
    }
    (within, all)
}

#[test]
fn beginnings_and_ends_are_exact() {
    let Some(clips) = clips() else { return };
    // Clean clips between stretches of faint noise, cut to where their level rises above it and falls below it again.
    let clean = [
        "en_LJ001-0002.wav",
        "en_LJ001-0004.wav",
        "en_arctic_a0024.wav",
        "en_librivox_0920.wav",
        "en_vctk_p287_003.wav",
        "zh_cosyvoice_prompt.wav",
        "zh_speechrec_chinese.wav",
    ];
    for (name, samples) in clips.iter().filter(|(name, _)| clean.contains(&name.as_str())) {
        let speech = trim(samples);
        let hush = |seed| noise(seed).take(24_000).map(|n| (n * 2e-4) as f32);
        let mut stream: Vec<f32> = hush(5).collect();
        stream.extend(speech);
        stream.extend(hush(6));
        let segments = segments(&hear(&mut open(VadConfig::default()), &stream));
        let (first, last) = (segments[0].0.0, segments[segments.len() - 1].1.0);
        let (begin, end) = (24_000, 24_000 + speech.len() as u64);
        let ms = |a: u64, b: u64| (a as f64 - b as f64) / 16.0;
        println!("{name}: begins {:+.0} ms, ends {:+.0} ms", ms(first, begin), ms(last, end));
        assert!(ms(first, begin).abs() <= 16.0, "{name} begins {first}, not {begin}");
        assert!(ms(last, end).abs() <= 16.0, "{name} ends {last}, not {end}");
    }
}

/// The samples from the first to the last block of 10 ms within 30 dB of the loudest.
fn trim(samples: &[f32]) -> &[f32] {
    let power = |block: &[f32]| block.iter().map(|s| s * s).sum::<f32>();
    let loudest = samples.chunks_exact(160).map(power).fold(0.0, f32::max);
    let mut heard = samples.chunks_exact(160).enumerate().filter(|(_, b)| power(b) > loudest * 1e-3).map(|(i, _)| i);
    let first = heard.next().unwrap_or(0);
    let last = heard.next_back().unwrap_or(first);
    &samples[160 * first..160 * (last + 1)]
}

#[test]
fn the_gate_loses_no_speech_and_lets_silero_sleep_in_silence() {
    let hush: Vec<f32> = noise(7).take(160_000).map(|n| (n * 1e-3) as f32).collect();
    let mut vad = open(VadConfig::default());
    let frames = probabilities(&hear(&mut vad, &hush)).len() as u64;
    assert!(vad.silero_runs() * 10 < frames, "Silero ran on {} of {frames} frames of noise", vad.silero_runs());

    let Some(clips) = clips() else { return };
    for (name, samples) in clips.iter().filter(|(name, _)| name.starts_with("en_") || name.starts_with("zh_")) {
        let speech = |config| {
            let events = hear(&mut open(config), samples);
            let frame = |e: &VadEvent| if let VadEvent::Frame { is_speech, .. } = *e { Some(is_speech) } else { None };
            events.iter().filter_map(frame).collect::<Vec<_>>()
        };
        let (alone, gated) = (speech(without_gate()), speech(VadConfig::default()));
        let lost = alone.iter().zip(&gated).filter(|&(&alone, &gated)| alone && !gated).count();
        assert_eq!(lost, 0, "{name}");
    }
}

#[test]
fn another_model_is_refused_by_name() {
    let store = assets::Store::open().unwrap();
    let library = store.onnxruntime().unwrap_or_else(|e| panic!("{e}"));
    let runtime = onnx::Runtime::load(&library).unwrap();
    let other = store.file("smart-turn-v3.2", "smart-turn-v3.2-cpu.onnx").unwrap_or_else(|e| panic!("{e}"));
    for (path, reason) in [(other, "input_features"), ("no/such/model.onnx".into(), "models fetch")] {
        let message = Vad::open(&runtime, &path, VadConfig::default()).unwrap_err().to_string();
        assert!(message.contains(reason) && message.contains(&*path.to_string_lossy()), "{message}");
    }
}
