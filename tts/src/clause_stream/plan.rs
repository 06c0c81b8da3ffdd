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

/// How long a character of English text sounds, in milliseconds: about 15 characters a second. A Chinese character counts
/// as [`HAN_CHARS`] of them.
pub(super) const MS_PER_CHAR: u32 = 65;
pub(super) const HAN_CHARS: usize = 3;

/// Sizes for a chunk that nothing is queued ahead of.
/// Ten to twelve characters are two or three words: enough for a voice to find its melody, little to wait for.
const FIRST: ChunkSize = ChunkSize { min_chars: 4, soft_chars: 12, hard_chars: 26 };
/// Sizes once a sentence's worth of audio is queued: whole clauses, whole sentences where they are short.
const STEADY: ChunkSize = ChunkSize { min_chars: 60, soft_chars: 140, hard_chars: 180 };
/// Audio that makes the steady sizes safe, in milliseconds: the time a slow machine takes for one steady chunk.
const STEADY_QUEUE_MS: u32 = 2_500;

/// The part of the queue that making the next chunk may use up; the rest is for everything else that wants the processor.
const SAFE_SHARE: f32 = 0.7;

/// Chooses chunk sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClausePlan {
    /// Seconds that the voice takes for a second of speech. A slow voice gets smaller chunks, so that no chunk takes
    /// longer to make than the audio before it takes to play.
    pub real_time_factor: f32,
}

impl Default for ClausePlan {
    /// For a Piper voice on a slow machine.
    fn default() -> Self {
        ClausePlan { real_time_factor: 0.1 }
    }
}

impl ClausePlan {
    /// For the Kokoro voices.
    pub const KOKORO: ClausePlan = ClausePlan { real_time_factor: 0.35 };

    /// The size to aim for when `queued_ms` of audio is synthesised and not played yet.
    pub fn next(&self, queued_ms: u32) -> ChunkSize {
        let share = queued_ms.min(STEADY_QUEUE_MS) as usize;
        let in_time = queued_ms as f32 * SAFE_SHARE / (self.real_time_factor.max(0.01) * MS_PER_CHAR as f32);
        let grow = |from: usize, to: usize| {
            let wanted = from + (to - from) * share / STEADY_QUEUE_MS as usize;
            wanted.min(from.max(in_time as usize))
        };
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
            [0, 500, 1_000, 2_500, 60_000, u32::MAX].map(|ms| ClausePlan::default().next(ms).soft_chars).to_vec();
        assert_eq!(sizes[0], 12);
        assert!(sizes.is_sorted());
        assert_eq!(sizes[3], sizes[5]);
    }

    #[test]
    fn no_chunk_takes_longer_than_the_queue_lasts() {
        for plan in [ClausePlan::default(), ClausePlan::KOKORO] {
            for queued_ms in (1_000..10_000).step_by(500) {
                let size = plan.next(queued_ms);
                let making_ms = size.soft_chars as f32 * MS_PER_CHAR as f32 * plan.real_time_factor;
                assert!(making_ms <= queued_ms as f32, "{plan:?} at {queued_ms} ms");
            }
        }
    }
}
