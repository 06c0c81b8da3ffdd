//! Parquet as Hugging Face writes data sets with audio: `audio` is a struct of `bytes` and `path`, found by name.
//!
//! Rows are decoded one at a time, so that memory holds one page of each column and no more.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};

use crate::item::{Audio, Entry, Item, Problem};
use crate::json::{Json, Object};

/// Largest encoded recording: ten minutes of stereo at 48 kHz take 115 MB.
const MAX_AUDIO: usize = 256 << 20;

/// The rows of one file.
pub(super) struct Rows {
    path: PathBuf,
    rows: RowIter<'static>,
    /// Rows that should still come, by the file's own count.
    left: i64,
}

impl Rows {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let bad = |reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
        let file = File::open(path).map_err(|e| bad(&e))?;
        let opened = guarded(|| SerializedFileReader::new(file)).and_then(|r| r.map_err(|e| e.to_string()));
        let reader = opened.map_err(|e| bad(&format_args!("not a whole parquet file: {e}")))?;
        let left = reader.metadata().file_metadata().num_rows();
        let rows = RowIter::from_file_into(Box::new(reader)).with_batch_size(1);
        Ok(Self { path: path.to_owned(), rows, left })
    }

    fn item(&self, row: Row) -> Entry {
        let problem = |reason: &str| Problem { index: 0, reason: format!("{}: {reason}", self.path.display()) };
        let mut fields = Object::default();
        let mut audio = None;
        for (name, field) in row.into_columns() {
            match field {
                Field::Group(group) if name == "audio" => {
                    audio = Some(self.audio(group).map_err(|reason| problem(&reason))?);
                }
                Field::Null if name == "audio" => return Err(problem("audio is null")),
                other => fields.set(&name, json(other)),
            }
        }
        Ok(Item { index: 0, fields, audio })
    }

    fn audio(&self, group: Row) -> Result<Audio, String> {
        let (mut bytes, mut path) = (None, None);
        for (name, field) in group.into_columns() {
            match (name.as_str(), field) {
                ("bytes", Field::Bytes(value)) => bytes = Some(value.data().to_vec()),
                ("path", Field::Str(value)) => path = Some(value),
                _ => {}
            }
        }
        match (bytes, path) {
            (Some(bytes), _) if bytes.len() > MAX_AUDIO => Err(format!("audio of {} bytes is too large", bytes.len())),
            (Some(bytes), _) => Ok(Audio::Bytes(bytes)),
            (None, Some(path)) => Ok(Audio::File(self.path.parent().unwrap_or(Path::new("")).join(path))),
            (None, None) => Err("audio has neither bytes nor path".to_owned()),
        }
    }
}

/// How many rows a parquet file says it has; `None` for other and for damaged files.
pub(super) fn rows(path: &Path) -> Option<usize> {
    if path.extension().is_none_or(|e| e != "parquet") {
        return None;
    }
    usize::try_from(Rows::open(path).ok()?.left).ok()
}

impl Iterator for Rows {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if self.left <= 0 {
            return None;
        }
        self.left -= 1;
        let row = guarded(|| self.rows.next());
        let reason = match row {
            Ok(Some(Ok(row))) => return Some(self.item(row)),
            Ok(Some(Err(e))) => e.to_string(),
            Ok(None) => "fewer rows than the file says".to_owned(),
            Err(panic) => panic,
        };
        // Columns would be out of step after this.
        let left = std::mem::take(&mut self.left);
        let reason = format!("{}: damaged: {reason}; {left} more rows are left out", self.path.display());
        Some(Err(Problem { index: 0, reason }))
    }
}

/// The crate panics on some damaged files; here that is one more kind of damage.
fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unreadable".to_owned())
    })
}

fn json(field: Field) -> Json {
    match field {
        Field::Null => Json::Null,
        Field::Bool(value) => Json::Bool(value),
        Field::Byte(value) => Json::Int(value.into()),
        Field::Short(value) => Json::Int(value.into()),
        Field::Int(value) | Field::Date(value) | Field::TimeMillis(value) => Json::Int(value.into()),
        Field::Long(value)
        | Field::TimeMicros(value)
        | Field::TimestampMillis(value)
        | Field::TimestampMicros(value) => Json::Int(value.into()),
        Field::UByte(value) => Json::Int(value.into()),
        Field::UShort(value) => Json::Int(value.into()),
        Field::UInt(value) => Json::Int(value.into()),
        Field::ULong(value) => Json::Int(value.into()),
        Field::Float16(value) => Json::Float(value.to_f64()),
        Field::Float(value) => Json::Float(value.into()),
        Field::Double(value) => Json::Float(value),
        Field::Str(value) => Json::Str(value),
        Field::Bytes(value) => Json::Str(String::from_utf8_lossy(value.data()).into_owned()),
        Field::Group(row) => {
            Json::Object(row.into_columns().into_iter().map(|(name, field)| (name, json(field))).collect())
        }
        Field::ListInternal(list) => Json::Array(list.elements().iter().cloned().map(json).collect()),
        // Decimals and maps occur in none of the sets; their text is better than nothing.
        other => Json::Str(other.to_string()),
    }
}
