//! Activations quantized to 8 bits, the other operand of every product.

use crate::error::{Result, check_len};
use crate::isa::{Isa, dispatch};
use crate::lanes::Lanes;
use crate::pool::{Pool, SendPtr};
use crate::reference::SMALLEST;

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
    pub fn quantize(&mut self, isa: Isa, x: &[f32], n: usize, cols: usize, group: usize) -> Result<()> {
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

    /// As [`Activations::quantize`], rows shared among the threads of `pool`.
    ///
    /// # Errors
    /// As [`Activations::quantize`].
    pub fn quantize_with(
        &mut self,
        isa: Isa,
        x: &[f32],
        n: usize,
        cols: usize,
        group: usize,
        pool: &Pool,
    ) -> Result<()> {
        check_len("x", x.len(), n * cols)?;
        self.fill_rows(n, cols, group, pool, |_, i, codes, scales, sums| {
            quantize_row(isa, &x[i * cols..][..cols], group, codes, scales, sums);
        });
        Ok(())
    }

    /// Calls `fill(thread, row, codes, scales, sums)` for each of `n` rows, shared among the threads of `pool`.
    #[expect(unsafe_code, reason = "threads write disjoint rows of three buffers")]
    pub(crate) fn fill_rows(
        &mut self,
        n: usize,
        cols: usize,
        group: usize,
        pool: &Pool,
        fill: impl Fn(usize, usize, &mut [i8], &mut [f32], &mut [f32]) + Sync,
    ) {
        self.resize(n, cols, group);
        let (groups, padded) = (self.groups(), self.padded());
        let codes = SendPtr(self.codes.as_mut_ptr());
        let scales = SendPtr(self.scales.as_mut_ptr());
        let sums = SendPtr(self.sums.as_mut_ptr());
        pool.claim(n, 4, &|claims| {
            let (codes, scales, sums) = (&codes, &scales, &sums);
            while let Some(rows) = claims.take() {
                for i in rows {
                    // SAFETY: `resize` made room for n rows, the buffers are borrowed for the whole call, and each row is
                    // claimed once.
                    let (codes, scales, sums) = unsafe {
                        (
                            std::slice::from_raw_parts_mut(codes.0.add(i * padded), padded),
                            std::slice::from_raw_parts_mut(scales.0.add(i * groups), groups),
                            std::slice::from_raw_parts_mut(sums.0.add(i * groups), groups),
                        )
                    };
                    fill(claims.thread, i, codes, scales, sums);
                }
            }
        });
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

dispatch! {
    /// Quantizes one row: `x: [cols]`, `codes: [groups x group]`, `scales` and `sums`: `[groups]`.
    pub(crate) fn quantize_row(
        x: &[f32],
        group: usize,
        codes: &mut [i8],
        scales: &mut [f32],
        sums: &mut [f32],
    ) = quantize_row_body
}

#[inline(always)]
fn quantize_row_body<V: Lanes>(x: &[f32], group: usize, codes: &mut [i8], scales: &mut [f32], sums: &mut [f32]) {
    let outputs = codes.chunks_exact_mut(group).zip(scales).zip(sums);
    for (x, ((codes, scale), sum)) in x.chunks(group).zip(outputs) {
        let mut padded = [0.0; 64];
        let x = if x.len() == group {
            x
        } else {
            padded[..x.len()].copy_from_slice(x);
            &padded[..group]
        };
        // x - x is zero for what is finite, NaN for what is not; it travels into the scale.
        let (mut largest, mut damage) = (V::splat(0.0), V::splat(0.0));
        for x in x.chunks_exact(16) {
            let x = V::load(x);
            largest = largest.max(x.abs());
            damage = damage.add(x.sub(x));
        }
        let largest = largest.largest() + damage.sum();
        let inverse = if largest > SMALLEST { 127.0 / largest } else { 0.0 };
        let mut total = V::splat(0.0);
        for (x, codes) in x.chunks_exact(16).zip(codes.chunks_exact_mut(16)) {
            let code = V::load(x).mul(V::splat(inverse)).round();
            total = total.add(code);
            code.store_i8(codes);
        }
        *scale = largest / 127.0;
        *sum = *scale * total.sum();
    }
}
