//! Attention against its definition in `f64`, on every instruction set.

use kernels::{Isa, Pool};

use super::*;

/// Numbers in [-1, 1] that look random and are the same every time.
fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).max(1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32 * 2.0 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// `[n, 3 x width]` rows of query, key and value; query `i` sees `seen(i)` of them.
fn reference(rows: &[f32], n_head: usize, queries: std::ops::Range<usize>, seen: impl Fn(usize) -> usize) -> Vec<f32> {
    let width = n_head * HEAD;
    let at = |row: usize, column: usize| f64::from(rows[row * 3 * width + column]);
    let mut out = Vec::new();
    for i in queries {
        for head in 0..n_head {
            let columns = head * HEAD..(head + 1) * HEAD;
            let weights: Vec<f64> = (0..seen(i))
                .map(|j| (columns.clone().map(|c| at(i, c) * at(j, width + c)).sum::<f64>() / 8.0).exp())
                .collect();
            let total: f64 = weights.iter().sum();
            for c in columns {
                let sum: f64 = weights.iter().enumerate().map(|(j, w)| w * at(j, 2 * width + c)).sum();
                out.push((sum / total) as f32);
            }
        }
    }
    out
}

fn assert_close(got: &[f32], expected: &[f32], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (a, b)) in got.iter().zip(expected).enumerate() {
        assert!((a - b).abs() < 1e-5, "{what}, element {i}: {a} expected {b}");
    }
}

#[test]
fn whole_clips_and_growing_pasts_agree_with_the_definition() {
    for isa in Isa::available() {
        let machine = Machine { isa, pool: Pool::new(2).unwrap() };
        for (n, n_head) in [(1, 1), (5, 2), (6, 3), (32, 1), (33, 2), (70, 6)] {
            let width = n_head * HEAD;
            let rows = numbers(n * 3 * width, n as u32);
            let mut key_values = KeyValues::default();
            let mut out = Vec::new();
            // Stale contents of a larger clip must not matter.
            key_values.clear(n_head, 2 * n);
            key_values.extend(&numbers(2 * n * 3 * width, 7), 3 * width, width, &machine);

            key_values.clear(n_head, n);
            key_values.extend(&rows, 3 * width, width, &machine);
            attend(&rows, 3 * width, &key_values, None, &mut out, &machine);
            let what = format!("{} {n} x {n_head} whole", isa.name());
            assert_close(&out, &reference(&rows, n_head, 0..n, |_| n), &what);

            // The same rows a few at a time, with a wrong guess taken back in between.
            key_values.clear(n_head, 2 * n);
            let mut at = 0;
            for step in [1, 3, 2, 7, 64] {
                let end = (at + step).min(n);
                let some = &rows[at * 3 * width..end * 3 * width];
                if at == end {
                    break;
                }
                key_values.extend(&numbers(some.len(), 3), 3 * width, width, &machine);
                key_values.truncate(at);
                key_values.extend(some, 3 * width, width, &machine);
                attend(some, 3 * width, &key_values, Some(at), &mut out, &machine);
                let what = format!("{} {n} x {n_head} rows {at}..{end}", isa.name());
                assert_close(&out, &reference(&rows, n_head, at..end, |i| i + 1), &what);
                at = end;
            }
        }
    }
}
