//! Read-only bytes of a mapped file, shared by every tensor that views them.
#![expect(unsafe_code, reason = "mapping a file is unsafe: another process may change it")]

use crate::error::{Error, Result};
use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

/// A range of a mapped file, or bytes of our own. Cloning copies no data.
#[derive(Clone)]
pub struct Bytes {
    owner: Owner,
    range: Range<usize>,
}

#[derive(Clone)]
enum Owner {
    Map(Arc<memmap2::Mmap>),
    Vec(Arc<Vec<u8>>),
}

impl Bytes {
    /// Maps the whole file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be opened or mapped, [`Error::NotAModel`] when it is empty or no regular file.
    pub fn map(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let metadata = file.metadata().map_err(|e| Error::io(path, e))?;
        let not_a_model = |reason: &str| Error::NotAModel { path: path.to_owned(), reason: reason.to_owned() };
        if !metadata.is_file() {
            return Err(not_a_model("it is no regular file"));
        }
        if metadata.len() == 0 {
            return Err(not_a_model("the file is empty"));
        }
        // SAFETY: the map is only read. Model files are written aside and renamed into place, so nobody truncates or rewrites
        // one that is open; every value read is checked or harmless as data (no reference into the map has a validity
        // invariant beyond `u8`).
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| Error::io(path, e))?;
        Ok(Self { range: 0..map.len(), owner: Owner::Map(Arc::new(map)) })
    }

    /// The bytes of `range`, or `None` when it is not within these bytes.
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        if range.start > range.end || range.end > self.range.len() {
            return None;
        }
        let start = self.range.start;
        Some(Self { owner: self.owner.clone(), range: start + range.start..start + range.end })
    }

    /// Gives the memory behind `range` back to the system if it is mapped from a file; it is read again when it is touched.
    pub fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        if let Owner::Map(map) = &self.owner
            && range.start < range.end
            && range.end <= self.range.len()
        {
            // SAFETY: for a map of a file that is only read, this drops clean pages; the next access reads the same bytes
            // from the file. The range lies in the map. A refusal costs memory only.
            let _ = unsafe {
                let (start, len) = (self.range.start + range.start, range.len());
                map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, len)
            };
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self { range: 0..bytes.len(), owner: Owner::Vec(Arc::new(bytes)) }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.owner {
            Owner::Map(map) => &map[self.range.clone()],
            Owner::Vec(vec) => &vec[self.range.clone()],
        }
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes({} B)", self.range.len())
    }
}
