//! Median and tail of a set of delays.

use serde::{Deserialize, Serialize};

/// 50th and 95th percentile, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
}

/// Quantiles of `samples` by linear interpolation between order statistics (Hyndman and Fan's type 7, the default
/// of R and NumPy); `None` where there are none. Samples that are not finite are ignored.
///
/// Exact, unlike a histogram's buckets: a report has tens to thousands of turns, never millions.
#[must_use]
pub fn quantiles(samples: impl IntoIterator<Item = f64>) -> Option<Quantiles> {
    let mut sorted: Vec<f64> = samples.into_iter().filter(|s| s.is_finite()).collect();
    if sorted.is_empty() {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    let at = |q: f64| {
        let rank = q * (sorted.len() - 1) as f64;
        let below = sorted[rank.floor() as usize];
        let above = sorted[rank.ceil() as usize];
        below + (above - below) * rank.fract()
    };
    Some(Quantiles { p50: at(0.50), p95: at(0.95) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition() {
        assert_eq!(quantiles([]), None);
        assert_eq!(quantiles([f64::NAN]), None);
        assert_eq!(quantiles([7.0]), Some(Quantiles { p50: 7.0, p95: 7.0 }));
        assert_eq!(quantiles((0..=100).rev().map(f64::from)), Some(Quantiles { p50: 50.0, p95: 95.0 }));
        assert_eq!(quantiles([1.0, 2.0]).unwrap().p50, 1.5);
    }
}
