//! Seeded random numbers and comparisons for tests.

/// xorshift64*; the seed must not be 0.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// Uniform in [-1, 1).
    pub(crate) fn float(&mut self) -> f32 {
        (self.next() % (1 << 24)) as f32 / (1 << 23) as f32 - 1.0
    }

    pub(crate) fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.float()).collect()
    }
}

/// Largest difference relative to the largest expected value; infinite if a result is not finite.
pub(crate) fn difference(got: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(got.len(), expected.len());
    if got.iter().any(|v| !v.is_finite()) {
        return f32::INFINITY;
    }
    let largest = expected.iter().fold(1e-6f32, |m, v| m.max(v.abs()));
    got.iter().zip(expected).fold(0.0f32, |m, (a, b)| m.max((a - b).abs())) / largest
}
