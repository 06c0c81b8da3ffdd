//! Whisper's log-mel spectrogram: 25 ms Hann windows every 10 ms, Slaney mels, log10, clamped to 80 dB below the peak.

use std::ops::Range;
use std::sync::Arc;

use kernels::Pool;
use realfft::{RealFftPlanner, RealToComplex};

use crate::mel_filters::{N_BINS, N_FFT, mel_filters};
use crate::{Error, Result};

/// Samples between frames, 10 ms.
const HOP: usize = 160;
/// Power below which nothing is told apart.
const FLOOR: f32 = 1e-10;
/// Range kept below the loudest mel, in units of log10.
const RANGE: f32 = 8.0;
/// Frames computed by one job.
const FRAMES_PER_JOB: usize = 16;

/// Turns audio into the encoder's input.
pub(super) struct LogMel {
    n_mels: usize,
    fft: Arc<dyn RealToComplex<f32>>,
    window: Vec<f32>,
    /// The non-zero part of each filter: bins and weights.
    filters: Vec<(Range<usize>, Vec<f32>)>,
    /// The result, `[frames, n_mels]`.
    frames: Vec<f32>,
}

impl LogMel {
    pub(super) fn new(n_mels: usize) -> LogMel {
        let window = (0..N_FFT).map(|i| {
            let phase = std::f64::consts::TAU * i as f64 / N_FFT as f64;
            (0.5 - 0.5 * phase.cos()) as f32
        });
        let filters = mel_filters(n_mels);
        let filters = filters.chunks_exact(N_BINS).map(|filter| {
            let first = filter.iter().position(|&w| w > 0.0).unwrap_or(0);
            let last = filter.iter().rposition(|&w| w > 0.0).map_or(first, |at| at + 1);
            (first..last, filter[first..last].to_vec())
        });
        LogMel {
            n_mels,
            fft: RealFftPlanner::new().plan_fft_forward(N_FFT),
            window: window.collect(),
            filters: filters.collect(),
            frames: Vec::new(),
        }
    }

    /// `n_frames` frames of `audio`, silence after its end; `[n_frames, n_mels]`.
    pub(super) fn compute(&mut self, audio: &[f32], n_frames: usize, pool: &Pool) -> Result<&[f32]> {
        let n_mels = self.n_mels;
        // A frame is centred on its sample, so the last ones that hear the audio begin before its end.
        let heard = n_frames.min((audio.len() + N_FFT / 2).div_ceil(HOP));
        let mut frames = std::mem::take(&mut self.frames);
        frames.resize(n_frames * n_mels, 0.0);
        let (sounding, silent) = frames.split_at_mut(heard * n_mels);
        pool.map_chunks(sounding, FRAMES_PER_JOB * n_mels, |job, frames| {
            self.job(audio, job * FRAMES_PER_JOB, frames)
        })?;
        silent.fill(FLOOR.log10());
        let peak = frames.iter().copied().fold(f32::MIN, f32::max);
        for value in &mut frames {
            *value = (value.max(peak - RANGE) + 4.0) / 4.0;
        }
        self.frames = frames;
        Ok(&self.frames)
    }

    /// log10 of the mel powers of consecutive frames.
    fn job(&self, audio: &[f32], first: usize, frames: &mut [f32]) -> Result<()> {
        let mut input = self.fft.make_input_vec();
        let mut spectrum = self.fft.make_output_vec();
        let mut scratch = self.fft.make_scratch_vec();
        let mut power = vec![0.0; N_BINS];
        for (i, frame) in frames.chunks_exact_mut(self.n_mels).enumerate() {
            fill_window(audio, (first + i) * HOP, &mut input);
            for (sample, weight) in input.iter_mut().zip(&self.window) {
                *sample *= weight;
            }
            self.fft
                .process_with_scratch(&mut input, &mut spectrum, &mut scratch)
                .map_err(|error| Error::Engine(error.to_string()))?;
            for (power, bin) in power.iter_mut().zip(&spectrum) {
                *power = bin.norm_sqr();
            }
            for (mel, (bins, weights)) in frame.iter_mut().zip(&self.filters) {
                let sum: f32 = power[bins.clone()].iter().zip(weights).map(|(p, w)| p * w).sum();
                // Samples far outside [-1, 1] may overflow; they count as the loudest there is.
                *mel = sum.clamp(FLOOR, f32::MAX).log10();
            }
        }
        Ok(())
    }
}

/// The window around sample `centre`: mirrored before the audio's start, zero after its end.
fn fill_window(audio: &[f32], centre: usize, window: &mut [f32]) {
    let half = N_FFT / 2;
    let sample = |at: usize| audio.get(at).copied().unwrap_or(0.0);
    if centre >= half && centre + half <= audio.len() {
        window.copy_from_slice(&audio[centre - half..centre + half]);
        return;
    }
    for (i, out) in window.iter_mut().enumerate() {
        *out = sample((centre + i).abs_diff(half));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_mel(audio: &[f32], n_frames: usize) -> Vec<f32> {
        let pool = Pool::new(2).unwrap();
        LogMel::new(80).compute(audio, n_frames, &pool).unwrap().to_vec()
    }

    /// The definition, in `f64`, by a plain Fourier sum.
    fn reference(audio: &[f32], n_frames: usize) -> Vec<f32> {
        let filters = mel_filters(80);
        let mut logs = Vec::new();
        for frame in 0..n_frames {
            let at = |i: usize| {
                let at = (frame * HOP + i).abs_diff(N_FFT / 2);
                let phase = std::f64::consts::TAU * i as f64 / N_FFT as f64;
                audio.get(at).map_or(0.0, |&s| f64::from(s)) * (0.5 - 0.5 * phase.cos())
            };
            let window: Vec<f64> = (0..N_FFT).map(at).collect();
            let power: Vec<f64> = (0..N_BINS)
                .map(|bin| {
                    let (mut re, mut im) = (0.0, 0.0);
                    for (i, s) in window.iter().enumerate() {
                        let phase = std::f64::consts::TAU * (bin * i % N_FFT) as f64 / N_FFT as f64;
                        re += s * phase.cos();
                        im -= s * phase.sin();
                    }
                    re * re + im * im
                })
                .collect();
            for filter in filters.chunks_exact(N_BINS) {
                let sum: f64 = filter.iter().zip(&power).map(|(w, p)| f64::from(*w) * p).sum();
                logs.push(sum.max(1e-10).log10());
            }
        }
        let peak = logs.iter().copied().fold(f64::MIN, f64::max);
        logs.iter().map(|v| ((v.max(peak - 8.0) + 4.0) / 4.0) as f32).collect()
    }

    #[test]
    fn agrees_with_its_definition() {
        let audio: Vec<f32> =
            (0..4_321).map(|i| (i as f32 * 0.05).sin() * 0.3 + (i as f32 * i as f32 * 1e-5).cos() * 0.1).collect();
        for len in [1, 159, 200, 201, 400, 4_321] {
            let (got, expected) = (log_mel(&audio[..len], 40), reference(&audio[..len], 40));
            for (i, (a, b)) in got.iter().zip(&expected).enumerate() {
                assert!((a - b).abs() < 2e-3, "{len} samples, frame {} mel {}: {a} expected {b}", i / 80, i % 80);
            }
        }
    }

    #[test]
    fn extreme_samples_stay_finite() {
        for level in [0.0, 1e-30, 1e30, f32::MAX] {
            assert!(log_mel(&[level; 1_000], 20).iter().all(|v| v.is_finite()), "{level}");
        }
    }
}
