//! The last seconds of audio, so that a recogniser gets the moments before the onset was confirmed.
//!
//! A detector needs some 100 ms to be sure, and breath and unvoiced consonants before that sound like noise to it.
//! A recogniser that starts at the confirmation loses the first word; one that starts 500 ms before the onset does not.

use std::collections::VecDeque;

use crate::SamplePos;

/// A ring of the newest samples, addressed by stream position.
#[derive(Clone, Debug)]
pub struct PreRoll {
    samples: VecDeque<f32>,
    capacity: usize,
    end: SamplePos,
}

impl PreRoll {
    /// What a recogniser should hear before the first speech sample: 500 ms.
    pub const LEAD: u64 = 8_000;

    /// A ring that holds `capacity` samples. [`Self::default`] is long enough for [`Self::LEAD`] at any onset setting.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { samples: VecDeque::with_capacity(capacity), capacity, end: SamplePos(0) }
    }

    /// Appends what was also pushed to the detector, and forgets the oldest.
    pub fn push(&mut self, samples: &[f32]) {
        self.end = self.end + samples.len() as u64;
        let kept = &samples[samples.len().saturating_sub(self.capacity)..];
        let overflow = (self.samples.len() + kept.len()).saturating_sub(self.capacity);
        self.samples.drain(..overflow);
        self.samples.extend(kept);
    }

    /// One past the newest sample.
    #[must_use]
    pub fn end(&self) -> SamplePos {
        self.end
    }

    /// The oldest position still held.
    #[must_use]
    pub fn start(&self) -> SamplePos {
        self.end.before(self.samples.len() as u64)
    }

    /// Everything from [`Self::LEAD`] before `at` up to now, with the position of its first sample.
    /// Shorter when the stream has just begun or the ring has already forgotten.
    #[must_use]
    pub fn lead_in(&self, at: SamplePos) -> (SamplePos, Vec<f32>) {
        self.since(at.before(Self::LEAD))
    }

    /// Everything from `from` up to now, as far as it is still held, with the position of its first sample.
    #[must_use]
    pub fn since(&self, from: SamplePos) -> (SamplePos, Vec<f32>) {
        let from = from.max(self.start()).min(self.end);
        // The distance is at most the ring's length, which is a usize.
        let skip = (from - self.start()) as usize;
        (from, self.samples.range(skip..).copied().collect())
    }

    /// Forgets everything and counts from zero again.
    pub fn reset(&mut self) {
        self.samples.clear();
        self.end = SamplePos(0);
    }
}

impl Default for PreRoll {
    /// 1.5 s: the lead, plus the slowest onset allowed, plus the back-dating, with room for a late reader.
    fn default() -> Self {
        Self::with_capacity(24_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples that carry their own position.
    fn ramp(from: usize, to: usize) -> Vec<f32> {
        (from..to).map(|i| i as f32).collect()
    }

    #[test]
    fn gives_the_samples_of_a_position_whatever_the_chunking() {
        for chunk in [1, 7, 160, 10_000] {
            let mut ring = PreRoll::with_capacity(1_000);
            for piece in ramp(0, 5_000).chunks(chunk) {
                ring.push(piece);
            }
            assert_eq!(ring.end(), SamplePos(5_000));
            assert_eq!(ring.start(), SamplePos(4_000));
            assert_eq!(ring.since(SamplePos(4_500)), (SamplePos(4_500), ramp(4_500, 5_000)));
            assert_eq!(ring.since(SamplePos(10)), (SamplePos(4_000), ramp(4_000, 5_000)));
            assert_eq!(ring.since(SamplePos(9_999)), (SamplePos(5_000), Vec::new()));
        }
    }

    #[test]
    fn leads_in_by_half_a_second_and_not_before_the_beginning() {
        let mut ring = PreRoll::default();
        ring.push(&ramp(0, 12_000));
        assert_eq!(ring.lead_in(SamplePos(10_000)), (SamplePos(2_000), ramp(2_000, 12_000)));
        assert_eq!(ring.lead_in(SamplePos(100)), (SamplePos(0), ramp(0, 12_000)));
    }

    #[test]
    fn holds_nothing_without_capacity() {
        let mut ring = PreRoll::with_capacity(0);
        ring.push(&[1.0; 10]);
        assert_eq!(ring.since(SamplePos(0)), (SamplePos(10), Vec::new()));
    }
}
