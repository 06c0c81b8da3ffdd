//! Super-blocks of 256 elements.
//!
//! Q4_K: `d:f16 dmin:f16 scales:12B q:128B`; Q5_K has 32 bytes of fifth bits between scales and q.
//! Eight sub-blocks of 32, each with a 6-bit scale `s` and minimum `m`: `w = d*s*q - dmin*m`.
//! Q6_K: `ql:128B qh:64B scales:16xi8 d:f16`, sixteen sub-blocks of 16: `w = d*s*(q - 32)`.

use super::half_at;

pub(super) fn q4_k(block: &[u8], out: &mut [f32]) {
    let (d, dmin) = (half_at(block, 0), half_at(block, 2));
    let (scales, q) = (&block[4..16], &block[16..144]);
    // 32 bytes of q hold two neighbouring sub-blocks: low nibbles, then high nibbles.
    for (pair, (q, out)) in q.chunks_exact(32).zip(out.chunks_exact_mut(64)).enumerate() {
        for (half, out) in out.chunks_exact_mut(32).enumerate() {
            let (scale, min) = scale_min(scales, 2 * pair + half);
            let (scale, min) = (d * f32::from(scale), dmin * f32::from(min));
            for (o, &byte) in out.iter_mut().zip(q) {
                *o = scale * f32::from((byte >> (4 * half)) & 15) - min;
            }
        }
    }
}

pub(super) fn q5_k(block: &[u8], out: &mut [f32]) {
    let (d, dmin) = (half_at(block, 0), half_at(block, 2));
    let (scales, fifth, q) = (&block[4..16], &block[16..48], &block[48..176]);
    for (pair, (q, out)) in q.chunks_exact(32).zip(out.chunks_exact_mut(64)).enumerate() {
        for (half, out) in out.chunks_exact_mut(32).enumerate() {
            let sub = 2 * pair + half;
            let (scale, min) = scale_min(scales, sub);
            let (scale, min) = (d * f32::from(scale), dmin * f32::from(min));
            for (i, o) in out.iter_mut().enumerate() {
                let code = ((q[i] >> (4 * half)) & 15) | (((fifth[i] >> sub) & 1) << 4);
                *o = scale * f32::from(code) - min;
            }
        }
    }
}

pub(super) fn q6_k(block: &[u8], out: &mut [f32]) {
    let (low, high, scales, d) = (&block[0..128], &block[128..192], &block[192..208], half_at(block, 208));
    for (i, o) in out.iter_mut().enumerate() {
        // Two halves of 128; in each, four quarters of 32 share the same bytes.
        let (half, quarter, lane) = (i / 128, i % 128 / 32, i % 32);
        let nibble = low[64 * half + 32 * (quarter % 2) + lane] >> (4 * (quarter / 2)) & 15;
        let top = high[32 * half + lane] >> (2 * quarter) & 3;
        let scale = scales[i / 16].cast_signed();
        *o = d * f32::from(scale) * (f32::from(nibble | top << 4) - 32.0);
    }
}

/// The 6-bit scale and minimum of sub-block `j`, packed as ggml does: the first four in the low bits of bytes 0-7, the rest
/// in bytes 8-11 with their top two bits in the top bits of bytes 0-7.
fn scale_min(s: &[u8], j: usize) -> (u8, u8) {
    if j < 4 {
        (s[j] & 63, s[j + 4] & 63)
    } else {
        ((s[j + 4] & 15) | (s[j - 4] >> 6) << 4, (s[j + 4] >> 4) | (s[j] >> 6) << 4)
    }
}
