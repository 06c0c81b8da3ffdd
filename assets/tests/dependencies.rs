//! What depends on what: the arrows of ARCHITECTURE.md, the bans and licences of deny.toml.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What any stage may build upon. No stage may build upon another.
const BOTTOM: &[&str] = &["pocket-voice-assets", "pocket-voice-onnx", "pocket-voice-kernels"];

/// What the pipeline may build upon: the bottom and every stage.
const STAGES: &[&str] = &[
    "pocket-voice-assets",
    "pocket-voice-onnx",
    "pocket-voice-kernels",
    "pocket-voice-vad",
    "pocket-voice-asr",
    "pocket-voice-turn-detect",
    "pocket-voice-llm",
    "pocket-voice-tts",
];

/// What measures the pipeline may build upon, which also looks at stages one by one.
const WITH_CORE: &[&str] = &[
    "pocket-voice-core",
    "pocket-voice-assets",
    "pocket-voice-onnx",
    "pocket-voice-vad",
    "pocket-voice-asr",
    "pocket-voice-llm",
    "pocket-voice-tts",
];

/// Which of our packages each of our packages may build upon. Tests may use more; see `a_test_may_not_reach_for_a_shell`.
const ARROWS: &[(&str, &[&str])] = &[
    ("pocket-voice-assets", &[]),
    ("pocket-voice-onnx", &[]),
    ("pocket-voice-kernels", &[]),
    ("pocket-voice-fetch", &["pocket-voice-assets"]),
    ("pocket-voice-vad", BOTTOM),
    ("pocket-voice-asr", BOTTOM),
    ("pocket-voice-turn-detect", BOTTOM),
    ("pocket-voice-llm", BOTTOM),
    ("pocket-voice-tts", BOTTOM),
    ("pocket-voice-core", STAGES),
    ("pocket-voice-eval", WITH_CORE),
    ("pocket-voice", &["pocket-voice-core", "pocket-voice-eval", "pocket-voice-assets", "pocket-voice-fetch"]),
];

/// Packages that state no SPDX licence but bring the text of one: (name, SHA-256 of the text, licence).
const CLARIFIED: &[(&str, &str, &str)] =
    &[("language-tokenizer", "971408c19bfdfcf3934b2be00951157b1c95690b8d86a731d0001f4e75a54619", "WTFPL")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Everything that is linked on this platform; a build for this platform has downloaded no more than that.
fn metadata() -> Value {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(rustc.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", host])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Everything that may be linked on any platform.
fn locked() -> toml::Table {
    std::fs::read_to_string(root().join("Cargo.lock")).unwrap().parse().unwrap()
}

fn deny() -> toml::Table {
    std::fs::read_to_string(root().join("deny.toml")).unwrap().parse().unwrap()
}

/// The dependencies of each of our packages on others of ours: (normal and build, dev).
fn our_dependencies() -> BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let ours: BTreeMap<&str, &Value> = packages
        .iter()
        .filter(|package| package["source"].is_null())
        .map(|package| (package["name"].as_str().unwrap(), package))
        .collect();
    let mut found = BTreeMap::new();
    for (name, package) in &ours {
        let (mut product, mut tests) = (BTreeSet::new(), BTreeSet::new());
        for dependency in package["dependencies"].as_array().unwrap() {
            let other = dependency["name"].as_str().unwrap();
            if ours.contains_key(other) && other != *name {
                let set = if dependency["kind"] == "dev" { &mut tests } else { &mut product };
                set.insert(other.to_owned());
            }
        }
        found.insert((*name).to_owned(), (product, tests));
    }
    found
}

#[test]
fn arrows_point_one_way() {
    let found = our_dependencies();
    for (name, (product, _)) in &found {
        // A package that nobody drew into the picture needs a place in it first.
        let (_, allowed) = ARROWS
            .iter()
            .find(|(known, _)| known == name)
            .unwrap_or_else(|| panic!("{name} is in no row of ARROWS; add it here and to ARCHITECTURE.md"));
        for other in product {
            assert!(allowed.contains(&other.as_str()), "{name} must not depend on {other}");
        }
    }
    for (name, _) in ARROWS {
        assert!(found.contains_key(*name), "{name} is drawn but is no package");
    }
}

#[test]
fn a_test_may_not_reach_for_a_shell() {
    for (name, (_, tests)) in our_dependencies() {
        for other in tests {
            let upward = ["pocket-voice", "pocket-voice-core", "pocket-voice-fetch"].contains(&other.as_str());
            let shell = name == "pocket-voice";
            assert!(!upward || shell, "tests of {name} must not depend on {other}");
        }
    }
}

#[test]
fn nothing_links_a_way_to_the_network() {
    let metadata = metadata();
    let bans = deny();
    let banned: BTreeSet<&str> =
        bans["bans"]["deny"].as_array().unwrap().iter().map(|entry| entry["crate"].as_str().unwrap()).collect();
    for needed in ["reqwest", "ureq", "hyper", "openssl", "rustls", "hf-hub"] {
        assert!(banned.contains(needed), "deny.toml no longer bans {needed}");
    }
    for package in locked()["package"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        assert!(!banned.contains(name), "{name} is banned by deny.toml");
        // Ours have no source.
        let source = package.get("source").map_or("registry+", |source| source.as_str().unwrap());
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
    }
    // These can be built with or without a network side.
    for node in metadata["resolve"]["nodes"].as_array().unwrap() {
        let id = node["id"].as_str().unwrap();
        for (name, features) in [("tokio", ["net", "full"]), ("ort", ["download-binaries", "fetch-models"])] {
            if id.contains(&format!("#{name}@")) {
                for feature in node["features"].as_array().unwrap() {
                    assert!(!features.contains(&feature.as_str().unwrap()), "{name} has its feature {feature}");
                }
            }
        }
    }
}

#[test]
fn licences_are_among_those_allowed() {
    let metadata = metadata();
    let table = deny();
    let allowed: Vec<spdx::Licensee> = table["licenses"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| spdx::Licensee::parse(entry.as_str().unwrap()).unwrap())
        .collect();
    let gpl = spdx::Licensee::parse("GPL-3.0-only").unwrap();
    assert!(!allowed.contains(&gpl), "nothing under the GPL is linked");
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let stated = match package["license"].as_str() {
            Some(stated) => stated,
            None => clarified(package),
        };
        let expression = spdx::Expression::parse_mode(stated, spdx::ParseMode::LAX)
            .unwrap_or_else(|e| panic!("{name}: {stated}: {e}"));
        let fits = expression.evaluate(|wanted| allowed.iter().any(|licence| licence.satisfies(wanted)));
        assert!(fits, "{name}: {stated} is not allowed by deny.toml");
    }
}

fn clarified(package: &Value) -> &'static str {
    let name = package["name"].as_str().unwrap();
    let file = package["license_file"].as_str().unwrap_or_else(|| panic!("{name} has no licence at all"));
    let path = Path::new(package["manifest_path"].as_str().unwrap()).with_file_name(file);
    let (_, sha256) = assets::Sha256::of_file(&path, &mut |_| {}).unwrap();
    let known = |(known, text, _): &&(&str, &str, &str)| *known == name && *text == sha256.to_string();
    CLARIFIED
        .iter()
        .find(known)
        .unwrap_or_else(|| panic!("nobody has read the licence of {name}: {}", path.display()))
        .2
}
