//! Changes the rate of a voice by windowed-sinc interpolation, piece by piece.

use std::f64::consts::PI;

/// Input samples on each side of an output sample that it is made of.
const REACH: usize = 24;
/// Share of the smaller Nyquist band that passes.
const PASSBAND: f64 = 0.92;

/// From one sample rate to another, for one clause.
pub(super) struct Resampler {
    from: u64,
    to: u64,
    // input from sample `first` on, silence before the beginning
    input: Vec<f32>,
    first: i64,
    // outputs given so far, inputs taken so far
    given: u64,
    taken: u64,
}

impl Resampler {
    pub(super) fn new(from: u32, to: u32) -> Resampler {
        Resampler {
            from: u64::from(from.max(1)),
            to: u64::from(to.max(1)),
            input: vec![0.0; REACH],
            first: -(REACH as i64),
            given: 0,
            taken: 0,
        }
    }

    /// Where an input sample lies in the output.
    pub(super) fn position(&self, sample: usize) -> usize {
        (sample as u64 * self.to / self.from) as usize
    }

    pub(super) fn push(&mut self, samples: &[f32]) -> Vec<f32> {
        self.input.extend_from_slice(samples);
        self.taken += samples.len() as u64;
        self.output(self.taken as i64 - REACH as i64)
    }

    /// What is left when no more input comes.
    pub(super) fn finish(&mut self) -> Vec<f32> {
        self.input.extend(std::iter::repeat_n(0.0, REACH + 1));
        self.output(self.taken as i64)
    }

    /// All outputs that lie before input position `end`.
    fn output(&mut self, end: i64) -> Vec<f32> {
        let cutoff = PASSBAND * (self.to as f64 / self.from as f64).min(1.0);
        let mut out = Vec::new();
        loop {
            let position = self.given * self.from;
            let whole = (position / self.to) as i64;
            if whole >= end {
                break;
            }
            let fraction = (position % self.to) as f64 / self.to as f64;
            let start = (whole - REACH as i64 + 1 - self.first) as usize;
            let taps = &self.input[start..start + 2 * REACH];
            let sum: f64 = taps
                .iter()
                .enumerate()
                .map(|(i, s)| f64::from(*s) * tap(i as f64 - (REACH as f64 - 1.0) - fraction, cutoff))
                .sum();
            out.push(sum as f32);
            self.given += 1;
        }
        // Inputs that no later output needs.
        let needed = (self.given * self.from / self.to) as i64 - REACH as i64 + 1;
        let done = (needed - self.first).clamp(0, self.input.len() as i64) as usize;
        self.input.drain(..done);
        self.first += done as i64;
        out
    }
}

/// A low-pass sinc under a Hann window, at a distance of `x` input samples.
fn tap(x: f64, cutoff: f64) -> f64 {
    let reach = REACH as f64;
    if x.abs() >= reach {
        return 0.0;
    }
    let window = 0.5 + 0.5 * (PI * x / reach).cos();
    let y = PI * cutoff * x;
    let sinc = if y.abs() < 1e-9 { 1.0 } else { y.sin() / y };
    cutoff * sinc * window
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tone_keeps_its_pitch_level_and_length_in_any_split() {
        let tone = |rate: f64, n: usize| -> Vec<f32> {
            (0..n).map(|i| (2.0 * PI * 1_000.0 * i as f64 / rate).sin() as f32).collect()
        };
        for (from, to) in [(24_000, 22_050), (22_050, 24_000), (16_000, 48_000), (48_000, 16_000)] {
            let input = tone(f64::from(from), from as usize / 2);
            let wanted = tone(f64::from(to), to as usize / 2);
            for split in [1, 777, input.len()] {
                let mut resampler = Resampler::new(from, to);
                let mut out: Vec<f32> = input.chunks(split).flat_map(|c| resampler.push(c)).collect();
                out.extend(resampler.finish());
                assert_eq!(out.len(), wanted.len(), "{from} to {to}");
                let worst = out[200..out.len() - 200]
                    .iter()
                    .zip(&wanted[200..])
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, f32::max);
                assert!(worst < 0.005, "{from} to {to} in {split}: off by {worst}");
            }
        }
    }
}
