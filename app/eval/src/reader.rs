//! Data sets on disk: Hugging Face's parquet layout, JSON Lines, JSON arrays and tables with tabs, one item at a time.

mod jsonl;
mod parquet;
mod place;

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::item::{Entry, Problem};

pub use place::{files, splits};

/// Items of one or more files, in order. A damaged item or file is yielded as a [`Problem`], and the rest follows.
pub struct Reader {
    files: std::vec::IntoIter<PathBuf>,
    current: Option<Box<dyn Iterator<Item = Entry> + Send>>,
    next_index: usize,
    /// Items seen by name, with a hash of what they hold.
    seen: HashMap<String, u64>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("files", &self.files)
            .field("next_index", &self.next_index)
            .finish_non_exhaustive()
    }
}

impl Reader {
    /// Reads `files` one after the other.
    #[must_use]
    pub fn new(files: Vec<PathBuf>) -> Self {
        Self { files: files.into_iter(), current: None, next_index: 0, seen: HashMap::new() }
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Iterator<Item = Entry> + Send>, Problem> {
        let problem = |reason: String| Problem { index: self.next_index, reason };
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase();
        match extension.as_str() {
            "parquet" => Ok(Box::new(parquet::Rows::open(path).map_err(problem)?)),
            "tsv" => Ok(Box::new(jsonl::Table::open(path).map_err(problem)?)),
            _ => Ok(Box::new(jsonl::Lines::open(path).map_err(problem)?)),
        }
    }

    /// Gives an entry its place, and reports an item that was there before.
    fn settle(&mut self, entry: Entry) -> Entry {
        let index = self.next_index;
        self.next_index += 1;
        let mut item = match entry {
            Ok(item) => item,
            Err(problem) => return Err(Problem { index, ..problem }),
        };
        item.index = index;
        if let Some(name) = item.name() {
            let mut hasher = DefaultHasher::new();
            item.fields.to_string().hash(&mut hasher);
            let content = hasher.finish();
            // The same name over another question happens in sets that count per domain; both are kept.
            if self.seen.insert(name.clone(), content) == Some(content) {
                return Err(Problem { index, reason: format!("item {name} is there twice; the second is left out") });
            }
        }
        Ok(item)
    }
}

impl Iterator for Reader {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if let Some(entry) = self.current.as_mut().and_then(Iterator::next) {
                return Some(self.settle(entry));
            }
            let path = self.files.next()?;
            match self.open(&path) {
                Ok(rows) => self.current = Some(rows),
                Err(problem) => {
                    self.current = None;
                    self.next_index += 1;
                    return Some(Err(problem));
                }
            }
        }
    }
}

/// How many items files hold, damaged ones included.
#[must_use]
pub fn count(files: &[PathBuf]) -> usize {
    let of = |path: &PathBuf| match parquet::rows(path) {
        Some(rows) => rows,
        None => Reader::new(vec![path.clone()]).count(),
    };
    files.iter().map(of).sum()
}

#[cfg(test)]
mod tests;
