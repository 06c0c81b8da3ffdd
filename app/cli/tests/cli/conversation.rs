//! `ask` on the real models: questions, an interruption, Ctrl-C.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::process::{alone, clip, program, run, text};

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_spoken_question_gets_a_spoken_answer() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let (out, json) = (dir.path().join("answer.wav"), dir.path().join("report.json"));
    let ran = run(["ask", text(&clip("demo.wav")), "--out", text(&out), "--json", text(&json)]).ok();
    assert!(ran.stdout.contains("You: What is the capital of France?"), "{ran:#?}");
    assert!(ran.stdout.contains("Assistant: ") && ran.stdout.contains("first audio"), "{ran:#?}");

    let report = read(&json);
    assert_eq!(report["turns"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(report["speech_end_from"], "labels");
    let turn = &report["turns"][0];
    let events = turn["events_ms"].as_object().unwrap();
    let missing: Vec<_> = events.iter().filter(|(_, ms)| !ms.is_number()).map(|(name, _)| name).collect();
    assert!(events.len() == 11 && missing.is_empty(), "no time for {missing:?} in {turn:#}");
    assert_eq!(events["speech_end"], 1901.75, "not the label's time");

    // The answer is in the file where the report says, and says what was written.
    let heard = run(["transcribe", text(&out), "--quiet"]).ok().stdout;
    // A name may come back as another ("Paris", "Pears"); a voice that speaks brings most words back.
    let words = |text: &str| -> Vec<String> { pocket_voice::words::normalised(text) };
    let (wrote, heard) = (words(turn["assistant"].as_str().unwrap()), words(&heard));
    let back = wrote.iter().filter(|word| heard.contains(word)).count();
    assert!(2 * back >= wrote.len(), "{heard:?} for {turn:#}");
    let mut reader = pocket_voice::audio::wav::Reader::open(&out).unwrap();
    let rate = f64::from(reader.format().sample_rate);
    let mut samples = Vec::new();
    while reader.read(&mut samples).unwrap() > 0 {}
    let audible = |s: &f32| s.abs() > pocket_voice::audio::AUDIBLE;
    let first_ms = samples.iter().position(audible).unwrap() as f64 * 1000.0 / rate;
    let told_ms = events["first_audio"].as_f64().unwrap();
    assert!((first_ms - told_ms).abs() < 1.0, "audible at {first_ms} ms, reported at {told_ms} ms");
}

#[test]
fn an_interrupted_answer_stops_and_the_new_question_is_answered() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("report.json");
    run(["ask", text(&clip("two-questions.wav")), "--json", text(&json), "--quiet"]).ok();
    let report = read(&json);
    let turns = report["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 3, "{report:#}");
    let interrupted: Vec<_> = turns.iter().map(|turn| turn["interrupted"].as_bool().unwrap()).collect();
    assert_eq!(interrupted, [false, true, false], "{report:#}");
    let (said, heard) = (turns[1]["assistant"].as_str().unwrap(), turns[1]["heard"].as_str().unwrap());
    assert!(!heard.is_empty() && heard.len() < said.len() && said.starts_with(heard), "{heard:?} of {said:?}");
    let barge_in = &report["barge_ins"][0];
    assert_eq!((&barge_in["turn"], &barge_in["outcome"]), (&turns[1]["id"], &Value::from("cancelled")));
    let silent = barge_in["silent_ms"].as_f64().unwrap();
    assert!(silent > barge_in["onset_ms"].as_f64().unwrap(), "{barge_in}");
    assert_eq!(turns[2]["heard"], turns[2]["assistant"], "the last answer was cut");
}

#[cfg(unix)]
#[test]
fn ctrl_c_at_any_moment_leaves_no_half_written_file() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("answer.wav");
    for after_ms in [20, 300, 1500, 4000] {
        let child = program()
            .args(["ask", text(&clip("two-questions.wav")), "--out", text(&out)])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(after_ms));
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        // Before the handler is in place the signal ends the process itself.
        let by_signal = output.status.code().is_none();
        assert!(by_signal || output.status.code() == Some(1), "after {after_ms} ms: {complaint}");
        assert!(by_signal || complaint.contains("pocket-voice: interrupted"), "after {after_ms} ms: {complaint}");
        assert!(!complaint.contains("panicked"), "after {after_ms} ms: {complaint}");
        assert!(!dir.path().join("answer.wav.part").exists(), "half a file after {after_ms} ms: {complaint}");
        if out.exists() {
            let reader = pocket_voice::audio::wav::Reader::open(&out).unwrap();
            let size = std::fs::metadata(&out).unwrap().len();
            assert_eq!(reader.frames_left().unwrap() * 2 + 44, size, "after {after_ms} ms");
            std::fs::remove_file(&out).unwrap();
        }
    }
}
