//! The tables of the front end: Hann window and Slaney's mel filters.

use super::MELS;

/// Points of the transform.
pub(super) const FFT: usize = 400;
/// Frequencies of its spectrum, from 0 to 8 kHz.
pub(super) const BINS: usize = FFT / 2 + 1;

/// Hann window of 400 samples, periodic: the 401st would close it.
pub(super) fn periodic_hann() -> Vec<f64> {
    let step = std::f64::consts::TAU / FFT as f64;
    (0..FFT).map(|i| 0.5 - 0.5 * (step * i as f64).cos()).collect()
}

/// One triangle over the spectrum, without its zeros.
pub(super) struct Filter {
    first: usize,
    weights: Vec<f64>,
}

impl Filter {
    pub(super) fn apply(&self, power: &[f64; BINS]) -> f64 {
        power[self.first..].iter().zip(&self.weights).map(|(p, w)| p * w).sum()
    }
}

/// The 80 filters. Neighbours overlap by half; each is scaled by the inverse of its width, after Slaney.
pub(super) fn slaney() -> Vec<Filter> {
    let top = hertz_to_mel(8_000.0);
    let edges: Vec<f64> = (0..MELS + 2).map(|i| mel_to_hertz(top * i as f64 / (MELS + 1) as f64)).collect();
    edges
        .windows(3)
        .map(|edge| {
            let (low, centre, high) = (edge[0], edge[1], edge[2]);
            let weight = |bin: usize| {
                let hertz = bin as f64 * 8_000.0 / (BINS - 1) as f64;
                let slope = ((hertz - low) / (centre - low)).min((high - hertz) / (high - centre));
                slope.max(0.0) * 2.0 / (high - low)
            };
            let first = (0..BINS).find(|&bin| weight(bin) > 0.0).unwrap_or(0);
            let weights = (first..BINS).map(weight).take_while(|&w| w > 0.0).collect();
            Filter { first, weights }
        })
        .collect()
}

/// Slaney's scale: linear below 1 kHz, logarithmic above.
fn hertz_to_mel(hertz: f64) -> f64 {
    if hertz < 1_000.0 { hertz * 3.0 / 200.0 } else { 15.0 + (hertz / 1_000.0).ln() * 27.0 / 6.4_f64.ln() }
}

fn mel_to_hertz(mel: f64) -> f64 {
    if mel < 15.0 { mel * 200.0 / 3.0 } else { 1_000.0 * ((mel - 15.0) * 6.4_f64.ln() / 27.0).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_inverts() {
        for hertz in [0.0, 40.0, 999.0, 1_000.0, 3_333.0, 8_000.0] {
            assert!((mel_to_hertz(hertz_to_mel(hertz)) - hertz).abs() < 1e-9, "{hertz}");
        }
    }

    #[test]
    fn every_filter_hears_something_and_none_leaves_the_spectrum() {
        let filters = slaney();
        assert_eq!(filters.len(), MELS);
        for (i, filter) in filters.iter().enumerate() {
            assert!(!filter.weights.is_empty(), "filter {i}");
            assert!(filter.first + filter.weights.len() <= BINS, "filter {i}");
        }
    }
}
