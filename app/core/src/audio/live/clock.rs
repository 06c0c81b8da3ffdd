//! The time of samples that devices take and give in bursts, freed from the jitter of their callbacks.

/// Share of a deviation that is followed per burst.
const FOLLOW: f64 = 1.0 / 64.0;

/// A deviation beyond this is no jitter: the device stood still.
const STALL_NS: f64 = 200e6;

/// Estimates when each sample passed a device from when its bursts were asked for.
#[derive(Debug, Clone)]
pub(crate) struct BurstClock {
    rate: f64,
    samples: u64,
    /// Estimated time of sample 0; `None` before the first burst.
    start_ns: Option<f64>,
}

impl BurstClock {
    pub(crate) fn new(rate: u32) -> Self {
        Self { rate: f64::from(rate), samples: 0, start_ns: None }
    }

    /// The time of the next sample, by what is known.
    pub(crate) fn time(&self) -> Option<u64> {
        self.start_ns.map(|start| (start + self.samples as f64 / self.rate * 1e9).max(0.0) as u64)
    }

    /// A loudspeaker asks, at `now_ns`, for `samples`; returns the time of their first.
    ///
    /// A device that fills its buffer first asks early; afterwards each request comes when it can take the samples. A late
    /// request is the scheduler's doing and moves the estimate little; an early one cannot be and moves it at once.
    pub(crate) fn asked(&mut self, now_ns: u64, samples: u64) -> u64 {
        let time = self.adjust(now_ns);
        self.samples += samples;
        time
    }

    /// The same request goes on with `samples`; returns the time of their first.
    pub(crate) fn more(&mut self, samples: u64) -> u64 {
        let time = self.time().unwrap_or_default();
        self.samples += samples;
        time
    }

    /// A microphone brings, at `now_ns`, `samples`, the last of which was heard just then.
    pub(crate) fn brought(&mut self, now_ns: u64, samples: u64) {
        self.samples += samples;
        self.adjust(now_ns);
    }

    /// `samples` passed that no device brought.
    pub(crate) fn skip(&mut self, samples: u64) {
        self.samples += samples;
    }

    /// Moves the estimate of the next sample's time towards `now_ns`, and returns it.
    fn adjust(&mut self, now_ns: u64) -> u64 {
        let now = now_ns as f64;
        let estimate = match self.time() {
            Some(time) => time as f64,
            None => now,
        };
        let error = now - estimate;
        let shift = if (0.0..=STALL_NS).contains(&error) { error * FOLLOW } else { error };
        let time = estimate + shift;
        self.start_ns = Some(time - self.samples as f64 / self.rate * 1e9);
        time.max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_smoothed_and_drift_followed() {
        for drift in [-200e-6, 0.0, 200e-6] {
            let mut clock = BurstClock::new(48_000);
            let mut worst: f64 = 0.0;
            // The buffer of four bursts is filled at once, then one is asked for every 10 ms, up to 4 ms late.
            for i in 0..20_000u64 {
                let due = 1e9 + i.saturating_sub(3) as f64 * 10e6 * (1.0 + drift);
                let late = (i * 7919 % 40) as f64 * 1e5;
                let time = clock.asked((due + late) as u64, 240) as f64;
                assert!(clock.more(240).abs_diff(time as u64 + 5_000_000) <= 2);
                if i > 500 {
                    worst = worst.max((time - due).abs());
                }
            }
            assert!(worst < 4.1e6, "drift {drift}: off by {worst} ns");
        }
    }

    #[test]
    fn a_stall_moves_the_clock_at_once() {
        let mut clock = BurstClock::new(48_000);
        for i in 0..100 {
            clock.asked(i * 10_000_000, 480);
        }
        assert_eq!(clock.asked(3_000_000_000, 480), 3_000_000_000);
        assert_eq!(clock.time(), Some(3_010_000_000));
    }

    #[test]
    fn a_microphone_dates_the_end_of_its_burst() {
        let mut clock = BurstClock::new(16_000);
        clock.brought(1_000_000_000, 160);
        assert_eq!(clock.time(), Some(1_000_000_000));
        clock.brought(1_010_000_000, 160);
        assert_eq!(clock.time(), Some(1_010_000_000));
        clock.skip(1600);
        assert_eq!(clock.time(), Some(1_110_000_000));
    }
}
