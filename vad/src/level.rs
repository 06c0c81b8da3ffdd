//! Levels of short blocks, the background they stand out from, and what broken samples are taken for.

use crate::FRAME;

/// Samples in a block: 8 ms, short enough to date an onset, long enough for one period of a low voice.
pub(crate) const BLOCK: usize = 128;
/// Blocks in a frame.
pub(crate) const BLOCKS: usize = FRAME / BLOCK;

/// A level in decibels relative to a full-scale square wave; digital silence is [`Dbfs::SILENCE`].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Dbfs(pub(crate) f32);

impl Dbfs {
    /// Below the rounding noise of 16-bit audio; quieter blocks are all the same to us.
    pub(crate) const SILENCE: Self = Self(-100.0);

    fn of(block: &[f32]) -> Self {
        let power = block.iter().map(|s| s * s).sum::<f32>() / block.len() as f32;
        Self((10.0 * power.log10()).max(Self::SILENCE.0))
    }
}

/// The level of each block of a frame.
pub(crate) fn levels(frame: &[f32; FRAME]) -> [Dbfs; BLOCKS] {
    std::array::from_fn(|i| Dbfs::of(&frame[i * BLOCK..][..BLOCK]))
}

/// What a sample is taken for: NaN and infinities are silence, what exceeds full scale is clipped, and what is too
/// small to be heard is zero, because subnormal numbers slow the arithmetic of some processors down a hundredfold.
pub(crate) fn sane(sample: f32) -> f32 {
    if !sample.is_finite() || sample.abs() < 1e-9 { 0.0 } else { sample.clamp(-1.0, 1.0) }
}

/// The background level: falls quickly to any quieter block, rises slowly otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoiseFloor(Option<f32>);

impl NoiseFloor {
    /// 15 dB a second while nobody speaks: a fan that starts is background within a second or two.
    const RISE_IN_SILENCE: f32 = 0.12;
    /// 1.5 dB a second during speech, whose pauses keep pulling the floor down again.
    const RISE_IN_SPEECH: f32 = 0.012;
    /// Part of the way down taken at each quieter block, so that one odd block does not set the floor.
    const FALL: f32 = 0.3;

    pub(crate) const fn unknown() -> Self {
        Self(None)
    }

    pub(crate) fn update(&mut self, level: Dbfs, is_speech: bool) {
        let rise = if is_speech { Self::RISE_IN_SPEECH } else { Self::RISE_IN_SILENCE };
        self.0 = Some(match self.0 {
            None => level.0,
            Some(floor) if level.0 < floor => floor + Self::FALL * (level.0 - floor),
            Some(floor) => (floor + rise).min(level.0),
        });
    }

    /// The floor, or silence before the first block.
    pub(crate) fn get(self) -> Dbfs {
        self.0.map_or(Dbfs::SILENCE, Dbfs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_samples_become_harmless() {
        let cases = [
            (f32::NAN, 0.0),
            (f32::INFINITY, 0.0),
            (f32::NEG_INFINITY, 0.0),
            (1e-40, 0.0),
            (-1e-40, 0.0),
            (f32::MAX, 1.0),
            (-3.0, -1.0),
            (0.25, 0.25),
        ];
        for (sample, expected) in cases {
            assert_eq!(sane(sample), expected, "{sample}");
        }
    }

    #[test]
    fn levels_are_decibels_of_power() {
        let mut frame = [0.0; FRAME];
        frame[BLOCK..2 * BLOCK].fill(1.0);
        frame[2 * BLOCK..3 * BLOCK].fill(-0.1);
        let [silent, full, tenth, _] = levels(&frame);
        assert_eq!(silent, Dbfs::SILENCE);
        assert_eq!(full, Dbfs(0.0));
        assert!((tenth.0 + 20.0).abs() < 1e-3, "{tenth:?}");
    }

    #[test]
    fn the_floor_finds_the_background_and_ignores_speech() {
        let mut floor = NoiseFloor::unknown();
        let mut feed = |level: f32, is_speech, seconds: f32| {
            for _ in 0..(seconds * 125.0) as usize {
                floor.update(Dbfs(level), is_speech);
            }
            floor.get().0
        };
        assert!((feed(-60.0, false, 1.0) + 60.0).abs() < 0.1);
        let after_speech = feed(-20.0, true, 2.0);
        assert!(after_speech < -55.0, "{after_speech}");
        let after_a_fan_starts = feed(-45.0, false, 2.0);
        assert!((after_a_fan_starts + 45.0).abs() < 0.1, "{after_a_fan_starts}");
    }
}
