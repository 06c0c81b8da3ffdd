//! The stream against an engine that writes down what it is asked.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::Language;

/// Hears one word for every second of sound that is not silent, and remembers each request.
#[derive(Default)]
struct Counting {
    requests: Vec<(usize, Pass, Option<f32>, usize)>, // samples, pass, voiced, draft tokens
    fail_next: bool,
}

impl Transcriber for Counting {
    fn transcribe(&mut self, audio: &[f32], options: &Options, _cancel: &AtomicBool) -> Result<Transcript> {
        if std::mem::take(&mut self.fail_next) {
            return Err(Error::Cancelled);
        }
        self.requests.push((audio.len(), options.pass, options.voiced, options.draft.len()));
        // Sample values are the seconds' numbers, so that lost or doubled audio shows in the text.
        let words: Vec<String> = audio
            .chunks(SAMPLE_RATE)
            .filter(|second| second[0] != 0.0)
            .map(|second| format!("{:.0}", second[0] * 1000.0))
            .collect();
        let tokens = (0..words.len() as u32).collect();
        Ok(Transcript { text: words.join(" "), language: Language::English, tokens, ..Transcript::default() })
    }
}

fn second(number: usize) -> Vec<f32> {
    vec![number as f32 / 1000.0; SAMPLE_RATE]
}

fn stream() -> Stream<Counting> {
    Stream::new(Counting::default(), Options::default())
}

static GO: AtomicBool = AtomicBool::new(false);

#[test]
fn silence_after_a_decode_costs_nothing() {
    let mut stream = stream();
    for number in 10..13 {
        stream.push_judged(&second(number), true);
    }
    stream.push_judged(&vec![0.0; 1_600], false);
    let first = stream.finish(&GO).unwrap();
    assert_eq!(first.text, "10 11 12");
    stream.push_judged(&vec![0.0; 2 * SAMPLE_RATE], false);
    assert_eq!(stream.finish(&GO).unwrap(), first);
    assert_eq!(stream.transcriber.requests.len(), 1);
    // The user goes on: all of it is decoded, with the earlier words as a draft.
    stream.push_judged(&second(13), true);
    assert_eq!(stream.finish(&GO).unwrap().text, "10 11 12 13");
    assert_eq!(stream.transcriber.requests.len(), 2);
    assert_eq!(stream.transcriber.requests[1].3, 3);
}

#[test]
fn a_clean_partial_of_all_the_speech_is_the_final() {
    let mut stream = stream();
    stream.push_judged(&second(20), true);
    stream.partial(&GO).unwrap();
    stream.push_judged(&vec![0.0; 1_600], false);
    assert_eq!(stream.finish(&GO).unwrap().text, "20");
    assert_eq!(stream.transcriber.requests.len(), 1);
}

#[test]
fn the_last_sample_counts() {
    for extra in [1, 159, 320, 4_799] {
        let mut stream = stream();
        stream.push(&second(30));
        stream.finish(&GO).unwrap();
        stream.push(&vec![0.2; extra]);
        stream.finish(&GO).unwrap();
        assert_eq!(stream.transcriber.requests.last().unwrap().0, SAMPLE_RATE + extra);
    }
}

#[test]
fn long_silence_is_not_decoded_and_lowers_the_voiced_share() {
    let mut stream = stream();
    stream.push_judged(&vec![0.0; SAMPLE_RATE], false);
    stream.push_judged(&second(40), true);
    stream.push_judged(&vec![0.0; 5 * SAMPLE_RATE], false);
    stream.finish(&GO).unwrap();
    let (samples, _, voiced, _) = stream.transcriber.requests[0];
    assert_eq!(samples, 2 * SAMPLE_RATE + TAIL);
    assert!((voiced.unwrap() - SAMPLE_RATE as f32 / samples as f32).abs() < 1e-6);
}

#[test]
fn nothing_but_silence_is_never_decoded() {
    let mut stream = stream();
    stream.push(&vec![0.0; 20_000]);
    stream.push_judged(&vec![0.3; 20_000], false);
    assert_eq!(stream.partial(&GO).unwrap(), Partial::default());
    let transcript = stream.finish(&GO).unwrap();
    assert_eq!((transcript.text.as_str(), transcript.rejection), ("", Some(Rejection::Silence)));
    assert!(stream.transcriber.requests.is_empty());
}

#[test]
fn a_long_utterance_moves_its_window_and_loses_nothing() {
    for partials in [true, false] {
        let mut stream = stream();
        let mut stable = String::new();
        for number in 100..220 {
            stream.push_judged(&second(number), true);
            if partials {
                let partial = stream.partial(&GO).unwrap();
                assert!(partial.stable.starts_with(&stable), "{partial:?} after {stable:?}");
                stable = partial.stable;
            }
        }
        let text = stream.finish(&GO).unwrap().text;
        let numbers: Vec<usize> = text.split(' ').map(|word| word.parse().unwrap()).collect();
        // A window may be cut inside a second, which is then heard twice, never not at all.
        let mut heard = numbers.clone();
        heard.dedup();
        assert_eq!(heard, (100..220).collect::<Vec<_>>(), "partials: {partials}");
        assert!(stream.transcriber.requests.iter().all(|request| request.0 <= WINDOW + SAMPLE_RATE));
        stream.reset();
        assert!(stream.is_empty());
        assert_eq!(stream.finish(&GO).unwrap().text, "");
    }
}

#[test]
fn a_cancelled_decode_changes_nothing() {
    let mut stream = stream();
    stream.push_judged(&second(50), true);
    stream.transcriber.fail_next = true;
    assert!(stream.partial(&GO).unwrap_err().is_cancelled());
    stream.transcriber.fail_next = true;
    assert!(stream.finish(&GO).unwrap_err().is_cancelled());
    assert_eq!(stream.finish(&GO).unwrap().text, "50");
}

#[test]
fn audio_that_nobody_decodes_has_a_limit() {
    let mut stream = stream();
    let minute = vec![0.1; 60 * SAMPLE_RATE];
    for _ in 0..11 {
        stream.push_judged(&minute, true);
    }
    assert!(stream.audio.len() <= MAX_PENDING);
    let error = stream.finish(&GO).unwrap_err();
    assert!(error.to_string().contains("660 s"), "{error}");
    stream.reset();
    stream.push_judged(&second(60), true);
    assert_eq!(stream.finish(&GO).unwrap().text, "60");
}
