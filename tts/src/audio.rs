//! Cuts the silence off both ends of a clause while its audio is still arriving.

/// Below this a sample counts as silence: -48 dBFS, under the breath of every voice tried and over its noise.
const SILENCE: f32 = 0.004;
/// Kept before the first sound, so that a soft onset is not clipped, in milliseconds.
const KEEP_BEFORE_MS: u32 = 15;
/// Kept after the last sound, in milliseconds.
const KEEP_AFTER_MS: u32 = 40;
/// Fades at both ends, in milliseconds: long enough for no click, too short to hear.
const FADE_MS: u32 = 4;

/// A stream of samples from which leading and trailing silence is taken.
pub(crate) struct Trimmer {
    sample_rate: u32,
    started: bool,
    // silence that is given back only when sound follows
    held: Vec<f32>,
    /// Samples taken off the front.
    pub(crate) trimmed: usize,
    given: usize,
}

impl Trimmer {
    pub(crate) fn new(sample_rate: u32) -> Trimmer {
        Trimmer { sample_rate, started: false, held: Vec::new(), trimmed: 0, given: 0 }
    }

    fn samples(&self, ms: u32) -> usize {
        (self.sample_rate as usize * ms as usize) / 1000
    }

    /// Takes samples; returns those that are certain to belong to the clause.
    pub(crate) fn push(&mut self, samples: &[f32]) -> Vec<f32> {
        self.held.extend_from_slice(samples);
        if !self.started {
            let Some(first) = self.held.iter().position(|s| s.abs() > SILENCE) else {
                // Nothing but silence so far: only what may stand before the onset need be kept.
                let excess = self.held.len().saturating_sub(self.samples(KEEP_BEFORE_MS));
                self.held.drain(..excess);
                self.trimmed += excess;
                return Vec::new();
            };
            let cut = first.saturating_sub(self.samples(KEEP_BEFORE_MS));
            self.held.drain(..cut);
            self.trimmed += cut;
            self.started = true;
        }
        let sounding = self.held.iter().rposition(|s| s.abs() > SILENCE).map_or(0, |last| last + 1);
        let mut given: Vec<f32> = self.held.drain(..sounding).collect();
        self.fade_in(&mut given);
        given
    }

    /// Ends the clause: the tail after the last sound, then `pause_ms` of silence.
    pub(crate) fn finish(&mut self, pause_ms: u32) -> Vec<f32> {
        if !self.started {
            self.held.clear();
            return Vec::new();
        }
        let keep = self.samples(KEEP_AFTER_MS);
        self.held.resize(keep, 0.0);
        let fade = self.samples(FADE_MS).max(1);
        let start = keep.saturating_sub(fade);
        for (i, sample) in self.held[start..].iter_mut().enumerate() {
            *sample *= 1.0 - (i + 1) as f32 / fade as f32;
        }
        let mut tail = std::mem::take(&mut self.held);
        // What is kept of the tail counts as pause.
        let pause = self.samples(pause_ms).saturating_sub(keep);
        tail.resize(keep + pause, 0.0);
        tail
    }

    fn fade_in(&mut self, given: &mut [f32]) {
        let fade = self.samples(FADE_MS).max(1);
        if self.given < fade {
            for (i, sample) in given.iter_mut().enumerate().take(fade - self.given) {
                *sample *= (self.given + i) as f32 / fade as f32;
            }
        }
        self.given += given.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_goes_in_any_split_and_the_rest_stays() {
        let mut clip = vec![0.0; 3_000];
        clip.extend(vec![0.5; 1_000]);
        clip.extend(vec![0.0; 2_000]);
        clip.extend(vec![0.5; 1_000]);
        clip.extend(vec![0.001; 3_000]);
        let whole = trim(&clip, clip.len());
        for split in [1, 7, 256, 5_000] {
            assert_eq!(trim(&clip, split), whole, "split {split}");
        }
        // 15 ms before, sound, gap, sound, 40 ms after, of which a pause of 100 ms begins with the 40.
        assert_eq!(whole.len(), 150 + 4_000 + 1_000);
        assert_eq!(whole[0], 0.0);
        assert_eq!(whole.last(), Some(&0.0));
    }

    fn trim(clip: &[f32], split: usize) -> Vec<f32> {
        let mut trimmer = Trimmer::new(10_000);
        let mut out: Vec<f32> = clip.chunks(split).flat_map(|c| trimmer.push(c)).collect();
        out.extend(trimmer.finish(100));
        out
    }

    #[test]
    fn pure_silence_gives_nothing() {
        let mut trimmer = Trimmer::new(16_000);
        assert!(trimmer.push(&[0.0; 16_000]).is_empty());
        assert!(trimmer.finish(300).is_empty());
    }
}
