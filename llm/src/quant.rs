//! The tensor types of GGML and their meaning in f32.
//!
//! Layouts follow ggml's block structs; all numbers are little-endian.
//! Blocks of 32: Q4_0 `d:f16 q:16B`, Q4_1 `d:f16 m:f16 q:16B`, Q5_0, Q5_1, Q8_0 `d:f16 q:32B`.
//! Super-blocks of 256: Q4_K, Q5_K, Q6_K (see [`k`]).
//! In the 4-bit types element `i` of a block of 32 is the low nibble of byte `i`, element `i + 16` its high nibble.

mod k;
mod legacy;

use half::{bf16, f16};

/// Storage type of a matrix, named and numbered as in GGUF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(non_camel_case_types, reason = "the names that users and other tools know")]
pub enum GgmlType {
    /// 32-bit float.
    F32,
    /// IEEE half precision.
    F16,
    /// bfloat16.
    BF16,
    /// 4 bits, scale: `w = d * (q - 8)`.
    Q4_0,
    /// 4 bits, scale and minimum: `w = d * q + m`.
    Q4_1,
    /// 5 bits, scale: `w = d * (q - 16)`.
    Q5_0,
    /// 5 bits, scale and minimum.
    Q5_1,
    /// 8 bits, scale: `w = d * q`, q signed.
    Q8_0,
    /// 4 bits in super-blocks of 256 with 6-bit scales and minimums.
    Q4_K,
    /// 5 bits, otherwise as Q4_K.
    Q5_K,
    /// 6 bits in super-blocks of 256 with 8-bit scales.
    Q6_K,
}

impl GgmlType {
    /// The type with this number in a GGUF file.
    pub fn from_gguf(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Q4_0,
            3 => Self::Q4_1,
            6 => Self::Q5_0,
            7 => Self::Q5_1,
            8 => Self::Q8_0,
            12 => Self::Q4_K,
            13 => Self::Q5_K,
            14 => Self::Q6_K,
            30 => Self::BF16,
            _ => return None,
        })
    }

    /// Name as llama.cpp prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::BF16 => "BF16",
            Self::Q4_0 => "Q4_0",
            Self::Q4_1 => "Q4_1",
            Self::Q5_0 => "Q5_0",
            Self::Q5_1 => "Q5_1",
            Self::Q8_0 => "Q8_0",
            Self::Q4_K => "Q4_K",
            Self::Q5_K => "Q5_K",
            Self::Q6_K => "Q6_K",
        }
    }

    /// Elements of one block; a row's length is a multiple of it.
    pub fn block_len(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::BF16 => 1,
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 => 32,
            Self::Q4_K | Self::Q5_K | Self::Q6_K => 256,
        }
    }

    /// Bytes of one block.
    pub fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
            Self::Q4_K => 144,
            Self::Q5_K => 176,
            Self::Q6_K => 210,
        }
    }

    /// Bytes of a row of `cols` elements, or `None` when `cols` is no whole number of blocks or overflows.
    pub fn row_bytes(self, cols: usize) -> Option<usize> {
        if !cols.is_multiple_of(self.block_len()) {
            return None;
        }
        (cols / self.block_len()).checked_mul(self.block_bytes())
    }

    /// Writes the values of `data` into `out`.
    ///
    /// # Panics
    /// When `data` is not exactly the bytes of `out.len()` elements; loaders check this once per tensor.
    pub fn dequantize(self, data: &[u8], out: &mut [f32]) {
        assert_eq!(Some(data.len()), self.row_bytes(out.len()), "checked by the loader");
        let blocks = data.chunks_exact(self.block_bytes()).zip(out.chunks_exact_mut(self.block_len()));
        match self {
            Self::F32 => blocks.for_each(|(b, o)| o[0] = f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            Self::F16 => blocks.for_each(|(b, o)| o[0] = half_at(b, 0)),
            Self::BF16 => blocks.for_each(|(b, o)| o[0] = bf16::from_le_bytes([b[0], b[1]]).to_f32()),
            Self::Q4_0 => blocks.for_each(|(b, o)| legacy::q4_0(b, o)),
            Self::Q4_1 => blocks.for_each(|(b, o)| legacy::q4_1(b, o)),
            Self::Q5_0 => blocks.for_each(|(b, o)| legacy::q5_0(b, o)),
            Self::Q5_1 => blocks.for_each(|(b, o)| legacy::q5_1(b, o)),
            Self::Q8_0 => blocks.for_each(|(b, o)| legacy::q8_0(b, o)),
            Self::Q4_K => blocks.for_each(|(b, o)| k::q4_k(b, o)),
            Self::Q5_K => blocks.for_each(|(b, o)| k::q5_k(b, o)),
            Self::Q6_K => blocks.for_each(|(b, o)| k::q6_k(b, o)),
        }
    }
}

/// The f16 at byte `at`.
fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}
