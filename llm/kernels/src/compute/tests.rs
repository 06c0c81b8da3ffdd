//! The fused steps against plain loops over the same numbers, on every instruction set and thread count.

use super::*;
use crate::elementwise::RopeStyle;
use crate::matrix::Format;
use crate::packing::{Packer, Source};
use crate::testing::{Random, difference};
use crate::{Arena, reference};

#[test]
fn products_with_fused_inputs_and_outputs() {
    let mut rng = Random(21);
    let (cols, q, k) = (96, 40, 24);
    let format = Format::INT4_MIN_32;
    let w = rng.floats((q + k) * cols);
    let split = [
        Matrix::from_f32(q, cols, &w[..q * cols], format).unwrap(),
        Matrix::from_f32(k, cols, &w[q * cols..], format).unwrap(),
    ];
    let whole = Matrix::from_f32(q + k, cols, &w, format).unwrap();
    for isa in Isa::available() {
        for threads in [1, 2, 3] {
            let mut compute = Compute::with_isa(threads, isa).unwrap();
            for n in [1, 2, 3, 30] {
                let (x, gamma) = (rng.floats(n * cols), rng.floats(cols));
                let mut normed = vec![0.0; n * cols];
                for (x, normed) in x.chunks(cols).zip(normed.chunks_mut(cols)) {
                    rms_norm(Isa::Scalar, x, &gamma, 1e-6, normed);
                }
                let mut a = Activations::default();
                a.quantize(Isa::Scalar, &normed, n, cols, 32).unwrap();
                let mut expected = vec![f32::NAN; n * (q + k)];
                reference::matmul(&whole, &a, &mut expected);

                let input = Input::Normed { x: &x, gamma: &gamma, eps: 1e-6 };
                let mut out = vec![f32::NAN; n * (q + k)];
                compute.product(input, n, &split, Output::Store(&mut out), Some(&whole)).unwrap();
                // A code may round the other way when the norm differs in its last bit.
                assert!(difference(&out, &expected) < 5e-3, "{} {n}", isa.name());
                let before = out.clone();
                compute.product(Input::Rows(&normed), n, &split, Output::Add(&mut out), None).unwrap();
                let twice: Vec<f32> = before.iter().zip(&expected).map(|(a, b)| a + b).collect();
                assert!(difference(&out, &twice) < 5e-3, "{} {n}", isa.name());
            }
        }
    }
}

#[test]
fn gated_pairs() {
    let mut rng = Random(22);
    let cols = 64;
    for ffn in [16, 24, 48] {
        let (gate, up) = (rng.floats(ffn * cols), rng.floats(ffn * cols));
        let pool = Pool::new(2).unwrap();
        let rows = 2 * ffn.next_multiple_of(16);
        let mut packer = Packer::new(&mut Arena::default(), Format::INT8_32, rows, cols).unwrap();
        packer.append_pairs(Source::F32(&gate), Source::F32(&up), ffn, &pool).unwrap();
        let pairs = [packer.finish().unwrap()];
        let separate = [&gate, &up].map(|w| Matrix::from_f32(ffn, cols, w, Format::INT8_32).unwrap());
        for isa in Isa::available() {
            let mut compute = Compute::with_isa(2, isa).unwrap();
            for n in [1, 5, 40] {
                let x = rng.floats(n * cols);
                let mut a = Activations::default();
                a.quantize(isa, &x, n, cols, 32).unwrap();
                let mut sums = [vec![0.0; n * ffn], vec![0.0; n * ffn]];
                for (m, out) in separate.iter().zip(&mut sums) {
                    reference::matmul(m, &a, out);
                }
                let expected =
                    |f: fn(f32) -> f32| sums[0].iter().zip(&sums[1]).map(|(&g, u)| f(g) * u).collect::<Vec<_>>();
                let mut out = vec![f32::NAN; n * ffn];
                compute.product(Input::Rows(&x), n, &pairs, Output::GatedSilu(&mut out), None).unwrap();
                assert!(difference(&out, &expected(|g| g / (1.0 + (-g).exp()))) < 1e-5, "{} {ffn} {n}", isa.name());
                compute.product(Input::Rows(&x), n, &pairs, Output::GatedGelu(&mut out), None).unwrap();
                let gelu = |g: f32| 0.5 * g * (1.0 + (0.797_884_6 * (g + 0.044_715 * g * g * g)).tanh());
                assert!(difference(&out, &expected(gelu)) < 1e-5, "{} {ffn} {n}", isa.name());
            }
        }
    }
}

/// Attention by its definition, from q, k and v rows of all positions so far, in f32.
fn plain_attention(heads: &Heads<'_>, rows: &[f32], from: usize) -> Vec<f32> {
    let (size, half) = (heads.head_size, heads.head_size / 2);
    let prepared = |p: usize, index: usize, gamma: Option<&[f32]>, rotate: bool| {
        let at = index * size;
        let mut x = rows[p * heads.row()..][at..at + size].to_vec();
        if let Some(bias) = heads.bias {
            x.iter_mut().zip(&bias[at..]).for_each(|(x, b)| *x += b);
        }
        if let Some(gamma) = gamma {
            let rms = (x.iter().map(|v| v * v).sum::<f32>() / size as f32 + heads.eps).sqrt();
            x.iter_mut().zip(gamma).for_each(|(x, g)| *x = *x / rms * g);
        }
        if rotate {
            crate::elementwise::rope(
                Isa::Scalar,
                &mut x,
                &heads.cos[p * half..][..half],
                &heads.sin[p * half..][..half],
                heads.rope,
            );
        }
        x
    };
    let (n, mut out) = (rows.len() / heads.row(), Vec::new());
    for p in from..n {
        for h in 0..heads.n_heads {
            let q = prepared(p, h, heads.q_norm, true);
            let kv = h / heads.group();
            let positions = heads.first(p)..p + 1;
            let mut scores: Vec<f32> = positions
                .clone()
                .map(|p| {
                    let k = prepared(p, heads.n_heads + kv, heads.k_norm, true);
                    q.iter().zip(&k).map(|(a, b)| a * b).sum::<f32>() * heads.scale
                })
                .collect();
            crate::elementwise::softmax(Isa::Scalar, &mut scores);
            let mut sum = vec![0.0; size];
            for (p, weight) in positions.zip(scores) {
                let v = prepared(p, heads.n_heads + heads.n_kv_heads + kv, None, false);
                sum.iter_mut().zip(v).for_each(|(s, v)| *s += weight * v);
            }
            out.extend(sum);
        }
    }
    out
}

#[test]
fn attention_matches_its_definition() {
    let mut rng = Random(23);
    /// Heads, key heads, head size, window, and the steps by which positions arrive.
    type Case = (usize, usize, usize, Option<usize>, &'static [usize]);
    let cases: &[Case] = &[
        (1, 1, 2, None, &[1, 1, 1]),
        (7, 1, 64, None, &[40, 1, 1, 3]),
        (14, 2, 64, None, &[150, 1, 9, 1]),
        (9, 3, 64, None, &[17, 1]),
        (4, 2, 20, Some(5), &[1, 1, 1, 1, 1, 1, 1, 30, 1, 1]),
        (4, 1, 256, Some(33), &[70, 1, 80, 1]),
        (6, 2, 128, Some(1), &[3, 1]),
        (8, 8, 32, None, &[300, 1]),
        (5, 1, 48, Some(100), &[130, 1, 1]),
    ];
    for &(n_heads, n_kv_heads, head_size, window, steps) in cases {
        let total: usize = steps.iter().sum();
        let half = head_size / 2;
        let (q_norm, k_norm, bias) =
            (rng.floats(head_size), rng.floats(head_size), rng.floats((n_heads + 2 * n_kv_heads) * head_size));
        let angles: Vec<f32> = (0..total * half).map(|i| (i / half) as f32 * 0.9f32.powi((i % half) as i32)).collect();
        let (cos, sin): (Vec<f32>, Vec<f32>) = angles.iter().map(|a| (a.cos(), a.sin())).unzip();
        let full = n_heads != 9;
        let heads = Heads {
            n_heads,
            n_kv_heads,
            head_size,
            scale: 0.7,
            window,
            rope: if full { RopeStyle::HalfSplit } else { RopeStyle::Interleaved },
            cos: &cos,
            sin: &sin,
            q_norm: full.then_some(&q_norm[..]),
            k_norm: full.then_some(&k_norm[..]),
            eps: 1e-6,
            bias: (!full).then_some(&bias[..]),
        };
        let rows = rng.floats(total * heads.row());
        let identity = {
            let size = n_heads * head_size;
            let mut w = vec![0.0; size * size];
            (0..size).for_each(|i| w[i * size + i] = 1.0);
            [Matrix::from_f32(size, size, &w, Format::INT8_32).unwrap()]
        };
        for isa in Isa::available() {
            let mut previous: Option<Vec<f32>> = None;
            for threads in [1, 2, 3] {
                let mut compute = Compute::with_isa(threads, isa).unwrap();
                let mut cache = KvCache::new(2, n_kv_heads, head_size, total).unwrap();
                let (mut start, mut all) = (0, Vec::new());
                for &n in steps {
                    let step = Heads {
                        cos: &cos[start * half..(start + n) * half],
                        sin: &sin[start * half..(start + n) * half],
                        ..heads
                    };
                    let new = &rows[start * heads.row()..(start + n) * heads.row()];
                    compute.attention(&step, new, n, start, &mut cache, 1).unwrap();
                    let mut got = vec![f32::NAN; n * n_heads * head_size];
                    compute.product(Input::Attended(&step), n, &identity, Output::Store(&mut got), None).unwrap();
                    let expected = plain_attention(&heads, &rows[..(start + n) * heads.row()], start);
                    // Keys and values are rounded to f16, the result to 8 bits by the product with 1.
                    let off = difference(&got, &expected);
                    assert!(off < 0.01, "{} {n_heads}/{n_kv_heads} x {head_size} at {start} + {n}: {off}", isa.name());
                    start += n;
                    all.extend(got);
                }
                if let Some(previous) = &previous {
                    assert_eq!(previous, &all, "results depend on the number of threads");
                }
                previous = Some(all);
            }
        }
    }
}

#[test]
fn requests_that_do_not_fit_are_errors() {
    let mut compute = Compute::with_isa(1, Isa::Scalar).unwrap();
    let m = [Matrix::from_f32_int8(16, 64, &[0.1; 1024]).unwrap()];
    let mut out = vec![0.0; 16];
    assert!(compute.product(Input::Rows(&[0.0; 63]), 1, &m, Output::Store(&mut out), None).is_err());
    assert!(compute.product(Input::Rows(&[0.0; 64]), 2, &m, Output::Store(&mut out), None).is_err());
    assert!(compute.product(Input::Rows(&[0.0; 64]), 1, &m, Output::GatedSilu(&mut out), None).is_err());
    let mut cache = KvCache::new(1, 1, 64, 16).unwrap();
    let heads = Heads {
        n_heads: 1,
        n_kv_heads: 1,
        head_size: 64,
        scale: 1.0,
        window: None,
        rope: RopeStyle::HalfSplit,
        cos: &[1.0; 32],
        sin: &[0.0; 32],
        q_norm: None,
        k_norm: None,
        eps: 1e-6,
        bias: None,
    };
    assert!(compute.attention(&heads, &[0.0; 192], 1, 16, &mut cache, 0).is_err());
    assert!(compute.attention(&heads, &[0.0; 192], 1, 0, &mut cache, 1).is_err());
    assert!(compute.attention(&heads, &[0.0; 191], 1, 0, &mut cache, 0).is_err());
    assert!(compute.set_threads(0).is_err());
}
