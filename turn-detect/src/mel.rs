//! The log-mel front end of Whisper as smart-turn v3 was trained with it: 8 s of audio to `[80, 800]`.
//!
//! The last 8 s, silence in front of shorter turns; zero mean and unit variance over those 8 s; a Hann window of 400
//! samples every 160, centred, the ends mirrored; power spectrum; 80 triangular filters on Slaney's scale with equal
//! area; decimal logarithm; at most 8 decades below the loudest cell; brought to about [-1, 1].
//! The arithmetic up to the filters is in `f64`, as the reference's is, so that quiet cells agree.

mod filters;

use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

use filters::{BINS, FFT, Filter};

/// Filters, which are the rows of the output.
pub const MELS: usize = 80;
/// Columns of the output, one every 10 ms.
pub const FRAMES: usize = 800;
/// Samples that the model hears: 8 s.
pub const WINDOW: usize = 128_000;

const HOP: usize = 160;
/// Keeps the variance of silence above zero.
const VARIANCE_EPS: f64 = 1e-7;
/// The least power a cell can have.
const POWER_FLOOR: f64 = 1e-10;

/// The transform with its tables and buffers.
pub struct LogMel {
    fft: Arc<dyn RealToComplex<f64>>,
    hann: Vec<f64>,              // [400]
    filters: Vec<Filter>,        // [80]
    padded: Vec<f64>,            // [200 + 128000 + 200], normalised, ends mirrored
    framed: Vec<f64>,            // [400]
    spectrum: Vec<Complex<f64>>, // [201]
    scratch: Vec<Complex<f64>>,
    power: [f64; BINS],
    features: Vec<f32>, // [80, 800]
}

impl Default for LogMel {
    fn default() -> Self {
        let fft = RealFftPlanner::new().plan_fft_forward(FFT);
        Self {
            hann: filters::periodic_hann(),
            filters: filters::slaney(),
            padded: vec![0.0; WINDOW + FFT],
            framed: vec![0.0; FFT],
            spectrum: fft.make_output_vec(),
            scratch: fft.make_scratch_vec(),
            power: [0.0; BINS],
            features: vec![0.0; MELS * FRAMES],
            fft,
        }
    }
}

impl LogMel {
    /// The features `[80, 800]` of the last 8 s of `audio` (16 kHz). NaN and infinities count as silence.
    pub fn features(&mut self, audio: &[f32]) -> &[f32] {
        let silent = self.normalise(audio);
        // Frames that hold nothing but the silence put in front, mirrored or not, are all alike: one is computed.
        let alike = if silent < FFT { 0 } else { ((silent - FFT / 2) / HOP + 1).min(FRAMES) };
        for frame in alike.saturating_sub(1)..FRAMES {
            self.frame(frame);
        }
        for row in self.features.chunks_exact_mut(FRAMES).filter(|_| alike > 1) {
            let value = row[alike - 1];
            row[..alike - 1].fill(value);
        }
        self.compress();
        &self.features
    }

    /// Fills `padded`; returns how many samples of silence were put in front.
    fn normalise(&mut self, audio: &[f32]) -> usize {
        let audio = &audio[audio.len().saturating_sub(WINDOW)..];
        let silent = WINDOW - audio.len();
        let (head, window) = self.padded.split_at_mut(FFT / 2);
        let (window, tail) = window.split_at_mut(WINDOW);
        window[..silent].fill(0.0);
        let mut sum = 0.0;
        for (to, &sample) in window[silent..].iter_mut().zip(audio) {
            *to = if sample.is_finite() { f64::from(sample) } else { 0.0 };
            sum += *to;
        }
        let mean = sum / WINDOW as f64;
        let variance = window.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / WINDOW as f64;
        let scale = 1.0 / (variance + VARIANCE_EPS).sqrt();
        for sample in window.iter_mut() {
            *sample = (*sample - mean) * scale;
        }
        for (i, sample) in head.iter_mut().rev().enumerate() {
            *sample = window[i + 1];
        }
        for (i, sample) in tail.iter_mut().enumerate() {
            *sample = window[WINDOW - 2 - i];
        }
        silent
    }

    /// Writes column `frame` of the features, as the logarithm of the filtered power.
    fn frame(&mut self, frame: usize) {
        let samples = &self.padded[frame * HOP..][..FFT];
        for ((to, sample), weight) in self.framed.iter_mut().zip(samples).zip(&self.hann) {
            *to = sample * weight;
        }
        // Only wrong lengths make the transform fail, and these buffers are its own.
        let transformed = self.fft.process_with_scratch(&mut self.framed, &mut self.spectrum, &mut self.scratch);
        debug_assert!(transformed.is_ok());
        for (power, bin) in self.power.iter_mut().zip(&self.spectrum) {
            *power = bin.norm_sqr();
        }
        for (mel, filter) in self.filters.iter().enumerate() {
            let power = filter.apply(&self.power).max(POWER_FLOOR);
            self.features[mel * FRAMES + frame] = (power as f32).log10();
        }
    }

    /// Limits the range to 8 decades below the loudest cell and brings it to about [-1, 1].
    fn compress(&mut self) {
        let loudest = self.features.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for cell in &mut self.features {
            *cell = (cell.max(loudest - 8.0) + 4.0) / 4.0;
        }
    }
}

impl std::fmt::Debug for LogMel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogMel").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(samples: usize) -> Vec<f32> {
        (0..samples).map(|i| (i as f32 * 0.3).sin() * 0.4 + 0.05).collect()
    }

    #[test]
    fn only_the_last_eight_seconds_count() {
        let long = tone(WINDOW + 5_000);
        let mut mel = LogMel::default();
        let tail = mel.features(&long[5_000..]).to_vec();
        assert_eq!(mel.features(&long), tail);
    }

    #[test]
    fn silence_put_in_front_is_the_same_as_silence_in_the_audio() {
        // Lengths around the edges of frames and of the window; with the silence spelled out nothing is copied.
        for samples in [0, 1, 199, 200, 201, 360, 16_000, WINDOW - 600, WINDOW - 400, WINDOW - 399, WINDOW - 1, WINDOW]
        {
            let audio = tone(samples);
            let mut spelled_out = vec![0.0; WINDOW - samples];
            spelled_out.extend(&audio);
            let mut mel = LogMel::default();
            let expected = mel.features(&spelled_out).to_vec();
            let got = mel.features(&audio);
            let worst = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-5, "{samples} samples: {worst}");
        }
    }

    #[test]
    fn loudness_and_offset_do_not_matter() {
        let audio = tone(WINDOW);
        let quiet: Vec<f32> = audio.iter().map(|s| s * 0.25 - 0.1).collect();
        let mut mel = LogMel::default();
        let expected = mel.features(&audio).to_vec();
        let worst = mel.features(&quiet).iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 2e-3, "{worst}");
    }

    #[test]
    fn broken_samples_give_finite_features() {
        let mut audio = tone(20_000);
        audio[100..200].fill(f32::NAN);
        audio[300] = f32::INFINITY;
        audio[400..500].fill(1e-42);
        let mut mel = LogMel::default();
        assert!(mel.features(&audio).iter().all(|f| f.is_finite()));
        assert!(mel.features(&[f32::MAX; 300]).iter().all(|f| f.is_finite()));
    }
}
