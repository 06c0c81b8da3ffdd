//! Settings that every voice has.

use crate::{Error, Result};

/// How a voice is opened and how it speaks.
#[derive(Debug, Clone, PartialEq)]
pub struct VoiceConfig {
    /// Threads of the network; more than two rarely help one clause.
    pub threads: usize,
    /// Times as fast as the voice was trained, 0.25 to 4.
    pub speed: f32,
    /// Factor on the samples, 0 to 4; what exceeds full scale is clipped.
    pub volume: f32,
    /// Leaves out the random variation, so that the same clause gives the same samples. For tests.
    pub deterministic: bool,
    /// One of the voice's speakers by name or number; the first where none is named.
    pub speaker: Option<String>,
}

impl Default for VoiceConfig {
    fn default() -> Self {
        VoiceConfig { threads: 2, speed: 1.0, volume: 1.0, deterministic: false, speaker: None }
    }
}

impl VoiceConfig {
    pub(crate) fn check(&self) -> Result<()> {
        let within = |setting, value: f32, min, max| {
            if (min..=max).contains(&value) { Ok(()) } else { Err(Error::Setting { setting, value, min, max }) }
        };
        within("speed", self.speed, 0.25, 4.0)?;
        within("volume", self.volume, 0.0, 4.0)
    }

    pub(crate) fn apply_volume(&self, samples: &mut [f32]) {
        for sample in samples {
            *sample = (*sample * self.volume).clamp(-1.0, 1.0);
        }
    }
}
