//! The 8-bit dot products of one step of a panel: sixteen rows of four weight codes against four activations.
//!
//! The second of the two small traits over which the kernels are written (the other is [`Lanes`]); the same
//! rule holds: every method is inlined into a function compiled for its instruction set.
#![allow(unsafe_code, reason = "vector intrinsics, and loads through checked arrays")]

use crate::lanes::Lanes;
use crate::matrix::STEP;

/// Products of unsigned codes with signed activations, sixteen rows at a time.
pub(crate) trait Dot: Copy {
    /// Sixteen floats, one per row.
    type V: Lanes;
    /// Sixteen lanes of four codes.
    type Codes: Copy;
    /// Sixteen 32-bit sums.
    type Sum: Copy;
    /// What the instruction needs subtracted from 8-bit codes, because it takes both operands signed: sums of
    /// 8-bit codes come out as those of `code - OFFSET`.
    const OFFSET: f32;
    /// Tile of the large product: panels and activation rows whose sums fit in registers.
    const TILE_PANELS: usize;
    /// See [`Dot::TILE_PANELS`].
    const TILE_ROWS: usize;

    fn zero() -> Self::Sum;
    fn load(step: &[u8; STEP]) -> Self::Codes;
    fn store(codes: Self::Codes, step: &mut [u8; STEP]);
    /// Low and high nibbles.
    fn nibbles(codes: Self::Codes) -> (Self::Codes, Self::Codes);
    /// `sum + codes . x` with codes of 4 bits; `x` holds four signed activations.
    fn dot4(sum: Self::Sum, codes: Self::Codes, x: i32) -> Self::Sum;
    /// As `dot4` with codes of 8 bits, less [`Dot::OFFSET`].
    fn dot8(sum: Self::Sum, codes: Self::Codes, x: i32) -> Self::Sum;
    fn to_f32(sum: Self::Sum) -> Self::V;
    /// Asks for the cache line at `p`, which may lie anywhere.
    fn prefetch(p: *const u8);
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{DotAvx2, DotAvx512Vnni, DotAvxVnni};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Dot;
    use crate::lanes::{F32x8x2, F32x16};
    use crate::matrix::STEP;
    use std::arch::x86_64::*;

    /// Calls an intrinsic whose only duty is that the CPU has it.
    macro_rules! have {
        ($e:expr) => {
            // SAFETY: reached only from functions compiled for this instruction set, see the module's docs.
            unsafe { $e }
        };
    }

    /// `vpdpbusd` on 512 bits.
    #[derive(Clone, Copy)]
    pub(crate) struct DotAvx512Vnni;

    impl Dot for DotAvx512Vnni {
        type V = F32x16;
        type Codes = __m512i;
        type Sum = __m512i;
        const OFFSET: f32 = 0.0;
        // 12 integer and 12 float accumulators leave 8 registers for codes, scales and an activation.
        const TILE_PANELS: usize = 2;
        const TILE_ROWS: usize = 6;

        #[inline(always)]
        fn zero() -> __m512i {
            have!(_mm512_setzero_si512())
        }
        #[inline(always)]
        fn load(step: &[u8; STEP]) -> __m512i {
            have!(_mm512_loadu_si512(step.as_ptr().cast()))
        }
        #[inline(always)]
        fn store(codes: __m512i, step: &mut [u8; STEP]) {
            have!(_mm512_storeu_si512(step.as_mut_ptr().cast(), codes))
        }
        #[inline(always)]
        fn nibbles(codes: __m512i) -> (__m512i, __m512i) {
            let low = have!(_mm512_set1_epi8(15));
            have!((_mm512_and_si512(codes, low), _mm512_and_si512(_mm512_srli_epi16::<4>(codes), low)))
        }
        #[inline(always)]
        fn dot4(sum: __m512i, codes: __m512i, x: i32) -> __m512i {
            have!(_mm512_dpbusd_epi32(sum, codes, _mm512_set1_epi32(x)))
        }
        #[inline(always)]
        fn dot8(sum: __m512i, codes: __m512i, x: i32) -> __m512i {
            Self::dot4(sum, codes, x)
        }
        #[inline(always)]
        fn to_f32(sum: __m512i) -> F32x16 {
            F32x16(have!(_mm512_cvtepi32_ps(sum)))
        }
        #[inline(always)]
        fn prefetch(p: *const u8) {
            have!(_mm_prefetch::<_MM_HINT_T0>(p.cast()))
        }
    }

    macro_rules! avx_common {
        () => {
            type V = F32x8x2;
            type Codes = (__m256i, __m256i);
            type Sum = (__m256i, __m256i);
            // 6 + 6 accumulators of sixteen registers.
            const TILE_PANELS: usize = 1;
            const TILE_ROWS: usize = 3;

            #[inline(always)]
            fn zero() -> Self::Sum {
                let zero = have!(_mm256_setzero_si256());
                (zero, zero)
            }
            #[inline(always)]
            fn load(step: &[u8; STEP]) -> Self::Codes {
                let p = step.as_ptr().cast::<__m256i>();
                have!((_mm256_loadu_si256(p), _mm256_loadu_si256(p.add(1))))
            }
            #[inline(always)]
            fn store(codes: Self::Codes, step: &mut [u8; STEP]) {
                let p = step.as_mut_ptr().cast::<__m256i>();
                have!({
                    _mm256_storeu_si256(p, codes.0);
                    _mm256_storeu_si256(p.add(1), codes.1);
                })
            }
            #[inline(always)]
            fn nibbles((a, b): Self::Codes) -> (Self::Codes, Self::Codes) {
                let low = have!(_mm256_set1_epi8(15));
                let high = |v| have!(_mm256_and_si256(_mm256_srli_epi16::<4>(v), low));
                (have!((_mm256_and_si256(a, low), _mm256_and_si256(b, low))), (high(a), high(b)))
            }
            #[inline(always)]
            fn to_f32((a, b): Self::Sum) -> F32x8x2 {
                have!(F32x8x2(_mm256_cvtepi32_ps(a), _mm256_cvtepi32_ps(b)))
            }
            #[inline(always)]
            fn prefetch(p: *const u8) {
                have!(_mm_prefetch::<_MM_HINT_T0>(p.cast()))
            }
        };
    }

    /// `vpdpbusd` on 256 bits.
    #[derive(Clone, Copy)]
    pub(crate) struct DotAvxVnni;

    impl Dot for DotAvxVnni {
        avx_common!();
        const OFFSET: f32 = 0.0;

        #[inline(always)]
        fn dot4((a, b): Self::Sum, codes: Self::Codes, x: i32) -> Self::Sum {
            let x = have!(_mm256_set1_epi32(x));
            have!((_mm256_dpbusd_avx_epi32(a, codes.0, x), _mm256_dpbusd_avx_epi32(b, codes.1, x)))
        }
        #[inline(always)]
        fn dot8(sum: Self::Sum, codes: Self::Codes, x: i32) -> Self::Sum {
            Self::dot4(sum, codes, x)
        }
    }

    /// `vpmaddubsw` and `vpmaddwd`: pairs saturate at 16 bits, which codes of 4 bits (15 x 127 x 2) and signed
    /// codes of 8 bits (128 x 127 x 2) both stay below.
    #[derive(Clone, Copy)]
    pub(crate) struct DotAvx2;

    #[inline(always)]
    fn add_pairs(sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i {
        have!(_mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(unsigned, signed), _mm256_set1_epi16(1))))
    }

    impl Dot for DotAvx2 {
        avx_common!();
        const OFFSET: f32 = 128.0;

        #[inline(always)]
        fn dot4((a, b): Self::Sum, codes: Self::Codes, x: i32) -> Self::Sum {
            let x = have!(_mm256_set1_epi32(x));
            (add_pairs(a, codes.0, x), add_pairs(b, codes.1, x))
        }
        #[inline(always)]
        fn dot8((a, b): Self::Sum, codes: Self::Codes, x: i32) -> Self::Sum {
            let x = have!(_mm256_set1_epi32(x));
            let one = |sum, codes| {
                // The sign moves from the weight to the activation.
                let w = have!(_mm256_xor_si256(codes, _mm256_set1_epi8(-128)));
                add_pairs(sum, have!(_mm256_abs_epi8(w)), have!(_mm256_sign_epi8(x, w)))
            };
            (one(a, codes.0), one(b, codes.1))
        }
    }
}
