//! Signals that `golden/make_smart_turn.py` builds too, and the measuring clips.

use std::path::{Path, PathBuf};

/// White noise in [-1, 1) from the generator of the script.
pub(crate) fn noise(seed: u32) -> impl Iterator<Item = f64> {
    let next = |state: u32| state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    std::iter::successors(Some(next(seed)), move |&state| Some(next(state)))
        .map(|state| (f64::from(state >> 16) - 32_768.0) / 32_768.0)
}

/// A buzz of falling harmonics whose pitch falls by `fall` of itself, in syllables with gaps of as many samples.
pub(crate) fn voice(pitch: f64, fall: f64, syllable: usize, count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |i| {
        let t = i as f64;
        let phase = std::f64::consts::TAU * pitch * (t - fall * t * t / (2 * count) as f64) / 16e3;
        let buzz: f64 = (1..12).map(|k| (phase * f64::from(k)).sin() / f64::from(k)).sum();
        buzz * ((i / syllable) % 2) as f64
    })
}

/// The synthetic signals by name.
pub(crate) fn synthetic() -> Vec<(String, Vec<f32>)> {
    let second = 16_000;
    let to_f32 = |samples: Vec<f64>| samples.into_iter().map(|s| s as f32).collect();
    let mut pause: Vec<f64> = voice(180.0, 0.4, 2_400, 3 * second).map(|v| v * 0.1).collect();
    pause.extend(noise(1).take(4 * second / 5).map(|n| n * 0.001));
    let long = voice(140.0, 0.1, 4_000, 9 * second).zip(noise(2)).map(|(v, n)| v * 0.3 + n * 0.01 + 0.02);
    [
        ("empty", Vec::new()),
        ("short voice", voice(120.0, 0.3, 3_200, 2 * second).map(|v| v * 0.2).collect()),
        ("voice and silence", pause),
        ("longer than the window", long.collect()),
        ("noise", noise(3).take(5 * second).map(|n| n * 0.05).collect()),
    ]
    .map(|(name, samples)| (name.to_owned(), to_f32(samples)))
    .into()
}

/// The folder of the measuring clips, beside the project root; they are not part of the project.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/speech")
}

/// A clip by name; `None`, and a word about it, where there is none.
pub(crate) fn clip(name: &str) -> Option<Vec<f32>> {
    let path = folder().join(name);
    if !path.exists() {
        println!("skipped: there is no {}", path.display());
        return None;
    }
    let mut wav = hound::WavReader::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(wav.samples::<i16>().map(|s| f32::from(s.unwrap()) / 32_768.0).collect())
}
