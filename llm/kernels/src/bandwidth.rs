//! How fast this machine reads memory: the limit that a decode step is held against.

use crate::arena::Arena;
use crate::error::Result;
use crate::isa::dispatch;
use crate::lanes::Lanes;
use crate::pool::Pool;
use std::hint::black_box;
use std::time::Instant;

/// Size of the buffer: about that of the Pocket LLM, beyond any cache.
const BUFFER: usize = 192 << 20;
/// What a thread takes at a time, in bytes.
const GRAIN: usize = 1 << 20;
const ROUNDS: usize = 10;

/// Bytes per second at which the threads of `pool` together read a buffer of 192 MiB that lies as packed
/// weights lie; the best of ten rounds, so that the limit is not set too low.
///
/// # Errors
/// When memory is short.
pub fn read_bandwidth(pool: &Pool) -> Result<f64> {
    let isa = crate::isa::Isa::choose()?;
    let mut block = Arena::default().alloc(BUFFER)?;
    block.bytes_mut().fill(1);
    let (floats, _) = block.bytes().as_chunks::<4>();
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        pool.claim(floats.len(), GRAIN / 4, &|claims| {
            while let Some(range) = claims.take() {
                black_box(sum(isa, &floats[range]));
            }
        });
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(BUFFER as f64 / best)
}

dispatch! {
    /// Sum of little-endian floats; four chains, so that additions do not bound it.
    fn sum(x: &[[u8; 4]]) -> f32 = sum_body
}

#[inline(always)]
fn sum_body<V: Lanes>(x: &[[u8; 4]]) -> f32 {
    let mut sums = [V::splat(0.0); 4];
    for four in x.as_chunks::<64>().0 {
        for (sum, part) in sums.iter_mut().zip(four.as_chunks::<16>().0) {
            *sum = sum.add(V::load(&part.map(f32::from_le_bytes)));
        }
    }
    sums[0].add(sums[1]).add(sums[2].add(sums[3])).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_reads_more_than_a_megabyte_a_second() {
        assert!(read_bandwidth(&Pool::new(2).unwrap()).unwrap() > 1e6);
    }
}
