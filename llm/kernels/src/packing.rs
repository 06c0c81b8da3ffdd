//! From the weights of a model file to a packed [`Matrix`]: codes keep their exact values wherever the file
//! has 4-bit or 8-bit blocks, everything else is rounded to the nearest code.

use crate::arena::Arena;
use crate::error::{Error, Result, check_len};
use crate::matrix::{Bits, Format, Matrix, Minimum, PANEL_ROWS, STEP};
use crate::pool::Pool;
use half::f16;

/// Rows of weights as a file stores them, row after row, each `cols` wide.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Floats `[rows, cols]`.
    F32(&'a [f32]),
    /// GGUF blocks of 32: f16 scale, 16 bytes of codes; weight = scale (code - 8).
    Q4_0(&'a [u8]),
    /// GGUF blocks of 32: f16 scale, f16 minimum, 16 bytes of codes; weight = scale code + minimum.
    Q4_1(&'a [u8]),
    /// GGUF blocks of 32: f16 scale, 32 signed codes; weight = scale code.
    Q8_0(&'a [u8]),
    /// Unsigned codes `[rows, cols]`, one per byte, with scales and minima `[rows, cols / group]`;
    /// weight = scale code + minimum. `group` must be that of the format.
    Codes {
        /// Codes below 16 or 256, as the format has room for.
        codes: &'a [u8],
        /// One per row and group.
        scales: &'a [f32],
        /// One per row and group.
        minima: &'a [f32],
    },
}

impl Source<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Source::F32(_) => "f32",
            Source::Q4_0(_) => "Q4_0",
            Source::Q4_1(_) => "Q4_1",
            Source::Q8_0(_) => "Q8_0",
            Source::Codes { .. } => "codes",
        }
    }
}

/// True if every pair of Q4_1 blocks along `blocks` shares scale and minimum, so that groups of 64 hold it
/// exactly in 4.5 instead of 5 bits a weight. `cols` must be a multiple of 64 for pairs to stay in their row.
pub fn q4_1_has_groups_of_64(blocks: &[u8], cols: usize) -> bool {
    cols.is_multiple_of(64) && blocks.chunks_exact(40).all(|pair| pair[..4] == pair[20..24])
}

/// Fills a [`Matrix`] stripe by stripe, so that a caller can give back the file's pages in between.
#[derive(Debug)]
pub struct Packer {
    matrix: Matrix,
    filled: usize,
}

impl Packer {
    /// Room for `[rows, cols]` in `format`.
    ///
    /// # Errors
    /// When a size is zero or memory is short.
    pub fn new(arena: &mut Arena, format: Format, rows: usize, cols: usize) -> Result<Self> {
        for (what, value) in [("rows", rows), ("cols", cols)] {
            if value == 0 || value > 1 << 28 {
                return Err(Error::Range { what, value, range: "1 to 2^28" });
            }
        }
        if format.group != 32 && format.group != 64 {
            return Err(Error::Range { what: "group", value: format.group, range: "32 or 64" });
        }
        let panel = cols.div_ceil(format.group) * format.group_bytes();
        let bytes = panel.checked_mul(rows.div_ceil(PANEL_ROWS)).ok_or(Error::Memory { bytes: usize::MAX })?;
        let matrix = Matrix { rows, cols, format, block: arena.alloc(bytes)? };
        Ok(Packer { matrix, filled: 0 })
    }

    /// Appends the next `rows` rows. All but the last stripe of a source should be a multiple of 16 rows:
    /// then the threads of `pool` share the work.
    ///
    /// # Errors
    /// When there are more rows than announced, the source has another length, the format cannot hold the
    /// source, or a scale is not finite.
    pub fn append(&mut self, source: Source<'_>, rows: usize, pool: &Pool) -> Result<()> {
        let first = self.filled;
        let m = &mut self.matrix;
        if rows > m.rows - first {
            return Err(Error::Length { what: "rows", got: first + rows, expected: m.rows });
        }
        check_source(&source, m.format, rows, m.cols)?;
        let (format, cols, panel_bytes) = (m.format, m.cols, m.panel_bytes());
        let panels = first / PANEL_ROWS..(first + rows).div_ceil(PANEL_ROWS);
        let data = &mut m.block.bytes_mut()[panels.start * panel_bytes..panels.end * panel_bytes];
        self.filled += rows;
        pool.map_chunks(data, panel_bytes, |panel, bytes| {
            let panel = panels.start + panel;
            let begin = (panel * PANEL_ROWS).max(first);
            let end = ((panel + 1) * PANEL_ROWS).min(first + rows);
            (begin..end).try_for_each(|row| pack_row(&source, row - first, cols, format, bytes, row % PANEL_ROWS, row))
        })
    }

    /// Appends `rows` rows of two sources with their panels in turn: sixteen rows of `gate`, the same sixteen
    /// of `up`. Both are padded to whole panels, so this takes `2 x (rows up to a multiple of 16)` rows.
    ///
    /// # Errors
    /// As [`Packer::append`]; also when the rows before are not whole panels.
    pub fn append_pairs(&mut self, gate: Source<'_>, up: Source<'_>, rows: usize, pool: &Pool) -> Result<()> {
        let first = self.filled;
        if !first.is_multiple_of(2 * PANEL_ROWS) {
            return Err(Error::Range { what: "rows before pairs", value: first, range: "multiples of 32" });
        }
        let taken = 2 * rows.next_multiple_of(PANEL_ROWS);
        if taken > self.matrix.rows - first {
            return Err(Error::Length { what: "rows", got: first + taken, expected: self.matrix.rows });
        }
        let m = &mut self.matrix;
        check_source(&gate, m.format, rows, m.cols)?;
        check_source(&up, m.format, rows, m.cols)?;
        let (format, cols, panel_bytes) = (m.format, m.cols, m.panel_bytes());
        let begin = first / PANEL_ROWS * panel_bytes;
        let data = &mut m.block.bytes_mut()[begin..begin + taken / PANEL_ROWS * panel_bytes];
        self.filled += taken;
        pool.map_chunks(data, 2 * panel_bytes, |pair, bytes| {
            let (gates, ups) = bytes.split_at_mut(panel_bytes);
            for row in pair * PANEL_ROWS..((pair + 1) * PANEL_ROWS).min(rows) {
                pack_row(&gate, row, cols, format, gates, row % PANEL_ROWS, row)?;
                pack_row(&up, row, cols, format, ups, row % PANEL_ROWS, row)?;
            }
            Ok(())
        })
    }

    /// The finished matrix.
    ///
    /// # Errors
    /// When rows are missing.
    pub fn finish(self) -> Result<Matrix> {
        check_len("rows", self.filled, self.matrix.rows)?;
        Ok(self.matrix)
    }
}

impl Matrix {
    /// Quantizes floats `[rows, cols]` to symmetric 8-bit codes in groups of 64, or of 32 when `cols` is no
    /// multiple of 64.
    ///
    /// # Errors
    /// When `weights` has another length, or one of them is not finite.
    pub fn from_f32_int8(rows: usize, cols: usize, weights: &[f32]) -> Result<Matrix> {
        let format = if cols.is_multiple_of(64) { Format::INT8_64 } else { Format::INT8_32 };
        Matrix::from_f32(rows, cols, weights, format)
    }

    /// Quantizes floats `[rows, cols]` to any format.
    ///
    /// # Errors
    /// As [`Matrix::from_f32_int8`].
    pub fn from_f32(rows: usize, cols: usize, weights: &[f32], format: Format) -> Result<Matrix> {
        let mut packer = Packer::new(&mut Arena::default(), format, rows, cols)?;
        packer.append(Source::F32(weights), rows, &Pool::new(1)?)?;
        packer.finish()
    }
}

fn check_source(source: &Source<'_>, format: Format, rows: usize, cols: usize) -> Result<()> {
    let fail = |why| Err(Error::Format { source_kind: source.kind(), format: format.to_string(), why });
    let blocks = |block_bytes: usize| rows * (cols / 32) * block_bytes;
    match *source {
        Source::F32(w) => return check_len("weights", w.len(), rows * cols),
        Source::Q4_0(_) | Source::Q4_1(_) | Source::Q8_0(_) if !cols.is_multiple_of(32) => {
            return fail("its rows are not whole blocks of 32");
        }
        Source::Q4_0(b) => check_len("Q4_0 blocks", b.len(), blocks(18))?,
        Source::Q4_1(b) => check_len("Q4_1 blocks", b.len(), blocks(20))?,
        Source::Q8_0(b) => check_len("Q8_0 blocks", b.len(), blocks(34))?,
        Source::Codes { codes, scales, minima } => {
            check_len("codes", codes.len(), rows * cols)?;
            check_len("scales", scales.len(), rows * cols.div_ceil(format.group))?;
            check_len("minima", minima.len(), scales.len())?;
        }
    }
    match (source, format) {
        (Source::Q4_0(_), Format::INT4_SYM_32) | (Source::Q8_0(_), Format::INT8_32) => Ok(()),
        (Source::Q4_0(_) | Source::Q4_1(_), Format::INT4_MIN_32) => Ok(()),
        (Source::Q4_1(b), Format::INT4_MIN_64) if q4_1_has_groups_of_64(b, cols) => Ok(()),
        (Source::Q4_1(_), Format::INT4_MIN_64) => fail("neighbouring blocks differ"),
        (Source::Codes { .. }, Format { minimum: Minimum::Stored, .. }) => Ok(()),
        (Source::Codes { .. }, _) => fail("it has minima and the format has none"),
        _ => fail("the codes would change"),
    }
}

/// Writes row `index` of `source` into lane `lane` of a panel; `row` is its number for messages.
fn pack_row(
    source: &Source<'_>,
    index: usize,
    cols: usize,
    format: Format,
    panel: &mut [u8],
    lane: usize,
    row: usize,
) -> Result<()> {
    let group = format.group;
    let groups = panel.chunks_exact_mut(format.group_bytes());
    let half = |b: &[u8], i: usize| f16::from_le_bytes([b[i], b[i + 1]]);
    let not_finite = || Error::NotFinite { row };
    let mut codes = [0u8; 64];
    for (g, out) in groups.enumerate() {
        let width = group.min(cols - g * group);
        let (scale, minimum) = match *source {
            Source::F32(w) => {
                let w = &w[index * cols + g * group..][..width];
                quantize_group(w, format, &mut codes).ok_or_else(not_finite)?
            }
            Source::Q4_0(b) => {
                let block = &b[(index * (cols / 32) + g) * 18..][..18];
                pack_nibbles(&block[2..], out, lane);
                let scale = half(block, 0);
                let minimum = f16::from_f32(-8.0 * scale.to_f32());
                write_scale(out, format, lane, scale, minimum).ok_or_else(not_finite)?;
                continue;
            }
            Source::Q4_1(b) => {
                let first = index * (cols / 32) + g * (group / 32);
                for (i, out) in out[..format.code_bytes()].chunks_exact_mut(4 * STEP).enumerate() {
                    pack_nibbles(&b[(first + i) * 20 + 4..][..16], out, lane);
                }
                let block = &b[first * 20..][..4];
                write_scale(out, format, lane, half(block, 0), half(block, 2)).ok_or_else(not_finite)?;
                continue;
            }
            Source::Q8_0(b) => {
                let block = &b[(index * (cols / 32) + g) * 34..][..34];
                for (code, &b) in codes.iter_mut().zip(&block[2..]) {
                    *code = b ^ 0x80;
                }
                (half(block, 0), f16::ZERO)
            }
            Source::Codes { codes: c, scales, minima } => {
                codes[..width].copy_from_slice(&c[index * cols + g * group..][..width]);
                if format.bits == Bits::Four && codes[..width].iter().any(|&c| c > 15) {
                    return Err(Error::Format {
                        source_kind: source.kind(),
                        format: format.to_string(),
                        why: "a code exceeds 15",
                    });
                }
                let at = index * cols.div_ceil(group) + g;
                (f16::from_f32(scales[at]), f16::from_f32(minima[at]))
            }
        };
        // Padding takes the code of zero, so that a dequantized pad is zero in symmetric formats.
        codes[width..].fill(if format.minimum == Minimum::Implied { format.zero() as u8 } else { 0 });
        pack_codes(&codes[..group], format.bits, out, lane);
        write_scale(out, format, lane, scale, minimum).ok_or_else(not_finite)?;
    }
    Ok(())
}

fn write_scale(out: &mut [u8], format: Format, lane: usize, scale: f16, minimum: f16) -> Option<()> {
    let at = format.code_bytes() + 2 * lane;
    out[at..at + 2].copy_from_slice(&scale.to_le_bytes());
    if format.minimum == Minimum::Stored {
        out[at + 2 * PANEL_ROWS..][..2].copy_from_slice(&minimum.to_le_bytes());
    }
    (scale.is_finite() && minimum.is_finite()).then_some(())
}

/// Codes of one group, one per byte, into a lane.
fn pack_codes(codes: &[u8], bits: Bits, out: &mut [u8], lane: usize) {
    match bits {
        Bits::Eight => {
            for (s, four) in codes.chunks_exact(4).enumerate() {
                out[s * STEP + lane * 4..][..4].copy_from_slice(four);
            }
        }
        Bits::Four => {
            for (s, eight) in codes.chunks_exact(8).enumerate() {
                for j in 0..4 {
                    out[s * STEP + lane * 4 + j] = eight[j] | eight[j + 4] << 4;
                }
            }
        }
    }
}

/// Sixteen bytes of a GGUF block (byte j: column j low, column j + 16 high) into four steps of a lane.
fn pack_nibbles(block: &[u8], out: &mut [u8], lane: usize) {
    let word = |i: usize| u32::from_le_bytes([block[i], block[i + 1], block[i + 2], block[i + 3]]);
    const LOW: u32 = 0x0f0f_0f0f;
    for s in 0..2 {
        let (a, b) = (word(8 * s), word(8 * s + 4));
        let low = (a & LOW) | (b & LOW) << 4;
        let high = (a >> 4 & LOW) | (b & !LOW);
        out[s * STEP + lane * 4..][..4].copy_from_slice(&low.to_le_bytes());
        out[(s + 2) * STEP + lane * 4..][..4].copy_from_slice(&high.to_le_bytes());
    }
}

/// Nearest codes for one group of floats; `None` if one is not finite.
fn quantize_group(w: &[f32], format: Format, codes: &mut [u8; 64]) -> Option<(f16, f16)> {
    if w.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let most = 2.0 * format.zero() - 1.0;
    let (scale, minimum, zero) = match format.minimum {
        Minimum::Implied => {
            let largest = w.iter().fold(0.0f32, |m, v| m.max(v.abs()));
            let scale = f16::from_f32(largest / (format.zero() - 1.0));
            (scale, f16::ZERO, format.zero())
        }
        Minimum::Stored => {
            // Zero is kept in range: a padded or pruned channel stays exactly silent.
            let low = w.iter().fold(0.0f32, |m, &v| m.min(v));
            let high = w.iter().fold(0.0f32, |m, &v| m.max(v));
            let scale = f16::from_f32((high - low) / most);
            let minimum = f16::from_f32(low);
            let zero = if scale > f16::ZERO { -minimum.to_f32() / scale.to_f32() } else { 0.0 };
            (scale, minimum, zero)
        }
    };
    let inverse = if scale > f16::ZERO { scale.to_f32().recip() } else { 0.0 };
    for (code, &w) in codes.iter_mut().zip(w) {
        *code = (w * inverse + zero).round_ties_even().clamp(0.0, most) as u8;
    }
    Some((scale, minimum))
}

#[cfg(test)]
mod tests;
