//! Reading a Whisper model in the CTranslate2 format: `model.bin` (version 6) and its `vocabulary.txt`.
//!
//! The file is a list of named tensors, little-endian: `u32 version, str spec, u32 revision, u32 count`, then for each
//! `str name, u8 rank, u32 dims[rank], u8 type, u32 bytes, data`, then aliases. A string is `u16` length (with its
//! final NUL) and bytes. Every length, type and shape is checked here, once, so that its users need not.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use half::f16;

use crate::vocabulary::Vocabulary;
use crate::{Error, Result};

const VERSION: u32 = 6;
const SPEC: &[u8] = b"WhisperSpec\0";
/// Generous upper bounds: far beyond the largest Whisper, far below what would exhaust memory.
const MAX_TENSORS: u32 = 10_000;
const MAX_BYTES: u64 = 8 << 30;
/// CTranslate2's number for the erf form of GELU, the only activation Whisper uses.
const ACTIVATION_GELU: i64 = 3;

/// Geometry of a Whisper model, as Whisper names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hyper {
    pub(crate) n_vocab: usize,
    pub(crate) n_audio_ctx: usize,
    pub(crate) n_audio_layer: usize,
    pub(crate) n_text_ctx: usize,
    pub(crate) n_text_layer: usize,
    /// Width of the residual stream, the same in encoder and decoder.
    pub(crate) n_state: usize,
    pub(crate) n_head: usize,
    pub(crate) n_mels: usize,
}

/// A model file in memory, its geometry and its vocabulary.
pub(crate) struct Checkpoint {
    path: PathBuf,
    bytes: Vec<u8>,
    tensors: HashMap<String, Tensor>,
    pub(crate) hyper: Hyper,
    pub(crate) vocabulary: Vocabulary,
}

#[derive(Clone, Debug)]
struct Tensor {
    shape: Vec<usize>,
    kind: Kind,
    data: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    F32,
    I8,
    I16,
    I32,
    F16,
    Bf16,
}

impl Kind {
    fn from_code(code: u8) -> Option<Kind> {
        [Kind::F32, Kind::I8, Kind::I16, Kind::I32, Kind::F16, Kind::Bf16].get(usize::from(code)).copied()
    }

    fn size(self) -> usize {
        match self {
            Kind::I8 => 1,
            Kind::I16 | Kind::F16 | Kind::Bf16 => 2,
            Kind::F32 | Kind::I32 => 4,
        }
    }
}

impl Checkpoint {
    /// Reads `model.bin` and `vocabulary.txt` of a directory.
    pub(crate) fn open(dir: &Path) -> Result<Checkpoint> {
        let path = dir.join("model.bin");
        let io = |source| Error::Io { path: path.clone(), source };
        let size = std::fs::metadata(&path).map_err(io)?.len();
        let wrong = |what: String| Error::Model { path: path.clone(), what };
        if size > MAX_BYTES {
            return Err(wrong(format!("{size} bytes is too large for a Whisper model")));
        }
        let bytes = std::fs::read(&path).map_err(io)?;
        let tensors = Reader { bytes: &bytes, at: 0 }.tensors().map_err(&wrong)?;
        let vocabulary = Vocabulary::open(&dir.join("vocabulary.txt"))?;
        let hyper = hyper(&bytes, &tensors).map_err(&wrong)?;
        if vocabulary.len() != hyper.n_vocab {
            return Err(wrong(format!("{} embeddings for {} tokens", hyper.n_vocab, vocabulary.len())));
        }
        Ok(Checkpoint { path, bytes, tensors, hyper, vocabulary })
    }

    /// An error about this file.
    pub(crate) fn wrong(&self, what: String) -> Error {
        Error::Model { path: self.path.clone(), what }
    }

    /// The values of a tensor that must have exactly this shape.
    pub(crate) fn f32s(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let wrong = |what: String| self.wrong(what);
        let tensor = self.tensors.get(name).ok_or_else(|| wrong(format!("no tensor {name}")))?;
        if tensor.shape != shape {
            return Err(wrong(format!("tensor {name} is {:?}, expected {shape:?}", tensor.shape)));
        }
        let data = &self.bytes[tensor.data.clone()];
        let values: Vec<f32> = match tensor.kind {
            Kind::F32 => data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
            Kind::F16 => data.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
            Kind::Bf16 => data
                .chunks_exact(2)
                .map(|b| f32::from_bits(u32::from(u16::from_le_bytes([b[0], b[1]])) << 16))
                .collect(),
            kind => {
                return Err(wrong(format!("tensor {name} holds {kind:?}, expected float16 or float32")));
            }
        };
        match values.iter().position(|v| !v.is_finite()) {
            Some(at) => Err(wrong(format!("value {at} of tensor {name} is not a finite number"))),
            None => Ok(values),
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

type Parsed<T> = std::result::Result<T, String>;

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Parsed<&'a [u8]> {
        let end = self.at.checked_add(len).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| format!("the file ends early, at byte {} of {}", self.bytes.len(), self.at))?;
        let slice = &self.bytes[self.at..end];
        self.at = end;
        Ok(slice)
    }

    fn u8(&mut self) -> Parsed<u8> {
        Ok(self.take(1)?[0])
    }

    fn u16(&mut self) -> Parsed<u16> {
        let b = self.take(2)?;
        Ok(u16::from_le_bytes([b[0], b[1]]))
    }

    fn u32(&mut self) -> Parsed<u32> {
        let b = self.take(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn str(&mut self) -> Parsed<&'a [u8]> {
        let len = usize::from(self.u16()?);
        self.take(len)
    }

    fn name(&mut self) -> Parsed<String> {
        let at = self.at;
        let raw = self.str()?;
        let raw = raw.strip_suffix(b"\0").unwrap_or(raw);
        let name = std::str::from_utf8(raw).map_err(|_| format!("no tensor name at byte {at}"))?;
        Ok(name.to_owned())
    }

    fn tensors(mut self) -> Parsed<HashMap<String, Tensor>> {
        let version = self.u32()?;
        if version != VERSION {
            return Err(format!("not a CTranslate2 model of version {VERSION} (found {version})"));
        }
        let spec = self.str()?;
        if spec != SPEC {
            return Err(format!(
                "a {} model, expected WhisperSpec",
                String::from_utf8_lossy(spec).trim_end_matches('\0')
            ));
        }
        let _revision = self.u32()?;
        let count = self.u32()?;
        if count > MAX_TENSORS {
            return Err(format!("{count} tensors are too many for a Whisper model"));
        }
        let mut tensors = HashMap::new();
        for _ in 0..count {
            let name = self.name()?;
            let tensor = self.tensor(&name)?;
            if tensors.insert(name.clone(), tensor).is_some() {
                return Err(format!("tensor {name} occurs twice"));
            }
        }
        // Whisper has one alias, the tied output projection, which its users know of; only the lengths are checked.
        let aliases = self.u32()?;
        for _ in 0..aliases {
            self.str()?;
            self.str()?;
        }
        match self.bytes.len() - self.at {
            0 => Ok(tensors),
            more => Err(format!("{more} unexpected bytes after the last tensor")),
        }
    }

    fn tensor(&mut self, name: &str) -> Parsed<Tensor> {
        let rank = self.u8()?;
        if rank > 4 {
            return Err(format!("tensor {name} has {rank} dimensions"));
        }
        let shape = (0..rank).map(|_| Ok(self.u32()? as usize)).collect::<Parsed<Vec<usize>>>()?;
        let code = self.u8()?;
        let kind = Kind::from_code(code).ok_or_else(|| format!("tensor {name} has unknown type {code}"))?;
        let bytes = self.u32()? as usize;
        let expected = shape.iter().try_fold(kind.size(), |n, &dim| n.checked_mul(dim));
        if expected != Some(bytes) {
            return Err(format!("tensor {name} is {shape:?} of {kind:?} but has {bytes} bytes"));
        }
        let start = self.at;
        self.take(bytes)?;
        Ok(Tensor { shape, kind, data: start..self.at })
    }
}

/// Geometry from the tensors themselves; the shapes of all others are checked against it when they are read.
fn hyper(bytes: &[u8], tensors: &HashMap<String, Tensor>) -> Parsed<Hyper> {
    let dims = |name: &str, rank: usize| {
        let tensor = tensors.get(name).ok_or_else(|| format!("no tensor {name}"))?;
        let sane = tensor.shape.len() == rank && tensor.shape.iter().all(|&dim| (1..=1 << 20).contains(&dim));
        if sane { Ok(&tensor.shape) } else { Err(format!("tensor {name} is {:?}", tensor.shape)) }
    };
    let scalar = |name: &str| {
        let tensor = tensors.get(name).ok_or_else(|| format!("no value {name}"))?;
        match (tensor.kind, &bytes[tensor.data.clone()]) {
            (Kind::I8, &[a]) => Ok(i64::from(a.cast_signed())),
            (Kind::I16, &[a, b]) => Ok(i64::from(i16::from_le_bytes([a, b]))),
            (Kind::I32, &[a, b, c, d]) => Ok(i64::from(i32::from_le_bytes([a, b, c, d]))),
            _ => Err(format!("value {name} is not one integer")),
        }
    };
    let layers = |side: &str| {
        (0..100)
            .take_while(|i| tensors.contains_key(&format!("{side}/layer_{i}/self_attention/linear_0/weight")))
            .count()
    };
    let embeddings = dims("decoder/embeddings/weight", 2)?;
    let conv1 = dims("encoder/conv1/weight", 3)?;
    let heads = [scalar("encoder/num_heads")?, scalar("decoder/num_heads")?];
    let hyper = Hyper {
        n_vocab: embeddings[0],
        n_audio_ctx: dims("encoder/position_encodings/encodings", 2)?[0],
        n_audio_layer: layers("encoder"),
        n_text_ctx: dims("decoder/position_encodings/encodings", 2)?[0],
        n_text_layer: layers("decoder"),
        n_state: embeddings[1],
        n_head: usize::try_from(heads[0]).unwrap_or(0),
        n_mels: conv1[1],
    };
    if scalar("decoder/activation")? != ACTIVATION_GELU {
        return Err("the activation is not GELU".into());
    }
    if heads[0] != heads[1] || hyper.n_head == 0 || !hyper.n_state.is_multiple_of(hyper.n_head) {
        return Err(format!("{heads:?} attention heads do not divide a width of {}", hyper.n_state));
    }
    if hyper.n_audio_layer == 0 || hyper.n_text_layer == 0 {
        return Err("no encoder or no decoder layers".into());
    }
    if hyper.n_state > 4096 || hyper.n_audio_ctx > 4096 || hyper.n_text_ctx > 4096 || hyper.n_mels > 256 {
        return Err(format!("geometry {hyper:?} is not a Whisper model's"));
    }
    Ok(hyper)
}
