//! Takes the assistant's own voice out of what the microphone hears.
//!
//! WebRTC's AEC3 as ported to Rust by `sonora`, fed with exactly the samples that left the sink. It finds the delay of the
//! room and the devices by itself.

use sonora::config::{EchoCanceller as EchoConfig, NoiseSuppression};
use sonora::{AudioProcessing, Config, StreamConfig};

use crate::audio::{BLOCK, EAR_RATE};

/// What is done to the microphone's signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HearingConfig {
    /// Take out what the loudspeaker plays, where the audio host can hear it. Needed without a headset.
    pub echo_cancelling: bool,
    /// Lower steady noise by about 12 dB. Off: recognition is trained with noise and loses more than it gains.
    pub noise_suppression: bool,
}

impl Default for HearingConfig {
    fn default() -> Self {
        Self { echo_cancelling: true, noise_suppression: false }
    }
}

/// An echo canceller for blocks of 10 ms.
pub(crate) struct EchoCanceller {
    processing: AudioProcessing,
    cleaned: [f32; BLOCK],
    rendered: [f32; BLOCK],
}

impl EchoCanceller {
    /// `None` where nothing is to be done.
    pub(crate) fn new(config: HearingConfig) -> Option<Self> {
        if !config.echo_cancelling && !config.noise_suppression {
            return None;
        }
        let stream = StreamConfig::new(EAR_RATE, 1);
        let config = Config {
            echo_canceller: config.echo_cancelling.then(EchoConfig::default),
            noise_suppression: config.noise_suppression.then(NoiseSuppression::default),
            ..Config::default()
        };
        let processing = AudioProcessing::builder().config(config).capture_config(stream).render_config(stream).build();
        Some(Self { processing, cleaned: [0.0; BLOCK], rendered: [0.0; BLOCK] })
    }

    /// Cleans one block in place. `far` is what was played during it; empty for silence. Blocks of another length than
    /// [`BLOCK`] pass untouched.
    pub(crate) fn clean(&mut self, near: &mut [f32], far: &[f32]) {
        if near.len() != BLOCK {
            return;
        }
        let silence = [0.0; BLOCK];
        let far = if far.len() == BLOCK { far } else { &silence };
        let rendered = self.processing.process_render_f32(&[far], &mut [&mut self.rendered]);
        let cleaned = self.processing.process_capture_f32(&[&*near], &mut [&mut self.cleaned]);
        if let Err(error) = rendered.and(cleaned) {
            tracing::debug!(%error, "a block passed the echo canceller as it was");
            return;
        }
        near.copy_from_slice(&self.cleaned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise with a speech-like envelope, from a small generator, so that the test needs no file.
    fn babble(blocks: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut low = 0.0;
        (0..blocks * BLOCK)
            .map(|i| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let white = (state >> 8) as f32 / (1 << 23) as f32 - 1.0;
                low += 0.2 * (white - low);
                let syllable = (i as f32 / EAR_RATE as f32 * std::f32::consts::TAU * 4.0).sin().max(0.0);
                low * syllable * 0.5
            })
            .collect()
    }

    fn energy(samples: &[f32]) -> f32 {
        samples.iter().map(|s| s * s).sum::<f32>() / samples.len() as f32
    }

    #[test]
    fn echo_falls_by_20_db_and_the_user_stays() {
        let far = babble(1000, 1);
        let user = babble(1000, 2);
        let delay = 1600; // 100 ms
        let echo = |i: usize| if i < delay { 0.0 } else { 0.5 * far[i - delay] };
        let speaks = |i: usize| i >= 800 * BLOCK;
        let mut canceller = EchoCanceller::new(HearingConfig::default()).unwrap();
        let (mut alone_in, mut alone_out, mut both) = (Vec::new(), Vec::new(), Vec::new());
        for block in 0..1000 {
            let start = block * BLOCK;
            let mut near: Vec<f32> =
                (start..start + BLOCK).map(|i| echo(i) + if speaks(i) { user[i] } else { 0.0 }).collect();
            if (500..800).contains(&block) {
                alone_in.extend_from_slice(&near);
            }
            canceller.clean(&mut near, &far[start..start + BLOCK]);
            if (500..800).contains(&block) {
                alone_out.extend_from_slice(&near);
            } else if block >= 800 {
                both.extend_from_slice(&near);
            }
        }
        let erle_db = 10.0 * (energy(&alone_in) / energy(&alone_out)).log10();
        assert!(erle_db > 20.0, "echo fell by {erle_db} dB only");
        let kept_db = 10.0 * (energy(&both) / energy(&user[800 * BLOCK..])).log10();
        assert!(kept_db > -6.0, "the user lost {} dB", -kept_db);
    }

    #[test]
    fn odd_blocks_pass_untouched() {
        let mut canceller = EchoCanceller::new(HearingConfig::default()).unwrap();
        let mut near = [0.25; 7];
        canceller.clean(&mut near, &[]);
        assert_eq!(near, [0.25; 7]);
        assert!(EchoCanceller::new(HearingConfig { echo_cancelling: false, noise_suppression: false }).is_none());
    }
}
