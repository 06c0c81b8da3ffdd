//! Causal attention over a [`KvCache`]: one position against the whole cache (decode), or a block of positions
//! at a time (prefill). Heads that share keys and values are computed together.
//!
//! Softmax is online (Milakov and Gimelshein 2018; Dao et al. 2022): parts of the context yield a maximum, a
//! sum and a weighted value each, and parts are merged. How the context is divided depends on its length
//! only, so results do not depend on the number of threads.

use crate::cache::{BLOCK, KvCache};
use crate::elementwise::{RopeStyle, rms_norm_in_place_body, rope_body};
use crate::isa::dispatch;
use crate::lanes::Lanes;

/// Stands for minus infinity in masked scores: differences of two stay finite, and e to such a difference is
/// zero in the end, because every query sees at least its own position.
const MASKED: f32 = -1e30;
/// Positions that one part of a decode step covers at least.
const PART: usize = 128;
/// Parts that a context is divided into at most; bounds the memory for their results.
pub(crate) const MAX_PARTS: usize = 64;
/// Query positions of one item of a prefill.
pub(crate) const QUERIES: usize = 16;
/// Cached positions that a prefill item takes at a time: a multiple of BLOCK.
const KEYS: usize = 64;

/// What attention must know of a layer besides its cache.
#[derive(Clone, Copy, Debug)]
pub struct Heads<'a> {
    /// Query heads.
    pub n_heads: usize,
    /// Key and value heads; divides `n_heads`.
    pub n_kv_heads: usize,
    /// Elements of a head.
    pub head_size: usize,
    /// Factor on q . k.
    pub scale: f32,
    /// How many positions back a query sees, itself included.
    pub window: Option<usize>,
    /// Pairing of the rotation.
    pub rope: RopeStyle,
    /// Cosines of the rotation at each new position. `[n, head_size / 2]`
    pub cos: &'a [f32],
    /// Sines. `[n, head_size / 2]`
    pub sin: &'a [f32],
    /// Gamma of the RMSNorm over each query head. `[head_size]`
    pub q_norm: Option<&'a [f32]>,
    /// Gamma of the RMSNorm over each key head. `[head_size]`
    pub k_norm: Option<&'a [f32]>,
    /// Epsilon of both.
    pub eps: f32,
    /// Added to q, k and v first. `[(n_heads + 2 n_kv_heads) head_size]`
    pub bias: Option<&'a [f32]>,
}

impl Heads<'_> {
    pub(crate) fn padded(&self) -> usize {
        self.head_size.next_multiple_of(16)
    }

    /// Query heads per key head.
    pub(crate) fn group(&self) -> usize {
        self.n_heads / self.n_kv_heads
    }

    /// Elements of q, k and v of one position.
    pub(crate) fn row(&self) -> usize {
        (self.n_heads + 2 * self.n_kv_heads) * self.head_size
    }

    /// First position that the query at `position` sees.
    pub(crate) fn first(&self, position: usize) -> usize {
        self.window.map_or(0, |w| (position + 1).saturating_sub(w))
    }
}

/// Positions `first..end` in parts; see the module's docs.
pub(crate) fn parts(first: usize, end: usize) -> (usize, usize) {
    let begin = first / BLOCK * BLOCK;
    let len = (end - begin).div_ceil(MAX_PARTS).next_multiple_of(BLOCK).max(PART);
    (len, (end - begin).div_ceil(len))
}

/// What the heads of a fused row hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Query,
    Key,
    Value,
}

dispatch! {
    /// Head `head` of a row of q, k and v, ready for attention: bias, norm, rotation, scale; padded with zeros.
    /// `index` is the row's place in the tables of angles.
    pub(crate) fn prepare(heads: &Heads<'_>, row: &[f32], index: usize, kind: Kind, head: usize, out: &mut [f32]) = prepare_body
}

#[inline(always)]
fn prepare_body<V: Lanes>(heads: &Heads<'_>, row: &[f32], index: usize, kind: Kind, head: usize, out: &mut [f32]) {
    let size = heads.head_size;
    let first = match kind {
        Kind::Query => 0,
        Kind::Key => heads.n_heads,
        Kind::Value => heads.n_heads + heads.n_kv_heads,
    };
    let at = (first + head) * size;
    let (out, pad) = out.split_at_mut(size);
    pad.fill(0.0);
    out.copy_from_slice(&row[at..at + size]);
    if let Some(bias) = heads.bias {
        for (out, b) in out.iter_mut().zip(&bias[at..at + size]) {
            *out += b;
        }
    }
    let gamma = match kind {
        Kind::Query => heads.q_norm,
        Kind::Key => heads.k_norm,
        Kind::Value => return,
    };
    if let Some(gamma) = gamma {
        rms_norm_in_place_body::<V>(out, gamma, heads.eps);
    }
    let half = size / 2;
    rope_body::<V>(out, &heads.cos[index * half..][..half], &heads.sin[index * half..][..half], heads.rope);
    if kind == Kind::Query {
        crate::elementwise::scale_body::<V>(out, heads.scale);
    }
}

dispatch! {
    /// Attention of the queries `q: [group, padded]` of one key head over cached positions `first..end`, in the
    /// blocks from `begin` on: per query the maximum, the sum and the weighted values, `out: [group, 2 + padded]`.
    /// `scores: [group, len]` is scratch.
    pub(crate) fn decode_part(
        cache: &KvCache,
        layer: usize,
        head: usize,
        q: &[f32],
        first: usize,
        begin: usize,
        end: usize,
        scores: &mut Vec<f32>,
        out: &mut [f32],
    ) = decode_part_body
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn decode_part_body<V: Lanes>(
    cache: &KvCache,
    layer: usize,
    head: usize,
    q: &[f32],
    first: usize,
    begin: usize,
    end: usize,
    scores: &mut Vec<f32>,
    out: &mut [f32],
) {
    let padded = cache.padded;
    let group = q.len() / padded;
    let blocks = (end - begin).div_ceil(BLOCK);
    let len = blocks * BLOCK;
    scores.resize(group * len, 0.0);
    let keys = &cache.keys(layer, head)[begin * padded..][..len * padded];
    let values = &cache.values(layer, head)[begin * padded..(begin + len).min(cache.context) * padded];
    let mut g = 0;
    while g < group {
        macro_rules! heads {
            ($($n:literal)+) => {
                $(if group - g >= $n {
                    let scores = &mut scores[g * len..(g + $n) * len];
                    key_scores::<V, $n>(keys, &q[g * padded..(g + $n) * padded], padded, len, scores);
                    for (scores, out) in scores.chunks_exact_mut(len).zip(out[g * (2 + padded)..].chunks_exact_mut(2 + padded)) {
                        // Positions outside first..end share their blocks with those inside.
                        scores[..first.saturating_sub(begin)].fill(MASKED);
                        scores[end - begin..].fill(MASKED);
                        (out[0], out[1]) = exponentials::<V>(scores);
                    }
                    weigh_values::<V, $n>(values, scores, padded, len, end - begin, &mut out[g * (2 + padded)..]);
                    g += $n;
                    continue;
                })+
            };
        }
        heads!(4 3 2 1);
    }
}

/// `scores[i, p] = q[i] . key[p]` for all blocks.
#[inline(always)]
fn key_scores<V: Lanes, const N: usize>(keys: &[half::f16], q: &[f32], padded: usize, len: usize, scores: &mut [f32]) {
    let q = &q[..N * padded];
    for (b, block) in keys.chunks_exact(padded * BLOCK).enumerate() {
        // Even and odd elements in chains of their own: an addition takes longer than the next can wait.
        let mut sums = [[V::splat(0.0); 2]; N];
        for (d, pair) in block.chunks_exact(2 * BLOCK).enumerate() {
            for (half, key) in pair.chunks_exact(BLOCK).enumerate() {
                let key = V::load_f16(key);
                for (i, sum) in sums.iter_mut().enumerate() {
                    sum[half] = key.mul_add(V::splat(q[i * padded + 2 * d + half]), sum[half]);
                }
            }
        }
        for (i, sum) in sums.into_iter().enumerate() {
            sum[0].add(sum[1]).store(&mut scores[i * len + b * BLOCK..]);
        }
    }
}

/// Replaces scores by `e^(score - max)`; returns the maximum and the sum.
#[inline(always)]
fn exponentials<V: Lanes>(scores: &mut [f32]) -> (f32, f32) {
    let mut largest = V::splat(MASKED);
    for s in scores.chunks_exact(16) {
        largest = largest.max(V::load(s));
    }
    let largest = largest.largest();
    let mut total = V::splat(0.0);
    for s in scores.chunks_exact_mut(16) {
        let e = V::load(s).sub(V::splat(largest)).exp();
        total = total.add(e);
        e.store(s);
    }
    (largest, total.sum())
}

/// `out[i, 2..] = sum over p < count of weights[i, p] value[p]`
#[inline(always)]
fn weigh_values<V: Lanes, const N: usize>(
    values: &[half::f16],
    weights: &[f32],
    padded: usize,
    len: usize,
    count: usize,
    out: &mut [f32],
) {
    let weights = &weights[..N * len];
    macro_rules! columns {
        ($d:expr, $c:literal) => {{
            let mut sums = [[V::splat(0.0); $c]; N];
            for (p, value) in values.chunks_exact(padded).take(count).enumerate() {
                let value: [V; $c] = std::array::from_fn(|c| V::load_f16(&value[$d + 16 * c..]));
                for (i, sums) in sums.iter_mut().enumerate() {
                    let weight = V::splat(weights[i * len + p]);
                    for (sum, &value) in sums.iter_mut().zip(&value) {
                        *sum = value.mul_add(weight, *sum);
                    }
                }
            }
            for (i, sums) in sums.into_iter().enumerate() {
                for (c, sum) in sums.into_iter().enumerate() {
                    sum.store(&mut out[i * (2 + padded) + 2 + $d + 16 * c..]);
                }
            }
        }};
    }
    let mut d = 0;
    while d < padded {
        if padded - d >= 64 && V::REGISTERS >= 32 {
            columns!(d, 4);
            d += 64;
        } else if padded - d >= 32 {
            columns!(d, 2);
            d += 32;
        } else {
            columns!(d, 1);
            d += 16;
        }
    }
}

dispatch! {
    /// Merges the parts of a decode step: `partial: [kv_heads, parts, group, 2 + padded]` to
    /// `out: [heads, head_size]`.
    pub(crate) fn merge(heads: &Heads<'_>, partial: &[f32], parts: usize, out: &mut [f32]) = merge_body
}

#[inline(always)]
fn merge_body<V: Lanes>(heads: &Heads<'_>, partial: &[f32], parts: usize, out: &mut [f32]) {
    let (size, padded, group) = (heads.head_size, heads.padded(), heads.group());
    let width = 2 + padded;
    for (head, out) in out.chunks_exact_mut(size).enumerate() {
        let first = head / group * parts * group + head % group;
        let part = |i: usize| &partial[(first + i * group) * width..][..width];
        let largest = (0..parts).fold(MASKED, |m, i| m.max(part(i)[0]));
        let weight = |i: usize| if parts == 1 { 1.0 } else { (part(i)[0] - largest).exp() };
        let total: f32 = (0..parts).map(|i| weight(i) * part(i)[1]).sum();
        for (d, out) in out.chunks_mut(16).enumerate() {
            let mut sum = V::splat(0.0);
            for i in 0..parts {
                sum = V::load(&part(i)[2 + 16 * d..]).mul_add(V::splat(weight(i) / total), sum);
            }
            out.copy_from_slice(&sum.to_array()[..out.len()]);
        }
    }
}

/// Scratch of one thread for a prefill item.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) q: Vec<f32>,   // [queries x group, padded]
    keys: Vec<f32>,           // [KEYS / BLOCK, padded, BLOCK]
    values: Vec<f32>,         // [KEYS, padded]
    scores: Vec<f32>,         // [queries x group, KEYS]
    pub(crate) sum: Vec<f32>, // [queries x group, padded], divided by its total at the end
    largest: Vec<f32>,        // [queries x group]
    total: Vec<f32>,          // [queries x group]
}

dispatch! {
    /// Attention of the prepared queries `scratch.q: [queries, group, padded]` at positions `start..` of one key
    /// head; leaves the result in `scratch.sum`.
    pub(crate) fn prefill_item(heads: &Heads<'_>, cache: &KvCache, layer: usize, head: usize, start: usize, scratch: &mut Scratch) = prefill_item_body
}

#[inline(always)]
fn prefill_item_body<V: Lanes>(
    heads: &Heads<'_>,
    cache: &KvCache,
    layer: usize,
    head: usize,
    start: usize,
    s: &mut Scratch,
) {
    let (padded, group) = (cache.padded, heads.group());
    let rows = s.q.len() / padded;
    let queries = rows / group;
    let end = start + queries;
    s.keys.resize(KEYS * padded, 0.0);
    s.values.resize(KEYS * padded, 0.0);
    s.scores.resize(rows * KEYS, 0.0);
    s.largest.clear();
    s.largest.resize(rows, MASKED);
    s.total.clear();
    s.total.resize(rows, 0.0);
    s.sum.clear();
    s.sum.resize(rows * padded, 0.0);
    let mut from = heads.first(start) / BLOCK * BLOCK;
    while from < end {
        let to = (from + KEYS).min(cache.context);
        widen::<V>(&cache.keys(layer, head)[from * padded..to * padded], &mut s.keys);
        widen::<V>(&cache.values(layer, head)[from * padded..to * padded], &mut s.values);
        let len = (end - from).min(KEYS).next_multiple_of(BLOCK);
        small_product::<V>(
            &s.q,
            padded,
            0,
            padded,
            &s.keys,
            Columns::Blocks { depth: padded },
            len,
            &mut s.scores,
            KEYS,
            false,
        );
        for row in 0..rows {
            let scores = &mut s.scores[row * KEYS..][..len];
            let position = start + row / group;
            if position + 1 < from + len {
                scores[(position + 1).saturating_sub(from)..].fill(MASKED);
            }
            let first = heads.first(position);
            if first > from {
                scores[..(first - from).min(len)].fill(MASKED);
            }
            let mut largest = V::splat(MASKED);
            for v in scores.chunks_exact(16) {
                largest = largest.max(V::load(v));
            }
            let largest = largest.largest().max(s.largest[row]);
            let mut total = V::splat(0.0);
            for v in scores.chunks_exact_mut(16) {
                let e = V::load(v).sub(V::splat(largest)).exp();
                total = total.add(e);
                e.store(v);
            }
            if largest > s.largest[row] {
                let shrink = (s.largest[row] - largest).exp();
                s.total[row] *= shrink;
                crate::elementwise::scale_body::<V>(&mut s.sum[row * padded..][..padded], shrink);
                s.largest[row] = largest;
            }
            s.total[row] += total.sum();
        }
        small_product::<V>(
            &s.scores,
            KEYS,
            0,
            len,
            &s.values,
            Columns::Rows { width: padded },
            padded,
            &mut s.sum,
            padded,
            true,
        );
        from += KEYS;
    }
    for (sum, total) in s.sum.chunks_exact_mut(padded).zip(&s.total) {
        crate::elementwise::scale_body::<V>(sum, 1.0 / total);
    }
}

#[inline(always)]
fn widen<V: Lanes>(from: &[half::f16], to: &mut [f32]) {
    for (from, to) in from.chunks_exact(16).zip(to.chunks_exact_mut(16)) {
        V::load_f16(from).store(to);
    }
}

/// Where element `k` of sixteen columns from `c` on lies in the right operand of [`small_product`].
#[derive(Clone, Copy)]
enum Columns {
    /// `[columns / 16, depth, 16]`
    Blocks { depth: usize },
    /// `[depth, width]`
    Rows { width: usize },
}

impl Columns {
    #[inline(always)]
    fn at(self, k: usize, c: usize) -> usize {
        match self {
            Columns::Blocks { depth } => c * depth + k * 16,
            Columns::Rows { width } => k * width + c,
        }
    }
}

/// `out[r, c] (+)= sum over k of a[r, k] b[k, c]` for `c < columns`, a multiple of 16; `a: [rows, a_stride]`,
/// `k` from `k0` to `k1`, `out: [rows, out_stride]`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn small_product<V: Lanes>(
    a: &[f32],
    a_stride: usize,
    k0: usize,
    k1: usize,
    b: &[f32],
    at: Columns,
    columns: usize,
    out: &mut [f32],
    out_stride: usize,
    add: bool,
) {
    let rows = a.len() / a_stride;
    macro_rules! tile {
        ($r:expr, $c:expr, $rows:literal, $columns:literal) => {{
            let mut sums = [[V::splat(0.0); $columns]; $rows];
            let a: [&[f32]; $rows] = std::array::from_fn(|i| &a[($r + i) * a_stride + k0..($r + i) * a_stride + k1]);
            for k in 0..k1 - k0 {
                let b: [V; $columns] = std::array::from_fn(|c| V::load(&b[at.at(k0 + k, $c + 16 * c)..]));
                for (a, sums) in a.iter().zip(&mut sums) {
                    let a = V::splat(a[k]);
                    for (sum, &b) in sums.iter_mut().zip(&b) {
                        *sum = b.mul_add(a, *sum);
                    }
                }
            }
            for (i, sums) in sums.into_iter().enumerate() {
                for (c, sum) in sums.into_iter().enumerate() {
                    let out = &mut out[($r + i) * out_stride + $c + 16 * c..];
                    if add { V::load(out).add(sum).store(out) } else { sum.store(out) }
                }
            }
        }};
    }
    let mut c = 0;
    while c < columns {
        let mut r = 0;
        if V::REGISTERS >= 32 && columns - c >= 64 {
            while rows - r >= 6 {
                tile!(r, c, 6, 4);
                r += 6;
            }
            while r < rows {
                tile!(r, c, 1, 4);
                r += 1;
            }
            c += 64;
        } else {
            while rows - r >= 4 {
                tile!(r, c, 4, 1);
                r += 4;
            }
            while r < rows {
                tile!(r, c, 1, 1);
                r += 1;
            }
            c += 16;
        }
    }
}
