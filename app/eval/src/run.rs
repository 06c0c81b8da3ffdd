//! Runs tasks over a data set, resumes where it stopped, and writes what came out.
//!
//! A run folder holds `run.json` (what was asked for), `journal/` (one line an item, the truth), VoiceBench's own files
//! made of it, and `scores.json`. Killed at any moment and started again, a run comes to the same numbers: an item is
//! done exactly when its line is on disk, and no answer depends on the items before it.

mod lock;
mod pick;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::item::{Audio, Item};
use crate::journal::Journal;
use crate::json::{Json, Object};
use crate::judge::{self, Judge};
use crate::reader::{self, Reader};
use crate::record::Record;
use crate::respond::{Ask, Reply, Responder};
use crate::sound;
use crate::task::{Kind, Question, Task, question};
use crate::voicebench::{self, Modality};
use crate::{Error, Result};

pub use lock::Lock;
pub use pick::Pick;

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The data set: a folder, or the file itself.
    pub data: PathBuf,
    /// Spoken or written questions.
    pub modality: Modality,
    /// How many items of each split; all without.
    pub limit: Option<usize>,
    /// Which items a limit picks.
    pub seed: u64,
    /// Tokens of the longest answer.
    pub max_tokens: usize,
    /// Longest recording that is heard.
    pub longest: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            data: PathBuf::new(),
            modality: Modality::Audio,
            limit: None,
            seed: 0,
            max_tokens: 512,
            longest: sound::LIMIT,
        }
    }
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    /// The task.
    pub task: &'a Task,
    /// Items done, earlier ones included.
    pub done: usize,
    /// Items in all.
    pub all: usize,
    /// Time left at the pace of this process; `None` before its first item.
    pub left: Option<Duration>,
}

/// A run folder that is open for writing.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    settings: Settings,
    _lock: Lock,
}

impl Run {
    /// Begins a run, or opens one that was begun with the same settings. A larger limit continues it.
    ///
    /// # Errors
    /// [`Error::Setting`] where the folder holds a run of something else, or another process runs in it.
    pub fn open(folder: &Path, settings: Settings, parts: &[(String, String)]) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let lock = Lock::take(&folder.join("lock"))?;
        let wanted = describe(&settings, parts);
        let path = folder.join("run.json");
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let known = Json::parse(&text).map_err(|e| Error::format(&path, e.to_string()))?;
                same(&known, &wanted)?;
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let aside = folder.join("run.json.part");
                std::fs::write(&aside, format!("{wanted}\n")).map_err(Error::io(&aside))?;
                std::fs::rename(&aside, &path).map_err(Error::io(&path))?;
            }
            Err(e) => return Err(Error::io(&path)(e)),
        }
        Ok(Self { folder: folder.to_owned(), settings, _lock: lock })
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn journal_path(&self, task: &Task, kind: &str) -> PathBuf {
        let Task { name, split, .. } = task;
        self.folder.join("journal").join(format!("{kind}{name}-{split}-{}.jsonl", self.settings.modality.name()))
    }

    /// Runs what is not done yet of a task, and writes VoiceBench's file of it under `model`.
    ///
    /// # Errors
    /// A data set that is not there; a disk that is full; [`llm::Error::Cancelled`] once `cancel` is raised. What is
    /// wrong with one item ends nothing: it is kept as that item's record.
    pub fn run(
        &mut self,
        task: &Task,
        model: &str,
        responder: &mut dyn Responder,
        progress: &mut dyn FnMut(Progress<'_>),
        cancel: &AtomicBool,
    ) -> Result<BTreeMap<usize, Record>> {
        let files = reader::files(&self.settings.data, &task.name, &task.split)?;
        let pick = Pick::new(reader::count(&files), self.settings.limit, self.settings.seed);
        let mut journal = Journal::open(&self.journal_path(task, ""))?;
        let all = pick.len();
        let mut done = journal.entries().keys().filter(|&&index| pick.has(index)).count();
        let started = Instant::now();
        let mut here = 0u32;
        progress(Progress { task, done, all, left: None });
        for entry in Reader::new(files) {
            let index = entry.as_ref().map_or_else(|problem| problem.index, |item| item.index);
            if !pick.has(index) || journal.has(index) {
                continue;
            }
            let record = match entry {
                Ok(item) => match self.answer(task, &item, responder, cancel) {
                    Ok(reply) => Record::answered(&item, reply),
                    Err(Error::Llm(llm::Error::Cancelled)) => return Err(llm::Error::Cancelled.into()),
                    Err(e) => Record::failed(item.fields, e.to_string()),
                },
                Err(problem) => Record::failed(Object::default(), problem.reason),
            };
            journal.append(index, record.to_entry()?)?;
            done += 1;
            here += 1;
            let each = started.elapsed() / here;
            let left = each.checked_mul(u32::try_from(all.saturating_sub(done)).unwrap_or(u32::MAX));
            progress(Progress { task, done, all, left });
            if cancel.load(Ordering::Relaxed) {
                return Err(llm::Error::Cancelled.into());
            }
        }
        let records: BTreeMap<usize, Record> = journal
            .entries()
            .iter()
            .filter(|(index, _)| pick.has(**index))
            .map(|(&index, entry)| (index, Record::from_entry(entry)))
            .collect();
        let lines: Vec<Object> = records.values().filter_map(Record::to_line).collect();
        voicebench::write(&self.folder.join(self.file_name(task, model)), &lines)?;
        Ok(records)
    }

    fn file_name(&self, task: &Task, model: &str) -> String {
        voicebench::file_name(model, &task.name, &task.split, self.settings.modality)
    }

    fn answer(&self, task: &Task, item: &Item, responder: &mut dyn Responder, cancel: &AtomicBool) -> Result<Reply> {
        let Question { system, prompt, options, grammar } = question(task, item, self.settings.modality)?;
        let max_tokens = self.settings.max_tokens;
        match (self.settings.modality, &grammar) {
            (Modality::Audio, _) if task.kind != Kind::Choice && grammar.is_none() => {
                let audio = item.audio.as_ref().ok_or_else(|| Error::Audio("the item has none".into()))?;
                let samples = sound::decode(audio, self.settings.longest)?;
                responder.respond(&Ask::Speech { system: &system, samples: &samples, max_tokens }, cancel)
            }
            (Modality::Audio, _) => Err(Error::setting("modality", format!("{} has no spoken form", task.name))),
            (Modality::Text, Some(grammar)) => {
                responder.respond(&Ask::Fill { system: &system, prompt: &prompt, grammar, max_tokens }, cancel)
            }
            (Modality::Text, None) if task.kind == Kind::Choice => {
                responder.respond(&Ask::Choose { prompt: &prompt, options: &options }, cancel)
            }
            (Modality::Text, None) => {
                responder.respond(&Ask::Text { system: &system, prompt: &prompt, max_tokens }, cancel)
            }
        }
    }

    /// Has a judge judge what it has not judged yet, and writes VoiceBench's `result-` file.
    ///
    /// # Errors
    /// As [`Run::run`].
    pub fn judge(
        &mut self,
        task: &Task,
        model: &str,
        records: &BTreeMap<usize, Record>,
        judge: &mut dyn Judge,
        progress: &mut dyn FnMut(Progress<'_>),
        cancel: &AtomicBool,
    ) -> Result<BTreeMap<usize, Vec<String>>> {
        let name: String = judge.name().chars().filter(|c| c.is_alphanumeric()).collect();
        let mut journal = Journal::open(&self.journal_path(task, &format!("judge-{name}-")))?;
        let all = records.len();
        for (done, (&index, record)) in records.iter().enumerate() {
            progress(Progress { task, done, all, left: None });
            let Some(response) = record.response().filter(|_| !journal.has(index)) else { continue };
            let Ok((form, prompt)) = judge::prompt(&record.fields, response) else { continue };
            let mut entry = Object::default();
            match judge.judge(form, &prompt, cancel) {
                Ok(replies) => entry.set("score", replies),
                Err(Error::Llm(llm::Error::Cancelled)) => return Err(llm::Error::Cancelled.into()),
                Err(e) => entry.set("problem", e.to_string()),
            }
            journal.append(index, entry)?;
        }
        let replies: BTreeMap<usize, Vec<String>> = journal
            .entries()
            .iter()
            .filter_map(|(&index, entry)| {
                let replies = entry.get("score")?.as_array()?;
                Some((index, replies.iter().filter_map(|r| r.as_str().map(str::to_owned)).collect()))
            })
            .collect();
        let lines: Vec<Object> = records
            .iter()
            .filter_map(|(index, record)| {
                let mut line = record.to_line()?;
                line.set("score", replies.get(index)?.clone());
                Some(line)
            })
            .collect();
        voicebench::write(&self.folder.join(voicebench::result_name(&self.file_name(task, model))), &lines)?;
        Ok(replies)
    }
}

/// What makes two runs the same. The limit does not: items are the same whatever their number.
fn describe(settings: &Settings, parts: &[(String, String)]) -> Json {
    let mut object: Object = parts.iter().map(|(role, name)| (role.clone(), name.as_str())).collect();
    object.set("data", settings.data.display().to_string());
    object.set("modality", settings.modality.name());
    object.set("seed", settings.seed.to_string());
    object.set("max_tokens", settings.max_tokens);
    Json::Object(object)
}

fn same(known: &Json, wanted: &Json) -> Result<()> {
    let empty = Object::default();
    let (known, wanted) = (known.as_object().unwrap_or(&empty), wanted.as_object().unwrap_or(&empty));
    for (key, value) in wanted.iter() {
        let before = known.get(key).unwrap_or(&Json::Null);
        if before != value {
            let reason = format!("holds a run with {key} {before}, not {value}; choose another folder");
            return Err(Error::setting("out", reason));
        }
    }
    Ok(())
}

/// Whether an item's recording can be had at all; for lists of what is wrong with a set.
#[must_use]
pub fn has_audio(item: &Item) -> bool {
    match &item.audio {
        Some(Audio::Bytes(bytes)) => !bytes.is_empty(),
        Some(Audio::File(path)) => path.is_file(),
        None => false,
    }
}

#[cfg(test)]
mod tests;
