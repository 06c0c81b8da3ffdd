//! Whole conversations on the real models, in real time: a recorded user in, a report and the speaker's samples out.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pocket_voice::audio::{FileHost, wav};
use pocket_voice::message::BargeInOutcome;
use pocket_voice::report::Report;
use pocket_voice::{Assistant, Config, Event, Models};

fn clip(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/audio").join(name)
}

/// Real time on two cores has room for one conversation.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn converse(config: &Config, input: &Path, output: &Path) -> (Report, Vec<Event>) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let store = assets::Store::open().expect("a place for models");
    let models = Models::load(config, &store).unwrap_or_else(|error| panic!("{error}"));
    let host = FileHost::open(input).expect("a bundled clip").output(output);
    let assistant = Assistant::start(config, models, Box::new(host)).expect("a host that opens");
    let events = assistant.events().iter().collect();
    (assistant.join().expect("a conversation that ends"), events)
}

/// Samples of the voice between two times, by the file host's alignment.
fn played(path: &Path, from_ms: f64, to_ms: f64) -> Vec<f32> {
    let mut reader = wav::Reader::open(path).expect("the output was written");
    let rate = f64::from(reader.format().sample_rate);
    let mut samples = Vec::new();
    while reader.read(&mut samples).expect("the output is whole") > 0 {}
    let at = |ms: f64| ((ms / 1000.0 * rate) as usize).min(samples.len());
    samples[at(from_ms)..at(to_ms)].to_vec()
}

fn is_silent(samples: &[f32]) -> bool {
    samples.iter().all(|s| s.abs() < 1e-4)
}

#[test]
fn a_question_is_understood_and_answered_aloud() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("answer.wav");
    let config = Config { max_tokens: 32, ..Config::default() };
    let (report, events) = converse(&config, &clip("demo.wav"), &output);

    assert_eq!(report.turns.len(), 1, "{:?}", report.turns);
    let turn = &report.turns[0];
    assert!(turn.user.to_lowercase().contains("capital of france"), "{}", turn.user);
    assert!(turn.assistant.contains("Paris"), "{}", turn.assistant);
    assert_eq!(turn.heard, turn.assistant);
    assert!(!turn.interrupted);
    assert!(turn.prefill_tokens > 0 && turn.reused_tokens > 0, "the system prompt was computed before");

    let e = &turn.events_ms;
    let all = [
        e.speech_start,
        e.speech_end,
        e.vad_end,
        e.transcript_final,
        e.commit,
        e.prefill_done,
        e.first_token,
        e.first_clause,
        e.first_chunk,
        e.first_audio,
        e.drained,
    ];
    assert!(all.iter().all(Option::is_some), "every probe is filled: {e:?}");
    let order = [e.speech_start, e.speech_end, e.transcript_final, e.prefill_done, e.first_token, e.first_chunk];
    assert!(order.is_sorted(), "{e:?}");
    assert!(e.commit < e.first_audio && e.first_chunk <= e.first_audio && e.first_audio < e.drained, "{e:?}");

    // The file agrees with the account: silent before the first audio, sounding after it.
    let audio = e.first_audio.unwrap();
    assert!(is_silent(&played(&output, 0.0, audio - 60.0)));
    assert!(!is_silent(&played(&output, audio, audio + 200.0)));
    assert_eq!(events.first(), Some(&Event::Ready));
    assert_eq!(events.last(), Some(&Event::Ended));
}

#[test]
fn an_interrupted_answer_stops_and_only_what_was_heard_stays() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("answer.wav");
    let (report, _) = converse(&Config::default(), &clip("two-questions.wav"), &output);

    let turns = &report.turns;
    assert!(turns.len() >= 3, "{turns:?}");
    assert!(turns[0].assistant.contains("Paris") && !turns[0].interrupted, "{:?}", turns[0]);
    let story = &turns[1];
    assert!(story.user.to_lowercase().contains("story"), "{}", story.user);
    assert!(story.interrupted, "{story:?}");
    assert!(story.assistant.starts_with(&story.heard), "{story:?}");
    assert!(!story.heard.is_empty() && story.heard.len() < story.assistant.len(), "{story:?}");
    assert!(turns[2].user.to_lowercase().contains("plus"), "{}", turns[2].user);

    let barge_in = report.barge_ins.iter().find(|b| b.turn == story.id).expect("the interruption is reported");
    assert_eq!(barge_in.outcome, BargeInOutcome::Cancelled);
    let silent = barge_in.silent_ms.expect("it fell silent");
    assert!(barge_in.onset_ms < silent, "{barge_in:?}");
    // Nothing of the cancelled answer reaches the sink afterwards: it is silent until the next answer.
    let next = turns[2].events_ms.first_audio.expect("the next answer is audible");
    assert!(silent < next - 60.0);
    assert!(is_silent(&played(&output, silent + 1.0, next - 60.0)));
}

#[test]
fn silence_and_noise_make_no_turn() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("answer.wav");
    for name in ["noises/hiss.wav", "noises/cough.wav", "noises/keys.wav"] {
        let (report, events) = converse(&Config::default(), &clip(name), &output);
        assert!(report.turns.is_empty(), "{name}: {:?}", report.turns);
        assert_eq!(events.last(), Some(&Event::Ended));
    }
}
