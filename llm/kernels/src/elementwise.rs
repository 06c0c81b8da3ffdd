//! Norms, activation functions, softmax and rotary positions, on one row at a time.
//!
//! Written once over [`Lanes`] and compiled per instruction set. Rows of any length work; those whose length
//! is a multiple of 16 run without a tail.

use crate::isa::dispatch;
use crate::lanes::Lanes;

/// How pairs of a head's elements rotate together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeStyle {
    /// Element `i` with `i + half` (GPT-NeoX, Qwen, Gemma, Hugging Face Llama).
    HalfSplit,
    /// Element `2 i` with `2 i + 1` (the original paper, Llama in GGUF).
    Interleaved,
}

dispatch! {
    /// `out = x / sqrt(mean(x^2) + eps) * weight`; all `[n]`.
    pub fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) = rms_norm_body
}
dispatch! {
    /// `x = x / sqrt(mean(x^2) + eps) * weight`; both `[n]`.
    pub fn rms_norm_in_place(x: &mut [f32], weight: &[f32], eps: f32) = rms_norm_in_place_body
}
dispatch! {
    /// `out = (x - mean) / sqrt(variance + eps) * weight + bias`; all `[n]`.
    pub fn layer_norm(x: &[f32], weight: &[f32], bias: &[f32], eps: f32, out: &mut [f32]) = layer_norm_body
}
dispatch! {
    /// `gate = silu(gate) * up`, the SwiGLU product; both `[n]`.
    pub fn silu_mul(gate: &mut [f32], up: &[f32]) = silu_mul_body
}
dispatch! {
    /// `gate = gelu(gate) * up` with the tanh approximation of GELU (Gemma); both `[n]`.
    pub fn gelu_tanh_mul(gate: &mut [f32], up: &[f32]) = gelu_tanh_mul_body
}
dispatch! {
    /// `x = gelu(x)`, exact form over the error function (Whisper), to about 1e-6.
    pub fn gelu(x: &mut [f32]) = gelu_body
}
dispatch! {
    /// `x = exp(x - max) / sum`. A row of -inf only becomes NaN.
    pub fn softmax(x: &mut [f32]) = softmax_body
}
dispatch! {
    /// `x += y`; both `[n]`.
    pub fn add_assign(x: &mut [f32], y: &[f32]) = add_assign_body
}
dispatch! {
    /// `x *= factor`
    pub fn scale(x: &mut [f32], factor: f32) = scale_body
}
dispatch! {
    /// Rotates one head `[head_size]` by the angles whose cosines and sines are given, `[rotated / 2]` each;
    /// elements past `rotated` stay.
    pub fn rope(head: &mut [f32], cos: &[f32], sin: &[f32], style: RopeStyle) = rope_body
}

// Whatever takes more than a few operations is passed to these as a named function that is always inlined: a closure
// that the compiler leaves alone is compiled without the instruction set, and its operations become calls.

/// Applies `f` to whole vectors of `x`, and to its tail through a padded copy.
#[inline(always)]
fn each<V: Lanes>(x: &mut [f32], y: &[f32], f: impl Fn(V, V) -> V) {
    let y = &y[..x.len()];
    let mut ys = y.chunks_exact(16);
    let mut xs = x.chunks_exact_mut(16);
    for (x, y) in (&mut xs).zip(&mut ys) {
        f(V::load(x), V::load(y)).store(x);
    }
    let (x, y) = (xs.into_remainder(), ys.remainder());
    if !x.is_empty() {
        let (mut a, mut b) = ([0.0; 16], [0.0; 16]);
        a[..x.len()].copy_from_slice(x);
        b[..x.len()].copy_from_slice(y);
        x.copy_from_slice(&f(V::load(&a), V::load(&b)).to_array()[..x.len()]);
    }
}

/// As [`each`] for one operand.
#[inline(always)]
fn each_one<V: Lanes>(x: &mut [f32], f: impl Fn(V) -> V) {
    let mut xs = x.chunks_exact_mut(16);
    for x in &mut xs {
        f(V::load(x)).store(x);
    }
    let x = xs.into_remainder();
    if !x.is_empty() {
        let mut a = [0.0; 16];
        a[..x.len()].copy_from_slice(x);
        x.copy_from_slice(&f(V::load(&a)).to_array()[..x.len()]);
    }
}

/// Folds `x` into sixteen lanes, the tail padded with `pad`; two chains hide the latency of an addition.
#[inline(always)]
fn fold<V: Lanes>(x: &[f32], pad: f32, start: V, f: impl Fn(V, V) -> V, join: impl Fn(V, V) -> V) -> V {
    let mut pairs = x.chunks_exact(32);
    let (mut a, mut b) = (start, start);
    for pair in &mut pairs {
        a = f(a, V::load(pair));
        b = f(b, V::load(&pair[16..]));
    }
    for rest in pairs.remainder().chunks(16) {
        let mut last = [pad; 16];
        last[..rest.len()].copy_from_slice(rest);
        a = f(a, V::load(&last));
    }
    join(a, b)
}

#[inline(always)]
pub(crate) fn sum_of_squares<V: Lanes>(x: &[f32]) -> f32 {
    fold(x, 0.0, V::splat(0.0), |a, v| v.mul_add(v, a), V::add).sum()
}

#[inline(always)]
pub(crate) fn rms_norm_body<V: Lanes>(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let out = &mut out[..x.len()];
    out.copy_from_slice(x);
    rms_norm_in_place_body::<V>(out, weight, eps);
}

#[inline(always)]
pub(crate) fn rms_norm_in_place_body<V: Lanes>(x: &mut [f32], weight: &[f32], eps: f32) {
    let inverse = V::splat(1.0 / (sum_of_squares::<V>(x) / x.len() as f32 + eps).sqrt());
    each(x, weight, |x: V, w| x.mul(inverse).mul(w));
}

#[inline(always)]
fn layer_norm_body<V: Lanes>(x: &[f32], weight: &[f32], bias: &[f32], eps: f32, out: &mut [f32]) {
    let out = &mut out[..x.len()];
    let n = x.len() as f32;
    let mean = fold(x, 0.0, V::splat(0.0), V::add, V::add).sum() / n;
    out.copy_from_slice(x);
    each_one(out, |x: V| x.sub(V::splat(mean)));
    let inverse = V::splat(1.0 / (sum_of_squares::<V>(out) / n + eps).sqrt());
    each(out, weight, |x: V, w| x.mul(inverse).mul(w));
    each(out, bias, V::add);
}

#[inline(always)]
pub(crate) fn silu<V: Lanes>(x: V) -> V {
    x.div(V::splat(1.0).add(V::splat(0.0).sub(x).exp()))
}

/// `gelu(x) = x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3))`, the tanh form rewritten.
#[inline(always)]
pub(crate) fn gelu_tanh<V: Lanes>(x: V) -> V {
    let cubic = x.mul(x).mul_add(V::splat(0.044_715), V::splat(1.0));
    let t = x.mul(cubic).mul(V::splat(-1.595_769));
    x.div(V::splat(1.0).add(t.exp()))
}

#[inline(always)]
fn silu_mul_body<V: Lanes>(gate: &mut [f32], up: &[f32]) {
    each(gate, up, silu_times::<V>);
}

#[inline(always)]
fn gelu_tanh_mul_body<V: Lanes>(gate: &mut [f32], up: &[f32]) {
    each(gate, up, gelu_tanh_times::<V>);
}

#[inline(always)]
fn gelu_body<V: Lanes>(x: &mut [f32]) {
    each_one(x, gelu_exact::<V>);
}

#[inline(always)]
fn silu_times<V: Lanes>(gate: V, up: V) -> V {
    silu(gate).mul(up)
}

#[inline(always)]
fn gelu_tanh_times<V: Lanes>(gate: V, up: V) -> V {
    gelu_tanh(gate).mul(up)
}

#[inline(always)]
fn gelu_exact<V: Lanes>(x: V) -> V {
    // Abramowitz and Stegun 7.1.26 for the complementary error function of |x| / sqrt(2).
    let z = x.abs().mul(V::splat(std::f32::consts::FRAC_1_SQRT_2));
    let t = V::splat(1.0).div(z.mul_add(V::splat(0.327_591_1), V::splat(1.0)));
    let mut p = V::splat(1.061_405_4);
    for c in [-1.453_152, 1.421_413_8, -0.284_496_74, 0.254_829_6] {
        p = p.mul_add(t, V::splat(c));
    }
    let tail = p.mul(t).mul(V::splat(0.0).sub(z).mul(z).exp()).mul(V::splat(0.5));
    // x Phi(x): 1 - tail for positive x, tail for negative x.
    x.max(V::splat(0.0)).sub(x.abs().mul(tail))
}

#[inline(always)]
fn softmax_body<V: Lanes>(x: &mut [f32]) {
    let largest = fold(x, f32::NEG_INFINITY, V::splat(f32::NEG_INFINITY), V::max, V::max).largest();
    each_one(x, |v: V| v.sub(V::splat(largest)).exp());
    let total = fold(x, 0.0, V::splat(0.0), V::add, V::add).sum();
    scale_body::<V>(x, 1.0 / total);
}

#[inline(always)]
fn add_assign_body<V: Lanes>(x: &mut [f32], y: &[f32]) {
    each(x, y, V::add);
}

#[inline(always)]
pub(crate) fn scale_body<V: Lanes>(x: &mut [f32], factor: f32) {
    each_one(x, |x: V| x.mul(V::splat(factor)));
}

#[inline(always)]
pub(crate) fn rope_body<V: Lanes>(head: &mut [f32], cos: &[f32], sin: &[f32], style: RopeStyle) {
    let half = cos.len();
    let sin = &sin[..half];
    match style {
        RopeStyle::HalfSplit => {
            let (a, rest) = head.split_at_mut(half);
            let b = &mut rest[..half];
            let whole = half / 16 * 16;
            for i in (0..whole).step_by(16) {
                let (x, y) = (V::load(&a[i..]), V::load(&b[i..]));
                let (c, s) = (V::load(&cos[i..]), V::load(&sin[i..]));
                x.mul(c).sub(y.mul(s)).store(&mut a[i..]);
                x.mul(s).add(y.mul(c)).store(&mut b[i..]);
            }
            for i in whole..half {
                (a[i], b[i]) = (a[i] * cos[i] - b[i] * sin[i], a[i] * sin[i] + b[i] * cos[i]);
            }
        }
        RopeStyle::Interleaved => {
            for (pair, (c, s)) in head[..2 * half].chunks_exact_mut(2).zip(cos.iter().zip(sin)) {
                (pair[0], pair[1]) = (pair[0] * c - pair[1] * s, pair[0] * s + pair[1] * c);
            }
        }
    }
}

#[cfg(test)]
mod tests;
