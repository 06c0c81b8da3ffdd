//! Reading WAV files as mono samples, at their own rate or at 16 kHz.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::{EAR_RATE, Error, Resampler, Result};
use super::Format;

/// Largest format chunk worth reading; real ones have 16 to 40 bytes.
const MAX_FORMAT_CHUNK: u64 = 4096;

/// Frames decoded at a time.
const BLOCK_FRAMES: usize = 4096;

/// A WAV file being read from front to back; memory use does not depend on its size.
pub struct Reader {
    path: PathBuf,
    input: Box<dyn Read + Send>,
    format: Format,
    /// Bytes of samples that should follow; `None` when the header does not know.
    left: Option<u64>,
    truncated: bool,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).field("format", &self.format).finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// A file that cannot be read, is no WAV, or is one in an unsupported coding.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|source| read_error(path, source))?;
        Self::new(path, Box::new(BufReader::with_capacity(1 << 16, file)))
    }

    /// Reads the header of a WAV stream; `path` is only for messages.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn new(path: &Path, mut input: Box<dyn Read + Send>) -> Result<Self> {
        let bad = |why: &str| Error::BadWav { path: path.into(), why: why.into() };
        let mut riff = [0; 12];
        let got = fill(&mut input, &mut riff).map_err(|source| read_error(path, source))?;
        let [a, b, c, d, riff_len @ .., e, f, g, h] = riff;
        if got < 12 || !matches!(&[a, b, c, d], b"RIFF" | b"RF64" | b"BW64") || &[e, f, g, h] != b"WAVE" {
            return Err(Error::NotWav { path: path.into(), found: describe(&riff[..got]) });
        }
        let unfinished = matches!(u32::from_le_bytes(riff_len), 0 | u32::MAX);
        let (mut format, mut long_len) = (None, None);
        loop {
            let mut head = [0; 8];
            if fill(&mut input, &mut head).map_err(|source| read_error(path, source))? < 8 {
                return Err(bad("it ends before its audio begins"));
            }
            let [i, j, k, l, len @ ..] = head;
            let len = u64::from(u32::from_le_bytes(len));
            match &[i, j, k, l] {
                b"data" => {
                    let Some(format) = format else {
                        return Err(bad("it has no format chunk before its audio"));
                    };
                    let left = match len {
                        0xffff_ffff => long_len,
                        0 if unfinished => None,
                        len => Some(len),
                    };
                    return Ok(Self { path: path.into(), input, format, left, truncated: false, bytes: Vec::new() });
                }
                b"fmt " => {
                    let chunk = chunk(&mut input, len.min(MAX_FORMAT_CHUNK)).map_err(|e| read_error(path, e))?;
                    skip(&mut input, len.saturating_sub(MAX_FORMAT_CHUNK) + len % 2)
                        .map_err(|e| read_error(path, e))?;
                    format = Some(Format::parse(&chunk).map_err(|why| bad(&why))?);
                }
                b"ds64" => {
                    let chunk = chunk(&mut input, len.min(MAX_FORMAT_CHUNK)).map_err(|e| read_error(path, e))?;
                    skip(&mut input, len.saturating_sub(MAX_FORMAT_CHUNK) + len % 2)
                        .map_err(|e| read_error(path, e))?;
                    // RIFF size, then data size, eight bytes each.
                    long_len = chunk.get(8..16).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
                }
                _ => skip(&mut input, len + len % 2).map_err(|e| read_error(path, e))?,
            }
        }
    }

    /// The shape of the file's samples.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Frames that should still follow, if the header says so.
    pub fn frames_left(&self) -> Option<u64> {
        self.left.map(|bytes| bytes / self.format.frame_bytes() as u64)
    }

    /// Whether the file turned out shorter than its header said.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Appends the next samples, mixed down to mono; returns how many, 0 at the end.
    ///
    /// # Errors
    /// The file cannot be read on.
    pub fn read(&mut self, out: &mut Vec<f32>) -> Result<usize> {
        let frame = self.format.frame_bytes();
        let block = (BLOCK_FRAMES * frame) as u64;
        let wanted = self.left.map_or(block, |left| left.min(block));
        self.bytes.resize(wanted as usize, 0);
        let got = fill(&mut self.input, &mut self.bytes).map_err(|source| read_error(&self.path, source))?;
        if got < self.bytes.len() {
            self.truncated = self.left.is_some();
            self.left = Some(0);
        } else if let Some(left) = self.left.as_mut() {
            *left -= wanted;
        }
        let before = out.len();
        self.format.mix_down(&self.bytes[..got], out);
        Ok(out.len() - before)
    }
}

/// A WAV file as the ears hear it: mono at 16 kHz, read by blocks.
#[derive(Debug)]
pub struct Recording {
    reader: Reader,
    resampler: Option<Resampler>,
    raw: Vec<f32>,
    ready: Vec<f32>,
    /// Samples of `ready` that were already given out.
    given: usize,
}

impl Recording {
    /// Opens a file.
    ///
    /// # Errors
    /// As [`Reader::open`], and a file without a single sample.
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(Reader::open(path)?)
    }

    /// Reads on at 16 kHz from the start of `reader`.
    ///
    /// # Errors
    /// A file without a single sample, or that cannot be read on.
    pub fn new(reader: Reader) -> Result<Self> {
        let resampler = Some(Resampler::new(reader.format.sample_rate, EAR_RATE)?);
        let mut this = Self { reader, resampler, raw: Vec::new(), ready: Vec::new(), given: 0 };
        this.refill()?;
        if this.ready.is_empty() {
            return Err(Error::BadWav { path: this.reader.path, why: "it holds no audio".into() });
        }
        Ok(this)
    }

    /// The file's own shape.
    pub fn format(&self) -> Format {
        self.reader.format
    }

    /// Whether the file turned out shorter than its header said; known at its end.
    pub fn truncated(&self) -> bool {
        self.reader.truncated
    }

    /// Fills `out` with the next samples; returns how many, less than asked for only at the end.
    ///
    /// # Errors
    /// The file cannot be read on.
    pub fn read(&mut self, out: &mut [f32]) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            if self.given == self.ready.len() {
                self.ready.clear();
                self.given = 0;
                self.refill()?;
                if self.ready.is_empty() {
                    break;
                }
            }
            let take = (self.ready.len() - self.given).min(out.len() - filled);
            out[filled..filled + take].copy_from_slice(&self.ready[self.given..self.given + take]);
            self.given += take;
            filled += take;
        }
        Ok(filled)
    }

    /// Reads until there is something in `ready` or the file is over.
    fn refill(&mut self) -> Result<()> {
        while self.ready.is_empty() {
            let Some(resampler) = self.resampler.as_mut() else {
                return Ok(());
            };
            self.raw.clear();
            if self.reader.read(&mut self.raw)? > 0 {
                resampler.push(&self.raw, &mut self.ready)?;
            } else if let Some(resampler) = self.resampler.take() {
                resampler.finish(&mut self.ready)?;
            }
        }
        Ok(())
    }
}

/// Reads a whole file as mono at 16 kHz.
///
/// # Errors
/// As [`Recording::open`], and a file longer than `limit`, which would not fit in memory.
pub fn read(path: &Path, limit: Duration) -> Result<Vec<f32>> {
    let mut recording = Recording::open(path)?;
    let limit_samples = (limit.as_secs_f64() * f64::from(EAR_RATE)) as usize;
    let mut samples = Vec::new();
    let mut block = [0.0; BLOCK_FRAMES];
    loop {
        let got = recording.read(&mut block)?;
        samples.extend_from_slice(&block[..got]);
        if samples.len() > limit_samples {
            let why = format!("it is longer than {} s", limit.as_secs());
            return Err(Error::BadWav { path: path.into(), why });
        }
        if got < block.len() {
            return Ok(samples);
        }
    }
}

fn read_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io { action: "read", path: path.into(), source }
}

/// Reads until `buffer` is full or the input ends; returns how much there was.
fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The next `len` bytes, or fewer at the end of the input.
fn chunk(input: &mut dyn Read, len: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn skip(input: &mut dyn Read, len: u64) -> std::io::Result<()> {
    std::io::copy(&mut input.take(len), &mut std::io::sink()).map(|_| ())
}

/// What a file that is no WAV looks like, for the message.
fn describe(head: &[u8]) -> String {
    let kind = match head {
        [] => return "it is empty".into(),
        [b'I', b'D', b'3', ..] | [0xff, 0xe2..=0xff, ..] => "MP3",
        [b'O', b'g', b'g', b'S', ..] => "Ogg",
        [b'f', b'L', b'a', b'C', ..] => "FLAC",
        [b'F', b'O', b'R', b'M', ..] => "AIFF",
        [b'c', b'a', b'f', b'f', ..] => "CAF",
        [b'R', b'I', b'F', b'X', ..] => "big-endian WAV",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => "MP4",
        [0x1a, 0x45, 0xdf, 0xa3, ..] => "Matroska or WebM",
        _ => return format!("it starts with \"{}\"", head.escape_ascii()),
    };
    format!("it looks like {kind}")
}

#[cfg(test)]
mod tests;
