//! The sample clock of the microphone, readable between blocks by every actor that stamps an event.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use crate::audio::{EAR_RATE, SamplePos};

/// Length of one sample in nanoseconds.
const NS_PER_SAMPLE: i64 = 1_000_000_000 / EAR_RATE as i64;

/// How fast the estimate may grow again for each block, in ns: 100 ppm of a 10 ms block, more than a sound card drifts.
const LEAK_NS: i64 = 1_000;

/// Maps the machine's clock to positions.
///
/// Blocks arrive late by some jitter but never early, so the earliest arrival, relative to its position, tells when
/// sample 0 was taken.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    /// When sample 0 was taken, in ns after `started`; `i64::MAX` before the first block.
    zero: AtomicI64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { started: Instant::now(), zero: AtomicI64::new(i64::MAX) }
    }
}

impl Clock {
    /// A block that ends at `end` has just arrived. Called by one thread only.
    pub(crate) fn tick(&self, end: SamplePos) {
        let arrived = self.elapsed_ns();
        let candidate = arrived - i64::try_from(end).unwrap_or(i64::MAX / NS_PER_SAMPLE) * NS_PER_SAMPLE;
        let before = self.zero.load(Ordering::Relaxed);
        let estimate = if before == i64::MAX { candidate } else { candidate.min(before + LEAK_NS) };
        self.zero.store(estimate, Ordering::Relaxed);
    }

    /// The position that is being recorded now; 0 before the first block.
    #[must_use]
    pub(crate) fn now(&self) -> SamplePos {
        let zero = self.zero.load(Ordering::Relaxed);
        if zero == i64::MAX {
            return 0;
        }
        u64::try_from((self.elapsed_ns() - zero) / NS_PER_SAMPLE).unwrap_or(0)
    }

    fn elapsed_ns(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn late_blocks_do_not_move_the_clock_back() {
        let clock = Clock::default();
        assert_eq!(clock.now(), 0);
        clock.tick(1600);
        let first = clock.now();
        assert!(first >= 1600);
        sleep(Duration::from_millis(5));
        // 5 ms went by, so a block that ends at the same position is late.
        clock.tick(1600);
        assert!(clock.now() >= first + 5 * 16);
        // A block further on than expected shows that the first ones were late.
        clock.tick(16_000);
        assert!(clock.now() >= 16_000);
    }
}
