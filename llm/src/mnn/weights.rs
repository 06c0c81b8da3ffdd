//! `llm.mnn.weight`: matrices and gammas at the offsets that the graph gives.
//!
//! A quantized matrix is a header (shape, the list of values that codes stand for), codes most significant bit first, and
//! per block of columns a scale, or a pair of zero and scale.

use super::graph::{Linear, Norm, Quant};
use crate::error::{Error, Result};
use crate::mapped::Bytes;
use crate::quant::GgmlType;
use crate::weights::Matrix;
use half::f16;
use std::path::PathBuf;

/// The mapped weight file.
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) bytes: Bytes,
}

/// How codes stand for weights.
pub(super) struct Codes {
    pub(super) bits: usize,
    pub(super) asymmetric: bool,
    pub(super) half_scales: bool,
    /// Added to each zero in units of the scale; see [`Codes::for_quant`].
    pub(super) zero_shift: f32,
    pub(super) scale: f32,
}

impl Codes {
    fn for_quant(bits: usize, quant: &Quant) -> Self {
        // Other producers store the minimum instead of the zero, and say so by aMin <= 0.
        let zero_shift = match (quant.asymmetric, quant.a_min) {
            (true, 0) => 128.0,
            (true, a_min) if a_min < 0 => -(a_min as f32),
            _ => 0.0,
        };
        let scale = if quant.has_scale_int || quant.scale == 0.0 { 1.0 } else { quant.scale };
        Self { bits, asymmetric: quant.asymmetric, half_scales: quant.half_scales, zero_shift, scale }
    }
}

impl File {
    fn range(&self, what: &str, offset: i64, len: i64) -> Result<Bytes> {
        let range = usize::try_from(offset).ok().zip(usize::try_from(len).ok());
        let range = range.and_then(|(start, len)| Some(start..start.checked_add(len)?));
        range.and_then(|range| self.bytes.slice(range)).ok_or_else(|| {
            let reason = format!("its {len} bytes at offset {offset} are not within {} bytes", self.bytes.len());
            Error::malformed(&self.path, what, reason)
        })
    }

    /// The parts of a linear one after the other: weight with header, scales, bias.
    fn parts(&self, what: &str, linear: &Linear) -> Result<[Bytes; 3]> {
        let part = |i: usize| linear.external.get(i).copied().unwrap_or(0);
        // Without a quantization the second part is the bias.
        let lengths = if linear.quant.is_some() { [part(1), part(2), part(3)] } else { [part(1), 0, part(2)] };
        let mut at = part(0);
        let mut out = Vec::with_capacity(3);
        for len in lengths {
            out.push(self.range(what, at, len)?);
            at = at.saturating_add(len);
        }
        <[Bytes; 3]>::try_from(out).map_err(|_| Error::malformed(&self.path, what, "has no parts"))
    }

    /// The matrix and bias of a linear.
    pub(super) fn linear(&self, what: &str, linear: &Linear) -> Result<(Matrix, Option<Vec<f32>>)> {
        let malformed = |reason: String| Error::malformed(&self.path, what, reason);
        let [weight, alpha, bias] = self.parts(what, linear)?;
        let (rows, cols) = (linear.rows, linear.cols);
        let matrix = match &linear.quant {
            None => Matrix::ggml(GgmlType::F32, rows, cols, weight).map_err(malformed)?,
            Some(quant) if quant.kind == 3 => Matrix::ggml(GgmlType::F16, rows, cols, weight).map_err(malformed)?,
            Some(quant) if quant.kind == 1 => {
                let header = Header::parse(&weight, quant.wide_shape).map_err(malformed)?;
                if (header.rows, header.cols) != (rows, cols) {
                    let reason = format!("shape [{}, {}], the graph says [{rows}, {cols}]", header.rows, header.cols);
                    return Err(malformed(reason));
                }
                let codes =
                    weight.slice(header.len..weight.len()).ok_or_else(|| malformed("is cut short".to_owned()))?;
                let format = Codes::for_quant(header.bits, quant);
                matrix((rows, cols), codes, &alpha, &format).map_err(malformed)?
            }
            Some(quant) => {
                let reason = format!("quantization type {}", quant.kind);
                return Err(Error::unsupported(&self.path, what, reason));
            }
        };
        let bias = match bias.len() {
            0 => None,
            len if len == 4 * rows => Some(floats(&bias)),
            len => return Err(malformed(format!("a bias of {len} bytes for {rows} rows"))),
        };
        // Rebuilt files write zeros where the model has no bias.
        let bias = bias.filter(|bias| bias.iter().any(|&x| x != 0.0));
        match bias.as_ref().and_then(|bias| bias.iter().find(|x| !x.is_finite())) {
            Some(bad) => Err(malformed(format!("its bias holds {bad}"))),
            None => Ok((matrix, bias)),
        }
    }

    /// Where a linear's codes begin in the file, its header skipped, and where its scales begin.
    pub(super) fn code_offsets(&self, what: &str, linear: &Linear) -> Result<Option<(u64, u64)>> {
        let Some(quant) = linear.quant.filter(|q| q.kind == 1) else { return Ok(None) };
        let [weight, ..] = self.parts(what, linear)?;
        let header =
            Header::parse(&weight, quant.wide_shape).map_err(|reason| Error::malformed(&self.path, what, reason))?;
        let start = linear.external.first().copied().unwrap_or(0).unsigned_abs();
        Ok(Some((start + header.len as u64, start + weight.len() as u64)))
    }

    /// The gamma of a norm.
    pub(super) fn gamma(&self, what: &str, norm: &Norm, len: usize) -> Result<Vec<f32>> {
        let malformed = |reason: String| Error::malformed(&self.path, what, reason);
        let gamma = match norm.external[..] {
            [offset, bytes, ..] => floats(&self.range(what, offset, bytes)?),
            _ => norm.gamma.clone(),
        };
        if gamma.len() != len {
            return Err(malformed(format!("{} elements, expected {len}", gamma.len())));
        }
        match gamma.iter().position(|x| !x.is_finite()) {
            Some(i) => Err(malformed(format!("element {i} is {}", gamma[i]))),
            None => Ok(gamma),
        }
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// The head of a quantized weight.
struct Header {
    rows: usize,
    cols: usize,
    bits: usize,
    /// Bytes before the codes.
    len: usize,
}

impl Header {
    fn parse(weight: &[u8], wide: bool) -> std::result::Result<Self, String> {
        let short = || "its header is cut short".to_owned();
        let at = |i: usize| weight.get(i).copied().map(usize::from).ok_or_else(short);
        if at(0)? != 2 {
            return Err(format!("{} dimensions", at(0)?));
        }
        let number = |start: usize, bytes: usize| {
            (0..bytes).rev().try_fold(0usize, |n, i| Ok::<_, String>(n << 8 | at(start + i)?))
        };
        let width = if wide { 4 } else { 2 };
        let (rows, cols) = (number(1, width)?, number(1 + width, width)?);
        let count_at = 1 + 2 * width;
        let count = match at(count_at)? {
            0 => 256,
            n => n,
        };
        let bits = count.next_power_of_two().trailing_zeros() as usize;
        let samples = weight.get(count_at + 1..count_at + 1 + count).ok_or_else(short)?;
        let lowest = -((1i32 << bits) / 2);
        if !samples.iter().zip(lowest..).all(|(&sample, expected)| i32::from(sample.cast_signed()) == expected) {
            return Err("its codes stand for values that are no even steps".to_owned());
        }
        if bits == 0 {
            return Err("codes of no bits".to_owned());
        }
        Ok(Self { rows, cols, bits, len: count_at + 1 + count })
    }
}

/// A matrix of `codes` with the scales in `alpha`, or what does not fit.
pub(super) fn matrix(
    (rows, cols): (usize, usize),
    codes: Bytes,
    alpha: &[u8],
    format: &Codes,
) -> std::result::Result<Matrix, String> {
    let element = if format.half_scales { 2 } else { 4 };
    let per_group = if format.asymmetric { 2 } else { 1 };
    let groups_total = alpha.len() / (element * per_group);
    let groups = groups_total.checked_div(rows).unwrap_or(0);
    if groups == 0 || !alpha.len().is_multiple_of(element * per_group) || groups * rows != groups_total {
        return Err(format!("{} bytes of scales for {rows} rows", alpha.len()));
    }
    if !cols.is_multiple_of(groups) {
        return Err(format!("{cols} columns do not divide into {groups} blocks"));
    }
    let at = |i: usize| match format.half_scales {
        true => f16::from_le_bytes([alpha[2 * i], alpha[2 * i + 1]]).to_f32(),
        false => f32::from_le_bytes([alpha[4 * i], alpha[4 * i + 1], alpha[4 * i + 2], alpha[4 * i + 3]]),
    };
    let half = (1u32 << (format.bits - 1)) as f32;
    let (mut scales, mut mins) = (Vec::with_capacity(groups_total), Vec::with_capacity(groups_total));
    for i in 0..groups_total {
        let scale = at(per_group * i + per_group - 1) * format.scale;
        let zero = if format.asymmetric { at(2 * i) * format.scale + format.zero_shift * scale } else { 0.0 };
        let min = zero - half * scale;
        if !(scale.is_finite() && min.is_finite()) {
            return Err(format!("scale {i} is {scale}, its zero {zero}"));
        }
        scales.push(scale);
        mins.push(min);
    }
    let group = cols / groups;
    match format.bits {
        2 | 4 | 8 => Matrix::groups((rows, cols), (format.bits, group), codes, scales, mins),
        bits => {
            let bytes = spread(&codes, bits, rows.checked_mul(cols).ok_or("its size overflows")?)?;
            Matrix::groups((rows, cols), (8, group), Bytes::from(bytes), scales, mins)
        }
    }
}

/// Codes of any width, one a byte.
fn spread(codes: &[u8], bits: usize, count: usize) -> std::result::Result<Vec<u8>, String> {
    if codes.len() != count.checked_mul(bits).ok_or("its size overflows")?.div_ceil(8) {
        return Err(format!("{} bytes of {bits}-bit codes for {count} weights", codes.len()));
    }
    let code = |i: usize| {
        let (byte, bit) = (i * bits / 8, i * bits % 8);
        let pair = u16::from(codes[byte]) << 8 | u16::from(codes.get(byte + 1).copied().unwrap_or(0));
        (pair >> (16 - bit - bits)) as u8 & ((1 << bits) - 1)
    };
    Ok((0..count).map(code).collect())
}
