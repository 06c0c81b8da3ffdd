//! The built-in catalogue: complete, honest about licences, and told of in the notices.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::collections::BTreeSet;
use std::path::Path;

use assets::{Catalogue, DEFAULT_PROFILE, Platform, Role};

fn catalogue() -> Catalogue {
    Catalogue::built_in().unwrap()
}

fn platform(name: &str) -> Platform {
    name.parse().unwrap()
}

#[test]
fn it_has_what_a_conversation_needs() {
    let catalogue = catalogue();
    for (profile, needed) in [
        (DEFAULT_PROFILE, vec![Role::Vad, Role::Turn, Role::Asr, Role::Llm, Role::Voice, Role::Runtime]),
        // The language model is the user's to bring.
        ("zh-en", vec![Role::Vad, Role::Turn, Role::Asr, Role::Voice, Role::Voices, Role::Runtime]),
    ] {
        let roles: Vec<Role> = catalogue.profile(profile).unwrap().iter().map(|model| model.role).collect();
        for role in needed {
            assert!(roles.contains(&role), "profile {profile} has nothing for {role}");
        }
    }
    assert_eq!(catalogue.profiles(), [DEFAULT_PROFILE, "zh-en"]);
    let brought = |role| catalogue.user_models().iter().any(|model| model.role == role);
    assert!(brought(Role::Llm));
}

#[test]
fn the_files_that_other_crates_ask_for_are_there() {
    for (id, name) in [
        ("silero-vad", "silero_vad_16k_op15.onnx"),
        ("silero-vad", "silero_vad.onnx"),
        ("smart-turn-v3.2", "smart-turn-v3.2-cpu.onnx"),
        ("whisper-tiny.en", "ggml-tiny.en-q8_0.bin"),
        ("whisper-base", "ggml-base-q8_0.bin"),
        ("smollm2-135m-instruct", "SmolLM2-135M-Instruct.Q4_1.gguf"),
        ("piper-en-us-joe", "en_US-joe-medium.onnx"),
        ("piper-en-us-joe", "en_US-joe-medium.onnx.json"),
        ("kokoro-82m", "kokoro-82m-int8.onnx"),
        ("kokoro-voices", "zf_xiaoxiao.bin"),
    ] {
        let catalogue = catalogue();
        let model = catalogue.model(id).unwrap();
        let fetched = model.files.iter().map(|file| &file.name);
        let made = model.derived.iter().map(|derived| &derived.name);
        assert!(fetched.chain(made).any(|known| known == name), "{id} has no {name}");
    }
}

#[test]
fn every_platform_has_a_runtime_or_a_reason() {
    let catalogue = catalogue();
    let runtime = catalogue.model("onnxruntime").unwrap();
    for (name, library) in [
        ("linux-x86_64", Some("libonnxruntime.so.1.32.0")),
        ("linux-aarch64", Some("libonnxruntime.so.1.32.0")),
        ("macos-aarch64", Some("libonnxruntime.1.32.0.dylib")),
        ("windows-x86_64", Some("onnxruntime.dll")),
        ("windows-aarch64", Some("onnxruntime.dll")),
        ("macos-x86_64", None),
        ("android-aarch64", None),
    ] {
        let platform = platform(name);
        let first = runtime.files_for(&platform).next().map(|file| file.name.as_str());
        assert_eq!(first, library, "{name}");
        assert_eq!(runtime.unsupported_reason(&platform).is_none(), library.is_some(), "{name}");
    }
    // All else is data, and the same everywhere.
    for model in catalogue.models().iter().filter(|model| model.role != Role::Runtime) {
        assert!(model.files.iter().all(|file| file.platform.is_none()), "{}", model.id);
    }
}

#[test]
fn packages_are_used_and_the_default_profile_stays_small() {
    let catalogue = catalogue();
    let all = catalogue.models().iter().flat_map(|model| &model.files);
    let used: BTreeSet<&str> =
        all.flat_map(|file| file.sources.iter().flatten()).map(|member| member.package.as_str()).collect();
    let listed: BTreeSet<&str> = catalogue.packages().iter().map(|package| package.key.as_str()).collect();
    assert_eq!(used, listed);

    let here = platform("linux-x86_64");
    let models = catalogue.profile(DEFAULT_PROFILE).unwrap();
    let first: BTreeSet<&str> = models
        .iter()
        .flat_map(|model| model.files_for(&here))
        .flat_map(|file| &file.sources[0])
        .map(|member| member.package.as_str())
        .collect();
    let bytes: u64 = first.iter().map(|key| catalogue.package(key).unwrap().size).sum();
    assert!(bytes < 280_000_000, "the default profile downloads {bytes} bytes");
}

#[test]
fn licences_are_known_and_the_notices_name_every_model() {
    let notices = Path::new(env!("CARGO_MANIFEST_DIR")).join("../THIRD_PARTY_NOTICES.md");
    let notices = std::fs::read_to_string(notices).unwrap();
    for model in catalogue().models() {
        assert!(spdx::license_id(&model.licence).is_some(), "{}: {} is no SPDX id", model.id, model.licence);
        for text in [&model.id, &model.licence, &model.notice] {
            assert!(notices.contains(text.as_str()), "THIRD_PARTY_NOTICES.md lacks `{text}` of {}", model.id);
        }
    }
}
