//! The mel filter bank of Whisper: Slaney's scale and normalisation, 0 to 8 kHz.

use crate::SAMPLE_RATE;

/// Samples in one analysis window, 25 ms.
pub(crate) const N_FFT: usize = 400;
/// Bins of a real spectrum.
pub(crate) const N_BINS: usize = N_FFT / 2 + 1;

/// Triangular filters of equal area, `[n_mels, N_BINS]`.
pub(crate) fn mel_filters(n_mels: usize) -> Vec<f32> {
    let top = hz_to_mel(SAMPLE_RATE as f64 / 2.0);
    let edges: Vec<f64> = (0..n_mels + 2).map(|i| mel_to_hz(top * i as f64 / (n_mels + 1) as f64)).collect();
    let mut filters = vec![0.0; n_mels * N_BINS];
    for (edge, filter) in edges.windows(3).zip(filters.chunks_exact_mut(N_BINS)) {
        let (low, centre, high) = (edge[0], edge[1], edge[2]);
        for (bin, weight) in filter.iter_mut().enumerate() {
            let hz = bin as f64 * SAMPLE_RATE as f64 / N_FFT as f64;
            let rise = (hz - low) / (centre - low);
            let fall = (high - hz) / (high - centre);
            *weight = (rise.min(fall).max(0.0) * 2.0 / (high - low)) as f32;
        }
    }
    filters
}

/// Slaney: linear below 1 kHz, logarithmic above.
const LINEAR_HZ_PER_MEL: f64 = 200.0 / 3.0;
const BREAK_HZ: f64 = 1000.0;
const BREAK_MEL: f64 = BREAK_HZ / LINEAR_HZ_PER_MEL;

/// Natural log of the frequency ratio of one mel above the break: 27 mels for a factor of 6.4.
fn log_step() -> f64 {
    6.4f64.ln() / 27.0
}

fn hz_to_mel(hz: f64) -> f64 {
    if hz < BREAK_HZ { hz / LINEAR_HZ_PER_MEL } else { BREAK_MEL + (hz / BREAK_HZ).ln() / log_step() }
}

fn mel_to_hz(mel: f64) -> f64 {
    if mel < BREAK_MEL { mel * LINEAR_HZ_PER_MEL } else { BREAK_HZ * ((mel - BREAK_MEL) * log_step()).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of librosa.filters.mel(sr=16000, n_fft=400, n_mels=80), which Whisper ships as its filter bank.
    #[test]
    fn agrees_with_librosa() {
        let filters = mel_filters(80);
        for (mel, bin, expected) in MEL_80 {
            let got = filters[mel * N_BINS + bin];
            assert!((got - expected).abs() < 1e-7, "filter {mel} bin {bin}: {got} expected {expected}");
        }
        assert_eq!(filters.iter().filter(|w| **w > 0.0).count(), 391);
    }

    /// Filter, bin, weight.
    const MEL_80: [(usize, usize, f32); 13] = [
        (0, 1, 2.48626e-2),
        (1, 1, 1.99082e-3),
        (31, 31, 1.17513e-2),
        (49, 61, 9.85924e-3),
        (59, 92, 1.62798e-3),
        (67, 120, 3.72355e-3),
        (73, 149, 1.40762e-3),
        (77, 173, 8.04597e-4),
        (79, 197, 1.34628e-3),
        (79, 198, 8.97518e-4),
        (79, 199, 4.48759e-4),
        (0, 0, 0.0),
        (79, 200, 0.0),
    ];
}
