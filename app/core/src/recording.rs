//! The last minutes of what the microphone heard, for every actor that needs a stretch of it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::audio::{EAR_RATE, SamplePos};

/// Samples kept: the longest utterance, merged with the turn before it, and a margin.
const KEEP: usize = 150 * EAR_RATE as usize;

/// Samples in one judgement of the VAD.
const FRAME: u64 = 512;

/// Recent samples, with the VAD's judgement of each frame. Written by the ears; the lock is held for copies only.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    samples: VecDeque<f32>,
    /// Position of the first sample kept.
    start: SamplePos,
    /// One judgement per frame, the first of which begins at `first_frame * FRAME`.
    speech: VecDeque<bool>,
    first_frame: u64,
}

impl Recording {
    /// Appends samples that follow those before.
    pub(crate) fn push(&self, samples: &[f32]) {
        let mut inner = self.lock();
        inner.samples.extend(samples);
        let excess = inner.samples.len().saturating_sub(KEEP);
        inner.samples.drain(..excess);
        inner.start += excess as u64;
        while (inner.first_frame + 1) * FRAME <= inner.start && inner.speech.pop_front().is_some() {
            inner.first_frame += 1;
        }
    }

    /// Appends the judgement of the next frame.
    pub(crate) fn judge(&self, is_speech: bool) {
        self.lock().speech.push_back(is_speech);
    }

    /// Samples `range`; silence where they are not kept any more or not there yet.
    #[must_use]
    pub(crate) fn samples(&self, range: Range<SamplePos>) -> Vec<f32> {
        let inner = self.lock();
        range
            .map(|at| {
                let index = at.checked_sub(inner.start).and_then(|i| usize::try_from(i).ok());
                index.and_then(|i| inner.samples.get(i)).copied().unwrap_or(0.0)
            })
            .collect()
    }

    /// Samples `range` cut where the VAD's judgement changes, each piece with its judgement.
    #[must_use]
    pub(crate) fn judged(&self, range: Range<SamplePos>) -> Vec<(Vec<f32>, bool)> {
        let mut pieces: Vec<(Range<SamplePos>, bool)> = Vec::new();
        {
            let inner = self.lock();
            let mut at = range.start;
            while at < range.end {
                let frame = at / FRAME;
                let end = ((frame + 1) * FRAME).min(range.end);
                let index = frame.checked_sub(inner.first_frame).and_then(|i| usize::try_from(i).ok());
                let is_speech = index.and_then(|i| inner.speech.get(i)).copied().unwrap_or(false);
                match pieces.last_mut() {
                    Some((piece, judgement)) if *judgement == is_speech => piece.end = end,
                    _ => pieces.push((at..end, is_speech)),
                }
                at = end;
            }
        }
        pieces.into_iter().map(|(piece, is_speech)| (self.samples(piece), is_speech)).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // Nothing panics while holding it; if something did, the samples are still whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_survive_forgetting() {
        let recording = Recording::default();
        let block: Vec<f32> = (0..16_000).map(|i| i as f32).collect();
        for _ in 0..170 {
            recording.push(&block);
        }
        assert_eq!(recording.samples(169 * 16_000..169 * 16_000 + 3), [0.0, 1.0, 2.0]);
        assert_eq!(recording.samples(100..102), [0.0, 0.0], "forgotten");
        assert_eq!(recording.samples(170 * 16_000 - 1..170 * 16_000 + 1), [15_999.0, 0.0], "not there yet");
    }

    #[test]
    fn pieces_follow_the_judgements() {
        let recording = Recording::default();
        recording.push(&[1.0; 4 * 512]);
        for is_speech in [false, true, true, false] {
            recording.judge(is_speech);
        }
        let pieces: Vec<_> = recording.judged(100..2048).into_iter().map(|(s, speech)| (s.len(), speech)).collect();
        assert_eq!(pieces, [(412, false), (1024, true), (512, false)]);
    }
}
