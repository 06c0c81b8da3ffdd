//! The sample clock: where in the input stream something happened.

use std::fmt;
use std::ops::{Add, Sub};

/// A position in the stream, counted in samples at 16 kHz from the first sample ever pushed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SamplePos(pub u64);

impl SamplePos {
    /// Milliseconds from the beginning of the stream, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / (crate::SAMPLE_RATE as u64 / 1000)
    }

    /// The position `samples` earlier, or the beginning of the stream.
    #[must_use]
    pub const fn before(self, samples: u64) -> Self {
        Self(self.0.saturating_sub(samples))
    }
}

impl Add<u64> for SamplePos {
    type Output = Self;

    fn add(self, samples: u64) -> Self {
        Self(self.0.saturating_add(samples))
    }
}

/// The distance in samples; zero when `earlier` lies later.
impl Sub for SamplePos {
    type Output = u64;

    fn sub(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for SamplePos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} s", self.as_millis() / 1000, self.as_millis() % 1000)
    }
}
