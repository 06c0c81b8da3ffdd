//! A user made of recordings, for measurements and tests that can be repeated: speaks when told to, in a room that
//! returns the assistant's own voice, with noise around.

mod clips;
mod room;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::audio::{self, Input, SamplePos};

pub use clips::{Clip, Error as ClipError, read_clips};
pub use room::{Room, RoomConfig};

/// Clips that may wait to be spoken.
const WAITING: usize = 64;

/// What surrounds the user.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Surroundings {
    /// Echo of the assistant's voice; none with a headset.
    pub room: Option<RoomConfig>,
    /// Steady noise, root mean square relative to full scale; 0 for none.
    pub noise_rms: f32,
    /// Seed of the noise and the room.
    pub seed: u64,
}

/// When a clip was spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoken {
    /// The number given by [`Director::speak`].
    pub clip: u64,
    /// Position of its first sample.
    pub at: SamplePos,
}

/// Tells a [`SimulatedUser`] what to say.
#[derive(Debug)]
pub struct Director {
    cues: Sender<(u64, Vec<f32>)>,
    spoken: Receiver<Spoken>,
    now: Arc<AtomicU64>,
    next: u64,
}

impl Director {
    /// Lets the user speak `samples` (mono, 16 kHz) at once, after whatever was told before; returns its number.
    pub fn speak(&mut self, samples: Vec<f32>) -> u64 {
        let clip = self.next;
        self.next += 1;
        // A host that has stopped hears no more; the conversation's end says so.
        let _ = self.cues.send((clip, samples));
        clip
    }

    /// Which clips were begun, and when.
    pub fn spoken(&self) -> impl Iterator<Item = Spoken> + '_ {
        self.spoken.try_iter()
    }

    /// Samples heard so far.
    #[must_use]
    pub fn now(&self) -> SamplePos {
        self.now.load(Ordering::Acquire)
    }
}

/// The microphone's side: an [`Input`] for a file host.
#[derive(Debug)]
pub struct SimulatedUser {
    cues: Receiver<(u64, Vec<f32>)>,
    spoken: Sender<Spoken>,
    now: Arc<AtomicU64>,
    current: std::vec::IntoIter<f32>,
    room: Option<Room>,
    noise_rms: f32,
    random: Random,
}

impl SimulatedUser {
    /// A silent user and who directs it.
    #[must_use]
    pub fn new(surroundings: &Surroundings) -> (Self, Director) {
        let (cues_in, cues) = bounded(WAITING);
        let (spoken, spoken_out) = bounded(WAITING * 64);
        let now = Arc::new(AtomicU64::new(0));
        let user = Self {
            cues,
            spoken,
            now: now.clone(),
            current: Vec::new().into_iter(),
            room: surroundings.room.as_ref().map(|room| Room::new(room, surroundings.seed)),
            noise_rms: surroundings.noise_rms,
            random: Random(surroundings.seed ^ 0x9e37_79b9_7f4a_7c15),
        };
        (user, Director { cues: cues_in, spoken: spoken_out, now, next: 0 })
    }
}

impl Input for SimulatedUser {
    fn read(&mut self, at: SamplePos, out: &mut [f32]) -> audio::Result<usize> {
        for (i, slot) in out.iter_mut().enumerate() {
            while self.current.len() == 0 {
                let Ok((clip, samples)) = self.cues.try_recv() else { break };
                let _ = self.spoken.try_send(Spoken { clip, at: at + i as SamplePos });
                self.current = samples.into_iter();
            }
            // A uniform sample has an rms of 1/sqrt(3).
            let noise = self.noise_rms * 3f32.sqrt() * self.random.signed();
            *slot = self.current.next().unwrap_or(0.0) + noise;
        }
        if let Some(room) = &mut self.room {
            room.add_echo(at, out);
        }
        self.now.store(at + out.len() as SamplePos, Ordering::Release);
        Ok(out.len())
    }

    fn played(&mut self, at: SamplePos, far: &[f32]) {
        if let Some(room) = &mut self.room {
            room.play(at, far);
        }
    }
}

/// A small generator (SplitMix64, Steele et al. 2014), so that a seed means the same everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [-1, 1).
    pub(crate) fn signed(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clips_follow_each_other_and_are_dated() {
        let (mut user, mut director) = SimulatedUser::new(&Surroundings::default());
        let mut out = [9.0; 8];
        assert_eq!(user.read(0, &mut out).unwrap(), 8);
        assert_eq!(out, [0.0; 8]);
        let first = director.speak(vec![0.1, 0.2, 0.3]);
        let second = director.speak(vec![0.4]);
        user.read(8, &mut out).unwrap();
        assert_eq!(out, [0.1, 0.2, 0.3, 0.4, 0.0, 0.0, 0.0, 0.0]);
        let spoken: Vec<_> = director.spoken().collect();
        assert_eq!(spoken, [Spoken { clip: first, at: 8 }, Spoken { clip: second, at: 11 }]);
        assert_eq!(director.now(), 16);
    }

    #[test]
    fn noise_has_the_level_asked_for_and_repeats() {
        let surroundings = Surroundings { noise_rms: 0.01, seed: 7, ..Surroundings::default() };
        let listen = || {
            let mut out = vec![0.0; 16_000];
            SimulatedUser::new(&surroundings).0.read(0, &mut out).unwrap();
            out
        };
        let out = listen();
        let rms = (out.iter().map(|s| s * s).sum::<f32>() / out.len() as f32).sqrt();
        assert!((rms - 0.01).abs() < 2e-4, "{rms}");
        assert_eq!(out, listen());
    }
}
