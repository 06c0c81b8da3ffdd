//! Settings of the detector, each with the reason for its default.

use crate::{Error, Result};

/// How the detector decides. The defaults are for conversation through a microphone at 16 kHz.
#[derive(Clone, Debug, PartialEq)]
pub struct VadConfig {
    /// Silero probability from which a frame counts as speech. 0.5 is the value its authors tune the model for.
    pub start_threshold: f32,
    /// Probability below which a frame counts as silence while speech is on; in between, the last verdict stands.
    /// 0.15 below the start, as its authors advise: it keeps weak syllables from splitting a word.
    pub end_threshold: f32,
    /// How long speech must go on before it is announced, in milliseconds. A click is over by then.
    pub onset_ms: u32,
    /// Probability that one frame of the onset must reach. Kitchen and street noise held probabilities of 0.5 to 0.63
    /// for up to 160 ms on the measuring clips; of 56 onsets of speech all reached 0.7 within the first two frames.
    pub confirm_threshold: f32,
    /// How long speech must go on when no frame reaches `confirm_threshold`, in milliseconds: quiet or distant speech
    /// is found a little later instead of never.
    pub slow_onset_ms: u32,
    /// How long silence must go on before the end is announced, in milliseconds.
    /// About the first checkpoint of a turn, at which the dialogue starts to think; not the end of the turn. Stop
    /// consonants close the mouth for up to 80 ms: 96 ms gave 56 segments on the clips, 64 ms gave 58, 256 ms 45.
    pub hangover_ms: u32,
    /// How far before the first confident frame the onset may be dated back, in milliseconds, while the level stays
    /// above the noise: breathy and unvoiced beginnings ("s", "f", "h") get a low probability.
    pub back_date_ms: u32,
    /// The cheap gate before Silero.
    pub gate: GateConfig,
}

/// When Silero may sleep. The defaults were chosen so that no speech frame of the measuring clips is lost, also at 20 and
/// 30 dB less, and in steady noise Silero sleeps where it can. (At 40 dB less 19 of 2,776 frames were lost; of clips set
/// between three seconds of faint hiss, 7 of 3,470; both with half of today's warm-up.)
#[derive(Clone, Debug, PartialEq)]
pub struct GateConfig {
    /// Whether Silero sleeps at all while the gate sees no chance of speech.
    pub enabled: bool,
    /// Level in dBFS below which a frame is silence whatever its shape. -85 is near the rounding of 16-bit audio, so it
    /// shuts out muted microphones and nothing that can be understood.
    pub silence_dbfs: f32,
    /// How far above the background a block must be to open the gate whatever WebRTC says, in decibels. At 9 dB
    /// some first syllables of quiet clips were lost.
    pub rise_db: f32,
    /// How eager WebRTC is to call a frame noise: 0 (keeps most) to 3 (drops most). 2 lost no more than 0 did and slept
    /// through white noise at -40 dBFS, which kept 0 awake half of the time; 3 lost the first frames of some words.
    pub aggressiveness: u8,
    /// How long the gate stays open after the last sign of voice, in milliseconds: gaps between words never close it.
    pub hold_ms: u32,
    /// How much audio before the opening Silero hears first, in milliseconds. Its memory carries on from before the
    /// gap; clearing it instead made it miss 100 of 3,200 quiet speech frames.
    pub warm_up_ms: u32,
}

impl Default for VadConfig {
    fn default() -> Self {
        Self {
            start_threshold: 0.5,
            end_threshold: 0.35,
            onset_ms: 64,
            confirm_threshold: 0.7,
            slow_onset_ms: 256,
            hangover_ms: 96,
            back_date_ms: 160,
            gate: GateConfig::default(),
        }
    }
}

impl Default for GateConfig {
    fn default() -> Self {
        Self { enabled: true, silence_dbfs: -85.0, rise_db: 6.0, aggressiveness: 2, hold_ms: 320, warm_up_ms: 256 }
    }
}

impl VadConfig {
    /// Refuses what cannot work.
    ///
    /// # Errors
    /// Names the field, its value and its range.
    pub(crate) fn check(&self) -> Result<()> {
        let within = |name, value: f64, low: f64, high: f64, range| {
            if value >= low && value <= high {
                Ok(())
            } else {
                let value = value.to_string();
                Err(Error::Config { name, value, range })
            }
        };
        let start = f64::from(self.start_threshold);
        within("start_threshold", start, 0.01, 0.99, "from 0.01 to 0.99")?;
        within("end_threshold", self.end_threshold.into(), 0.0, start, "from 0 to start_threshold")?;
        within("onset_ms", self.onset_ms.into(), 0.0, 500.0, "from 0 to 500")?;
        within("hangover_ms", self.hangover_ms.into(), 0.0, 10_000.0, "from 0 to 10000")?;
        within("back_date_ms", self.back_date_ms.into(), 0.0, 400.0, "from 0 to 400")?;
        within("gate.silence_dbfs", self.gate.silence_dbfs.into(), -200.0, 0.0, "from -200 to 0")?;
        within("gate.rise_db", self.gate.rise_db.into(), 0.0, 200.0, "from 0 to 200")?;
        within("gate.aggressiveness", self.gate.aggressiveness.into(), 0.0, 3.0, "from 0 to 3")?;
        within("gate.hold_ms", self.gate.hold_ms.into(), 0.0, 60_000.0, "from 0 to 60000")?;
        within("gate.warm_up_ms", self.gate.warm_up_ms.into(), 0.0, 2_000.0, "from 0 to 2000")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid() {
        VadConfig::default().check().unwrap();
    }

    #[test]
    fn refuses_what_cannot_work_and_names_it() {
        type Change = fn(&mut VadConfig);
        let cases: [(&str, Change); 8] = [
            ("start_threshold", |c| c.start_threshold = f32::NAN),
            ("start_threshold", |c| c.start_threshold = 1.5),
            ("end_threshold", |c| c.end_threshold = 0.9),
            ("onset_ms", |c| c.onset_ms = 10_000),
            ("hangover_ms", |c| c.hangover_ms = u32::MAX),
            ("gate.silence_dbfs", |c| c.gate.silence_dbfs = f32::INFINITY),
            ("gate.aggressiveness", |c| c.gate.aggressiveness = 4),
            ("gate.warm_up_ms", |c| c.gate.warm_up_ms = u32::MAX),
        ];
        for (field, change) in cases {
            let mut config = VadConfig::default();
            change(&mut config);
            let message = config.check().unwrap_err().to_string();
            assert!(message.contains(field), "{message}");
        }
    }
}
