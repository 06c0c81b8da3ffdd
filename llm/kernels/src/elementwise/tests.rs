//! Each function against its definition in `f64`, on every instruction set and at awkward lengths.

use super::*;
use crate::isa::Isa;
use crate::testing::{Random, difference};

const LENGTHS: [usize; 9] = [1, 2, 15, 16, 17, 31, 64, 100, 896];
const TOLERANCE: f32 = 2e-6;

/// Runs `fast` on a copy of seeded `x` and `y` and compares with `slow`.
fn check(name: &str, fast: impl Fn(Isa, &mut Vec<f32>, &[f32]), slow: impl Fn(&[f64], &[f64]) -> Vec<f64>) {
    for isa in Isa::available() {
        for n in LENGTHS {
            let mut rng = Random(n as u64);
            let x: Vec<f32> = rng.floats(n).iter().map(|v| v * 6.0).collect();
            let y = rng.floats(n);
            let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            let expected: Vec<f32> = slow(&wide(&x), &wide(&y)).iter().map(|&v| v as f32).collect();
            let mut got = x.clone();
            fast(isa, &mut got, &y);
            let off = difference(&got, &expected);
            assert!(off < TOLERANCE, "{name} on {} at {n}: off by {off}", isa.name());
        }
    }
}

#[test]
fn norms() {
    let rms = |x: &[f64]| (x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64 + 1e-5).sqrt();
    let scaled = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(v, w)| v / rms(x) * w).collect::<Vec<_>>();
    check("rms_norm_in_place", |isa, x, y| rms_norm_in_place(isa, x, y, 1e-5), scaled);
    check(
        "rms_norm",
        |isa, x, y| {
            let mut out = vec![f32::NAN; x.len()];
            rms_norm(isa, x, y, 1e-5, &mut out);
            *x = out;
        },
        scaled,
    );
    check(
        "layer_norm",
        |isa, x, y| {
            let mut out = vec![f32::NAN; x.len()];
            layer_norm(isa, x, y, y, 1e-5, &mut out);
            *x = out;
        },
        |x, y| {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            let centred: Vec<f64> = x.iter().map(|v| v - mean).collect();
            centred.iter().zip(y).map(|(v, w)| v / rms(&centred) * w + w).collect()
        },
    );
}

#[test]
fn activations() {
    let each = |f: fn(f64) -> f64| move |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(&g, u)| f(g) * u).collect();
    check("silu_mul", |isa, x, y| silu_mul(isa, x, y), each(|g| g / (1.0 + (-g).exp())));
    check(
        "gelu_tanh_mul",
        |isa, x, y| gelu_tanh_mul(isa, x, y),
        each(|g| 0.5 * g * (1.0 + (0.797_884_560_802_865_4 * (g + 0.044715 * g * g * g)).tanh())),
    );
    check("gelu", |isa, x, _| gelu(isa, x), |x, _| x.iter().map(|&v| 0.5 * v * (1.0 + erf(v / 2f64.sqrt()))).collect());
    check("add_assign", |isa, x, y| add_assign(isa, x, y), |x, y| x.iter().zip(y).map(|(a, b)| a + b).collect());
    check("scale", |isa, x, _| scale(isa, x, 0.3), |x, _| x.iter().map(|a| a * f64::from(0.3f32)).collect());
    check(
        "softmax",
        |isa, x, _| softmax(isa, x),
        |x, _| {
            let total: f64 = x.iter().map(|v| v.exp()).sum();
            x.iter().map(|v| v.exp() / total).collect()
        },
    );
}

/// The error function by its series, good to 1e-12 on the range used here.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / n as f64;
        sum += term / (2 * n + 1) as f64;
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn rotations_turn_pairs_and_leave_the_rest() {
    for isa in Isa::available() {
        for (size, rotated) in [(2, 2), (32, 32), (64, 64), (64, 16), (80, 80), (128, 128), (256, 256)] {
            let half = rotated / 2;
            let angles: Vec<f32> = (0..half).map(|i| i as f32 * 0.7).collect();
            let (cos, sin): (Vec<f32>, Vec<f32>) = angles.iter().map(|a| (a.cos(), a.sin())).unzip();
            for (style, pair) in [
                (RopeStyle::HalfSplit, Box::new(|i| (i, i + half)) as Box<dyn Fn(usize) -> (usize, usize)>),
                (RopeStyle::Interleaved, Box::new(|i| (2 * i, 2 * i + 1))),
            ] {
                let x = Random(9).floats(size);
                let mut expected = x.clone();
                for i in 0..half {
                    let (a, b) = pair(i);
                    expected[a] = x[a] * cos[i] - x[b] * sin[i];
                    expected[b] = x[a] * sin[i] + x[b] * cos[i];
                }
                let mut got = x;
                rope(isa, &mut got, &cos, &sin, style);
                assert!(difference(&got, &expected) < TOLERANCE, "{} {style:?} {size}", isa.name());
            }
        }
    }
}

#[test]
fn exp_handles_its_extremes() {
    for isa in Isa::available() {
        let mut x = vec![f32::NEG_INFINITY, -200.0, 0.0, -1e-8];
        softmax(isa, &mut x);
        assert!(x[0] < 1e-30 && x[1] < 1e-30 && (x[2] - 0.5).abs() < 1e-6, "{}: {x:?}", isa.name());
        let mut gate = vec![-1e4, 1e4, -100.0, 100.0];
        silu_mul(isa, &mut gate, &[1.0; 4]);
        assert!(gate[0].abs() < 1e-20 && gate[1] == 1e4 && gate[3] == 100.0, "{}: {gate:?}", isa.name());
    }
}
