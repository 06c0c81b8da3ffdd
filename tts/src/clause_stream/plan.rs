//! How large the next chunk should be, given how much audio is still waiting to be played.
//!
//! The first chunk is small so that sound begins early; later ones grow, because longer chunks sound better and the
//! queue gives the time to wait for them.

/// How many characters the next chunk should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSize {
    /// A comma or the like may end the chunk from here on.
    pub min_chars: usize,
    /// From here on the chunk may end without punctuation, where a phrase ends.
    pub soft_chars: usize,
    /// From here on the chunk may end after any word.
    pub hard_chars: usize,
}

/// Sizes for a chunk that nothing is queued ahead of.
/// Ten to twelve characters are two or three words: enough for a voice to find its melody, little to wait for.
const FIRST: ChunkSize = ChunkSize { min_chars: 4, soft_chars: 12, hard_chars: 26 };
/// Sizes once a sentence's worth of audio is queued: whole clauses, whole sentences where they are short.
const STEADY: ChunkSize = ChunkSize { min_chars: 60, soft_chars: 140, hard_chars: 180 };
/// Audio that makes the steady sizes safe, in milliseconds: the time a slow machine takes for one steady chunk.
const STEADY_QUEUE_MS: u32 = 2_500;

/// Chooses chunk sizes.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClausePlan;

impl ClausePlan {
    /// The size to aim for when `queued_ms` of audio is synthesised and not played yet.
    pub fn next(&self, queued_ms: u32) -> ChunkSize {
        let share = queued_ms.min(STEADY_QUEUE_MS) as usize;
        let grow = |from: usize, to: usize| from + (to - from) * share / STEADY_QUEUE_MS as usize;
        ChunkSize {
            min_chars: grow(FIRST.min_chars, STEADY.min_chars),
            soft_chars: grow(FIRST.soft_chars, STEADY.soft_chars),
            hard_chars: grow(FIRST.hard_chars, STEADY.hard_chars),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_with_the_queue_and_stay_bounded() {
        let sizes: Vec<usize> =
            [0, 500, 1_000, 2_500, 60_000, u32::MAX].map(|ms| ClausePlan.next(ms).soft_chars).to_vec();
        assert_eq!(sizes[0], 12);
        assert!(sizes.is_sorted());
        assert_eq!(sizes[3], sizes[5]);
    }
}
