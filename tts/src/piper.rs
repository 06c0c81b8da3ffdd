//! Piper voices: fast English speech from a VITS network.

mod config;
mod model;
mod symbols;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use onnx::Runtime;

use crate::audio::Trimmer;
use crate::g2p::{Symbol, english, stretches};
use crate::{Clause, ClauseStream, Error, Language, Result, Speech, Synthesizer, VoiceConfig, timing};
use config::PiperConfig;
use model::{Model, Scales};

/// A Piper voice, ready to speak.
pub struct Piper {
    path: PathBuf,
    config: PiperConfig,
    model: Model,
    settings: VoiceConfig,
    speaker: i64,
}

/// Frames of the first windows; later ones are as long as the last. The first is a quarter of a second: long enough to
/// render the next one meanwhile, short enough to be there at once.
const WINDOW_FRAMES: [usize; 4] = [24, 48, 96, 192];
/// Phonemes that go through the encoder at once: its attention is quadratic in them.
const MAX_PHONEMES: usize = 400;

impl Piper {
    /// Opens a voice: `model` is the `.onnx` file, beside which lies its description with `.json` added.
    ///
    /// Speaks a word to itself, so that the first clause is as fast as the others.
    ///
    /// # Errors
    /// When a file is missing, or the two contradict each other or what Piper voices are.
    pub fn open(runtime: &Runtime, model: &Path, threads: usize) -> Result<Piper> {
        Piper::open_with(runtime, model, VoiceConfig { threads, ..VoiceConfig::default() })
    }

    /// Opens a voice with other than the usual settings.
    ///
    /// # Errors
    /// As [`Piper::open`], and when a setting is out of range.
    pub fn open_with(runtime: &Runtime, model: &Path, settings: VoiceConfig) -> Result<Piper> {
        settings.check()?;
        let description = PiperConfig::path_for(model);
        let config = PiperConfig::read(&description)?;
        let speaker = speaker_id(&config, settings.speaker.as_deref())
            .map_err(|reason| Error::Voice { path: description.clone(), reason })?;
        let path = model.to_owned();
        let model = Model::open(runtime, model, settings.threads)?;
        if model.is_multi_speaker() != (config.num_speakers > 1) {
            let reason = format!("it tells of {} speakers, the model does not agree", config.num_speakers);
            return Err(Error::Voice { path: description, reason });
        }
        let mut piper = Piper { path, config, model, settings, speaker };
        piper.warm_up()?;
        Ok(piper)
    }

    fn warm_up(&mut self) -> Result<()> {
        if self.speaks(Language::English) {
            let mut stream = ClauseStream::default();
            let mut clauses = stream.push("Ready, at 10:30.");
            clauses.extend(stream.finish());
            for clause in &clauses {
                self.synthesize(clause, &AtomicBool::new(false), &mut |_| {})?;
            }
        }
        Ok(())
    }

    /// Phoneme ids of one stretch, and which symbol each belongs to.
    fn ids(&self, symbols: &[Symbol]) -> (Vec<i64>, Vec<Option<usize>>) {
        let mut ids = Vec::with_capacity(2 * symbols.len() + 3);
        let mut words = Vec::with_capacity(ids.capacity());
        let mut add = |symbol: char, word: Option<usize>| match self.config.ids(symbol) {
            Some(found) => {
                ids.extend_from_slice(found);
                words.extend(std::iter::repeat_n(word, found.len()));
            }
            None => tracing::debug!(%symbol, "the voice has no such phoneme; it is left out"),
        };
        add('^', None);
        add('_', None);
        for symbol in symbols {
            add(symbol.symbol, symbol.word);
            add('_', symbol.word);
        }
        add('$', None);
        (ids, words)
    }

    fn scales(&self) -> Scales {
        let inference = &self.config.inference;
        let variation = if self.settings.deterministic { 0.0 } else { 1.0 };
        Scales {
            noise: inference.noise_scale * variation,
            length: inference.length_scale / self.settings.speed,
            duration_noise: inference.noise_w * variation,
            speaker: self.speaker,
        }
    }
}

impl Synthesizer for Piper {
    fn sample_rate(&self) -> u32 {
        self.config.sample_rate()
    }

    fn speaks(&self, language: Language) -> bool {
        language == Language::English && self.config.language_code().starts_with("en")
    }

    fn synthesize(&mut self, clause: &Clause, cancel: &AtomicBool, sink: &mut dyn FnMut(Speech)) -> Result<()> {
        if !self.speaks(clause.language) {
            let voice = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            return Err(Error::Language { voice, language: clause.language });
        }
        let cancelled = || cancel.load(Ordering::Relaxed);
        if cancelled() {
            return Ok(());
        }
        let symbols = symbols::to_ipa(&english().phonemes(clause));
        let mut trimmer = Trimmer::new(self.sample_rate());
        let mut timer = timing::Timer::new(clause);
        let mut rendered = 0;
        for stretch in stretches(&symbols, MAX_PHONEMES) {
            if cancelled() {
                return Ok(());
            }
            let (ids, words) = self.ids(stretch);
            let scales = self.scales();
            let plan = self.model.encode(&ids, &scales)?;
            let whole = plan.frames == 0;
            let mut placed = false;
            let windows = if whole { std::iter::once(0..0).collect() } else { windows(plan.frames) };
            for window in windows {
                if cancelled() {
                    return Ok(());
                }
                let samples = if whole { plan.samples.clone() } else { self.model.decode(&plan, window.clone())? };
                if !placed {
                    placed = true;
                    let hop = if whole { 0 } else { samples.len() / window.len().max(1) };
                    let segments = if plan.durations.is_empty() {
                        timing::estimated(&words, &samples, rendered)
                    } else {
                        timing::planned(&words, &plan.durations, hop, rendered)
                    };
                    timer.place(segments);
                }
                rendered += samples.len();
                let mut speech = trimmer.push(&samples);
                self.settings.apply_volume(&mut speech);
                if let Some(speech) = timer.speech(speech, trimmer.trimmed) {
                    sink(speech);
                }
            }
        }
        let tail = trimmer.finish(clause.pause_ms);
        if let Some(speech) = timer.finish(tail, trimmer.trimmed) {
            sink(speech);
        }
        Ok(())
    }
}

fn speaker_id(config: &PiperConfig, wanted: Option<&str>) -> std::result::Result<i64, String> {
    let Some(name) = wanted else { return Ok(0) };
    if let Some(id) = config.speaker_id_map.get(name) {
        return Ok(*id);
    }
    match name.parse::<i64>() {
        Ok(id) if (0..config.num_speakers).contains(&id) => Ok(id),
        _ => Err(format!("it has no speaker \"{name}\"")),
    }
}

/// Windows that cover all frames.
fn windows(frames: usize) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    let mut at = 0;
    while at < frames {
        let length = WINDOW_FRAMES[windows.len().min(WINDOW_FRAMES.len() - 1)];
        // A short rest joins the window before it.
        let end = if frames - at < length + length / 3 { frames } else { at + length };
        windows.push(at..end);
        at = end;
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_every_frame_once() {
        for frames in [0, 1, 23, 24, 31, 33, 500, 1_000] {
            let windows = windows(frames);
            assert_eq!(windows.iter().map(ExactSizeIterator::len).sum::<usize>(), frames);
            assert!(windows.windows(2).all(|w| w[0].end == w[1].start));
        }
    }

    /// Needs the fetched voice and fails without it.
    #[test]
    fn windows_sound_as_if_all_had_been_decoded_at_once() {
        let store = assets::Store::open().unwrap();
        let runtime = Runtime::load(&store.onnxruntime().unwrap()).unwrap();
        let path = store.file("piper-en-us-joe", "en_US-joe-medium.onnx").unwrap();
        let settings = VoiceConfig { deterministic: true, ..VoiceConfig::default() };
        let mut piper = Piper::open_with(&runtime, &path, settings).unwrap();
        let mut stream = ClauseStream::default();
        stream.audio_queued(60_000);
        let mut clauses = stream.push("The quick brown fox jumps over the lazy dog near the river bank");
        clauses.extend(stream.finish());
        let symbols = symbols::to_ipa(&english().phonemes(&clauses[0]));
        let (ids, _) = piper.ids(&symbols);
        let scales = piper.scales();
        let plan = piper.model.encode(&ids, &scales).unwrap();
        assert_eq!(plan.durations.iter().sum::<usize>(), plan.frames, "the voice tells no durations");
        let whole = piper.model.decode(&plan, 0..plan.frames).unwrap();
        let parts: Vec<f32> =
            windows(plan.frames).into_iter().flat_map(|w| piper.model.decode(&plan, w).unwrap()).collect();
        assert_eq!(parts.len(), whole.len());
        let worst = parts.iter().zip(&whole).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        // Sums in another order differ in the last bits; a step one could hear is 0.01.
        assert!(worst < 1e-4, "a window differs by {worst}");
    }
}
