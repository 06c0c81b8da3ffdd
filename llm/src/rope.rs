//! RoPE's inverse frequencies and the ways models stretch them.

/// `base^(-2i / head_size)` for every pair. `[head_size / 2]`
pub(crate) fn frequencies(base: f32, head_size: usize) -> Vec<f32> {
    (0..head_size / 2).map(|i| f64::from(base).powf(-2.0 * i as f64 / head_size as f64) as f32).collect()
}
