//! Blocks of 32 elements with one f16 scale and, in the `_1` types, one f16 minimum.

use super::half_at;

pub(super) fn q4_0(block: &[u8], out: &mut [f32]) {
    let d = half_at(block, 0);
    nibbles(&block[2..18], out, |q| d * (f32::from(q) - 8.0));
}

pub(super) fn q4_1(block: &[u8], out: &mut [f32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    nibbles(&block[4..20], out, |q| d * f32::from(q) + m);
}

pub(super) fn q5_0(block: &[u8], out: &mut [f32]) {
    let d = half_at(block, 0);
    five_bits(&block[2..22], out, |q| d * (f32::from(q) - 16.0));
}

pub(super) fn q5_1(block: &[u8], out: &mut [f32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    five_bits(&block[4..24], out, |q| d * f32::from(q) + m);
}

pub(super) fn q8_0(block: &[u8], out: &mut [f32]) {
    let d = half_at(block, 0);
    for (o, &q) in out.iter_mut().zip(&block[2..34]) {
        *o = d * f32::from(q.cast_signed());
    }
}

fn nibbles(q: &[u8], out: &mut [f32], value: impl Fn(u8) -> f32) {
    for (i, &byte) in q.iter().enumerate() {
        out[i] = value(byte & 15);
        out[i + 16] = value(byte >> 4);
    }
}

/// `bits` is a little-endian u32 of fifth bits (bit `i` belongs to element `i`), then 16 bytes of nibbles.
fn five_bits(bits: &[u8], out: &mut [f32], value: impl Fn(u8) -> f32) {
    let high = u32::from_le_bytes([bits[0], bits[1], bits[2], bits[3]]);
    let fifth = |i: usize| ((high >> i) as u8 & 1) << 4;
    for (i, &byte) in bits[4..20].iter().enumerate() {
        out[i] = value((byte & 15) | fifth(i));
        out[i + 16] = value((byte >> 4) | fifth(i + 16));
    }
}
