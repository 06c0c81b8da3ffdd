//! Signals that `golden/make_silero.py` builds too, and the measuring clips.

use std::path::{Path, PathBuf};

/// White noise in [-1, 1) from the generator of the script.
pub(crate) fn noise(seed: u32) -> impl Iterator<Item = f64> {
    let next = |state: u32| state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    std::iter::successors(Some(next(seed)), move |&state| Some(next(state)))
        .map(|state| (f64::from(state >> 16) - 32_768.0) / 32_768.0)
}

/// A buzz of falling harmonics, in syllables of `syllable` samples with as long gaps: close enough to a voice.
pub(crate) fn voice(pitch: f64, syllable: usize, count: usize) -> impl Iterator<Item = f64> {
    let harmonic = move |t: f64, k: u32| (std::f64::consts::TAU * pitch * f64::from(k) * t / 16e3).sin() / f64::from(k);
    (0..count).map(move |i| {
        let buzz: f64 = (1..12).map(|k| harmonic(i as f64, k)).sum();
        buzz * ((i / syllable) % 2) as f64
    })
}

/// The folder of the measuring clips, beside the project root; they are not part of the project.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/speech")
}

/// A clip by name, or `None` where there are no clips.
pub(crate) fn clip(name: &str) -> Option<Vec<f32>> {
    let path = folder().join(name);
    path.exists().then(|| {
        let mut wav = hound::WavReader::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        wav.samples::<i16>().map(|s| f32::from(s.unwrap()) / 32_768.0).collect()
    })
}

/// All clips by name; `None`, and a word about it, where there are none.
pub(crate) fn clips() -> Option<Vec<(String, Vec<f32>)>> {
    let Ok(entries) = std::fs::read_dir(folder()) else {
        println!("skipped: no clips in {}", folder().display());
        return None;
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".wav")).collect();
    names.sort();
    assert!(!names.is_empty(), "{} holds no clips", folder().display());
    Some(names.into_iter().map(|name| (name.clone(), clip(&name).unwrap())).collect())
}
