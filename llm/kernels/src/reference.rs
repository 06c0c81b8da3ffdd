//! The scalar reference: the oracle of every kernel, kept simple and never optimised.

use crate::activations::Activations;
use crate::matrix::{Matrix, PANEL_ROWS};

/// Groups whose largest activation is below this count as zero: the inverse of their scale would overflow.
pub const SMALLEST: f32 = 1e-30;

/// Quantizes one row of activations; see [`Activations`].
///
/// A group that holds NaN gets a NaN scale, so damage shows in the output and not as a plausible number.
pub fn quantize_row(x: &[f32], group: usize, codes: &mut [i8], scales: &mut [f32], sums: &mut [f32]) {
    codes.fill(0);
    for (g, x) in x.chunks(group).enumerate() {
        let largest = x.iter().fold(0.0f32, |m, v| if v.is_nan() || m.is_nan() { f32::NAN } else { m.max(v.abs()) });
        let scale = largest / 127.0;
        let inverse = if largest > SMALLEST { 127.0 / largest } else { 0.0 };
        let codes = &mut codes[g * group..][..x.len()];
        let mut sum = 0i32;
        for (code, &x) in codes.iter_mut().zip(x) {
            *code = (x * inverse).round_ties_even() as i8;
            sum += i32::from(*code);
        }
        scales[g] = scale;
        sums[g] = scale * sum as f32;
    }
}

/// `out[i, r] = sum over k of x[i, k] W[r, k]`; `out: [n, rows]`.
pub fn matmul(m: &Matrix, x: &Activations, out: &mut [f32]) {
    for i in 0..x.n {
        for row in 0..m.rows {
            out[i * m.rows + row] = dot(m, row, x, i);
        }
    }
}

/// Product of one weight row with one activation row.
pub fn dot(m: &Matrix, row: usize, x: &Activations, i: usize) -> f32 {
    let (groups, group) = (m.groups(), m.format.group);
    let panel = &m.data()[row / PANEL_ROWS * m.panel_bytes()..][..m.panel_bytes()];
    let mut total = 0.0;
    for (g, bytes) in panel.chunks_exact(m.format.group_bytes()).enumerate() {
        let codes = &x.codes[i * x.padded() + g * group..][..group];
        let sum: i32 = codes
            .iter()
            .enumerate()
            .map(|(k, &code)| i32::from(code) * i32::from(m.format.code(bytes, row % PANEL_ROWS, k)))
            .sum();
        let (scale, minimum) = m.format.scale_and_minimum(bytes, row % PANEL_ROWS);
        total += scale * (x.scales[i * groups + g] * sum as f32) + minimum * x.sums[i * groups + g];
    }
    total
}
