//! Audio in and out of the program: WAV files, resampling, and the hosts that own a microphone and a loudspeaker.
//!
//! A host ([`AudioHost`]) hands out two ends: a [`Microphone`] that delivers 16 kHz blocks with their positions, and a
//! [`Speaker`] that takes the voice's samples turn by turn. All hosts share one playback core, [`Player`], so that
//! ducking, pausing, cancelling and the account of what was heard are the same everywhere.
//!
//! One clock rules: the microphone's sample clock. Every time in this module is a [`SamplePos`], also those of playback.

#[cfg(test)]
mod alloc_guard;
pub mod devices;
pub mod error;
pub mod file;
pub mod host;
pub mod live;
mod monitor;
pub mod player;
pub mod resample;
pub mod speaker;
pub mod wav;

pub use error::{Error, Result};
pub use file::{FileHost, Input, Pace, Samples};
pub use host::{
    AudioHost, Captured, DeviceEvent, HostHandle, HostReport, Microphone, PlaybackEvent, Streams, VoiceFormat,
};
pub use live::LiveHost;
pub use player::Player;
pub use resample::Resampler;
pub use speaker::{Queued, Speaker, SpeakerControl};

/// Samples per second of everything that the ears (VAD, ASR, turn detection, echo cancelling) hear.
pub const EAR_RATE: u32 = 16_000;

/// Samples in one block from a microphone: 10 ms.
pub const BLOCK: usize = 160;

/// A position on the microphone's sample clock: samples at [`EAR_RATE`] since the host was opened.
pub type SamplePos = u64;

/// The level from which on a sample counts as audible: -50 dB of full scale.
pub const AUDIBLE: f32 = 0.003_162_277_7;

/// Length of one [`SamplePos`] step in nanoseconds; exact, because 16 kHz divides a second into whole nanoseconds.
pub(crate) const NS_PER_SAMPLE: u64 = 1_000_000_000 / EAR_RATE as u64;

/// Milliseconds from the host's first sample to `at`.
pub fn to_ms(at: SamplePos) -> f64 {
    at as f64 * 1000.0 / f64::from(EAR_RATE)
}

/// The position `ms` milliseconds after the host's first sample.
pub fn from_ms(ms: f64) -> SamplePos {
    (ms.max(0.0) * f64::from(EAR_RATE) / 1000.0).round() as SamplePos
}
