//! A checked cursor over the header.

use crate::error::{Error, Result};
use crate::mapped::Bytes;
use std::path::{Path, PathBuf};

pub(super) struct Reader {
    path: PathBuf,
    bytes: Bytes,
    at: usize,
}

impl Reader {
    pub(super) fn new(path: &Path, bytes: Bytes) -> Self {
        Self { path: path.to_owned(), bytes, at: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The next `len` bytes; `what` is being read, for the message.
    pub(super) fn bytes(&mut self, len: u64, what: &str) -> Result<Bytes> {
        let left = self.bytes.len() - self.at;
        let slice = usize::try_from(len)
            .ok()
            .filter(|&len| len <= left)
            .and_then(|len| self.bytes.slice(self.at..self.at + len));
        let Some(slice) = slice else {
            let reason = format!("needs {len} bytes at offset {}, the file has {left} left", self.at);
            return Err(self.malformed(what, reason));
        };
        self.at += slice.len();
        Ok(slice)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let bytes = self.bytes(N as u64, what)?;
        let mut array = [0; N];
        array.copy_from_slice(&bytes);
        Ok(array)
    }

    pub(super) fn u8(&mut self, what: &str) -> Result<u8> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(super) fn u16(&mut self, what: &str) -> Result<u16> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A length-prefixed string as raw bytes.
    pub(super) fn string_bytes(&mut self, what: &str) -> Result<Bytes> {
        let len = self.u64(what)?;
        self.bytes(len, what)
    }

    pub(super) fn string(&mut self, what: &str) -> Result<String> {
        let bytes = self.string_bytes(what)?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(self.malformed(what, "is not UTF-8")),
        }
    }

    pub(super) fn malformed(&self, what: &str, reason: impl Into<String>) -> Error {
        Error::malformed(&self.path, what, reason)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
