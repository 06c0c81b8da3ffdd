//! The numbers of a whole run, as `scores.json` holds them.

use std::collections::BTreeMap;
use std::path::Path;

use pocket_voice::report::Machine;
use serde::{Deserialize, Serialize};

use crate::score::{Rules, mean};
use crate::tally::{MOST_EMPTY, TaskScore};
use crate::voicebench::{self, Composite, Modality};
use crate::{Error, Result};

/// Of this layout.
pub const VERSION: u32 = 1;

/// A run's numbers, with everything that they depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// [`VERSION`]
    pub version: u32,
    /// What was evaluated, for headings.
    pub name: String,
    /// Its parts, by role.
    pub parts: Vec<(String, String)>,
    /// Spoken or written.
    pub modality: Modality,
    /// With or without the original's faults.
    pub rules: Rules,
    /// Who judged.
    pub judge: String,
    /// Tokens of the longest answer.
    pub max_tokens: usize,
    /// Items of each split, where limited.
    pub limit: Option<usize>,
    /// Where it ran.
    pub machine: Machine,
    /// Every task.
    pub tasks: Vec<TaskScore>,
    /// The mean of the nine tasks, once all are there.
    pub composite: Option<f64>,
    /// The mean of those that need no judge.
    pub judge_free: Option<Composite>,
    /// Why the means are no result.
    pub rejected: Option<String>,
    /// Bytes of the language model's weights.
    pub weight_bytes: Option<usize>,
    /// Most memory of the process.
    pub peak_rss_mb: Option<f64>,
    /// What the processor used, where it can be read. It counts everything that ran on the machine meanwhile.
    pub energy_j: Option<f64>,
    /// How long this process ran; a resumed run's earlier part is not in it.
    pub seconds: f64,
}

impl Scores {
    /// Fills the means and the reason against them from the tasks.
    pub fn summarise(&mut self) {
        let of = |name: &str| self.tasks.iter().find(|t| t.task.name == name);
        self.composite = voicebench::composite(|name| of(name)?.score);
        self.judge_free = voicebench::judge_free(|name| {
            let task = of(name)?;
            if name == "sd-qa" { task.metric("panda") } else { task.score }
        });
        let empty: Vec<String> = self
            .tasks
            .iter()
            .filter(|t| t.empty_share() > MOST_EMPTY)
            .map(|t| format!("{} {:.0}%", t.task.name, 100.0 * t.empty_share()))
            .collect();
        self.rejected = (!empty.is_empty()).then(|| {
            format!(
                "too many answers are empty ({}); an assistant that says nothing scores some 28.9",
                empty.join(", ")
            )
        });
    }

    /// Items and failed items over all tasks.
    #[must_use]
    pub fn totals(&self) -> (usize, usize, usize) {
        self.tasks.iter().fold((0, 0, 0), |(i, f, e), t| (i + t.items, f + t.failed, e + t.empty))
    }

    /// Writes the numbers, aside and then renamed.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|e| Error::format(path, e.to_string()))?;
        let aside = path.with_extension("json.part");
        std::fs::write(&aside, text + "\n").map_err(Error::io(&aside))?;
        std::fs::rename(&aside, path).map_err(Error::io(path))
    }

    /// Reads them; `path` may be the run's folder.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] for another layout.
    pub fn read(path: &Path) -> Result<Self> {
        let path = if path.is_dir() { path.join("scores.json") } else { path.to_owned() };
        let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
        let scores: Self = serde_json::from_str(&text).map_err(|e| Error::format(&path, e.to_string()))?;
        if scores.version != VERSION {
            return Err(Error::format(&path, format!("layout {} is unknown; evaluate again", scores.version)));
        }
        Ok(scores)
    }
}

/// Several splits of one task as one: every item counts the same; the mean of the splits' own scores stands beside it.
pub fn merge<T: Clone>(splits: &[BTreeMap<usize, T>]) -> BTreeMap<usize, T> {
    let mut merged = BTreeMap::new();
    let mut from = 0;
    for split in splits {
        merged.extend(split.iter().map(|(&index, value)| (from + index, value.clone())));
        from = merged.last_key_value().map_or(from, |(&last, _)| last + 1);
    }
    merged
}

/// The mean of the splits' own scores, where each has one.
#[must_use]
pub fn macro_mean(splits: &[TaskScore]) -> Option<f64> {
    let scores: Option<Vec<f64>> = splits.iter().map(|s| s.score).collect();
    mean(scores?)
}

/// The most memory that this process has had, in MB.
#[must_use]
pub fn peak_rss_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// Energy that the processor packages have used, in joules, from any zero; where the system tells.
#[must_use]
pub fn energy_j() -> Option<f64> {
    let mut sum = None;
    for entry in std::fs::read_dir("/sys/class/powercap").ok()?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Packages only: their cores are counted in them.
        if name.starts_with("intel-rapl:") && name.matches(':').count() == 1 {
            let text = std::fs::read_to_string(entry.path().join("energy_uj")).ok()?;
            *sum.get_or_insert(0.0) += text.trim().parse::<f64>().ok()? / 1e6;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_merged_without_losing_items() {
        let splits = [BTreeMap::from([(0, 'a'), (5, 'b')]), BTreeMap::from([(0, 'c')]), BTreeMap::from([(2, 'd')])];
        let merged = merge(&splits);
        assert_eq!(merged.values().collect::<String>(), "abcd");
    }

    #[test]
    fn memory_of_this_process_is_known() {
        if cfg!(target_os = "linux") {
            assert!(peak_rss_mb().unwrap() > 1.0);
        }
    }
}
