//! A model's weights as every loader hands them over and every forward pass takes them.
//!
//! # The seam between files and kernels
//! A loader (GGUF, safetensors, MNN) checks its file once and builds [`Weights`]; from then on every length fits.
//! A forward pass reads rows through [`Matrix::row`] (the reference), or repacks whole matrices once at load:
//! [`Matrix::encoding`] gives the raw blocks of a type it has a kernel for, and [`Matrix::row`] any
//! other type, to requantize.
//! Matrices are views into the mapped file, so they cost no memory of their own; drop [`Weights`] after packing and the
//! pages go.

use crate::mapped::Bytes;
use crate::quant::GgmlType;
use std::sync::Arc;

/// Everything the forward pass reads, in the order it reads it.
#[derive(Debug, Clone)]
pub struct Weights {
    /// Token embedding. `[vocab, hidden]`
    pub embed: Matrix,
    /// Transformer blocks, first to last.
    pub layers: Vec<Layer>,
    /// Gamma of the last RMSNorm. `[hidden]`
    pub output_norm: Vec<f32>,
    /// Output matrix, `None` when it is `embed`. `[vocab, hidden]`
    pub output: Option<Matrix>,
}

impl Weights {
    /// The matrix that makes logits. `[vocab, hidden]`
    pub fn head(&self) -> &Matrix {
        self.output.as_ref().unwrap_or(&self.embed)
    }

    /// Every matrix once.
    pub fn matrices(&self) -> impl Iterator<Item = &Matrix> {
        let layers = self.layers.iter().flat_map(|l| [&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down]);
        [&self.embed].into_iter().chain(layers.map(|linear| &linear.weight)).chain(&self.output)
    }

    /// Bytes of all matrices as the file stores them.
    pub fn bytes(&self) -> usize {
        self.matrices().map(Matrix::bytes).sum()
    }
}

/// One transformer block.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Gamma of the RMSNorm before attention. `[hidden]`
    pub attn_norm: Vec<f32>,
    /// Query projection. `[n_heads * head_size, hidden]`
    pub q: Linear,
    /// Key projection. `[n_kv_heads * head_size, hidden]`
    pub k: Linear,
    /// Value projection. `[n_kv_heads * head_size, hidden]`
    pub v: Linear,
    /// Gamma of the RMSNorm over each query head, before RoPE. `[head_size]`
    pub q_norm: Option<Vec<f32>>,
    /// Gamma of the RMSNorm over each key head, before RoPE. `[head_size]`
    pub k_norm: Option<Vec<f32>>,
    /// Attention output projection. `[hidden, n_heads * head_size]`
    pub o: Linear,
    /// Gamma of the RMSNorm on the attention output, before it joins the residual stream (Gemma). `[hidden]`
    pub post_attn_norm: Option<Vec<f32>>,
    /// Gamma of the RMSNorm before the feed-forward layer. `[hidden]`
    pub ffn_norm: Vec<f32>,
    /// Gate projection. `[ffn, hidden]`
    pub gate: Linear,
    /// Up projection. `[ffn, hidden]`
    pub up: Linear,
    /// Down projection. `[hidden, ffn]`
    pub down: Linear,
    /// Gamma of the RMSNorm on the feed-forward output (Gemma). `[hidden]`
    pub post_ffn_norm: Option<Vec<f32>>,
    /// RoPE's inverse frequencies, any scaling applied: pair `i` at position `p` turns by `p * rope[i]`. `[head_size / 2]`
    pub rope: Arc<[f32]>,
    /// A query sees only this many positions back, itself included; `None` sees all.
    pub window: Option<usize>,
}

/// A matrix with an optional bias.
#[derive(Debug, Clone)]
pub struct Linear {
    /// `[out, in]`
    pub weight: Matrix,
    /// `[out]`
    pub bias: Option<Vec<f32>>,
}

/// How a matrix's bytes are to be read. Rows lie one after the other.
#[derive(Debug, Clone, Copy)]
pub enum Encoding<'a> {
    /// Blocks of a GGML type; each row is `row_bytes(cols)` bytes.
    Ggml(GgmlType, &'a [u8]),
    /// Unsigned codes with one scale and minimum per group of columns: `w = scale * code + min`.
    Groups(Groups<'a>),
}

/// Codes of 1 to 8 bits in groups of columns (MNN files).
#[derive(Debug, Clone, Copy)]
pub struct Groups<'a> {
    /// Bits of a code: 2, 4 or 8 (8 holds every other width, one code a byte).
    pub bits: usize,
    /// Columns that share a scale; divides `cols`.
    pub group: usize,
    /// Row after row, most significant bits of a byte first (the high nibble is the earlier column). `[rows, cols * bits / 8]`
    pub codes: &'a [u8],
    /// `[rows, cols / group]`
    pub scales: &'a [f32],
    /// `[rows, cols / group]`
    pub mins: &'a [f32],
}

/// A matrix of the model, row-major, checked: its bytes are exactly as many as its shape and type need.
#[derive(Debug, Clone)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    storage: Storage,
}

#[derive(Debug, Clone)]
enum Storage {
    Ggml { kind: GgmlType, data: Bytes },
    Groups { bits: usize, group: usize, codes: Bytes, scales: Arc<[f32]>, mins: Arc<[f32]> },
}

impl Matrix {
    /// A matrix in blocks of a GGML type, or what does not fit about it.
    pub fn ggml(kind: GgmlType, rows: usize, cols: usize, data: Bytes) -> Result<Self, String> {
        let row = kind.row_bytes(cols).ok_or_else(|| {
            format!("{cols} columns are no whole number of {} blocks of {}", kind.name(), kind.block_len())
        })?;
        let needed = row.checked_mul(rows).ok_or("its size overflows")?;
        if rows == 0 || cols == 0 {
            return Err(format!("shape [{rows}, {cols}] is empty"));
        }
        if data.len() != needed {
            return Err(format!("[{rows}, {cols}] {} needs {needed} bytes, not {}", kind.name(), data.len()));
        }
        Ok(Self { rows, cols, storage: Storage::Ggml { kind, data } })
    }

    /// A matrix of grouped codes (see [`Groups`]), or what does not fit about it.
    pub fn groups(
        (rows, cols): (usize, usize),
        (bits, group): (usize, usize),
        codes: Bytes,
        scales: Vec<f32>,
        mins: Vec<f32>,
    ) -> Result<Self, String> {
        if rows == 0 || cols == 0 || group == 0 || !cols.is_multiple_of(group) {
            return Err(format!("shape [{rows}, {cols}] does not divide into groups of {group}"));
        }
        if ![2, 4, 8].contains(&bits) || !(cols * bits).is_multiple_of(8) {
            return Err(format!("{bits}-bit codes in rows of {cols}"));
        }
        let bytes = rows.checked_mul(cols * bits / 8).ok_or("its size overflows")?;
        if codes.len() != bytes {
            return Err(format!("[{rows}, {cols}] of {bits} bits needs {bytes} bytes, not {}", codes.len()));
        }
        let n = rows * (cols / group);
        if scales.len() != n || mins.len() != n {
            return Err(format!("needs {n} scales and minimums, not {} and {}", scales.len(), mins.len()));
        }
        let storage = Storage::Groups { bits, group, codes, scales: scales.into(), mins: mins.into() };
        Ok(Self { rows, cols, storage })
    }

    /// Number of outputs.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of inputs.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The raw blocks.
    pub fn encoding(&self) -> Encoding<'_> {
        match &self.storage {
            Storage::Ggml { kind, data } => Encoding::Ggml(*kind, data),
            Storage::Groups { bits, group, codes, scales, mins } => {
                Encoding::Groups(Groups { bits: *bits, group: *group, codes, scales, mins })
            }
        }
    }

    /// Writes row `row` as f32 into `out`, which has `cols` elements.
    ///
    /// # Panics
    /// When `row` or the length of `out` is out of range.
    pub fn row(&self, row: usize, out: &mut [f32]) {
        assert!(row < self.rows && out.len() == self.cols, "row {row} of [{}, {}]", self.rows, self.cols);
        match &self.storage {
            Storage::Ggml { kind, data } => {
                let bytes = data.len() / self.rows;
                kind.dequantize(&data[row * bytes..][..bytes], out);
            }
            Storage::Groups { bits, group, codes, scales, mins } => {
                let bytes = self.cols * bits / 8;
                let groups = self.cols / group;
                let codes = &codes[row * bytes..][..bytes];
                let (per_byte, mask) = (8 / bits, ((1u16 << bits) - 1) as u8);
                for (i, o) in out.iter_mut().enumerate() {
                    let shift = 8 - bits * (i % per_byte + 1);
                    let code = codes[i / per_byte] >> shift & mask;
                    let g = row * groups + i / group;
                    *o = scales[g] * f32::from(code) + mins[g];
                }
            }
        }
    }

    /// Gives the memory behind `count` rows from `first` on back to the system, where it can be read again from the file.
    pub fn release_rows(&self, first: usize, count: usize) {
        let data = match &self.storage {
            Storage::Ggml { data, .. } => data,
            Storage::Groups { codes, .. } => codes,
        };
        let row = data.len() / self.rows;
        data.release(first * row..(first + count) * row);
    }

    /// Name of the storage type, for logs and reports.
    pub fn type_name(&self) -> String {
        match &self.storage {
            Storage::Ggml { kind, .. } => kind.name().to_owned(),
            Storage::Groups { bits, group, .. } => format!("{bits}-bit/{group}"),
        }
    }

    /// The first `n` stored bytes, fewer when there are fewer.
    pub(crate) fn head(&self, n: usize) -> &[u8] {
        let data = match &self.storage {
            Storage::Ggml { data, .. } => data,
            Storage::Groups { codes, .. } => codes,
        };
        &data[..n.min(data.len())]
    }

    /// Bytes in the file, scales included.
    pub fn bytes(&self) -> usize {
        match &self.storage {
            Storage::Ggml { data, .. } => data.len(),
            Storage::Groups { codes, scales, .. } => codes.len() + scales.len() * 4,
        }
    }
}
