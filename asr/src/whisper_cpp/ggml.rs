//! A look through a ggml file before whisper.cpp gets it, which aborts the process on some damage.
//!
//! Every length is checked against the file, without reading the weights; whisper.cpp itself refuses unknown names,
//! wrong shapes and missing tensors.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use crate::{Error, Result};

const MAGIC: u32 = 0x6767_6d6c;
/// The smallest vocabulary of a Whisper: whisper.cpp addresses its special tokens by number.
const MIN_VOCAB: usize = 51_864;

/// Fails unless `path` is a whole ggml Whisper file.
pub(super) fn check(path: &Path) -> Result<()> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    let mut reader = Reader { file: BufReader::new(file), left: size };
    reader.model(size).map_err(|what| match what {
        Fault::Io(source) => io(source),
        Fault::Content(what) => Error::Model { path: path.to_owned(), what },
    })
}

enum Fault {
    Io(std::io::Error),
    Content(String),
}

fn fault<T>(what: impl Into<String>) -> std::result::Result<T, Fault> {
    Err(Fault::Content(what.into()))
}

struct Reader {
    file: BufReader<File>,
    left: u64,
}

type Checked<T> = std::result::Result<T, Fault>;

impl Reader {
    fn take(&mut self, len: u64) -> Checked<()> {
        match self.left.checked_sub(len) {
            Some(left) => self.left = left,
            None => return fault(format!("the file ends {} bytes early", len - self.left)),
        }
        Ok(())
    }

    fn u32(&mut self) -> Checked<u32> {
        self.take(4)?;
        let mut bytes = [0; 4];
        self.file.read_exact(&mut bytes).map_err(Fault::Io)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// A number that must lie in a range.
    fn size(&mut self, what: &str, range: std::ops::RangeInclusive<usize>) -> Checked<usize> {
        let value = self.u32()? as usize;
        if range.contains(&value) { Ok(value) } else { fault(format!("{what} is {value}, expected {range:?}")) }
    }

    fn bytes(&mut self, len: usize) -> Checked<Vec<u8>> {
        self.take(len as u64)?;
        let mut bytes = vec![0; len];
        self.file.read_exact(&mut bytes).map_err(Fault::Io)?;
        Ok(bytes)
    }

    fn skip(&mut self, len: u64) -> Checked<()> {
        self.take(len)?;
        let offset = i64::try_from(len).map_err(|_| Fault::Content("a length is too large".into()))?;
        self.file.seek_relative(offset).map_err(Fault::Io)
    }

    fn model(&mut self, size: u64) -> Checked<()> {
        if self.u32()? != MAGIC {
            return fault("not a ggml file");
        }
        let n_vocab = self.size("the vocabulary", MIN_VOCAB..=1 << 17)?;
        self.size("the audio context", 1..=4096)?;
        let n_state = self.size("the encoder's width", 64..=4096)?;
        self.size("the number of heads", 1..=64)?;
        self.size("the number of encoder layers", 1..=64)?;
        self.size("the text context", 1..=4096)?;
        self.size("the decoder's width", n_state..=n_state)?;
        self.size("the number of heads", 1..=64)?;
        self.size("the number of decoder layers", 1..=64)?;
        let n_mels = self.size("the number of mels", 1..=256)?;
        self.size("the file type", 0..=2_020)?;
        // whisper.cpp allocates by these numbers before it reads: they must be those of this file.
        if (n_vocab * n_state / 2) as u64 > size {
            return fault(format!("{n_vocab} tokens of {n_state} do not fit into {size} bytes"));
        }

        let n_filters = self.size("the number of mel filters", n_mels..=n_mels)?;
        let n_bins = self.size("the number of bins", 1..=4096)?;
        self.skip((n_filters * n_bins * 4) as u64)?;

        let n_tokens = self.size("the number of text tokens", 1..=n_vocab)?;
        let mut has_space = false;
        for _ in 0..n_tokens {
            let len = self.size("a token's length", 0..=1024)?;
            has_space |= self.bytes(len)? == b" ";
        }
        if !has_space {
            return fault("no token for a space");
        }
        while self.left > 0 {
            self.tensor()?;
        }
        Ok(())
    }

    fn tensor(&mut self) -> Checked<()> {
        let rank = self.size("a tensor's rank", 1..=4)?;
        let name_len = self.size("a tensor name's length", 1..=256)?;
        let kind = self.u32()?;
        let mut elements = 1u64;
        for _ in 0..rank {
            let dim = self.size("a tensor's dimension", 1..=1 << 24)? as u64;
            elements = elements.saturating_mul(dim);
        }
        let name = String::from_utf8_lossy(&self.bytes(name_len)?).into_owned();
        let Some((block, block_bytes)) = block(kind) else {
            return fault(format!("tensor {name} has unknown type {kind}"));
        };
        if !elements.is_multiple_of(block) {
            return fault(format!("tensor {name} is no whole number of blocks"));
        }
        self.skip((elements / block).saturating_mul(block_bytes))
            .map_err(|_| Fault::Content(format!("the file ends inside tensor {name}")))
    }
}

/// Elements and bytes of a block of ggml type `kind`.
fn block(kind: u32) -> Option<(u64, u64)> {
    match kind {
        0 => Some((1, 4)),     // f32
        1 => Some((1, 2)),     // f16
        2 => Some((32, 18)),   // q4_0
        3 => Some((32, 20)),   // q4_1
        6 => Some((32, 22)),   // q5_0
        7 => Some((32, 24)),   // q5_1
        8 => Some((32, 34)),   // q8_0
        10 => Some((256, 84)), // q2_K
        11 => Some((256, 110)),
        12 => Some((256, 144)),
        13 => Some((256, 176)),
        14 => Some((256, 210)), // q6_K
        _ => None,
    }
}
