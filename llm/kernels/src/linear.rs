//! Products of activations with packed matrices: `out = x W^T`.

use crate::activations::Activations;
use crate::error::{Error, Result, check_len};
use crate::isa::Isa;
use crate::matrix::Matrix;
use crate::pool::Pool;
use crate::product::{Finish, Out, Unpacked, grain, product};

/// `out = x W^T` with `x: [n, cols]` and `out: [n, rows]`, both row-major; quantizes `x` to 8 bits per group.
///
/// Convenience for callers with large batches: allocates the quantized activations. See
/// [`matmul_quantized`] for a form that reuses them.
///
/// # Errors
/// When a length does not fit, or `POCKET_VOICE_ISA` names an instruction set that is not available.
pub fn matmul(m: &Matrix, x: &[f32], out: &mut [f32], pool: &Pool) -> Result<()> {
    if !x.len().is_multiple_of(m.cols) {
        return Err(Error::Length { what: "x", got: x.len(), expected: x.len().next_multiple_of(m.cols) });
    }
    let isa = Isa::choose()?;
    let mut activations = Activations::default();
    activations.quantize_with(isa, x, x.len() / m.cols, m.cols, m.format.group, pool)?;
    matmul_quantized(isa, m, &activations, out, pool)
}

/// `out = x W^T` for activations that are quantized already; `out: [n, rows]`.
///
/// # Errors
/// When columns, group or the length of `out` do not fit.
#[expect(unsafe_code, reason = "threads write disjoint columns of one buffer")]
pub fn matmul_quantized(isa: Isa, m: &Matrix, x: &Activations, out: &mut [f32], pool: &Pool) -> Result<()> {
    check_len("activation columns", x.cols, m.cols)?;
    check_len("activation group", x.group, m.format.group)?;
    check_len("out", out.len(), x.n * m.rows)?;
    let sink = Out { ptr: out.as_mut_ptr(), stride: m.rows, column: 0, width: m.rows, finish: Finish::Store };
    pool.claim(m.panels(), grain(m, x.n, 1), &|claims| {
        let (sink, mut scratch) = (&sink, Unpacked::default());
        while let Some(panels) = claims.take() {
            // SAFETY: `out` has n rows of stride floats (checked above) and is borrowed for the whole call; each
            // panel, and so its columns, is claimed once.
            unsafe { product(isa, m, x, panels, *sink, &mut scratch) }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests;
