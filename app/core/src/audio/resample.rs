//! Streaming conversion between sample rates, aligned in time to a fraction of a sample.
//!
//! A windowed-sinc interpolator (rubato's) with the filter's delay taken out: output sample `k` is the input's band-limited
//! value at time `k / to`, and `n` input samples give exactly `ceil(n * to / from)` output samples once finished.

use rubato::audioadapter_buffers::direct::SequentialSlice;
use rubato::{Async, FixedAsync, Resampler as _, SincInterpolationParameters, WindowFunction};

use super::{Error, Result};

/// Lowest rate that makes sense for speech.
pub const MIN_RATE: u32 = 8_000;
/// Highest rate that any file or device is known to have.
pub const MAX_RATE: u32 = 768_000;

/// Zero crossings of the filter at the lower of the two rates: passband to 92% of Nyquist, aliases below -100 dB.
const FILTER_LEN: usize = 128;

/// Filters kept between two input samples; rubato reads one of these steps late, which is the only error in time.
const OVERSAMPLING: usize = 256;

/// Converts a mono stream from one rate to another.
pub struct Resampler {
    from: u32,
    to: u32,
    /// `None` when both rates are equal.
    sinc: Option<Async<f32>>,
    /// Input that does not fill a chunk yet; `chunk` long, the first `pending` are valid.
    input: Vec<f32>,
    pending: usize,
    /// One chunk's output.
    output: Vec<f32>,
    /// Output samples that still belong to the filter's delay.
    skip: u64,
    consumed: u64,
    produced: u64,
}

impl std::fmt::Debug for Resampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resampler").field("from", &self.from).field("to", &self.to).finish_non_exhaustive()
    }
}

impl Resampler {
    /// A converter that works in chunks of about 5 ms.
    ///
    /// # Errors
    /// Rates outside [`MIN_RATE`] to [`MAX_RATE`].
    pub fn new(from: u32, to: u32) -> Result<Self> {
        let sane = MIN_RATE..=MAX_RATE;
        if !sane.contains(&from) || !sane.contains(&to) {
            return Err(Error::Rate { from, to });
        }
        if from == to {
            return Ok(Self::assemble(from, to, None, 0, 0, 0));
        }
        let wider = (FILTER_LEN as f64 * (f64::from(from) / f64::from(to)).max(1.0)).ceil() as usize;
        let filter_len = wider.next_multiple_of(8);
        let chunk = (from as usize / 200).max(32);
        let ratio = f64::from(to) / f64::from(from);
        let parameters =
            SincInterpolationParameters::new(filter_len, WindowFunction::Blackman2).oversampling_factor(OVERSAMPLING);
        let sinc = Async::new_sinc(ratio, 1.0, &parameters, chunk, 1, FixedAsync::Input)
            .map_err(|_| Error::Rate { from, to })?;

        // The filter is centred half its length back. Zeros in front make the delay a whole number of output samples.
        let divisor = gcd(from, to);
        let (from_step, to_step) = (u64::from(from / divisor), u64::from(to / divisor));
        let steps = (filter_len as u64 / 2).div_ceil(from_step);
        let zeros = steps * from_step - filter_len as u64 / 2;
        let skip = steps * to_step - 1;
        let output = sinc.output_frames_max();
        let mut this = Self::assemble(from, to, Some(sinc), chunk, output, skip);
        for _ in 0..zeros {
            this.input[this.pending] = 0.0;
            this.pending += 1;
            if this.pending == chunk {
                this.convert(&mut |_| {})?;
            }
        }
        Ok(this)
    }

    fn assemble(from: u32, to: u32, sinc: Option<Async<f32>>, chunk: usize, output: usize, skip: u64) -> Self {
        let (input, output) = (vec![0.0; chunk], vec![0.0; output]);
        Self { from, to, sinc, input, pending: 0, output, skip, consumed: 0, produced: 0 }
    }

    /// Input samples per second.
    pub fn from(&self) -> u32 {
        self.from
    }

    /// Output samples per second.
    pub fn to(&self) -> u32 {
        self.to
    }

    /// Output samples given out so far: the next one is at time `produced / to`.
    pub fn produced(&self) -> u64 {
        self.produced
    }

    /// How far the output trails the input at most, in input samples.
    pub fn latency(&self) -> usize {
        match self.sinc {
            Some(_) => {
                let wider = FILTER_LEN as f64 * (f64::from(self.from) / f64::from(self.to)).max(1.0);
                (wider.ceil() as usize).next_multiple_of(8) / 2 + 2 + self.input.len()
            }
            None => 0,
        }
    }

    /// Takes input of any length and hands on what can be converted by now. Allocates nothing.
    ///
    /// # Errors
    /// None in practice: the converter refuses only buffers of the wrong size, which are ours.
    pub fn process(&mut self, mut samples: &[f32], sink: &mut dyn FnMut(&[f32])) -> Result<()> {
        self.consumed += samples.len() as u64;
        if self.sinc.is_none() {
            self.produced += samples.len() as u64;
            sink(samples);
            return Ok(());
        }
        while !samples.is_empty() {
            let take = samples.len().min(self.input.len() - self.pending);
            self.input[self.pending..self.pending + take].copy_from_slice(&samples[..take]);
            self.pending += take;
            samples = &samples[take..];
            if self.pending == self.input.len() {
                self.convert(sink)?;
            }
        }
        Ok(())
    }

    /// [`Self::process`] onto the end of a vector.
    ///
    /// # Errors
    /// As [`Self::process`].
    pub fn push(&mut self, samples: &[f32], out: &mut Vec<f32>) -> Result<()> {
        self.process(samples, &mut |converted| out.extend_from_slice(converted))
    }

    /// Hands on the rest, so that the whole output is `ceil(consumed * to / from)` samples long.
    ///
    /// # Errors
    /// As [`Self::process`].
    pub fn finish(mut self, out: &mut Vec<f32>) -> Result<()> {
        let whole = (u128::from(self.consumed) * u128::from(self.to)).div_ceil(u128::from(self.from)) as u64;
        while self.produced < whole && self.sinc.is_some() {
            let before = self.produced;
            self.input[self.pending..].fill(0.0);
            self.convert(&mut |converted| {
                let wanted = (whole - before).min(converted.len() as u64) as usize;
                out.extend_from_slice(&converted[..wanted]);
            })?;
        }
        Ok(())
    }

    /// Converts the full input chunk.
    fn convert(&mut self, sink: &mut dyn FnMut(&[f32])) -> Result<()> {
        let Some(sinc) = self.sinc.as_mut() else {
            return Ok(());
        };
        let wrong = |_| Error::Rate { from: self.from, to: self.to };
        let (chunk, room) = (self.input.len(), self.output.len());
        let input = SequentialSlice::new(&self.input[..], 1, chunk).map_err(|_| wrong(()))?;
        let mut output = SequentialSlice::new_mut(&mut self.output[..], 1, room).map_err(|_| wrong(()))?;
        let (_, made) = sinc.process_into_buffer(&input, &mut output, None).map_err(|_| wrong(()))?;
        self.pending = 0;
        let skipped = self.skip.min(made as u64);
        self.skip -= skipped;
        let converted = &self.output[skipped as usize..made];
        self.produced += converted.len() as u64;
        if !converted.is_empty() {
            sink(converted);
        }
        Ok(())
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    fn tone(hz: f64, rate: u32, len: usize) -> Vec<f32> {
        (0..len).map(|i| (0.5 * (TAU * hz * i as f64 / f64::from(rate)).sin()) as f32).collect()
    }

    fn convert(from: u32, to: u32, input: &[f32], block: usize) -> Vec<f32> {
        let mut resampler = Resampler::new(from, to).unwrap();
        let mut out = Vec::new();
        for block in input.chunks(block) {
            resampler.push(block, &mut out).unwrap();
            let due = (u128::from(resampler.consumed) * u128::from(to)).div_ceil(u128::from(from)) as usize;
            assert!(out.len() <= due, "{from} -> {to}: output runs ahead of its input");
            let late = (resampler.latency() as f64 * f64::from(to) / f64::from(from)).ceil() as usize + 2;
            assert!(out.len() + late >= due, "{from} -> {to}: {} samples of {due} after a block", out.len());
        }
        resampler.finish(&mut out).unwrap();
        out
    }

    const RATES: [u32; 13] =
        [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 88_200, 96_000, 176_400, 192_000];

    #[test]
    fn length_is_exact_for_every_rate_and_block() {
        for from in RATES.into_iter().chain([8001, 15_999, 44_101, 191_999]) {
            for to in [16_000, 22_050, 48_000] {
                for len in [0, 7, 4999] {
                    for block in [1, 160, 1 << 20] {
                        let out = convert(from, to, &vec![0.25; len], block);
                        let wanted = (len as u64 * u64::from(to)).div_ceil(u64::from(from));
                        assert_eq!(out.len() as u64, wanted, "{from} -> {to}, {len} samples in blocks of {block}");
                    }
                }
            }
        }
    }

    #[test]
    fn tones_keep_their_shape_and_their_place_in_time() {
        for from in RATES {
            for to in [16_000, 22_050, 48_000] {
                let hz = 1000.0;
                let out = convert(from, to, &tone(hz, from, from as usize / 2), 441);
                let wanted = tone(hz, to, out.len());
                let edge = to as usize / 50;
                let inner = edge..out.len() - edge;
                let error = inner.clone().map(|i| f64::from(out[i] - wanted[i]).powi(2)).sum::<f64>();
                let signal = inner.map(|i| f64::from(wanted[i]).powi(2)).sum::<f64>();
                let snr = 10.0 * (signal / error.max(1e-30)).log10();
                // At 8 kHz a shift by 1/256 of a sample leaves 50.2 dB, a shift by one sample 2 dB.
                assert!(snr > 50.0, "{from} -> {to}: only {snr:.1} dB");
            }
        }
    }

    #[test]
    fn what_the_lower_rate_cannot_hold_is_removed() {
        for (from, hz) in [(22_050, 9500.0), (48_000, 10_000.0), (44_100, 15_000.0), (192_000, 60_000.0)] {
            let out = convert(from, 16_000, &tone(hz, from, from as usize / 2), 512);
            let inner = &out[400..out.len() - 400];
            let peak = inner.iter().fold(0.0f32, |m, s| m.max(s.abs()));
            assert!(peak < 0.5e-4, "{hz} Hz at {from} Hz leaves {peak}");
        }
    }

    #[test]
    fn absurd_rates_are_refused() {
        for (from, to) in [(0, 16_000), (1, 16_000), (7999, 16_000), (16_000, 0), (u32::MAX, 16_000), (16_000, 768_001)]
        {
            assert!(matches!(Resampler::new(from, to), Err(Error::Rate { .. })), "{from} -> {to}");
        }
    }
}
