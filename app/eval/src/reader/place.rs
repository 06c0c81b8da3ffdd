//! Where the files of a subset and split lie.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The files of one split, in order: Hugging Face's `SUBSET/SPLIT-00000-of-00003.parquet`, or `SUBSET/SPLIT.jsonl`,
/// `SUBSET-SPLIT.jsonl`, `SUBSET.jsonl`; also below `data/`. `data` may be the file itself.
///
/// # Errors
/// [`Error::Format`] naming what was looked for.
pub fn files(data: &Path, subset: &str, split: &str) -> Result<Vec<PathBuf>> {
    if data.is_file() {
        return Ok(vec![data.to_owned()]);
    }
    for root in [data.to_owned(), data.join("data")] {
        let shards = shards(&root.join(subset), split);
        if !shards.is_empty() {
            return Ok(shards);
        }
        let names = [format!("{subset}/{split}"), format!("{subset}-{split}"), subset.to_owned()];
        for name in names {
            for extension in ["jsonl", "json", "tsv", "parquet"] {
                let path = root.join(format!("{name}.{extension}"));
                if path.is_file() {
                    return Ok(vec![path]);
                }
            }
        }
    }
    let reason = format!("neither {subset}/{split}-*.parquet nor {subset}/{split}.jsonl nor {subset}.jsonl is there");
    Err(Error::format(data, reason))
}

fn shards(folder: &Path, split: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            let numbered =
                name.strip_suffix(".parquet").and_then(|n| n.strip_prefix(split)).and_then(|n| n.strip_prefix('-'));
            numbered.is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()))
        })
        .collect();
    found.sort();
    found
}

/// The splits of a subset that are there, in alphabetical order.
#[must_use]
pub fn splits(data: &Path, subset: &str) -> Vec<String> {
    let mut found = Vec::new();
    for root in [data.join(subset), data.join("data").join(subset)] {
        for entry in fs::read_dir(root).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let stem = match name.rsplit_once('.') {
                Some((stem, "parquet")) => stem.split_once("-0").map_or(stem, |(split, _)| split),
                Some((stem, "jsonl" | "json" | "tsv")) => stem,
                _ => continue,
            };
            found.push(stem.to_owned());
        }
    }
    found.sort();
    found.dedup();
    found
}
