//! GGUF files (versions 2 and 3, little-endian), memory-mapped.
//!
//! Format: magic `GGUF`, version u32, tensor count u64, metadata count u64, metadata, tensor table, padding, data.
//! Nothing is allocated by a count that the file claims: each entry is read before room for the next is made.

mod layout;
mod metadata;
mod reader;
mod vocabulary;

use crate::error::{Error, Result};
use crate::mapped::Bytes;
use crate::model::Loaded;
use crate::quant::GgmlType;
use crate::weights::Matrix;
use metadata::{Metadata, Value};
use reader::Reader;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// First four bytes of a GGUF file.
pub(crate) const MAGIC: &[u8; 4] = b"GGUF";

/// ggml refuses longer names; ours are ASCII far below.
const MAX_NAME: usize = 64;
/// Values that ggml itself would refuse are refused here.
const MAX_ALIGNMENT: u64 = 1 << 16;

/// Opens a GGUF file and checks it.
pub(crate) fn open(path: &Path) -> Result<Loaded> {
    let file = File::parse(path, Bytes::map(path)?)?;
    load(&file)
}

/// What [`open`] does once the bytes are there.
pub(crate) fn load(file: &File) -> Result<Loaded> {
    let (config, weights) = layout::model(file)?;
    let tokenizer = vocabulary::tokenizer(file)?;
    let chat_template = file.metadata.string("tokenizer.chat_template")?.map(str::to_owned);
    Ok(Loaded { config, weights, tokenizer, chat_template })
}

/// A parsed file: metadata, and a table of tensors whose ranges lie within the file.
pub(crate) struct File {
    path: PathBuf,
    metadata: Metadata,
    tensors: HashMap<String, Tensor>,
}

/// A tensor's place in the file.
#[derive(Debug)]
struct Tensor {
    kind: GgmlType,
    shape: Vec<usize>, // innermost first, as in the file
    data: Bytes,
}

impl File {
    /// Parses the header of `bytes`; `path` is for messages.
    pub(crate) fn parse(path: &Path, bytes: Bytes) -> Result<Self> {
        let mut r = Reader::new(path, bytes.clone());
        if r.bytes(4, "magic").ok().as_deref() != Some(MAGIC) {
            return Err(Error::NotAModel { path: path.to_owned(), reason: "it does not begin with GGUF".to_owned() });
        }
        let version = r.u32("version")?;
        if !(2..=3).contains(&version) {
            // A big-endian file shows its version in the top byte.
            return Err(Error::unsupported(path, "version", format!("GGUF version {version}")));
        }
        let tensor_count = r.u64("tensor count")?;
        let metadata_count = r.u64("metadata count")?;
        let metadata = Metadata::parse(&mut r, metadata_count)?;

        let alignment = metadata.uint("general.alignment")?.unwrap_or(32);
        if !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
            let reason = format!("{alignment} is no power of two up to {MAX_ALIGNMENT}");
            return Err(Error::malformed(path, "general.alignment", reason));
        }

        let mut table = Vec::new();
        for i in 0..tensor_count {
            table.push(entry(path, &mut r, i)?);
        }
        let data_start = (r.position() as u64).next_multiple_of(alignment);
        let mut tensors = HashMap::with_capacity(table.len());
        for Entry { name, kind, shape, offset } in table {
            let data = place(&bytes, data_start, alignment, kind, &shape, offset)
                .map_err(|reason| Error::malformed(path, format!("tensor {name}"), reason))?;
            if tensors.contains_key(&name) {
                return Err(Error::malformed(path, format!("tensor {name}"), "appears twice"));
            }
            tensors.insert(name, Tensor { kind, shape, data });
        }
        Ok(Self { path: path.to_owned(), metadata, tensors })
    }

    fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    fn tensor(&self, name: &str) -> Result<&Tensor> {
        let missing = || Error::malformed(&self.path, format!("tensor {name}"), "is missing");
        self.tensors.get(name).ok_or_else(missing)
    }

    /// A matrix of any number of rows.
    fn matrix_of_cols(&self, name: &str, cols: usize) -> Result<Matrix> {
        let tensor = self.tensor(name)?;
        let error = |reason: String| Error::malformed(&self.path, format!("tensor {name}"), reason);
        match tensor.shape[..] {
            [c, rows] if c == cols => Matrix::ggml(tensor.kind, rows, cols, tensor.data.clone()).map_err(error),
            _ => Err(error(format!("shape {:?}, expected [{cols}, any]", tensor.shape))),
        }
    }

    fn matrix(&self, name: &str, rows: usize, cols: usize) -> Result<Matrix> {
        let matrix = self.matrix_of_cols(name, cols)?;
        if matrix.rows() != rows {
            let reason = format!("shape [{cols}, {}], expected [{cols}, {rows}]", matrix.rows());
            return Err(Error::malformed(&self.path, format!("tensor {name}"), reason));
        }
        Ok(matrix)
    }

    /// A vector in f32: norm gammas, biases, RoPE factors.
    fn vector(&self, name: &str, len: usize) -> Result<Vec<f32>> {
        let tensor = self.tensor(name)?;
        let error = |reason: String| Error::malformed(&self.path, format!("tensor {name}"), reason);
        if tensor.shape != [len] {
            return Err(error(format!("shape {:?}, expected [{len}]", tensor.shape)));
        }
        let mut out = vec![0.0; len];
        tensor.kind.dequantize(&tensor.data, &mut out);
        match out.iter().position(|x| !x.is_finite()) {
            Some(i) => Err(error(format!("element {i} is {}", out[i]))),
            None => Ok(out),
        }
    }

    fn vector_if_there(&self, name: &str, len: usize) -> Result<Option<Vec<f32>>> {
        if self.has(name) { self.vector(name, len).map(Some) } else { Ok(None) }
    }
}

/// A line of the tensor table.
struct Entry {
    name: String,
    kind: GgmlType,
    shape: Vec<usize>,
    offset: u64,
}

fn entry(path: &Path, r: &mut Reader, i: u64) -> Result<Entry> {
    let name = r.string(&format!("name of tensor {i}"))?;
    let what = format!("tensor {name}");
    if name.is_empty() || name.len() > MAX_NAME {
        return Err(Error::malformed(path, format!("name of tensor {i}"), format!("has {} bytes", name.len())));
    }
    let n_dims = r.u32(&what)?;
    if !(1..=4).contains(&n_dims) {
        return Err(Error::malformed(path, what, format!("{n_dims} dimensions")));
    }
    let mut shape = Vec::with_capacity(4);
    for _ in 0..n_dims {
        let dim = r.u64(&what)?;
        match usize::try_from(dim) {
            Ok(dim) if dim > 0 => shape.push(dim),
            _ => return Err(Error::malformed(path, what, format!("dimension of {dim}"))),
        }
    }
    let number = r.u32(&what)?;
    let kind = GgmlType::from_gguf(number)
        .ok_or_else(|| Error::unsupported(path, what.clone(), format!("tensor type {number}")))?;
    let offset = r.u64(&what)?;
    Ok(Entry { name, kind, shape, offset })
}

/// The bytes of a tensor, or why they cannot be.
fn place(
    file: &Bytes,
    data_start: u64,
    alignment: u64,
    kind: GgmlType,
    shape: &[usize],
    offset: u64,
) -> std::result::Result<Bytes, String> {
    if !shape[0].is_multiple_of(kind.block_len()) {
        return Err(format!("{} columns are no whole number of {} blocks", shape[0], kind.name()));
    }
    let row = kind.row_bytes(shape[0]);
    let len = shape[1..].iter().fold(row, |len, &dim| len?.checked_mul(dim)).ok_or("its size overflows")?;
    if !offset.is_multiple_of(alignment) {
        return Err(format!("offset {offset} is not aligned to {alignment}"));
    }
    let start = data_start.checked_add(offset).and_then(|start| usize::try_from(start).ok());
    let range = start.and_then(|start| Some(start..start.checked_add(len)?));
    range
        .and_then(|range| file.slice(range))
        .ok_or_else(|| format!("its {len} bytes at offset {offset} reach beyond the end of the file"))
}

#[cfg(test)]
mod tests;
