//! Makes a spoken data set from a written one, with several voices in turn.
//!
//! The set is JSON Lines with WAV files beside it, which the reader takes as it takes any other. Items that are spoken
//! already are kept, so the making can be cut short and continued.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use assets::Store;
use pocket_voice::Config;
use pocket_voice::audio::wav;
use pocket_voice::models::load_voice;
use tts::{ClauseStream, Synthesizer};

use crate::json::{Json, Object};
use crate::reader::{self, Reader};
use crate::run::Pick;
use crate::task::{Question, Task, question};
use crate::voicebench::Modality;
use crate::{Error, Result};

/// Silence around what is said, in seconds, as a recording has it.
const AROUND: f64 = 0.4;

/// Longest question that is spoken, in bytes; beyond that nobody would speak it.
const LONGEST: usize = 4000;

/// A voice and the name that items remember it by.
pub struct Voice {
    /// Its name.
    pub name: String,
    /// What speaks.
    pub synthesizer: Box<dyn Synthesizer>,
}

impl std::fmt::Debug for Voice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Voice").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Loads voices by the ids or paths that `config` could name.
///
/// # Errors
/// The voice that is missing or damaged, and the command that brings it.
pub fn open_voices(config: &Config, store: &Store, names: &[String]) -> Result<Vec<Voice>> {
    let library = store.onnxruntime().map_err(pocket_voice::Error::from)?;
    let runtime = onnx::Runtime::load(&library).map_err(pocket_voice::Error::from)?;
    let open = |name: &String| {
        let config = Config { voice: name.clone(), ..config.clone() };
        Ok(Voice { name: name.clone(), synthesizer: load_voice(&config, store, &runtime)? })
    };
    names.iter().map(open).collect()
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Made {
    /// Items with audio, those from before included.
    pub spoken: usize,
    /// Items without, and why.
    pub problems: Vec<(usize, String)>,
    /// Audio that was made now, in seconds.
    pub seconds: f64,
}

/// What to speak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The task whose questions are spoken.
    pub task: Task,
    /// The written set: a folder, or the file itself.
    pub data: PathBuf,
    /// The folder of the spoken set.
    pub out: PathBuf,
    /// How many items at most.
    pub limit: Option<usize>,
    /// Which items a limit picks.
    pub seed: u64,
}

/// Speaks an order into `out/TASK/SPLIT.jsonl` and `out/TASK/SPLIT/NUMBER.wav`.
///
/// # Errors
/// No voice; a data set that is not there; a disk that is full; [`llm::Error::Cancelled`] once `cancel` is raised.
pub fn speak(
    order: &Order,
    voices: &mut [Voice],
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Made> {
    let Order { task, data, out, limit, seed } = order;
    if voices.is_empty() {
        return Err(Error::setting("voice", "at least one is needed"));
    }
    let files = reader::files(data, &task.name, &task.split)?;
    let pick = Pick::new(reader::count(&files), *limit, *seed);
    let folder = out.join(&task.name).join(&task.split);
    fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
    let mut made = Made::default();
    let mut lines: Vec<Object> = Vec::new();
    for (index, entry) in Reader::new(files).enumerate() {
        if cancel.load(Ordering::Relaxed) {
            return Err(llm::Error::Cancelled.into());
        }
        if !pick.has(index) {
            continue;
        }
        let item = match entry {
            Ok(item) => item,
            Err(problem) => {
                made.problems.push((index, problem.reason));
                continue;
            }
        };
        let prompt = match question(task, &item, Modality::Audio) {
            Ok(Question { prompt, grammar: None, .. }) if !prompt.trim().is_empty() => prompt,
            Ok(_) => {
                made.problems.push((index, "it has no spoken form".into()));
                continue;
            }
            Err(e) => {
                made.problems.push((index, e.to_string()));
                continue;
            }
        };
        // By the item's place, so that a continued making gives every item the voice it would have had.
        let voice = index % voices.len();
        let voice = &mut voices[voice];
        let name = format!("{index:05}.wav");
        let path = folder.join(&name);
        if !path.is_file() {
            match say(voice, &prompt, cancel) {
                Ok(samples) => {
                    let rate = voice.synthesizer.sample_rate();
                    made.seconds += samples.len() as f64 / f64::from(rate);
                    let aside = folder.join(format!("{name}.part"));
                    wav::write(&aside, rate, &samples).map_err(|e| Error::Audio(e.to_string()))?;
                    fs::rename(&aside, &path).map_err(Error::io(&path))?;
                }
                Err(e) => {
                    made.problems.push((index, e.to_string()));
                    continue;
                }
            }
        }
        let mut line = item.fields.clone();
        line.set("audio", format!("{}/{name}", task.split));
        line.set("voice", voice.name.as_str());
        lines.push(line);
        made.spoken += 1;
        progress(made.spoken + made.problems.len(), pick.len());
    }
    write(&out.join(&task.name).join(format!("{}.jsonl", task.split)), &lines)?;
    Ok(made)
}

/// One question as samples at the voice's rate.
fn say(voice: &mut Voice, text: &str, cancel: &AtomicBool) -> Result<Vec<f32>> {
    if text.len() > LONGEST {
        return Err(Error::Audio(format!("{} bytes are too long to be spoken", text.len())));
    }
    let around = vec![0.0; (AROUND * f64::from(voice.synthesizer.sample_rate())) as usize];
    let mut samples = around.clone();
    let mut stream = ClauseStream::default();
    let mut clauses = stream.push(text);
    clauses.extend(stream.finish());
    for clause in &clauses {
        let spoken = voice.synthesizer.synthesize(clause, cancel, &mut |speech| samples.extend(speech.samples));
        spoken.map_err(|e| Error::Audio(e.to_string()))?;
    }
    if cancel.load(Ordering::Relaxed) {
        return Err(llm::Error::Cancelled.into());
    }
    if samples.len() == around.len() {
        return Err(Error::Audio("there is nothing in it to say".into()));
    }
    samples.extend(around);
    Ok(samples)
}

fn write(path: &Path, lines: &[Object]) -> Result<()> {
    let aside = path.with_extension("jsonl.part");
    let mut file = fs::File::create(&aside).map_err(Error::io(&aside))?;
    for line in lines {
        writeln!(file, "{}", Json::Object(line.clone())).map_err(Error::io(&aside))?;
    }
    file.sync_all().map_err(Error::io(&aside))?;
    fs::rename(&aside, path).map_err(Error::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Audio;
    use tts::{Clause, Speech};

    /// A voice that hums one sample a byte.
    struct Hum(f32);

    impl Synthesizer for Hum {
        fn sample_rate(&self) -> u32 {
            16_000
        }

        fn synthesize(&mut self, clause: &Clause, _: &AtomicBool, sink: &mut dyn FnMut(Speech)) -> tts::Result<()> {
            sink(Speech { samples: vec![self.0; clause.spoken.len()], words: Vec::new() });
            Ok(())
        }
    }

    #[test]
    fn voices_take_turns_and_the_set_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("gsm8k.jsonl");
        let lines = [
            r#"{"id": 0, "question": "How many eggs?", "final": "3"}"#,
            r#"{"id": 1, "question": "", "final": "3"}"#,
            r#"{"id": 2, "question": "How many ducks are there?", "final": "4"}"#,
            r#"{"id": 3, "question": "And now?"}"#,
            r#"{"id": 4, "question": "And then?", "final": "5"}"#,
        ];
        fs::write(&data, lines.join("\n")).unwrap();
        let task = Task::new("gsm8k", "test").unwrap();
        let voice = |name: &str, level| Voice { name: name.into(), synthesizer: Box::new(Hum(level)) };
        let mut voices = [voice("low", 0.25), voice("high", 0.5), voice("third", 0.75)];
        let out = dir.path().join("out");
        let cancel = AtomicBool::new(false);
        let order = Order { task, data, out: out.clone(), limit: None, seed: 0 };
        let mut make = || speak(&order, &mut voices, &mut |_, _| {}, &cancel).unwrap();
        let made = make();
        assert_eq!(made.spoken, 3);
        assert_eq!(made.problems.iter().map(|(i, _)| *i).collect::<Vec<_>>(), [1, 3]);
        let again = make();
        assert_eq!((again.spoken, again.seconds), (3, 0.0), "what is there is kept");
        let files = reader::files(&out, "gsm8k", "test").unwrap();
        let items: Vec<_> = Reader::new(files).map(Result::unwrap).collect();
        let voices: Vec<_> = items.iter().map(|item| item.fields.text("voice").unwrap()).collect();
        assert_eq!(voices, ["low", "third", "high"]);
        let Some(Audio::File(path)) = &items[1].audio else { panic!() };
        let samples = crate::sound::decode(&Audio::File(path.clone()), crate::sound::LIMIT).unwrap();
        assert!(samples.len() > 12_800 && (samples[6_400 + 4] - 0.75).abs() < 0.01);
    }
}
