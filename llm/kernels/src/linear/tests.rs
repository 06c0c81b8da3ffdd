//! Every instruction set, format and awkward size against the scalar reference.

use super::*;
use crate::matrix::{Bits, Format, Minimum};
use crate::testing::{Random, difference};

/// Only the order of float additions differs from the reference.
const TOLERANCE: f32 = 2e-6;

fn formats() -> Vec<Format> {
    let mut all = Vec::new();
    for bits in [Bits::Four, Bits::Eight] {
        for group in [32, 64] {
            for minimum in [Minimum::Stored, Minimum::Implied] {
                all.push(Format { bits, group, minimum });
            }
        }
    }
    all
}

/// Activations with an outlier now and then, as language models have them.
fn activations(rng: &mut Random, n: usize) -> Vec<f32> {
    (0..n).map(|i| rng.float() * if i % 97 == 5 { 40.0 } else { 1.0 }).collect()
}

#[test]
fn products_match_the_reference() {
    let mut rng = Random(11);
    for format in formats() {
        for (rows, cols) in [(1, 1), (15, 31), (16, 32), (17, 33), (31, 64), (33, 65), (48, 200), (100, 257)] {
            let weights = rng.floats(rows * cols);
            let m = Matrix::from_f32(rows, cols, &weights, format).unwrap();
            for n in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 20] {
                let x = activations(&mut rng, n * cols);
                let mut scalar = Activations::default();
                scalar.quantize(Isa::Scalar, &x, n, cols, format.group).unwrap();
                let mut expected = vec![f32::NAN; n * rows];
                crate::reference::matmul(&m, &scalar, &mut expected);
                for isa in Isa::available() {
                    let mut quantized = Activations::default();
                    quantized.quantize(isa, &x, n, cols, format.group).unwrap();
                    assert_eq!(quantized.codes, scalar.codes, "{}", isa.name());
                    assert!(difference(&quantized.scales, &scalar.scales) < 1e-6);
                    for threads in [1, 2] {
                        let pool = Pool::new(threads).unwrap();
                        let mut out = vec![f32::NAN; n * rows];
                        matmul_quantized(isa, &m, &quantized, &mut out, &pool).unwrap();
                        let off = difference(&out, &expected);
                        assert!(off < TOLERANCE, "{} {format} [{rows}, {cols}] n {n}: {off}", isa.name());
                    }
                }
            }
        }
    }
}

#[test]
fn quantized_products_are_close_to_exact_ones() {
    let mut rng = Random(12);
    let (rows, cols, n) = (40, 256, 10);
    let (w, x) = (rng.floats(rows * cols), rng.floats(n * cols));
    let exact: Vec<f32> = x
        .chunks(cols)
        .flat_map(|x| w.chunks(cols).map(|w| x.iter().zip(w).map(|(a, b)| a * b).sum::<f32>()).collect::<Vec<_>>())
        .collect();
    let pool = Pool::new(2).unwrap();
    let m = Matrix::from_f32_int8(rows, cols, &w).unwrap();
    let mut out = vec![f32::NAN; n * rows];
    matmul(&m, &x, &mut out, &pool).unwrap();
    assert!(difference(&out, &exact) < 0.01);
}

#[test]
fn largest_codes_do_not_overflow() {
    let (rows, cols) = (16, 256);
    for format in formats() {
        for sign in [1.0, -1.0] {
            let m = Matrix::from_f32(rows, cols, &vec![sign; rows * cols], format).unwrap();
            for isa in Isa::available() {
                for x in [1.0f32, -1.0] {
                    let mut a = Activations::default();
                    a.quantize(isa, &vec![x; 9 * cols], 9, cols, format.group).unwrap();
                    let mut out = vec![f32::NAN; 9 * rows];
                    matmul_quantized(isa, &m, &a, &mut out, &Pool::new(1).unwrap()).unwrap();
                    let exact = vec![sign * x * cols as f32; 9 * rows];
                    assert!(difference(&out, &exact) < 2e-3, "{} {format}: {}", isa.name(), out[0]);
                }
            }
        }
    }
}

#[test]
fn damage_shows_as_nan() {
    let m = Matrix::from_f32(16, 64, &[1.0; 1024], Format::INT4_MIN_32).unwrap();
    for isa in Isa::available() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = vec![1.0; 64];
            x[40] = bad;
            let mut a = Activations::default();
            a.quantize(isa, &x, 1, 64, 32).unwrap();
            let mut out = vec![0.0; 16];
            matmul_quantized(isa, &m, &a, &mut out, &Pool::new(1).unwrap()).unwrap();
            assert!(out.iter().all(|v| !v.is_finite()), "{} {bad}: {out:?}", isa.name());
        }
        let mut a = Activations::default();
        a.quantize(isa, &[0.0, 1e-40, -1e-38], 1, 3, 32).unwrap();
        assert!(a.codes.iter().all(|&c| c == 0) && a.scales[0].is_finite());
    }
}

#[test]
fn lengths_that_do_not_fit_are_errors() {
    let m = Matrix::from_f32_int8(2, 64, &[0.5; 128]).unwrap();
    let pool = Pool::new(1).unwrap();
    assert!(matmul(&m, &[0.0; 63], &mut [0.0; 2], &pool).is_err());
    assert!(matmul(&m, &[0.0; 64], &mut [0.0; 3], &pool).is_err());
    let mut a = Activations::default();
    a.quantize(Isa::Scalar, &[0.0; 64], 1, 64, 32).unwrap();
    assert!(matmul_quantized(Isa::Scalar, &m, &a, &mut [0.0; 2], &pool).is_err());
}
