//! SHA-256 of files and of bytes on their way to a file.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::str::FromStr;

use sha2::Digest;

use crate::{Error, Result};

/// Bytes read between two reports of progress.
const CHUNK: usize = 1 << 20;

/// A SHA-256 digest, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256([u8; 32]);

impl Sha256 {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Size and digest of the file at `path`; `progress` is told the number of bytes of each step.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of_file(path: &Path, progress: &mut dyn FnMut(u64)) -> Result<(u64, Self)> {
        let failed = |e| Error::io("read", path, e);
        let mut file = File::open(path).map_err(failed)?;
        let mut hasher = sha2::Sha256::new();
        let mut buffer = vec![0; CHUNK];
        let mut size = 0;
        loop {
            let n = match file.read(&mut buffer) {
                Ok(0) => return Ok((size, Self(hasher.finalize().into()))),
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(failed(e)),
            };
            hasher.update(&buffer[..n]);
            size += n as u64;
            progress(n as u64);
        }
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256 {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let refused = || format!("`{text}` is not 64 lower-case hexadecimal digits");
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(refused());
        }
        let nibble = |digit: u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(refused()),
        };
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Sha256 {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        text.parse()
    }
}

impl From<Sha256> for String {
    fn from(digest: Sha256) -> Self {
        digest.to_string()
    }
}

/// Passes bytes on to `inner` while counting and hashing them.
pub struct HashingWriter<W> {
    inner: W,
    hasher: sha2::Sha256,
    size: u64,
}

impl<W: Write> HashingWriter<W> {
    /// Starts with nothing hashed.
    pub fn new(inner: W) -> Self {
        Self { inner, hasher: sha2::Sha256::new(), size: 0 }
    }

    /// What was written: the inner writer, the number of bytes and their digest.
    pub fn finish(self) -> (W, u64, Sha256) {
        (self.inner, self.size, Sha256(self.hasher.finalize().into()))
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        self.size += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn published_digests() {
        for (bytes, digest) in [(&b""[..], EMPTY), (b"abc", ABC)] {
            assert_eq!(Sha256::of(bytes).to_string(), digest);
            let mut writer = HashingWriter::new(Vec::new());
            writer.write_all(bytes).unwrap();
            let (written, size, hashed) = writer.finish();
            assert_eq!((written.as_slice(), size, hashed), (bytes, bytes.len() as u64, digest.parse().unwrap()));
        }
    }

    #[test]
    fn only_64_lower_case_digits_parse() {
        for text in ["", "abc", &ABC[1..], &ABC.to_uppercase(), &ABC.replace('b', "g"), &format!("{ABC}0")] {
            assert!(text.parse::<Sha256>().is_err(), "{text}");
        }
    }
}
