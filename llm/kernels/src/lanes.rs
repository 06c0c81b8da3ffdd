//! Sixteen floats at a time: the few operations over which norms, softmax, rotations and attention are
//! written once for all instruction sets.
//!
//! Every method is inlined into a function compiled for the instruction set (see [`crate::isa::dispatch`]).
//! A value of a vector type comes only from the methods here, which are reached only through such a function,
//! so the CPU has the instructions.
#![allow(unsafe_code, reason = "vector intrinsics, and loads and stores through checked slices")]

use half::f16;

/// A vector of sixteen floats.
pub(crate) trait Lanes: Copy {
    /// Vectors that fit in the register file.
    const REGISTERS: usize;
    fn splat(v: f32) -> Self;
    /// The first sixteen elements of `s`; panics if there are fewer.
    fn load(s: &[f32]) -> Self;
    fn load_f16(s: &[f16]) -> Self;
    fn store(self, s: &mut [f32]);
    /// Stores the bits of the nearest halves.
    fn store_f16(self, s: &mut [u16; 16]);
    /// Stores integral values in -128..=127.
    fn store_i8(self, s: &mut [i8]);
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn div(self, o: Self) -> Self;
    fn max(self, o: Self) -> Self;
    fn min(self, o: Self) -> Self;
    /// `self * a + b`
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// `self * 2^n` for integral `n` in -127..=127.
    fn scale_by_power(self, n: Self) -> Self;
    /// Nearest integer, ties to even.
    fn round(self) -> Self;

    #[inline(always)]
    fn to_array(self) -> [f32; 16] {
        let mut a = [0.0; 16];
        self.store(&mut a);
        a
    }

    /// Sum of the lanes, always in the same order.
    #[inline(always)]
    fn sum(self) -> f32 {
        let a = self.to_array();
        let mut eight = [0.0; 8];
        for i in 0..8 {
            eight[i] = a[i] + a[i + 8];
        }
        let four = [eight[0] + eight[4], eight[1] + eight[5], eight[2] + eight[6], eight[3] + eight[7]];
        (four[0] + four[2]) + (four[1] + four[3])
    }

    /// Largest lane.
    #[inline(always)]
    fn largest(self) -> f32 {
        let a = self.to_array();
        let mut eight = [0.0; 8];
        for i in 0..8 {
            eight[i] = if a[i] > a[i + 8] { a[i] } else { a[i + 8] };
        }
        let max = |a: f32, b: f32| if a > b { a } else { b };
        let four = [max(eight[0], eight[4]), max(eight[1], eight[5]), max(eight[2], eight[6]), max(eight[3], eight[7])];
        max(max(four[0], four[2]), max(four[1], four[3]))
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.max(Self::splat(0.0).sub(self))
    }

    /// e^x, within 2 units in the last place; below -87 it goes to zero, above 88 it stays at e^88.
    #[inline(always)]
    fn exp(self) -> Self {
        let x = self.max(Self::splat(-87.3)).min(Self::splat(88.0));
        let n = x.mul(Self::splat(std::f32::consts::LOG2_E)).round();
        // ln 2 in two parts (Cody and Waite), so that x - n ln 2 keeps its low bits.
        let r = n.mul_add(Self::splat(-0.693_359_4), x);
        let r = n.mul_add(Self::splat(2.121_944_4e-4), r);
        // Polynomial of Cephes' expf.
        let mut p = Self::splat(1.987_569_1e-4);
        for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
            p = p.mul_add(r, Self::splat(c));
        }
        p.mul_add(r.mul(r), r).add(Self::splat(1.0)).scale_by_power(n)
    }
}

impl Lanes for [f32; 16] {
    const REGISTERS: usize = 4;
    #[inline(always)]
    fn splat(v: f32) -> Self {
        [v; 16]
    }
    #[inline(always)]
    fn load(s: &[f32]) -> Self {
        std::array::from_fn(|i| s[i])
    }
    #[inline(always)]
    fn load_f16(s: &[f16]) -> Self {
        std::array::from_fn(|i| s[i].to_f32())
    }
    #[inline(always)]
    fn store(self, s: &mut [f32]) {
        s[..16].copy_from_slice(&self);
    }
    #[inline(always)]
    fn store_f16(self, s: &mut [u16; 16]) {
        *s = self.map(|v| f16::from_f32(v).to_bits());
    }
    #[inline(always)]
    fn store_i8(self, s: &mut [i8]) {
        s[..16].copy_from_slice(&self.map(|v| v as i8));
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        std::array::from_fn(|i| self[i] + o[i])
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        std::array::from_fn(|i| self[i] - o[i])
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        std::array::from_fn(|i| self[i] * o[i])
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        std::array::from_fn(|i| self[i] / o[i])
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        std::array::from_fn(|i| if self[i] > o[i] { self[i] } else { o[i] })
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        std::array::from_fn(|i| if self[i] < o[i] { self[i] } else { o[i] })
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        std::array::from_fn(|i| self[i] * a[i] + b[i])
    }
    #[inline(always)]
    fn scale_by_power(self, n: Self) -> Self {
        std::array::from_fn(|i| self[i] * f32::from_bits(((n[i] as i32 + 127) as u32) << 23))
    }
    #[inline(always)]
    fn round(self) -> Self {
        std::array::from_fn(|i| self[i].round_ties_even())
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{F32x8x2, F32x16};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use half::f16;
    use std::arch::x86_64::*;

    /// One AVX-512 register.
    #[derive(Clone, Copy)]
    pub(crate) struct F32x16(pub(crate) __m512);

    /// Calls an intrinsic whose only duty is that the CPU has it.
    macro_rules! have {
        ($e:expr) => {
            // SAFETY: reached only from functions compiled for this instruction set, see the module's docs.
            unsafe { $e }
        };
    }

    impl Lanes for F32x16 {
        const REGISTERS: usize = 32;
        #[inline(always)]
        fn splat(v: f32) -> Self {
            F32x16(have!(_mm512_set1_ps(v)))
        }
        #[inline(always)]
        fn load(s: &[f32]) -> Self {
            let s = &s[..16];
            // SAFETY: sixteen floats, checked above; the CPU has AVX-512, see the module's docs.
            F32x16(unsafe { _mm512_loadu_ps(s.as_ptr()) })
        }
        #[inline(always)]
        fn load_f16(s: &[f16]) -> Self {
            let s = &s[..16];
            // SAFETY: sixteen halves, checked above; the CPU has AVX-512, see the module's docs.
            F32x16(unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(s.as_ptr().cast())) })
        }
        #[inline(always)]
        fn store(self, s: &mut [f32]) {
            let s = &mut s[..16];
            // SAFETY: sixteen floats, checked above; the CPU has AVX-512, see the module's docs.
            unsafe { _mm512_storeu_ps(s.as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn store_f16(self, s: &mut [u16; 16]) {
            // SAFETY: the array has the size of the register; the CPU has AVX-512, see the module's docs.
            unsafe {
                let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.0);
                _mm256_storeu_si256(s.as_mut_ptr().cast(), halves);
            }
        }
        #[inline(always)]
        fn store_i8(self, s: &mut [i8]) {
            let s = &mut s[..16];
            // SAFETY: sixteen bytes, checked above; the CPU has AVX-512, see the module's docs.
            unsafe { _mm_storeu_si128(s.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(self.0))) }
        }
        #[inline(always)]
        fn add(self, o: Self) -> Self {
            F32x16(have!(_mm512_add_ps(self.0, o.0)))
        }
        #[inline(always)]
        fn sub(self, o: Self) -> Self {
            F32x16(have!(_mm512_sub_ps(self.0, o.0)))
        }
        #[inline(always)]
        fn mul(self, o: Self) -> Self {
            F32x16(have!(_mm512_mul_ps(self.0, o.0)))
        }
        #[inline(always)]
        fn div(self, o: Self) -> Self {
            F32x16(have!(_mm512_div_ps(self.0, o.0)))
        }
        #[inline(always)]
        fn max(self, o: Self) -> Self {
            F32x16(have!(_mm512_max_ps(self.0, o.0)))
        }
        #[inline(always)]
        fn min(self, o: Self) -> Self {
            F32x16(have!(_mm512_min_ps(self.0, o.0)))
        }
        #[inline(always)]
        fn mul_add(self, a: Self, b: Self) -> Self {
            F32x16(have!(_mm512_fmadd_ps(self.0, a.0, b.0)))
        }
        #[inline(always)]
        fn scale_by_power(self, n: Self) -> Self {
            F32x16(have!(_mm512_scalef_ps(self.0, n.0)))
        }
        #[inline(always)]
        fn round(self) -> Self {
            F32x16(have!(_mm512_roundscale_ps::<0>(self.0)))
        }
        #[inline(always)]
        fn sum(self) -> f32 {
            have!(_mm512_reduce_add_ps(self.0))
        }
        #[inline(always)]
        fn largest(self) -> f32 {
            have!(_mm512_reduce_max_ps(self.0))
        }
    }

    /// Two AVX registers.
    #[derive(Clone, Copy)]
    pub(crate) struct F32x8x2(pub(crate) __m256, pub(crate) __m256);

    impl F32x8x2 {
        #[inline(always)]
        fn map(self, o: Self, f: impl Fn(__m256, __m256) -> __m256) -> Self {
            F32x8x2(f(self.0, o.0), f(self.1, o.1))
        }
    }

    impl Lanes for F32x8x2 {
        const REGISTERS: usize = 8;
        #[inline(always)]
        fn splat(v: f32) -> Self {
            let v = have!(_mm256_set1_ps(v));
            F32x8x2(v, v)
        }
        #[inline(always)]
        fn load(s: &[f32]) -> Self {
            let s = &s[..16];
            // SAFETY: sixteen floats, checked above; the CPU has AVX, see the module's docs.
            unsafe { F32x8x2(_mm256_loadu_ps(s.as_ptr()), _mm256_loadu_ps(s.as_ptr().add(8))) }
        }
        #[inline(always)]
        fn load_f16(s: &[f16]) -> Self {
            let s = &s[..16];
            // SAFETY: sixteen halves, checked above; the CPU has F16C, see the module's docs.
            unsafe {
                F32x8x2(
                    _mm256_cvtph_ps(_mm_loadu_si128(s.as_ptr().cast())),
                    _mm256_cvtph_ps(_mm_loadu_si128(s.as_ptr().add(8).cast())),
                )
            }
        }
        #[inline(always)]
        fn store(self, s: &mut [f32]) {
            let s = &mut s[..16];
            // SAFETY: sixteen floats, checked above; the CPU has AVX, see the module's docs.
            unsafe {
                _mm256_storeu_ps(s.as_mut_ptr(), self.0);
                _mm256_storeu_ps(s.as_mut_ptr().add(8), self.1);
            }
        }
        #[inline(always)]
        fn store_f16(self, s: &mut [u16; 16]) {
            // SAFETY: the array has the size of two registers; the CPU has F16C, see the module's docs.
            unsafe {
                let p = s.as_mut_ptr().cast::<__m128i>();
                _mm_storeu_si128(p, _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.0));
                _mm_storeu_si128(p.add(1), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.1));
            }
        }
        #[inline(always)]
        fn store_i8(self, s: &mut [i8]) {
            let s = &mut s[..16];
            // SAFETY: sixteen bytes, checked above; the CPU has AVX2, see the module's docs.
            unsafe {
                let words = _mm256_packs_epi32(_mm256_cvtps_epi32(self.0), _mm256_cvtps_epi32(self.1));
                // The pack works within 128-bit halves: quarters come out as 0 2 1 3.
                let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(words);
                let bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
                _mm_storeu_si128(s.as_mut_ptr().cast(), bytes);
            }
        }
        #[inline(always)]
        fn add(self, o: Self) -> Self {
            self.map(o, |a, b| have!(_mm256_add_ps(a, b)))
        }
        #[inline(always)]
        fn sub(self, o: Self) -> Self {
            self.map(o, |a, b| have!(_mm256_sub_ps(a, b)))
        }
        #[inline(always)]
        fn mul(self, o: Self) -> Self {
            self.map(o, |a, b| have!(_mm256_mul_ps(a, b)))
        }
        #[inline(always)]
        fn div(self, o: Self) -> Self {
            self.map(o, |a, b| have!(_mm256_div_ps(a, b)))
        }
        #[inline(always)]
        fn max(self, o: Self) -> Self {
            self.map(o, |a, b| have!(_mm256_max_ps(a, b)))
        }
        #[inline(always)]
        fn min(self, o: Self) -> Self {
            self.map(o, |a, b| have!(_mm256_min_ps(a, b)))
        }
        #[inline(always)]
        fn mul_add(self, a: Self, b: Self) -> Self {
            have!(F32x8x2(_mm256_fmadd_ps(self.0, a.0, b.0), _mm256_fmadd_ps(self.1, a.1, b.1)))
        }
        #[inline(always)]
        fn scale_by_power(self, n: Self) -> Self {
            self.map(n, |x, n| {
                let n = have!(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)));
                have!(_mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32::<23>(n))))
            })
        }
        #[inline(always)]
        fn round(self) -> Self {
            self.map(self, |a, _| have!(_mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a)))
        }
    }
}
