//! One question of a data set, and what can be wrong with it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::json::Object;

/// One row of a data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its place in the set, from 0, over all files.
    pub index: usize,
    /// Every column except `audio`, in the order of the file.
    pub fields: Object,
    /// The spoken question.
    pub audio: Option<Audio>,
}

impl Item {
    /// The name by which the set itself knows it, where it has one.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let value = ["id", "key", "task_id", "question_id"].iter().find_map(|key| self.fields.get(key))?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }
}

/// Audio as a set holds it: a whole file of any container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audio {
    /// Inside the set.
    Bytes(Vec<u8>),
    /// Beside it.
    File(PathBuf),
}

/// Something wrong with one item, or with one file of a set (then `index` is where its items would begin).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The item's place in the set.
    pub index: usize,
    /// What is wrong.
    pub reason: String,
}

/// What a reader yields.
pub type Entry = Result<Item, Problem>;
