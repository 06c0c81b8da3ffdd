//! Was it really said? Whisper invents words for silence and noise, and gets caught in loops.
//!
//! Nothing here knows a phrase: a real "thank you" passes, an invented one fails on the model's own doubt.

use crate::decode::Hypothesis;
use crate::{Rejection, Transcript};

mod repetition;

/// A text is withheld when the model's doubt, `no_speech_prob - avg_logprob / 2`, exceeds a limit that rises with the
/// share of the clip that a detector heard as speech: from this for none of it ...
const LIMIT_UNVOICED: f32 = 0.5;
/// ... to this for all of it, and halfway between where no detector has listened.
///
/// On the shared clips and on synthetic noise, hum, knocks, coughs and chords (both models), real speech stays below
/// 0.51 and everything else above 0.87.
const LIMIT_VOICED: f32 = 1.0;

/// Turns a hypothesis into a transcript: loops cut, annotations dropped, inventions withheld.
pub(crate) fn judge(hypothesis: Hypothesis, voiced: Option<f32>) -> Transcript {
    let Hypothesis { text, tokens, language, avg_logprob, no_speech_prob } = hypothesis;
    let spoken = drop_annotations(&text);
    let cut = repetition::cut_loops(&spoken);
    let looped = cut.len() < spoken.len();
    let limit = LIMIT_UNVOICED + (LIMIT_VOICED - LIMIT_UNVOICED) * voiced.unwrap_or(0.5).clamp(0.0, 1.0);
    let doubt = no_speech_prob - avg_logprob / 2.0;
    let has_words = cut.chars().any(char::is_alphanumeric);
    let rejection = match (doubt > limit || !has_words, looped) {
        (true, _) => Some(Rejection::NoSpeech),
        (false, true) => Some(Rejection::Repetition),
        (false, false) => None,
    };
    let withheld = rejection == Some(Rejection::NoSpeech);
    tracing::trace!(no_speech_prob, avg_logprob, ?voiced, ?rejection, "judged");
    Transcript {
        text: if withheld { String::new() } else { cut.trim().to_owned() },
        tokens: if withheld || looped { Vec::new() } else { tokens },
        language,
        avg_logprob,
        no_speech_prob,
        rejection,
    }
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
        // no_speech_prob, avg_logprob, voiced, passes
        for (no_speech_prob, avg_logprob, voiced, passes) in [
            (0.05, -0.3, Some(0.6), true),
            (0.05, -0.3, Some(0.05), true),
            (0.05, -0.3, None, true),
            (0.3, -0.4, Some(0.6), true),
            (0.3, -0.4, Some(0.0), true),
            (0.5, -0.6, Some(0.9), true),
            (0.5, -0.6, Some(0.1), false),
            (0.9, -0.6, Some(0.9), false),
            (0.9, -0.3, None, false),
            (0.4, -1.0, None, false),
            (0.0, -2.5, Some(1.0), false),
        ] {
            let hypothesis = Hypothesis {
                text: " Thank you.".into(),
                tokens: vec![1, 2],
                language: Language::English,
                avg_logprob,
                no_speech_prob,
            };
            let transcript = judge(hypothesis, voiced);
            assert_eq!(transcript.text == "Thank you.", passes, "{no_speech_prob} {avg_logprob} {voiced:?}");
        }
    }
}
