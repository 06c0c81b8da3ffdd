//! A whole evaluation: tasks one after the other, judged, scored and written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use pocket_voice::report::Machine;

use crate::judge::Judge;
use crate::record::Record;
use crate::respond::Responder;
use crate::run::{Progress, Run, Settings};
use crate::sandbox::Sandbox;
use crate::score::Rules;
use crate::score::qa::Pedants;
use crate::scores::{Scores, VERSION, energy_j, macro_mean, merge, peak_rss_mb};
use crate::tally::{Means, TaskScore, score};
use crate::task::{Kind, Task};
use crate::voicebench::SDQA_ACCENT;
use crate::{Error, Result};

/// What to evaluate, and by what.
#[derive(Debug, Default)]
pub struct Plan {
    /// The run's folder.
    pub out: PathBuf,
    /// What the files and headings call the system.
    pub name: String,
    /// Tasks with their splits.
    pub tasks: Vec<(String, Vec<String>)>,
    /// How to run them.
    pub settings: Settings,
    /// Which reading of the responses counts.
    pub rules: Rules,
    /// For sd-qa.
    pub pedants: Option<Pedants>,
    /// For humaneval.
    pub sandbox: Option<Sandbox>,
    /// Threads of each stage, for the report.
    pub threads: usize,
    /// Bytes of the language model's weights, for the report.
    pub weight_bytes: Option<usize>,
}

/// Runs a plan, or what is left of it, and writes `scores.json`.
///
/// # Errors
/// A judge that fails its calibration; a folder of another run; a data set of which no task is there. A task whose data
/// is missing is left out with a note where others are there.
pub fn evaluate(
    plan: &Plan,
    responder: &mut dyn Responder,
    mut judge: Option<&mut dyn Judge>,
    progress: &mut dyn FnMut(Progress<'_>),
    cancel: &AtomicBool,
) -> Result<Scores> {
    let (started, energy) = (Instant::now(), energy_j());
    let parts = responder.parts();
    let mut run = Run::open(&plan.out, plan.settings.clone(), &parts)?;
    if let Some(judge) = judge.as_deref_mut() {
        crate::judge::calibrate(judge, cancel)?;
    }
    let judge_name = judge.as_ref().map_or_else(|| "none".to_owned(), |judge| judge.name());
    let (mut tasks, mut missing) = (Vec::new(), Vec::new());
    for (name, splits) in &plan.tasks {
        let (mut records, mut replies, mut whole) = (Vec::new(), Vec::new(), None);
        for split in splits {
            let task = Task::new(name, split)?;
            let answered = match run.run(&task, &plan.name, responder, progress, cancel) {
                Ok(answered) => answered,
                Err(e @ Error::Format { .. }) if plan.tasks.len() > 1 || splits.len() > 1 => {
                    missing.push(e);
                    continue;
                }
                Err(e) => return Err(e),
            };
            let judged = match judge.as_deref_mut() {
                Some(judge) if matches!(task.kind, Kind::Open | Kind::Qa) => {
                    run.judge(&task, &plan.name, &answered, judge, progress, cancel)?
                }
                _ => BTreeMap::new(),
            };
            records.push(answered);
            replies.push(judged);
            whole = Some(task);
        }
        if let Some(task) = whole {
            tasks.push(score_splits(plan, task, splits, &records, &replies, judge.is_some().then_some(&*judge_name)));
        }
    }
    if tasks.is_empty() {
        return Err(missing.into_iter().next().unwrap_or_else(|| Error::setting("task", "none was named")));
    }
    let mut scores = Scores {
        version: VERSION,
        name: plan.name.clone(),
        parts,
        modality: plan.settings.modality,
        rules: plan.rules,
        judge: judge_name,
        max_tokens: plan.settings.max_tokens,
        limit: plan.settings.limit,
        machine: Machine::here(plan.threads),
        tasks,
        composite: None,
        judge_free: None,
        rejected: None,
        weight_bytes: plan.weight_bytes,
        peak_rss_mb: peak_rss_mb(),
        energy_j: energy.and_then(|before| Some(energy_j()? - before)).filter(|j| *j >= 0.0),
        seconds: started.elapsed().as_secs_f64(),
    };
    scores.summarise();
    scores.write(&plan.out.join("scores.json"))?;
    Ok(scores)
}

fn score_splits(
    plan: &Plan,
    last: Task,
    splits: &[String],
    records: &[BTreeMap<usize, Record>],
    replies: &[BTreeMap<usize, Vec<String>>],
    judge: Option<&str>,
) -> TaskScore {
    let one = |task: &Task, records: &BTreeMap<usize, Record>, replies: &BTreeMap<usize, Vec<String>>| {
        let judged = judge.map(|name| (replies, name));
        let means = Means { rules: plan.rules, pedants: plan.pedants.as_ref(), judged, sandbox: plan.sandbox.as_ref() };
        score(task, records, &means)
    };
    if let ([records], [replies]) = (records, replies) {
        let mut score = one(&last, records, replies);
        if last.kind == Kind::Qa {
            let which = if last.split == SDQA_ACCENT { ", as published numbers" } else { "" };
            score.notes.push(format!("accent: {}{which}", last.split));
        }
        return score;
    }
    let each: Vec<TaskScore> = records.iter().zip(replies).map(|(r, j)| one(&last, r, j)).collect();
    let split = format!("{} of {} splits", records.len(), splits.len());
    // Replies keep the places of their records.
    let placed: Vec<BTreeMap<usize, Option<Vec<String>>>> = records
        .iter()
        .zip(replies)
        .map(|(records, replies)| records.keys().map(|&index| (index, replies.get(&index).cloned())).collect())
        .collect();
    let replies = merge(&placed).into_iter().filter_map(|(index, reply)| Some((index, reply?))).collect();
    let mut score = one(&Task { split, ..last }, &merge(records), &replies);
    if let Some(value) = macro_mean(&each) {
        score.metrics.push(("mean of splits".to_owned(), value));
    }
    score
}

/// Scores a file of VoiceBench's layout, ours or the original's; a `result-` file is scored by the replies in it.
///
/// # Errors
/// [`Error::Io`]; [`Error::Format`]
pub fn score_file(path: &Path, task: &Task, rules: Rules, pedants: Option<&Pedants>) -> Result<TaskScore> {
    let lines = crate::voicebench::read(path)?;
    let mut replies = BTreeMap::new();
    let mut records = BTreeMap::new();
    for (index, line) in lines.iter().enumerate() {
        let record = Record::from_line(line)
            .ok_or_else(|| Error::format(path, format!("line {}: there is no response", index + 1)))?;
        records.insert(index, record);
        if let Some(list) = line.get("score").and_then(|score| score.as_array()) {
            replies.insert(index, list.iter().filter_map(|r| r.as_str().map(str::to_owned)).collect());
        }
    }
    let judged = (!replies.is_empty()).then_some((&replies, "the file's own"));
    Ok(score(task, &records, &Means { rules, pedants, judged, sandbox: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_originals_judged_file_is_scored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result-x-commoneval-test-audio.jsonl");
        let text = "{\"prompt\": \"a\", \"response\": \"b\", \"score\": [\"5\", \"4\", \"[[3]]\"]}\n\
                    {\"prompt\": \"a\", \"response\": \"\", \"score\": [\"1\", \"1\", \"1\"]}\n";
        std::fs::write(&path, text).unwrap();
        let task = Task::new("commoneval", "test").unwrap();
        let result = score_file(&path, &task, Rules::Parity, None).unwrap();
        assert_eq!((result.score, result.items, result.empty), (Some(50.0), 2, 1));
        std::fs::write(&path, "{\"prompt\": \"a\"}\n").unwrap();
        assert!(score_file(&path, &task, Rules::Parity, None).unwrap_err().to_string().contains("line 1"));
    }
}
