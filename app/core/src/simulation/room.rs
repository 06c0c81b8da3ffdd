//! A room between loudspeaker and microphone: a delay, a decaying tail, and two clocks that do not quite agree.

use std::collections::VecDeque;

use super::Random;
use crate::audio::{EAR_RATE, SamplePos};

/// The room.
#[derive(Debug, Clone, PartialEq)]
pub struct RoomConfig {
    /// From the sink to the microphone, in ms; at least 10.
    pub delay_ms: f32,
    /// Time in which the tail falls by 60 dB, in seconds.
    pub decay_s: f32,
    /// Level of the echo at the microphone against the sink, in dB.
    pub gain_db: f32,
    /// How much faster the loudspeaker's clock runs, in parts per million.
    pub drift_ppm: f32,
}

impl Default for RoomConfig {
    fn default() -> Self {
        Self { delay_ms: 80.0, decay_s: 0.3, gain_db: -10.0, drift_ppm: 0.0 }
    }
}

/// A room at work.
#[derive(Debug, Clone)]
pub struct Room {
    /// Impulse response, first tap first.
    taps: Vec<f32>,
    delay: f64,
    drift: f64,
    /// What was played, from position `start` on.
    played: VecDeque<f32>,
    start: SamplePos,
}

impl Room {
    /// A room whose tail is noise that decays exponentially, as in Moorer's model of late reverberation (1979).
    #[must_use]
    pub fn new(config: &RoomConfig, seed: u64) -> Self {
        let mut random = Random(seed);
        let rate = EAR_RATE as f32;
        let len = (config.decay_s * rate) as usize + 1;
        let mut taps: Vec<f32> = (0..len)
            .map(|i| {
                // 60 dB are a factor of 1000, of which the natural logarithm is 6.9.
                let envelope = (-6.9 * i as f32 / len as f32).exp();
                // The direct sound, then a sparse tail, which is as dense as speech can tell and cheaper.
                if i == 0 {
                    1.0
                } else if i % 8 == (i / 8) % 8 {
                    0.35 * envelope * random.signed()
                } else {
                    0.0
                }
            })
            .collect();
        let energy = taps.iter().map(|t| t * t).sum::<f32>().sqrt();
        let gain = 10f32.powf(config.gain_db / 20.0) / energy;
        taps.iter_mut().for_each(|t| *t *= gain);
        Self {
            taps,
            delay: f64::from(config.delay_ms.max(10.0)) * f64::from(EAR_RATE) / 1000.0,
            drift: f64::from(config.drift_ppm) * 1e-6,
            played: VecDeque::new(),
            start: 0,
        }
    }

    /// Tells what was played from `at` on; blocks in order, silence may be left out.
    pub fn play(&mut self, at: SamplePos, far: &[f32]) {
        let end = self.start + self.played.len() as SamplePos;
        let gap = usize::try_from(at.saturating_sub(end)).unwrap_or(0);
        let keep = self.taps.len() + self.delay as usize + EAR_RATE as usize;
        if gap > keep {
            self.played.clear();
            self.start = at;
        } else {
            self.played.extend(std::iter::repeat_n(0.0, gap));
        }
        self.played.extend(far);
        let excess = self.played.len().saturating_sub(keep);
        self.played.drain(..excess);
        self.start += excess as SamplePos;
    }

    /// Adds the echo that is heard from `at` on.
    pub fn add_echo(&mut self, at: SamplePos, out: &mut [f32]) {
        if self.played.iter().all(|s| *s == 0.0) {
            return;
        }
        let played = self.played.make_contiguous();
        for (i, slot) in out.iter_mut().enumerate() {
            // Where the loudspeaker was `delay` ago, by its own clock.
            let position = (at + i as SamplePos) as f64 * (1.0 + self.drift) - self.delay;
            let floor = position.floor();
            let fraction = (position - floor) as f32;
            let newest = floor as i64 - self.start as i64;
            let mut sum = 0.0;
            for (k, tap) in self.taps.iter().enumerate() {
                if *tap == 0.0 {
                    continue;
                }
                let index = newest - k as i64;
                let sample = |i: i64| usize::try_from(i).ok().and_then(|i| played.get(i)).copied().unwrap_or(0.0);
                sum += tap * (sample(index) * (1.0 - fraction) + sample(index + 1) * fraction);
            }
            *slot += sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impulse_comes_back_after_the_delay_with_the_level_asked_for() {
        let config = RoomConfig { delay_ms: 50.0, gain_db: -6.0, ..RoomConfig::default() };
        let mut room = Room::new(&config, 1);
        let mut heard = Vec::new();
        for block in 0..100u64 {
            let mut out = [0.0; 160];
            room.add_echo(block * 160, &mut out);
            heard.extend(out);
            let mut far = [0.0; 160];
            if block == 10 {
                far[0] = 1.0;
            }
            room.play(block * 160, &far);
        }
        let first = heard.iter().position(|s| *s != 0.0).unwrap();
        assert_eq!(first, 1600 + 800);
        let energy: f32 = heard.iter().map(|s| s * s).sum();
        assert!((10.0 * energy.log10() + 6.0).abs() < 0.5, "{}", 10.0 * energy.log10());
        let tail: f32 = heard[first + 4800..].iter().map(|s| s * s).sum();
        assert!(tail < 1e-6);
    }

    #[test]
    fn silence_has_no_echo_and_gaps_are_silence() {
        let mut room = Room::new(&RoomConfig::default(), 1);
        room.play(0, &[0.0; 160]);
        room.play(1_000_000, &[0.5; 160]);
        let mut out = [0.0; 160];
        room.add_echo(500_000, &mut out);
        assert_eq!(out, [0.0; 160]);
    }
}
