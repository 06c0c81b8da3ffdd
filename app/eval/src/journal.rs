//! An append-only file of what was done, safe against being killed at any moment.
//!
//! One JSON object a line, on disk before the next item begins. A torn last line, which a kill can leave, is cut off
//! when the file is opened again; so an item is done exactly when its line is whole.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::json::{Json, Object};
use crate::{Error, Result};

/// An open journal. Lines have an `index`; of two lines with the same, the first counts.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    entries: BTreeMap<usize, Object>,
}

impl Journal {
    /// Opens or begins a journal and repairs its end.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] for damage before the end, which no kill can have left.
    pub fn open(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(Error::io(path))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::io(path))?;
        let (entries, whole) = parse(&bytes, path)?;
        if whole < bytes.len() {
            file.set_len(whole as u64).and_then(|()| file.sync_all()).map_err(Error::io(path))?;
        }
        file.seek(SeekFrom::End(0)).map_err(Error::io(path))?;
        Ok(Self { path: path.to_owned(), file, entries })
    }

    /// Reads a journal and leaves it as it is.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn read(path: &Path) -> Result<BTreeMap<usize, Object>> {
        let bytes = fs::read(path).map_err(Error::io(path))?;
        Ok(parse(&bytes, path)?.0)
    }

    /// What is done, by index.
    #[must_use]
    pub fn entries(&self) -> &BTreeMap<usize, Object> {
        &self.entries
    }

    /// Whether an item is done.
    #[must_use]
    pub fn has(&self, index: usize) -> bool {
        self.entries.contains_key(&index)
    }

    /// Adds an item and waits until the disk has it.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn append(&mut self, index: usize, mut entry: Object) -> Result<()> {
        let mut line = Object::default();
        line.set("index", index);
        entry.remove("index");
        for (key, value) in entry.iter() {
            line.set(key, value.clone());
        }
        let text = format!("{line}\n");
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(Error::io(&self.path))?;
        self.entries.entry(index).or_insert(line);
        Ok(())
    }
}

/// The entries, and how many bytes of whole lines there are.
fn parse(bytes: &[u8], path: &Path) -> Result<(BTreeMap<usize, Object>, usize)> {
    let mut entries = BTreeMap::new();
    let mut whole = 0;
    while let Some(length) = bytes[whole..].iter().position(|&b| b == b'\n') {
        let line = &bytes[whole..whole + length];
        let last = whole + length + 1 == bytes.len();
        let object = std::str::from_utf8(line).ok().and_then(|text| Json::parse(text).ok());
        let entry = match object {
            Some(Json::Object(object)) => {
                object.get("index").and_then(Json::as_i64).and_then(|i| usize::try_from(i).ok()).map(|i| (i, object))
            }
            _ => None,
        };
        match entry {
            Some((index, object)) => {
                entries.entry(index).or_insert(object);
            }
            // Blocks may reach the disk out of order: a torn line can have its line break.
            None if last => break,
            None => {
                let number = bytes[..whole].iter().filter(|&&b| b == b'\n').count() + 1;
                let reason = format!("line {number} is damaged; move the file away to begin anew");
                return Err(Error::format(path, reason));
            }
        }
        whole += length + 1;
    }
    Ok((entries, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Object {
        [("response", text)].into_iter().collect()
    }

    #[test]
    fn every_torn_end_is_repaired() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/journal.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        for (index, text) in [(0, "none"), (2, "zwei\n\"q\""), (1, "你好")] {
            journal.append(index, entry(text)).unwrap();
        }
        drop(journal);
        let whole = fs::read(&path).unwrap();
        let starts: Vec<usize> = (0..=whole.len()).filter(|&i| i == 0 || whole[i - 1] == b'\n').collect();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let mut journal = Journal::open(&path).unwrap();
            let kept = starts.iter().filter(|&&s| s > 0 && s <= cut).count();
            assert_eq!(journal.entries().len(), kept, "cut at {cut}");
            journal.append(7, entry("new")).unwrap();
            drop(journal);
            let entries = Journal::read(&path).unwrap();
            assert_eq!(entries.len(), kept + 1, "cut at {cut}");
            assert_eq!(entries[&7].text("response"), Some("new"));
        }
    }

    #[test]
    fn the_first_line_of_an_item_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        journal.append(0, entry("first")).unwrap();
        journal.append(0, entry("second")).unwrap();
        assert_eq!(journal.entries()[&0].text("response"), Some("first"));
        assert_eq!(Journal::read(&path).unwrap()[&0].text("response"), Some("first"));
    }

    #[test]
    fn damage_in_the_middle_is_an_error_and_garbage_at_the_end_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        fs::write(&path, "{\"index\": 0}\n\0\0\0\n{\"index\": 1}\n").unwrap();
        let message = Journal::open(&path).unwrap_err().to_string();
        assert!(message.contains("line 2"), "{message}");
        fs::write(&path, "{\"index\": 0}\n\0\0\0\n").unwrap();
        assert_eq!(Journal::open(&path).unwrap().entries().len(), 1);
        assert_eq!(fs::read(&path).unwrap(), b"{\"index\": 0}\n");
    }
}
