//! JSON Lines with audio files beside them, JSON arrays, and tables with tabs.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::item::{Audio, Entry, Item, Problem};
use crate::json::{Json, Object};

/// Longest line that is read; a question with all its fields takes a few thousand bytes.
const MAX_LINE: u64 = 16 << 20;

/// A file of lines, each read whole but never more than [`MAX_LINE`] of it.
struct Text {
    path: PathBuf,
    input: BufReader<File>,
    line: usize,
    failed: bool,
}

impl Text {
    fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self { path: path.to_owned(), input: BufReader::new(file), line: 0, failed: false })
    }

    fn problem(&self, reason: impl std::fmt::Display) -> Problem {
        Problem { index: 0, reason: format!("{} line {}: {reason}", self.path.display(), self.line) }
    }

    /// The next line that is not blank.
    fn next_line(&mut self) -> Option<Result<String, Problem>> {
        while !self.failed {
            let mut bytes = Vec::new();
            self.line += 1;
            match (&mut self.input).take(MAX_LINE).read_until(b'\n', &mut bytes) {
                Ok(0) => return None,
                Ok(read) if read as u64 == MAX_LINE && bytes.last() != Some(&b'\n') => {
                    // Where it ends is unknown, and so is what follows.
                    self.failed = true;
                    return Some(Err(self.problem(format_args!("longer than {MAX_LINE} bytes; the rest is left out"))));
                }
                Ok(_) => {}
                Err(e) => {
                    self.failed = true;
                    return Some(Err(self.problem(e)));
                }
            }
            if self.line == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
                bytes.drain(..3);
            }
            match String::from_utf8(bytes) {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => return Some(Ok(text.trim_end_matches(['\n', '\r']).to_owned())),
                Err(_) => return Some(Err(self.problem("not UTF-8"))),
            }
        }
        None
    }
}

/// One JSON object a line; or one JSON array in all.
pub(super) struct Lines {
    text: Text,
    array: std::vec::IntoIter<Json>,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let mut this = Self { text: Text::open(path)?, array: Vec::new().into_iter() };
        let head = this.text.input.fill_buf().map_err(|e| format!("{}: {e}", path.display()))?;
        if head.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[') {
            let mut whole = String::new();
            let read = (&mut this.text.input).take(MAX_LINE * 16).read_to_string(&mut whole);
            read.map_err(|e| format!("{}: {e}", path.display()))?;
            match Json::parse(&whole) {
                Ok(Json::Array(values)) => this.array = values.into_iter(),
                Ok(_) => return Err(format!("{}: an array of objects was expected", path.display())),
                Err(e) => return Err(format!("{}: {e}", path.display())),
            }
        }
        Ok(this)
    }

    fn item(&self, value: Json) -> Entry {
        let Json::Object(mut fields) = value else {
            return Err(self.text.problem("a JSON object was expected"));
        };
        let audio = match fields.remove("audio") {
            Some(audio) => Some(self.audio(&audio)?),
            None => None,
        };
        Ok(Item { index: 0, fields, audio })
    }

    /// `"audio": "file.wav"`, or Hugging Face's `{"path": "file.wav"}`; relative to the file that says so.
    fn audio(&self, value: &Json) -> Result<Audio, Problem> {
        let path = value.as_str().or_else(|| value.as_object()?.text("path"));
        let path = path.ok_or_else(|| self.text.problem("audio is neither a file name nor {\"path\": ...}"))?;
        Ok(Audio::File(self.text.path.parent().unwrap_or(Path::new("")).join(path)))
    }
}

impl Iterator for Lines {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if let Some(value) = self.array.next() {
            self.text.line += 1;
            return Some(self.item(value));
        }
        let line = match self.text.next_line()? {
            Ok(line) => line,
            Err(problem) => return Some(Err(problem)),
        };
        match Json::parse(&line) {
            Ok(value) => Some(self.item(value)),
            Err(e) => Some(Err(self.text.problem(format_args!("wrong JSON: {e}")))),
        }
    }
}

/// A table with tabs. The first line names the columns; a table of two columns without names is `question`, `answer`.
pub(super) struct Table {
    text: Text,
    columns: Vec<String>,
    first: Option<String>,
}

impl Table {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let mut text = Text::open(path)?;
        let head = match text.next_line() {
            Some(Ok(line)) => line,
            Some(Err(problem)) => return Err(problem.reason),
            None => return Err(format!("{}: the table is empty", path.display())),
        };
        let names: Vec<String> = head.split('\t').map(|name| name.trim().to_owned()).collect();
        let is_name = |name: &String| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if names.len() == 2 && !(names.iter().all(is_name) && names.iter().any(|n| n.parse::<f64>().is_err())) {
            let columns = vec!["question".to_owned(), "answer".to_owned()];
            return Ok(Self { text, columns, first: Some(head) });
        }
        Ok(Self { text, columns: names, first: None })
    }
}

impl Iterator for Table {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let line = match self.first.take() {
            Some(line) => line,
            None => match self.text.next_line()? {
                Ok(line) => line,
                Err(problem) => return Some(Err(problem)),
            },
        };
        let values: Vec<&str> = line.split('\t').collect();
        if values.len() != self.columns.len() {
            let reason = format!("{} columns were expected, not {}", self.columns.len(), values.len());
            return Some(Err(self.text.problem(reason)));
        }
        let fields: Object = self.columns.iter().cloned().zip(values.iter().map(|v| v.trim())).collect();
        Some(Ok(Item { index: 0, fields, audio: None }))
    }
}
