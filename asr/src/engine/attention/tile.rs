//! The two inner loops of attention, written once over a vector type and compiled per instruction set.
#![allow(
    unsafe_code,
    reason = "vector intrinsics behind the instruction set's token; unchecked loads after lengths are asserted"
)]

use kernels::Isa;

use super::{BLOCK, HEAD};

/// A vector of floats.
trait Vector: Copy {
    const LANES: usize;
    /// Queries whose sums fit the registers together.
    const QUERIES: usize;
    /// # Safety
    /// The CPU has the instruction set.
    unsafe fn splat(value: f32) -> Self;
    /// # Safety
    /// As `splat`; `from` is valid for `LANES` reads.
    unsafe fn load(from: *const f32) -> Self;
    /// # Safety
    /// As `splat`; `to` is valid for `LANES` writes.
    unsafe fn store(self, to: *mut f32);
    /// `self * a + b`
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn mul_add(self, a: Self, b: Self) -> Self;
}

/// Scores `[n, keys]` of queries `[n, HEAD]` against key blocks `[keys / BLOCK, HEAD, BLOCK]`; at most 6 queries.
pub(super) fn scores(isa: Isa, queries: &[f32], keys: &[f32], scores: &mut [f32]) {
    let n = queries.len() / HEAD;
    let n_keys = keys.len() / HEAD;
    assert!(queries.len() == n * HEAD && n_keys.is_multiple_of(BLOCK) && scores.len() == n * n_keys);
    dispatch!(isa, scores_in, queries, keys, scores);
}

/// Sums `[n, HEAD]` of the first `len` values `[keys, HEAD]` weighted by rows of `weights` `[n, keys]`.
pub(super) fn weighted_sums(isa: Isa, weights: &[f32], values: &[f32], len: usize, out: &mut [f32]) {
    let n = out.len() / HEAD;
    let n_keys = values.len() / HEAD;
    assert!(out.len() == n * HEAD && weights.len() == n * n_keys && len <= n_keys);
    dispatch!(isa, weighted_sums_in, weights, values, len, out);
}

macro_rules! dispatch {
    ($isa:expr, $body:ident, $($arg:ident),*) => {{
        #[cfg(target_arch = "x86_64")]
        match $isa {
            // SAFETY: the token proves that the CPU has the features; lengths are asserted by the caller.
            Isa::Avx512Vnni(_) => return unsafe { x86::avx512::$body($($arg),*) },
            // SAFETY: as above.
            Isa::Avx2(_) | Isa::AvxVnni(_) => return unsafe { x86::avx2::$body($($arg),*) },
            _ => (),
        }
        let _ = $isa;
        // SAFETY: arrays need no instruction set; lengths are asserted by the caller.
        unsafe { $body::<[f32; 8]>($($arg),*) }
    }};
}
use dispatch;

/// # Safety
/// The CPU has the instructions of `V`; lengths are as [`scores`] asserts.
#[inline(always)]
unsafe fn scores_in<V: Vector>(queries: &[f32], keys: &[f32], scores: &mut [f32]) {
    let n = queries.len() / HEAD;
    let n_keys = keys.len() / HEAD;
    let mut first = 0;
    while first < n {
        let rows = V::QUERIES.min(n - first);
        // SAFETY: `first + rows <= n`; the rest is this function's own contract.
        unsafe {
            let (q, s) = (queries.as_ptr().add(first * HEAD), scores.as_mut_ptr().add(first * n_keys));
            match rows {
                1 => score_rows::<V, 1>(q, keys, s),
                2 => score_rows::<V, 2>(q, keys, s),
                3 => score_rows::<V, 3>(q, keys, s),
                4 => score_rows::<V, 4>(q, keys, s),
                5 => score_rows::<V, 5>(q, keys, s),
                _ => score_rows::<V, 6>(q, keys, s),
            }
        }
        first += rows.min(6);
    }
}

/// # Safety
/// As [`scores_in`]; `queries` holds `N` rows of `HEAD`, `scores` takes `N` rows of as many floats as there are keys.
#[inline(always)]
unsafe fn score_rows<V: Vector, const N: usize>(queries: *const f32, keys: &[f32], scores: *mut f32) {
    let n_keys = keys.len() / HEAD;
    for (b, block) in keys.chunks_exact(BLOCK * HEAD).enumerate() {
        for lane in (0..BLOCK).step_by(2 * V::LANES) {
            // SAFETY: a block has HEAD rows of BLOCK keys and `lane` leaves room for two vectors in each; the pointers
            // are valid by this function's contract.
            unsafe {
                let mut sums = [[V::splat(0.0); 2]; N];
                for d in 0..HEAD {
                    let key = block.as_ptr().add(d * BLOCK + lane);
                    let (k0, k1) = (V::load(key), V::load(key.add(V::LANES)));
                    for (i, sum) in sums.iter_mut().enumerate() {
                        let q = V::splat(*queries.add(i * HEAD + d));
                        sum[0] = q.mul_add(k0, sum[0]);
                        sum[1] = q.mul_add(k1, sum[1]);
                    }
                }
                for (i, sum) in sums.iter().enumerate() {
                    let to = scores.add(i * n_keys + b * BLOCK + lane);
                    sum[0].store(to);
                    sum[1].store(to.add(V::LANES));
                }
            }
        }
    }
}

/// # Safety
/// The CPU has the instructions of `V`; lengths are as [`weighted_sums`] asserts.
#[inline(always)]
unsafe fn weighted_sums_in<V: Vector>(weights: &[f32], values: &[f32], len: usize, out: &mut [f32]) {
    let n = out.len() / HEAD;
    let n_keys = values.len() / HEAD;
    let mut first = 0;
    while first < n {
        let rows = V::QUERIES.min(n - first);
        // SAFETY: `first + rows <= n`; the rest is this function's own contract.
        unsafe {
            let (w, o) = (weights.as_ptr().add(first * n_keys), out.as_mut_ptr().add(first * HEAD));
            match rows {
                1 => sum_rows::<V, 1>(w, n_keys, values.as_ptr(), len, o),
                2 => sum_rows::<V, 2>(w, n_keys, values.as_ptr(), len, o),
                3 => sum_rows::<V, 3>(w, n_keys, values.as_ptr(), len, o),
                4 => sum_rows::<V, 4>(w, n_keys, values.as_ptr(), len, o),
                5 => sum_rows::<V, 5>(w, n_keys, values.as_ptr(), len, o),
                _ => sum_rows::<V, 6>(w, n_keys, values.as_ptr(), len, o),
            }
        }
        first += rows.min(6);
    }
}

/// # Safety
/// As [`weighted_sums_in`]; `weights` holds `N` rows of `n_keys`, `out` takes `N` rows of `HEAD`.
#[inline(always)]
unsafe fn sum_rows<V: Vector, const N: usize>(
    weights: *const f32,
    n_keys: usize,
    values: *const f32,
    len: usize,
    out: *mut f32,
) {
    for column in (0..HEAD).step_by(4 * V::LANES) {
        // SAFETY: `column` leaves room for four vectors in a row of HEAD (64 = 4 x 16 or 2 x 4 x 8); `j < len <= n_keys`.
        unsafe {
            let mut sums = [[V::splat(0.0); 4]; N];
            for j in 0..len {
                let value = values.add(j * HEAD + column);
                let v: [V; 4] = std::array::from_fn(|k| V::load(value.add(k * V::LANES)));
                for (i, sum) in sums.iter_mut().enumerate() {
                    let w = V::splat(*weights.add(i * n_keys + j));
                    for (s, &v) in sum.iter_mut().zip(&v) {
                        *s = w.mul_add(v, *s);
                    }
                }
            }
            for (i, sum) in sums.iter().enumerate() {
                for (k, s) in sum.iter().enumerate() {
                    s.store(out.add(i * HEAD + column + k * V::LANES));
                }
            }
        }
    }
}

impl Vector for [f32; 8] {
    const LANES: usize = 8;
    const QUERIES: usize = 2;
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        [value; 8]
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: valid by the trait's contract; an array has the alignment of its element.
        unsafe { *from.cast() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as `load`.
        unsafe { *to.cast() = self }
    }
    #[inline(always)]
    unsafe fn mul_add(self, a: Self, b: Self) -> Self {
        // Not `f32::mul_add`, which is a library call where there is no such instruction.
        std::array::from_fn(|i| self[i] * a[i] + b[i])
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Vector;

    impl Vector for __m512 {
        const LANES: usize = 16;
        const QUERIES: usize = 6;
        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            // SAFETY: the CPU has AVX-512 by the trait's contract, here and below.
            unsafe { _mm512_set1_ps(value) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as above; `from` is valid by the trait's contract.
            unsafe { _mm512_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as above.
            unsafe { _mm512_storeu_ps(to, self) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, a: Self, b: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_fmadd_ps(self, a, b) }
        }
    }

    impl Vector for __m256 {
        const LANES: usize = 8;
        const QUERIES: usize = 2;
        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            // SAFETY: the CPU has AVX2 and FMA by the trait's contract, here and below.
            unsafe { _mm256_set1_ps(value) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as above; `from` is valid by the trait's contract.
            unsafe { _mm256_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as above.
            unsafe { _mm256_storeu_ps(to, self) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, a: Self, b: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm256_fmadd_ps(self, a, b) }
        }
    }

    /// The loops compiled with the features of one instruction set.
    macro_rules! compiled {
        ($name:ident, $vector:ty, $features:literal) => {
            pub(super) mod $name {
                use std::arch::x86_64::*;

                /// # Safety
                /// The CPU has the features; lengths as `super::super::scores` asserts.
                #[target_feature(enable = $features)]
                pub(in super::super) unsafe fn scores_in(queries: &[f32], keys: &[f32], scores: &mut [f32]) {
                    // SAFETY: this function's own contract.
                    unsafe { super::super::scores_in::<$vector>(queries, keys, scores) }
                }

                /// # Safety
                /// The CPU has the features; lengths as `super::super::weighted_sums` asserts.
                #[target_feature(enable = $features)]
                pub(in super::super) unsafe fn weighted_sums_in(
                    weights: &[f32],
                    values: &[f32],
                    len: usize,
                    out: &mut [f32],
                ) {
                    // SAFETY: this function's own contract.
                    unsafe { super::super::weighted_sums_in::<$vector>(weights, values, len, out) }
                }
            }
        };
    }
    compiled!(avx512, __m512, "avx512f,avx2,fma");
    compiled!(avx2, __m256, "avx2,fma");
}
