//! Which items a limit picks: the first of a fixed shuffle, so that a larger limit adds items and drops none.

use std::collections::HashSet;

/// A choice among the items of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// `None`: all of them.
    chosen: Option<HashSet<usize>>,
    count: usize,
}

impl Pick {
    /// At most `limit` of `count` items.
    #[must_use]
    pub fn new(count: usize, limit: Option<usize>, seed: u64) -> Self {
        let Some(limit) = limit.filter(|&limit| limit < count) else { return Self { chosen: None, count } };
        let mut order: Vec<usize> = (0..count).collect();
        let mut state = seed;
        // Fisher and Yates; the first `limit` places are what a full shuffle would put there.
        for place in 0..limit {
            let other = place + (next(&mut state) % (count - place) as u64) as usize;
            order.swap(place, other);
        }
        Self { chosen: Some(order.into_iter().take(limit).collect()), count }
    }

    /// Whether an item is picked.
    #[must_use]
    pub fn has(&self, index: usize) -> bool {
        self.chosen.as_ref().is_none_or(|chosen| chosen.contains(&index))
    }

    /// How many are picked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chosen.as_ref().map_or(self.count, HashSet::len)
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_limit_only_adds() {
        let sets: Vec<HashSet<usize>> =
            [0, 1, 5, 20, 99].iter().map(|&limit| Pick::new(100, Some(limit), 7).chosen.unwrap()).collect();
        for (pair, limit) in sets.windows(2).zip([0, 1, 5, 20]) {
            assert_eq!(pair[0].len(), limit);
            assert!(pair[0].is_subset(&pair[1]));
        }
        assert_ne!(sets[2], (0..5).collect(), "not merely the first");
        assert_eq!(Pick::new(100, Some(100), 7).len(), 100);
        assert!(Pick::new(100, None, 7).has(5000));
        assert!(Pick::new(0, Some(3), 7).is_empty());
    }
}
