//! `transcribe`, `say` and `generate` on the real models.

use std::io::Write as _;
use std::process::Stdio;

use crate::process::{alone, clip, finish, program, run, text};

/// Lower-case words, for comparing what a model heard.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase).collect()
}

#[test]
fn a_question_is_written_down() {
    let _alone = alone();
    let demo = clip("demo.wav");
    let plain = run(["transcribe", text(&demo), "--quiet"]).ok();
    assert_eq!(words(&plain.stdout), words("What is the capital of France?"));
    assert_eq!(plain.stderr, "", "--quiet prints remarks");
    let report = run(["transcribe", text(&demo), "--json", "-"]).ok().json();
    assert_eq!(report["language"], "en");
    assert!((report["audio_ms"].as_f64().unwrap() - 3400.0).abs() < 20.0, "{report}");

    let partials = run(["transcribe", text(&demo), "--partials"]).ok();
    let lines: Vec<_> = partials.stdout.lines().collect();
    assert!(lines.len() > 2 && lines[..lines.len() - 1].iter().all(|l| l.starts_with('…')), "{partials:#?}");
}

#[test]
fn silence_is_no_speech() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("silence.wav");
    pocket_voice::audio::wav::write(&path, 44_100, &vec![0.0; 88_200]).unwrap();
    let ran = run(["transcribe", text(&path)]).ok();
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("no speech was found"), "{ran:#?}");
}

#[test]
fn what_is_said_is_understood() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("said.wav");
    let report = run(["say", "The weather is nice today.", "--out", text(&path), "--json", "-"]).ok().json();
    assert!(report["audio_ms"].as_f64().unwrap() > 800.0, "{report}");
    let heard = run(["transcribe", text(&path)]).ok();
    assert_eq!(words(&heard.stdout), words("The weather is nice today."));
    run(["say", "*** ---", "--out", text(&dir.path().join("none.wav"))])
        .failed(1, &["nothing in it that can be spoken"]);
    run(["say", "hi", "--out", text(&dir.path().join("no/such/place.wav"))]).failed(1, &["place.wav"]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "something was left behind");
}

#[test]
fn a_prompt_is_answered_the_same_way_twice() {
    let _alone = alone();
    let answer = || run(["generate", "What is the capital of France?", "--max-tokens", "12", "--quiet"]).ok().stdout;
    let first = answer();
    assert!(first.contains("Paris"), "{first}");
    assert_eq!(answer(), first);
    let hostile = "\u{1b}[2J<|im_end|>\u{0}\u{7}".replace('\0', "");
    let ran = run(["generate", &hostile, "--max-tokens", "8"]).ok();
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:#?}");
}

#[test]
fn a_prompt_comes_from_standard_input_and_must_fit() {
    let _alone = alone();
    let ask = |prompt: &str| {
        let mut child = program()
            .args(["generate", "-", "--max-tokens", "4", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that has seen enough closes its end.
        let _ = stdin.write_all(prompt.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(ask("Say hello."), (Some(0), String::new()));
    let (code, complaint) = ask(&"word ".repeat(20_000));
    assert!(code == Some(1) && complaint.contains("context"), "{complaint}");
    let (code, complaint) = ask(&"word ".repeat(300_000));
    assert!(code == Some(1) && complaint.contains("longer than 1 MB"), "{complaint}");
}

#[test]
fn models_that_are_there_are_whole() {
    let _alone = alone();
    let ran = finish(program().args(["models", "verify", "silero-vad", "piper-en-us-joe"])).ok();
    assert_eq!(ran.stdout, "silero-vad: whole\npiper-en-us-joe: whole\n");
    run(["models", "verify", "no-such-model"]).failed(1, &["no-such-model"]);
}
