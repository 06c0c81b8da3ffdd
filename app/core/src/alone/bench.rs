//! Speed of one stage by itself, each beside the limit it is measured against.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use assets::Store;
use onnx::Runtime;
use serde::Serialize;
use tts::ClauseStream;

use crate::config::Config;
use crate::models::{asr_options, llm_path, load_asr, load_voice};
use crate::report::{Machine, Quantiles, quantiles};
use crate::simulation::Clip;
use crate::words::normalised;
use crate::{Error, Result};

/// What the voice says when it is measured: short, usual and long, as answers are.
const SENTENCES: [&str; 6] = [
    "Yes.",
    "Paris is the capital of France.",
    "You could try a warm bath and a book before you go to bed.",
    "It is 7:30 on the 3rd of May, and it will be 21 degrees outside.",
    "Cats purr when they are content, but also when they want something or need to calm themselves.",
    "Once upon a time there was a dragon who was afraid of fire, so he lived in a cave by the sea, where the waves \
     kept everything wet and the winter was never very cold.",
];

/// The language model; the layout of the report is the engine's own.
///
/// # Errors
/// As [`crate::models::load_llm`].
pub fn llm(config: &Config, store: &Store, runs: usize) -> Result<impl Serialize + use<>> {
    config.check()?;
    let plan = llm::bench::Plan { threads: config.threads, runs, ..llm::bench::Plan::default() };
    Ok(llm::bench::run(&llm_path(config, store)?, &plan)?)
}

/// The voice, against real time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TtsReport {
    /// Of this layout.
    pub version: u32,
    /// Where it ran.
    pub machine: Machine,
    /// Which voice.
    pub voice: String,
    /// Measured runs over all sentences; one more came first to warm up.
    pub runs: usize,
    /// Time to make one second of speech, in seconds; below 1 is faster than real time.
    pub real_time_factor: f64,
    /// From text to the first chunk of audio, in ms.
    pub first_chunk_ms: Option<Quantiles>,
    /// Sentence by sentence, medians.
    pub sentences: Vec<SentenceSpeed>,
}

/// One sentence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SentenceSpeed {
    /// What was said.
    pub text: String,
    /// Length of the speech in ms.
    pub audio_ms: f64,
    /// Time to the first chunk in ms.
    pub first_chunk_ms: f64,
    /// Time to the last sample in ms.
    pub elapsed_ms: f64,
}

/// Measures the voice.
///
/// # Errors
/// As [`load_voice`]; a cancel.
pub fn tts(config: &Config, store: &Store, runs: usize, cancel: &AtomicBool) -> Result<TtsReport> {
    config.check()?;
    let mut voice = load_voice(config, store, &Runtime::load(&store.onnxruntime()?)?)?;
    let samples_per_ms = f64::from(voice.sample_rate()) / 1000.0;
    let mut sentences = Vec::new();
    let mut firsts = Vec::new();
    for text in SENTENCES {
        let mut measured = Vec::new();
        for run in 0..=runs {
            let start = Instant::now();
            let ms = |start: Instant| start.elapsed().as_secs_f64() * 1000.0;
            let (mut samples, mut first) = (0, None);
            let mut stream = ClauseStream::default();
            let mut clauses = stream.push(text);
            clauses.extend(stream.finish());
            for clause in &clauses {
                voice.synthesize(clause, cancel, &mut |speech| {
                    first.get_or_insert_with(|| ms(start));
                    samples += speech.samples.len();
                })?;
            }
            if run > 0 {
                measured.push((samples as f64 / samples_per_ms, first.unwrap_or_default(), ms(start)));
            }
        }
        firsts.extend(measured.iter().map(|m| m.1));
        let median = |value: fn(&(f64, f64, f64)) -> f64| quantiles(measured.iter().map(value)).map_or(0.0, |q| q.p50);
        sentences.push(SentenceSpeed {
            text: text.into(),
            audio_ms: median(|m| m.0),
            first_chunk_ms: median(|m| m.1),
            elapsed_ms: median(|m| m.2),
        });
    }
    let total = |value: fn(&SentenceSpeed) -> f64| sentences.iter().map(value).sum::<f64>();
    Ok(TtsReport {
        version: 1,
        machine: Machine::here(config.threads),
        voice: config.voice.clone(),
        runs,
        real_time_factor: total(|s| s.elapsed_ms) / total(|s| s.audio_ms).max(1e-9),
        first_chunk_ms: quantiles(firsts),
        sentences,
    })
}

/// Speech recognition, against real time and against what was said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AsrReport {
    /// Of this layout.
    pub version: u32,
    /// Where it ran.
    pub machine: Machine,
    /// Which model.
    pub asr: String,
    /// Time to recognise one second of audio, in seconds.
    pub real_time_factor: f64,
    /// Time for one clip in ms.
    pub clip_ms: Option<Quantiles>,
    /// Wrong, missing and added words as a part of the words that were said.
    pub word_error_rate: f64,
    /// Words that were said.
    pub words: usize,
    /// Clip by clip.
    pub clips: Vec<ClipResult>,
}

/// One clip.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClipResult {
    /// Its file name.
    pub name: String,
    /// What was said.
    pub said: String,
    /// What was understood.
    pub understood: String,
    /// Wrong, missing and added words.
    pub errors: usize,
    /// Time in ms.
    pub elapsed_ms: f64,
}

/// Measures speech recognition on labelled clips, after one of them to warm up.
///
/// # Errors
/// As [`load_asr`]; a cancel.
pub fn asr(config: &Config, store: &Store, clips: &[Clip], cancel: &AtomicBool) -> Result<AsrReport> {
    config.check()?;
    let mut transcriber = load_asr(config, store)?;
    let options = asr_options(config);
    let (mut audio_ms, mut errors, mut said) = (0.0, 0, 0);
    let mut results = Vec::new();
    for clip in clips.iter().take(1).chain(clips) {
        let start = Instant::now();
        let transcript = asr::Transcriber::transcribe(&mut transcriber, &clip.samples, &options, cancel)?;
        let elapsed_ms = start.elapsed().as_secs_f64() * 1000.0;
        if cancel.load(Ordering::Acquire) {
            return Err(Error::Asr(asr::Error::Cancelled));
        }
        let (reference, hypothesis) = (normalised(&clip.text), normalised(&transcript.text));
        results.push(ClipResult {
            name: clip.name.clone(),
            said: clip.text.clone(),
            errors: word_errors(&reference, &hypothesis),
            understood: transcript.text,
            elapsed_ms,
        });
        if results.len() > 1 {
            audio_ms += clip.samples.len() as f64 * 1000.0 / f64::from(crate::audio::EAR_RATE);
            said += reference.len();
        }
    }
    results.remove(0);
    errors += results.iter().map(|clip| clip.errors).sum::<usize>();
    Ok(AsrReport {
        version: 1,
        machine: Machine::here(config.threads),
        asr: config.asr.clone(),
        real_time_factor: results.iter().map(|clip| clip.elapsed_ms).sum::<f64>() / f64::max(audio_ms, 1e-9),
        clip_ms: quantiles(results.iter().map(|clip| clip.elapsed_ms)),
        word_error_rate: errors as f64 / said.max(1) as f64,
        words: said,
        clips: results,
    })
}

/// Fewest words to replace, add or drop to make `hypothesis` from `reference` (Levenshtein's distance).
fn word_errors<T: PartialEq>(reference: &[T], hypothesis: &[T]) -> usize {
    let mut row: Vec<usize> = (0..=hypothesis.len()).collect();
    for (i, said) in reference.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, understood) in hypothesis.iter().enumerate() {
            let replaced = diagonal + usize::from(said != understood);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[hypothesis.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_errors_count_each_kind_once() {
        let cases =
            [("", "", 0), ("a b c", "a b c", 0), ("a b c", "a x c", 1), ("a b c", "a c", 1), ("a c", "a b c", 1)];
        let more = [("a b c", "", 3), ("", "a b", 2), ("a b c d", "b c d e", 2)];
        for (said, understood, errors) in cases.into_iter().chain(more) {
            let split = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
            assert_eq!(word_errors(&split(said), &split(understood)), errors, "{said:?} as {understood:?}");
        }
    }
}
