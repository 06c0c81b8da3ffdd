//! Attention in `f32`, for the encoder, the decoder's past and the decoder's view of the encoder alike.
//!
//! Keys are stored in blocks of [`BLOCK`] so that their scores against one query fill whole vectors; values as rows.
//! A job takes a few queries of one head past all keys: scores, softmax, weighted sum of values, in cache throughout.

use kernels::elementwise;

use super::Machine;

mod tile;

/// Width of a head, the same in every Whisper.
pub(super) const HEAD: usize = 64;
/// Keys that are scored together.
const BLOCK: usize = 32;
/// Queries of one job.
const QUERIES: usize = 6;

/// Keys and values of all heads.
#[derive(Default)]
pub(super) struct KeyValues {
    n_head: usize,
    len: usize,
    capacity: usize,
    keys: Vec<f32>,   // [n_head, capacity / BLOCK, HEAD, BLOCK]
    values: Vec<f32>, // [n_head, capacity, HEAD]
    /// From this position on, one key stands for many: each score gets the log of how many.
    tail: Option<(usize, f32)>,
}

impl KeyValues {
    /// Empties it and makes room for `capacity` positions.
    pub(super) fn clear(&mut self, n_head: usize, capacity: usize) {
        self.n_head = n_head;
        self.len = 0;
        self.tail = None;
        self.capacity = capacity.next_multiple_of(BLOCK);
        // Lanes beyond the last key are computed and ignored: they must be finite, whatever was there before is.
        self.keys.resize(n_head * self.capacity * HEAD, 0.0);
        self.values.resize(n_head * self.capacity * HEAD, 0.0);
    }

    /// Declares that from here on each position stands for `times` like it.
    pub(super) fn begin_tail(&mut self, times: f32) {
        self.tail = Some((self.len, times.ln()));
    }

    /// Positions held.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Forgets positions from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends the keys at column `key_column` of `rows` `[n, stride]` and the values right behind them.
    pub(super) fn extend(&mut self, rows: &[f32], stride: usize, key_column: usize, machine: &Machine) {
        let n = rows.len() / stride;
        let (start, per_head) = (self.len, self.capacity * HEAD);
        let width = self.n_head * HEAD;
        debug_assert!(start + n <= self.capacity && key_column + 2 * width <= stride);
        let put_keys = |head: usize, data: &mut [f32]| {
            for (at, row) in (start..).zip(rows.chunks_exact(stride)) {
                let key = &row[key_column + head * HEAD..][..HEAD];
                let block = &mut data[at / BLOCK * BLOCK * HEAD..][..BLOCK * HEAD];
                for (lane, &value) in block.chunks_exact_mut(BLOCK).zip(key) {
                    lane[at % BLOCK] = value;
                }
            }
            Ok::<(), ()>(())
        };
        let put_values = |head: usize, data: &mut [f32]| {
            for (at, row) in (start..).zip(rows.chunks_exact(stride)) {
                data[at * HEAD..][..HEAD].copy_from_slice(&row[key_column + width + head * HEAD..][..HEAD]);
            }
            Ok::<(), ()>(())
        };
        // Neither can fail.
        let _ = machine.pool.map_chunks(&mut self.keys, per_head, put_keys);
        let _ = machine.pool.map_chunks(&mut self.values, per_head, put_values);
        self.len += n;
    }
}

/// `out = softmax(q k / sqrt(HEAD)) v` for the queries in the first columns of `rows` `[n, stride]`; `out` is resized
/// to `[n, n_head x HEAD]`. With `causal`, query `i` sees the first `causal + i + 1` positions, else it sees all.
pub(super) fn attend(
    rows: &[f32],
    stride: usize,
    key_values: &KeyValues,
    causal: Option<usize>,
    out: &mut Vec<f32>,
    machine: &Machine,
) {
    let n = rows.len() / stride;
    let KeyValues { n_head, len, capacity, keys, values, tail } = key_values;
    let width = n_head * HEAD;
    out.resize(n * width, 0.0);
    let blocks = n.div_ceil(QUERIES);
    // [n_head, blocks, QUERIES, HEAD]: one contiguous chunk for each job.
    let mut by_head = vec![0.0; n_head * blocks * QUERIES * HEAD];
    let Machine { isa, pool } = machine;
    let scale = 1.0 / (HEAD as f32).sqrt();
    let job = |index: usize, out: &mut [f32]| -> Result<(), ()> {
        let (head, first) = (index / blocks, index % blocks * QUERIES);
        let count = QUERIES.min(n - first);
        let mut queries = [0.0; QUERIES * HEAD];
        for (i, query) in queries.chunks_exact_mut(HEAD).take(count).enumerate() {
            query.copy_from_slice(&rows[(first + i) * stride + head * HEAD..][..HEAD]);
            elementwise::scale(*isa, query, scale);
        }
        let padded = len.next_multiple_of(BLOCK);
        let mut scores = vec![0.0; count * padded];
        let keys = &keys[head * capacity * HEAD..][..padded * HEAD];
        let values = &values[head * capacity * HEAD..][..padded * HEAD];
        tile::scores(*isa, &queries[..count * HEAD], keys, &mut scores);
        for (i, scores) in scores.chunks_exact_mut(padded).enumerate() {
            let seen = causal.map_or(*len, |past| past + first + i + 1);
            if let Some((start, log_times)) = tail {
                for score in &mut scores[*start..*len] {
                    *score += log_times;
                }
            }
            elementwise::softmax(*isa, &mut scores[..seen]);
            scores[seen..].fill(0.0);
        }
        tile::weighted_sums(*isa, &scores, values, *len, &mut out[..count * HEAD]);
        Ok(())
    };
    // The job cannot fail.
    let _ = pool.map_chunks(&mut by_head, QUERIES * HEAD, job);
    for (head, queries) in by_head.chunks_exact(blocks * QUERIES * HEAD).enumerate() {
        for (i, result) in queries.chunks_exact(HEAD).take(n).enumerate() {
            out[i * width + head * HEAD..][..HEAD].copy_from_slice(result);
        }
    }
}

#[cfg(test)]
mod tests;
