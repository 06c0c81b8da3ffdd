//! Was it really said? Whisper invents words for silence and noise, and gets caught in loops.
//!
//! Nothing here knows a phrase: a real "thank you" passes, an invented one fails on the model's own doubt.

use crate::audio::{frame_rms, is_silent};
use crate::decode::Hypothesis;
use crate::{Rejection, Transcript};

mod repetition;

/// Whisper's own rule: doubt on both counts.
const NO_SPEECH_PROB: f32 = 0.6;
const LOW_LOGPROB: f32 = -1.0;
/// A clip with less speech than this must be clearly more certain.
const HARDLY_VOICED: f32 = 0.1;

/// Turns a hypothesis into a transcript: loops cut, annotations dropped, inventions withheld.
pub(crate) fn judge(hypothesis: Hypothesis, audio: &[f32], voiced: Option<f32>) -> Transcript {
    let Hypothesis { text, tokens, language, avg_logprob, no_speech_prob } = hypothesis;
    let spoken = drop_annotations(&text);
    let cut = repetition::cut_loops(&spoken);
    let looped = cut.len() < spoken.len();
    let doubtful = no_speech_prob > NO_SPEECH_PROB && avg_logprob < LOW_LOGPROB;
    let hardly_voiced = voiced.unwrap_or_else(|| energy_share(audio)) < HARDLY_VOICED;
    let unlikely = hardly_voiced && (no_speech_prob > 0.5 * NO_SPEECH_PROB || avg_logprob < 0.7 * LOW_LOGPROB);
    let invented = doubtful || unlikely || is_silent(audio);
    let has_words = cut.chars().any(char::is_alphanumeric);
    let rejection = match (invented || !has_words, looped) {
        (true, _) => Some(Rejection::NoSpeech),
        (false, true) => Some(Rejection::Repetition),
        (false, false) => None,
    };
    let withheld = rejection == Some(Rejection::NoSpeech);
    Transcript {
        text: if withheld { String::new() } else { cut.trim().to_owned() },
        tokens: if withheld || looped { Vec::new() } else { tokens },
        language,
        avg_logprob,
        no_speech_prob,
        rejection,
    }
}

/// Share of frames well above the clip's own noise floor: a stand-in when no detector has listened.
fn energy_share(audio: &[f32]) -> f32 {
    let mut levels = frame_rms(audio);
    if levels.is_empty() {
        return 0.0;
    }
    levels.sort_by(f32::total_cmp);
    let floor = levels[levels.len() / 10].max(1e-4);
    let above = levels.iter().filter(|&&rms| rms > 2.0 * floor).count();
    above as f32 / levels.len() as f32
}

/// Removes what Whisper writes for sounds that are no words: `[music]`, `(laughs)`, `*sighs*`, notes.
fn drop_annotations(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut closing = None;
    for c in text.chars() {
        match (closing, c) {
            (Some(end), c) if c == end => closing = None,
            (Some(_), _) => {}
            (None, '[') => closing = Some(']'),
            (None, '(') => closing = Some(')'),
            (None, '（') => closing = Some('）'),
            (None, '*') => closing = Some('*'),
            (None, '♪' | '♫' | '♬') => {}
            (None, c) => kept.push(c),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;

    #[test]
    fn annotations_are_no_words() {
        for (text, expected) in [
            ("[Music]", ""),
            (" (upbeat music) Hello.", "  Hello."),
            ("♪ la la ♪", " la la "),
            ("*sighs* no", " no"),
            ("a [b", "a "),
            ("plain", "plain"),
        ] {
            assert_eq!(drop_annotations(text), expected);
        }
    }

    #[test]
    fn thank_you_passes_or_fails_on_evidence_alone() {
        let voice: Vec<f32> = (0..16_000).map(|i| if i < 8_000 { 0.0 } else { (i as f32 * 0.1).sin() * 0.1 }).collect();
        // no_speech_prob, avg_logprob, voiced, passes
        for (no_speech_prob, avg_logprob, voiced, passes) in [
            (0.05, -0.3, Some(0.6), true),
            (0.7, -0.3, Some(0.6), true),
            (0.7, -1.2, Some(0.6), false),
            (0.05, -0.3, Some(0.02), true),
            (0.4, -0.3, Some(0.02), false),
            (0.05, -0.9, Some(0.02), false),
            (0.05, -0.3, None, true),
        ] {
            let hypothesis = Hypothesis {
                text: " Thank you.".into(),
                tokens: vec![1, 2],
                language: Language::English,
                avg_logprob,
                no_speech_prob,
            };
            let transcript = judge(hypothesis, &voice, voiced);
            assert_eq!(transcript.text == "Thank you.", passes, "{no_speech_prob} {avg_logprob} {voiced:?}");
        }
    }
}
