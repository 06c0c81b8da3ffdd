//! RoPE's inverse frequencies and the ways models stretch them.

/// `base^(-2i / head_size)` for every pair. `[head_size / 2]`
pub(crate) fn frequencies(base: f32, head_size: usize) -> Vec<f32> {
    (0..head_size / 2).map(|i| f64::from(base).powf(-2.0 * i as f64 / head_size as f64) as f32).collect()
}

/// Llama 3.1's stretching: long waves by `factor`, short ones not at all, those between smoothly.
pub(crate) struct Llama3 {
    pub(crate) factor: f32,
    pub(crate) low: f32,
    pub(crate) high: f32,
    pub(crate) original_context: f32,
}

/// Applies [`Llama3`] in place.
pub(crate) fn llama3(frequencies: &mut [f32], scaling: &Llama3) {
    for f in frequencies {
        let wavelength = 2.0 * std::f32::consts::PI / *f;
        // 1 where the wave fits `high` times into the original context, 0 where it fits less than `low` times.
        let smooth =
            (scaling.original_context / wavelength - scaling.low) / (scaling.high - scaling.low).max(f32::EPSILON);
        let smooth = smooth.clamp(0.0, 1.0);
        *f *= smooth + (1.0 - smooth) / scaling.factor;
    }
}
