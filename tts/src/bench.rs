//! Measures a voice: how soon sound begins, and how much faster than real time it is made.
//!
//! The clock is the caller's, so that nothing here reads one.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::{Clause, Result, Synthesizer};

/// What was measured over all clauses.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VoiceBench {
    /// From a clause to its first piece of speech, sorted.
    pub first_chunk: Vec<Duration>,
    /// All the time spent.
    pub spent: Duration,
    /// Seconds of speech made, pauses left out.
    pub speech_seconds: f64,
}

impl VoiceBench {
    /// The time to the first piece that a share of the clauses (0 to 1) did not exceed; `None` without clauses.
    pub fn first_chunk_at(&self, share: f64) -> Option<Duration> {
        let last = self.first_chunk.len().checked_sub(1)?;
        let index = (share.clamp(0.0, 1.0) * last as f64).round() as usize;
        self.first_chunk.get(index).copied()
    }

    /// Seconds spent for a second of speech.
    pub fn real_time_factor(&self) -> f64 {
        if self.speech_seconds > 0.0 { self.spent.as_secs_f64() / self.speech_seconds } else { 0.0 }
    }
}

/// Speaks every clause `rounds` times into nowhere. `now` is the time since some moment.
///
/// # Errors
/// When the voice fails.
pub fn bench(
    voice: &mut dyn Synthesizer,
    clauses: &[Clause],
    rounds: usize,
    now: &dyn Fn() -> Duration,
) -> Result<VoiceBench> {
    let never = AtomicBool::new(false);
    let mut result = VoiceBench::default();
    let rate = f64::from(voice.sample_rate());
    for clause in (0..rounds).flat_map(|_| clauses) {
        let clause = Clause { pause_ms: 0, ..clause.clone() };
        let start = now();
        let mut first = None;
        let mut samples = 0;
        voice.synthesize(&clause, &never, &mut |speech| {
            first.get_or_insert_with(|| now().saturating_sub(start));
            samples += speech.samples.len();
        })?;
        result.spent += now().saturating_sub(start);
        result.first_chunk.extend(first);
        result.speech_seconds += samples as f64 / rate;
    }
    result.first_chunk.sort();
    Ok(result)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::Speech;

    /// Makes a second of speech in two pieces, the first after 30 ms, the second 20 ms later.
    struct Metronome(Arc<AtomicU64>);

    impl Synthesizer for Metronome {
        fn sample_rate(&self) -> u32 {
            1_000
        }

        fn synthesize(&mut self, _: &Clause, _: &AtomicBool, sink: &mut dyn FnMut(Speech)) -> Result<()> {
            for ms in [30, 20] {
                self.0.fetch_add(ms, Ordering::Relaxed);
                sink(Speech { samples: vec![0.0; 500], words: Vec::new() });
            }
            Ok(())
        }
    }

    #[test]
    fn times_are_taken_where_they_happen() {
        let clock = Arc::new(AtomicU64::new(0));
        let now = || Duration::from_millis(clock.load(Ordering::Relaxed));
        let measured = bench(&mut Metronome(clock.clone()), &[Clause::default(), Clause::default()], 3, &now).unwrap();
        assert_eq!(measured.first_chunk_at(0.5), Some(Duration::from_millis(30)));
        assert_eq!(measured.first_chunk.len(), 6);
        assert!((measured.real_time_factor() - 0.05).abs() < 1e-9);
        assert_eq!(VoiceBench::default().first_chunk_at(0.5), None);
    }
}
