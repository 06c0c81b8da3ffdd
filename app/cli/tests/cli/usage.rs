//! Wrong usage, bad files, closed pipes: a sentence and a code each, and nothing left behind.

use std::io::Read as _;
use std::process::Stdio;

use crate::process::{clip, finish, program, run, text};

#[test]
fn help_and_version_are_results() {
    let help = run(["--help"]).ok();
    for word in ["talk", "ask", "say", "transcribe", "generate", "models", "devices", "bench", "Examples:"] {
        assert!(help.stdout.contains(word), "no {word} in {}", help.stdout);
    }
    for command in ["talk", "ask", "say", "transcribe", "generate", "models", "devices", "bench"] {
        assert!(run([command, "--help"]).ok().stdout.contains("Usage:"));
    }
    assert!(run(["--version"]).ok().stdout.starts_with("pocket-voice "));
}

#[test]
fn wrong_usage_is_code_2() {
    for arguments in [
        &[][..],
        &["sing"],
        &["ask"],
        &["say", "hello"],
        &["transcribe", "a.wav", "--lang", "fr"],
        &["models", "fetch", "whisper-base", "--profile", "en"],
        &["generate", "hi", "-q", "-v"],
    ] {
        let ran = run(arguments.iter().copied());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:#?}");
    }
    run(["generate", " \n"]).failed(2, &["prompt is empty"]);
    run(["say", "", "--out", "never.wav"]).failed(2, &["text is empty"]);
    run(["generate", "hi", "--threads", "0"]).failed(2, &["--threads 0"]);
    run(["bench", "llm", "--runs", "0"]).failed(2, &["at least one"]);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("text.wav"), "this is no sound").unwrap();
    std::fs::write(path("empty.wav"), "").unwrap();
    let whole = std::fs::read(clip("demo.wav")).unwrap();
    std::fs::write(path("header.wav"), &whole[..44]).unwrap();
    std::fs::write(path("bad.toml"), "volume = 11").unwrap();
    for (name, parts) in [
        ("text.wav", &["text.wav", "not a WAV file", "ffmpeg"][..]),
        ("empty.wav", &["empty.wav", "it is empty"]),
        ("header.wav", &["header.wav", "no audio"]),
        ("missing.wav", &["missing.wav", "No such file"]),
        ("", &["Is a directory"]),
    ] {
        run(["transcribe", text(&path(name))]).failed(1, parts);
        run(["ask", text(&path(name)), "--out", text(&path("out.wav"))]).failed(1, parts);
    }
    run(["generate", "hi", "--config", text(&path("bad.toml"))]).failed(1, &["bad.toml", "volume"]);
    run(["generate", "hi", "--config", text(&path("no.toml"))]).failed(1, &["no.toml"]);
    run(["generate", "hi", "--llm", text(&path("text.wav"))]).failed(1, &["text.wav"]);
    run(["generate", "hi", "--llm", "no-such-model"]).failed(1, &["no-such-model", "models list"]);
    assert!(!path("out.wav").exists() && !path("out.wav.part").exists());
}

#[test]
fn nothing_is_overwritten_by_what_is_made_from_it() {
    let dir = tempfile::tempdir().unwrap();
    let (wav, labels) = (dir.path().join("demo.wav"), dir.path().join("demo.json"));
    std::fs::copy(clip("demo.wav"), &wav).unwrap();
    std::fs::copy(clip("demo.json"), &labels).unwrap();
    run(["ask", text(&wav), "--out", text(&wav)]).failed(2, &["overwrite the recording"]);
    run(["ask", text(&wav), "--json", text(&labels)]).failed(2, &["overwrite the labels"]);
}

#[test]
fn missing_models_come_with_the_command_that_brings_them() {
    let dir = tempfile::tempdir().unwrap();
    let without = |arguments: &[&str]| finish(program().env("POCKET_VOICE_MODELS", dir.path()).args(arguments));
    let demo = clip("demo.wav");
    let out = dir.path().join("out.wav");
    for arguments in [
        &["transcribe", text(&demo)][..],
        &["generate", "hi"],
        &["say", "hi", "--out", text(&out)],
        &["ask", text(&demo), "--out", text(&out)],
        &["models", "verify"],
    ] {
        without(arguments).failed(1, &["pocket-voice models fetch"]);
    }
    assert!(!out.exists());
    let list = without(&["models", "list"]).ok();
    assert!(list.stdout.contains("whisper-tiny.en") && list.stdout.contains("missing"), "{list:#?}");
    let list = without(&["models", "list", "--json", "-"]).ok().json();
    assert_eq!(list["models"][0]["whole"], false);
    assert!(list["models"].as_array().unwrap().iter().all(|m| m["licence"].is_string()));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = program().args(["models", "list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!((child.wait().unwrap().code(), complaint.as_str()), (Some(0), ""));
}

#[test]
fn devices_are_listed_or_their_absence_is_said() {
    let list = run(["devices"]).ok();
    assert!(list.stdout.contains("Microphones\n") && list.stdout.contains("Loudspeakers\n"), "{list:#?}");
    assert!(!list.stderr.contains("ALSA lib"), "{list:#?}");
    let list = run(["devices", "--json", "-"]).ok().json();
    assert!(list["devices"].is_array());
    run(["talk", "--microphone", "no such thing"]).failed(1, &["no microphone found named \"no such thing\""]);
}
