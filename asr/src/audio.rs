//! What can be said of a clip without a model: is it finite, how loud is it, where are its pauses.

use crate::{Error, Result, SAMPLE_RATE};

/// Frame of the energy measure, 20 ms.
pub(crate) const FRAME: usize = SAMPLE_RATE / 50;
/// Below this RMS, -60 dBFS, a frame is silent whatever surrounds it: the noise of a quiet room.
const SILENCE_RMS: f32 = 1e-3;

/// Refuses NaN and infinities, which would spread through every layer.
pub(crate) fn check_finite(audio: &[f32]) -> Result<()> {
    match audio.iter().position(|sample| !sample.is_finite()) {
        Some(index) => Err(Error::NotFinite { index }),
        None => Ok(()),
    }
}

/// RMS of each frame; the last one may be shorter.
fn frame_rms(audio: &[f32]) -> Vec<f32> {
    audio.chunks(FRAME).map(rms).collect()
}

fn rms(frame: &[f32]) -> f32 {
    // A sum of squares beyond f32 is only reached by samples far outside [-1, 1]; infinity then compares as loud.
    (frame.iter().map(|s| s * s).sum::<f32>() / frame.len() as f32).sqrt()
}

/// True if no frame rises above the noise of a quiet room.
pub(crate) fn is_silent(audio: &[f32]) -> bool {
    frame_rms(audio).iter().all(|&rms| rms < SILENCE_RMS)
}

/// Start of the quietest 200 ms of a range, in samples: the place where a cut hurts least.
pub(crate) fn quietest(audio: &[f32], range: std::ops::Range<usize>) -> usize {
    const SPAN: usize = 10;
    let energy: Vec<f32> = frame_rms(&audio[range.clone()]).iter().map(|rms| rms * rms).collect();
    let sums = energy.windows(SPAN).map(|frames| frames.iter().sum::<f32>());
    let quietest = sums.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
    // The middle of the span.
    quietest.map_or(range.start, |(frame, _)| range.start + (frame + SPAN / 2) * FRAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quietest_place_is_inside_the_pause() {
        let mut audio = vec![0.5; 3 * SAMPLE_RATE];
        audio[20_000..25_000].fill(0.001);
        let cut = quietest(&audio, 8_000..40_000);
        assert!((20_000..25_000).contains(&cut), "{cut}");
    }

    #[test]
    fn silence_is_silent_and_a_quiet_voice_is_not() {
        assert!(is_silent(&[]));
        assert!(is_silent(&vec![0.0005; 16_000]));
        let mut audio = vec![0.0; 16_000];
        audio[8_000..9_000].fill(0.01);
        assert!(!is_silent(&audio));
        assert!(!is_silent(&vec![f32::MAX; 1_000]));
    }
}
