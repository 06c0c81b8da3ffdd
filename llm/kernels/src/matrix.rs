//! A weight matrix in the layout of the inner loops.
//!
//! Rows are output channels. Sixteen neighbouring rows form a panel, stored as one contiguous stream, group
//! after group along the columns:
//!
//! ```text
//! panel  = group[0] group[1] ... group[groups - 1]
//! group  = codes | scales: 16 x f16 | minima: 16 x f16 (only if stored)
//! codes  = steps of 64 bytes, one 32-bit lane per row:
//!          8 bits: byte j of lane r in step s is the code of column 4 s + j
//!          4 bits: its low nibble is the code of column 8 s + j, its high nibble that of 8 s + 4 + j
//! weight = scale x code + minimum,   code unsigned
//! ```
//!
//! Lanes are rows, so a dot product never needs a horizontal sum, and one register of codes serves every
//! instruction set: a 512-bit register holds a step, a 256-bit register half of its rows, NEON a quarter.
//! Columns are padded with code 0 to whole groups and rows with scale 0 to whole panels, so the loops have no
//! tails. Activations are padded with zeros, which also silences a stored minimum.

use crate::arena::Block;
use crate::error::{Error, Result};
use half::f16;
use std::fmt;

/// Rows per panel.
pub const PANEL_ROWS: usize = 16;
/// Bytes per step of codes: one lane of four bytes for each row of a panel.
pub(crate) const STEP: usize = 4 * PANEL_ROWS;

/// Width of a weight code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// Codes 0..=15.
    Four,
    /// Codes 0..=255.
    Eight,
}

/// Where a group's minimum comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Minimum {
    /// One f16 per row and group.
    Stored,
    /// `-zero x scale`, computed: symmetric formats need no second number.
    Implied,
}

/// How the weights of a matrix are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Width of a code.
    pub bits: Bits,
    /// Columns that share a scale: 32 or 64.
    pub group: usize,
    /// Where minima come from.
    pub minimum: Minimum,
}

impl Format {
    /// 4-bit codes with scale and minimum per 32: 5 bits a weight (GGUF Q4_1).
    pub const INT4_MIN_32: Format = Format { bits: Bits::Four, group: 32, minimum: Minimum::Stored };
    /// 4-bit codes with scale and minimum per 64: 4.5 bits a weight (MNN, and Q4_1 made from it).
    pub const INT4_MIN_64: Format = Format { bits: Bits::Four, group: 64, minimum: Minimum::Stored };
    /// 4-bit codes around 8 with a scale per 32: 4.5 bits a weight (GGUF Q4_0).
    pub const INT4_SYM_32: Format = Format { bits: Bits::Four, group: 32, minimum: Minimum::Implied };
    /// 8-bit codes around 128 with a scale per 32: 8.5 bits a weight (GGUF Q8_0).
    pub const INT8_32: Format = Format { bits: Bits::Eight, group: 32, minimum: Minimum::Implied };
    /// 8-bit codes around 128 with a scale per 64: 8.25 bits a weight.
    pub const INT8_64: Format = Format { bits: Bits::Eight, group: 64, minimum: Minimum::Implied };
    /// 8-bit codes with scale and minimum per 64: 8.5 bits a weight (MNN 8 bit).
    pub const INT8_MIN_64: Format = Format { bits: Bits::Eight, group: 64, minimum: Minimum::Stored };

    /// The code that stands for zero when the minimum is implied.
    pub const fn zero(self) -> f32 {
        match self.bits {
            Bits::Four => 8.0,
            Bits::Eight => 128.0,
        }
    }

    /// Bytes of codes in one group of one panel.
    pub const fn code_bytes(self) -> usize {
        match self.bits {
            Bits::Four => PANEL_ROWS * self.group / 2,
            Bits::Eight => PANEL_ROWS * self.group,
        }
    }

    /// Bytes of one group of one panel, scales and minima included.
    pub const fn group_bytes(self) -> usize {
        let stored = match self.minimum {
            Minimum::Stored => 2,
            Minimum::Implied => 1,
        };
        self.code_bytes() + stored * 2 * PANEL_ROWS
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = if self.bits == Bits::Four { 4 } else { 8 };
        let minimum = if self.minimum == Minimum::Stored { "+min" } else { "" };
        write!(f, "int{bits}{minimum}/{}", self.group)
    }
}

/// A packed weight matrix `[rows, cols]`; computes `out = x W^T`.
#[derive(Debug)]
pub struct Matrix {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) format: Format,
    pub(crate) block: Block,
}

impl Matrix {
    /// Output channels.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Input channels.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// How the weights are stored.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Groups along the columns, the last one padded.
    pub fn groups(&self) -> usize {
        self.cols.div_ceil(self.format.group)
    }

    /// Panels along the rows, the last one padded.
    pub fn panels(&self) -> usize {
        self.rows.div_ceil(PANEL_ROWS)
    }

    /// Bytes of one panel.
    pub fn panel_bytes(&self) -> usize {
        self.groups() * self.format.group_bytes()
    }

    /// Bytes that one product with this matrix reads.
    pub fn bytes(&self) -> usize {
        self.block.bytes().len()
    }

    /// The packed bytes, panel after panel.
    pub(crate) fn data(&self) -> &[u8] {
        self.block.bytes()
    }

    /// Writes row `row` as floats to `out: [cols]`; the lookup of a tied embedding.
    ///
    /// # Errors
    /// When `row` is out of range or `out` has another length.
    pub fn dequantize_row(&self, row: usize, out: &mut [f32]) -> Result<()> {
        if row >= self.rows {
            return Err(Error::Range { what: "row", value: row, range: "the matrix" });
        }
        crate::error::check_len("out", out.len(), self.cols)?;
        let panel = &self.data()[row / PANEL_ROWS * self.panel_bytes()..][..self.panel_bytes()];
        let lane = row % PANEL_ROWS;
        let groups = panel.chunks_exact(self.format.group_bytes());
        for (group, out) in groups.zip(out.chunks_mut(self.format.group)) {
            let (scale, minimum) = self.format.scale_and_minimum(group, lane);
            for (k, out) in out.iter_mut().enumerate() {
                *out = scale * f32::from(self.format.code(group, lane, k)) + minimum;
            }
        }
        Ok(())
    }
}

impl Format {
    /// Scale and minimum of row `lane` in the bytes of one group.
    pub(crate) fn scale_and_minimum(self, group: &[u8], lane: usize) -> (f32, f32) {
        let half = |i: usize| f16::from_le_bytes([group[i], group[i + 1]]).to_f32();
        let at = self.code_bytes() + 2 * lane;
        let scale = half(at);
        match self.minimum {
            Minimum::Stored => (scale, half(at + 2 * PANEL_ROWS)),
            Minimum::Implied => (scale, -self.zero() * scale),
        }
    }

    /// Code of row `lane` and column `k` in the bytes of one group.
    pub(crate) fn code(self, group: &[u8], lane: usize, k: usize) -> u8 {
        match self.bits {
            Bits::Eight => group[k / 4 * STEP + lane * 4 + k % 4],
            Bits::Four => {
                let byte = group[k / 8 * STEP + lane * 4 + k % 4];
                if k % 8 < 4 { byte & 15 } else { byte >> 4 }
            }
        }
    }
}
