//! Activations quantized to 8 bits, the other operand of every product.

use crate::error::{Result, check_len};
use crate::isa::Isa;

/// Rows of activations as signed 8-bit codes with a scale per group; reused from call to call.
///
/// `x = scale x code` with codes in -127..=127. `sums` holds `scale x (sum of the group's codes)`, so that a
/// weight's minimum multiplies exactly what its scale multiplies: rounding errors of `x` then meet the weight
/// itself, not its larger unsigned code.
#[derive(Debug, Default)]
pub struct Activations {
    pub(crate) n: usize,
    pub(crate) cols: usize,
    pub(crate) group: usize,
    pub(crate) codes: Vec<i8>,   // [n, groups x group], zero padded
    pub(crate) scales: Vec<f32>, // [n, groups]
    pub(crate) sums: Vec<f32>,   // [n, groups]
}

impl Activations {
    /// Room for `n` rows of `cols`, so that later calls do not allocate.
    pub fn with_capacity(n: usize, cols: usize) -> Self {
        let groups = cols.div_ceil(32);
        Activations {
            codes: Vec::with_capacity(n * (groups + 1) * 32),
            scales: Vec::with_capacity(n * groups),
            sums: Vec::with_capacity(n * groups),
            ..Activations::default()
        }
    }

    /// Quantizes `x: [n, cols]` in groups of `group` (32 or 64: that of the matrix to be multiplied with).
    ///
    /// # Errors
    /// When `x` is not `n x cols` long.
    pub fn quantize(
        &mut self,
        isa: Isa,
        x: &[f32],
        n: usize,
        cols: usize,
        group: usize,
    ) -> Result<()> {
        check_len("x", x.len(), n * cols)?;
        self.resize(n, cols, group);
        let (groups, padded) = (self.groups(), self.padded());
        for i in 0..n {
            quantize_row(
                isa,
                &x[i * cols..][..cols],
                group,
                &mut self.codes[i * padded..][..padded],
                &mut self.scales[i * groups..][..groups],
                &mut self.sums[i * groups..][..groups],
            );
        }
        Ok(())
    }

    /// Sets the shape; contents are unspecified afterwards.
    pub(crate) fn resize(&mut self, n: usize, cols: usize, group: usize) {
        (self.n, self.cols, self.group) = (n, cols, group);
        self.codes.resize(n * self.padded(), 0);
        self.scales.resize(n * self.groups(), 0.0);
        self.sums.resize(n * self.groups(), 0.0);
    }

    /// Rows.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Columns before padding.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Groups per row.
    pub fn groups(&self) -> usize {
        self.cols.div_ceil(self.group)
    }

    /// Codes per row, padding included.
    pub fn padded(&self) -> usize {
        self.groups() * self.group
    }
}

/// Quantizes one row: `x: [cols]`, `codes: [groups x group]`, `scales` and `sums`: `[groups]`.
pub(crate) fn quantize_row(
    isa: Isa,
    x: &[f32],
    group: usize,
    codes: &mut [i8],
    scales: &mut [f32],
    sums: &mut [f32],
) {
    let _ = isa;
    crate::reference::quantize_row(x, group, codes, scales, sums);
}
