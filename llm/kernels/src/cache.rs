//! The KV cache of one sequence, in half precision, in the layout that attention reads.
//!
//! Keys lie in blocks of sixteen positions with the position innermost, so that a vector of scores comes from
//! multiplications alone, without a sum across lanes. Values lie row after row. Each head's positions are
//! contiguous, so a decode step streams them.

use crate::error::{Error, Result, check_len};
use crate::isa::{Isa, dispatch};
use crate::lanes::Lanes;
use half::f16;
use half::slice::HalfBitsSliceExt;

/// Positions per block of keys.
pub(crate) const BLOCK: usize = 16;

/// Keys and values of all layers. Pages of positions that were never written take no memory.
#[derive(Debug)]
pub struct KvCache {
    pub(crate) layers: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head_size: usize,
    pub(crate) padded: usize,  // head_size up to a multiple of 16, the rest zero
    pub(crate) context: usize, // up to a multiple of BLOCK
    keys: Vec<u16>,            // [layers, kv_heads, context / BLOCK, padded, BLOCK]
    values: Vec<u16>,          // [layers, kv_heads, context, padded]
}

impl KvCache {
    /// Room for `context` positions.
    ///
    /// # Errors
    /// When a size is zero, or all sizes together overflow memory.
    pub fn new(layers: usize, kv_heads: usize, head_size: usize, context: usize) -> Result<Self> {
        for (what, value) in
            [("layers", layers), ("kv heads", kv_heads), ("head size", head_size), ("context", context)]
        {
            if value == 0 || value > 1 << 30 {
                return Err(Error::Range { what, value, range: "1 to 2^30" });
            }
        }
        let padded = head_size.next_multiple_of(16);
        let context = context.next_multiple_of(BLOCK);
        let len = [kv_heads, context, padded].iter().try_fold(layers, |n, &m| n.checked_mul(m));
        let len = len.filter(|&n| n < isize::MAX as usize / 2).ok_or(Error::Memory { bytes: usize::MAX })?;
        let zeroed = || -> Result<Vec<u16>> {
            // A fallible reservation first: `vec![0; len]` aborts when memory is short.
            Vec::<u16>::new().try_reserve_exact(len).map_err(|_| Error::Memory { bytes: 2 * len })?;
            Ok(vec![0; len])
        };
        Ok(KvCache { layers, kv_heads, head_size, padded, context, keys: zeroed()?, values: zeroed()? })
    }

    /// Positions that fit; the requested number rounded up to a multiple of 16.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Bytes that one position takes over all layers, padding included.
    pub fn bytes_per_position(&self) -> usize {
        2 * 2 * self.layers * self.kv_heads * self.padded
    }

    fn head(&self, layer: usize, head: usize) -> std::ops::Range<usize> {
        let len = self.context * self.padded;
        let at = (layer * self.kv_heads + head) * len;
        at..at + len
    }

    /// Keys of one head: `[context / BLOCK, padded, BLOCK]`.
    pub(crate) fn keys(&self, layer: usize, head: usize) -> &[f16] {
        self.keys[self.head(layer, head)].reinterpret_cast()
    }

    /// Values of one head: `[context, padded]`.
    pub(crate) fn values(&self, layer: usize, head: usize) -> &[f16] {
        self.values[self.head(layer, head)].reinterpret_cast()
    }

    /// For writes of single positions by several threads.
    pub(crate) fn writer(&mut self, isa: Isa, layer: usize) -> Writer {
        Writer {
            isa,
            keys: self.keys.as_mut_ptr(),
            values: self.values.as_mut_ptr(),
            len: self.keys.len(),
            first: layer * self.kv_heads,
            context: self.context,
            padded: self.padded,
        }
    }

    /// Appends positions `0..len` to `out`: per layer and head, keys `[len, head_size]` then values
    /// `[len, head_size]`, as little-endian halves.
    pub fn save(&self, len: usize, out: &mut Vec<u8>) {
        let len = len.min(self.context);
        for (layer, head) in self.heads() {
            let (keys, values) = (self.head(layer, head), self.head(layer, head));
            for (p, d) in self.elements(len) {
                out.extend(self.keys[keys.start + self.key_at(p, d)].to_le_bytes());
            }
            for (p, d) in self.elements(len) {
                out.extend(self.values[values.start + p * self.padded + d].to_le_bytes());
            }
        }
    }

    /// Restores what [`KvCache::save`] wrote for `len` positions.
    ///
    /// # Errors
    /// When `saved` has another size or `len` exceeds the context.
    pub fn load(&mut self, len: usize, saved: &[u8]) -> Result<()> {
        if len > self.context {
            return Err(Error::Range { what: "positions", value: len, range: "the context" });
        }
        check_len("saved", saved.len(), len * 2 * 2 * self.layers * self.kv_heads * self.head_size)?;
        let (numbers, _) = saved.as_chunks::<2>();
        let mut numbers = numbers.iter().map(|&b| u16::from_le_bytes(b));
        for (layer, head) in self.heads() {
            let at = self.head(layer, head).start;
            for (p, d) in self.elements(len) {
                let i = at + self.key_at(p, d);
                self.keys[i] = numbers.next().unwrap_or(0);
            }
            for (p, d) in self.elements(len) {
                let i = at + p * self.padded + d;
                self.values[i] = numbers.next().unwrap_or(0);
            }
        }
        Ok(())
    }

    fn heads(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let heads = self.kv_heads;
        (0..self.layers).flat_map(move |layer| (0..heads).map(move |head| (layer, head)))
    }

    fn elements(&self, len: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let size = self.head_size;
        (0..len).flat_map(move |p| (0..size).map(move |d| (p, d)))
    }

    fn key_at(&self, p: usize, d: usize) -> usize {
        (p / BLOCK * self.padded + d) * BLOCK + p % BLOCK
    }
}

/// Writes positions of one layer from several threads.
#[derive(Clone, Copy)]
pub(crate) struct Writer {
    isa: Isa,
    keys: *mut u16,
    values: *mut u16,
    len: usize,
    first: usize,
    context: usize,
    padded: usize,
}

// SAFETY: threads write disjoint positions or heads, see `Writer::write`.
#[expect(unsafe_code, reason = "shared by the threads of one job")]
unsafe impl Sync for Writer {}

impl Writer {
    /// Writes key and value `[padded]` of one head at position `p`.
    ///
    /// # Safety
    /// - The cache that made this writer is borrowed mutably meanwhile.
    /// - No other thread writes or reads this head and position.
    #[expect(unsafe_code, reason = "elements of neighbouring positions alternate in memory")]
    pub(crate) unsafe fn write(&self, head: usize, p: usize, key: &[f32], value: &[f32]) {
        assert!(p < self.context && key.len() == self.padded && value.len() == self.padded);
        let at = (self.first + head) * self.context * self.padded;
        assert!(at + self.context * self.padded <= self.len);
        for (d, (key, value)) in key.chunks_exact(16).zip(value.chunks_exact(16)).enumerate() {
            let (mut k, mut v) = ([0; 16], [0; 16]);
            to_halves(self.isa, key, &mut k);
            to_halves(self.isa, value, &mut v);
            for i in 0..16 {
                let d = 16 * d + i;
                // SAFETY: p and d lie in this head's range, which lies in the buffers, as asserted; the caller
                // promises that nobody else touches this position.
                unsafe {
                    *self.keys.add(at + (p / BLOCK * self.padded + d) * BLOCK + p % BLOCK) = k[i];
                    *self.values.add(at + p * self.padded + d) = v[i];
                }
            }
        }
    }
}

dispatch! {
    /// Sixteen floats to the bits of halves.
    fn to_halves(x: &[f32], out: &mut [u16; 16]) = to_halves_body
}

#[inline(always)]
fn to_halves_body<V: Lanes>(x: &[f32], out: &mut [u16; 16]) {
    V::load(x).store_f16(out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_positions_come_back() {
        let mut cache = KvCache::new(2, 3, 20, 33).unwrap();
        let mut numbers = 0u16..;
        for layer in 0..2 {
            let writer = cache.writer(Isa::Scalar, layer);
            for (head, p) in (0..3).flat_map(|h| (0..33).map(move |p| (h, p))) {
                let mut row = || {
                    let mut row = vec![0.0; 32];
                    row[..20].fill_with(|| f32::from(numbers.next().unwrap() % 2048));
                    row
                };
                // SAFETY: one thread, and the cache is not used meanwhile.
                #[expect(unsafe_code, reason = "see above")]
                unsafe {
                    writer.write(head, p, &row(), &row());
                }
            }
        }
        let mut saved = Vec::new();
        cache.save(33, &mut saved);
        let mut other = KvCache::new(2, 3, 20, 40).unwrap();
        other.load(33, &saved).unwrap();
        for (layer, head) in cache.heads() {
            assert_eq!(cache.values(layer, head)[..33 * 32], other.values(layer, head)[..33 * 32]);
            assert_eq!(cache.keys(layer, head)[..48 * 32], other.keys(layer, head)[..48 * 32]);
        }
        assert!(other.load(32, &saved).is_err());
        assert!(other.load(49, &saved).is_err());
    }

    #[test]
    fn absurd_sizes_are_errors() {
        assert!(KvCache::new(0, 1, 1, 1).is_err());
        assert!(KvCache::new(1 << 30, 1 << 30, 64, 64).is_err());
        assert!(KvCache::new(1024, 1024, 1024, 1 << 24).is_err());
    }
}
