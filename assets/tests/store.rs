//! The store: what it hands out, what it refuses, and what a failure leaves behind.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::path::{Path, PathBuf};

use assets::{Catalogue, Kind, Manifest, ManifestFile, Origin, Placing, Role, Sha256, Staging, State, Store};

const CONTENT: &[u8] = b"weights";

struct Fixture {
    dir: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A catalogue of one model `m` with the file `a.bin`; `n` is in another profile; `elsewhere` is for no platform.
    fn store(&self) -> Store {
        let sha256 = Sha256::of(CONTENT);
        let size = CONTENT.len();
        let mut text = format!(
            "version = 1\n[[package]]\nkey = \"p\"\nclient = \"pip\"\nname = \"p\"\nversion = \"1\"\nfile = \"p.whl\"\nsize = 9\nsha256 = \"{sha256}\"\n"
        );
        for (id, profile, extra) in
            [("m", "en", ""), ("n", "zh-en", ""), ("elsewhere", "en", "platform = \"android-x86_64\",")]
        {
            text += &format!(
                "[[model]]\nid = \"{id}\"\nrole = \"vad\"\nprofiles = [\"{profile}\"]\nabout = \"a\"\nlicence = \"MIT\"\nnotice = \"n\"\nhome = \"h\"\nfiles = [{{ name = \"a.bin\", {extra} size = {size}, sha256 = \"{sha256}\", sources = [[\"p:a\"]] }}]\n"
            );
        }
        Store::new(self.path("models"), Catalogue::parse(&text).unwrap())
    }

    fn installed(&self) -> Store {
        let store = self.store();
        install(&store, "m", CONTENT);
        store
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }
}

fn install(store: &Store, id: &str, content: &[u8]) {
    let lock = store.lock().unwrap();
    let staging = Staging::new(&lock).unwrap();
    let mut file = staging.begin("a.bin", content.len() as u64).unwrap();
    file.append(&mut &content[..], Path::new("memory")).unwrap();
    let (size, sha256) = file.finish().unwrap();
    staging.commit(store, &manifest(id, size, sha256)).unwrap();
}

fn manifest(id: &str, size: u64, sha256: Sha256) -> Manifest {
    Manifest {
        id: id.into(),
        role: Role::Vad,
        origin: Origin::Catalogue,
        kind: None,
        from: None,
        files: vec![ManifestFile { name: "a.bin".into(), size, sha256, recipe: None }],
    }
}

fn problem<T: std::fmt::Debug>(result: assets::Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn what_is_missing_is_named_with_the_command_that_brings_it() {
    let fixture = Fixture::new();
    let store = fixture.store();
    for (id, name, said) in [
        ("m", "a.bin", "`pocket-voice models fetch`"),
        ("n", "a.bin", "`pocket-voice models fetch n`"),
        ("elsewhere", "a.bin", "not available"),
        ("nonsense", "a.bin", "`pocket-voice models list`"),
        ("../m", "a.bin", "there is no model"),
        ("", "a.bin", "there is no model"),
    ] {
        let problem = problem(store.file(id, name));
        assert!(problem.contains(said), "{id}: {problem}");
    }
    assert_eq!(store.state("m").unwrap(), State::Missing);
    assert!(matches!(store.state("elsewhere").unwrap(), State::Unsupported(_)));
    assert!(!fixture.path("models").exists(), "looking creates nothing");
}

#[test]
fn a_whole_model_is_handed_out_and_its_other_files_are_named() {
    let fixture = Fixture::new();
    let store = fixture.installed();
    assert_eq!(fs::read(store.file("m", "a.bin").unwrap()).unwrap(), CONTENT);
    assert_eq!(store.state("m").unwrap(), State::Whole);
    let problem = problem(store.file("m", "b.bin"));
    assert!(problem.contains("no file `b.bin`") && problem.contains("a.bin"), "{problem}");
}

#[test]
fn damage_is_seen_at_use_by_size_and_on_verify_by_hash() {
    type Damage = fn(&Path);
    let table: &[(&str, Damage, bool)] = &[
        ("cut short", |file| fs::write(file, b"weigh").unwrap(), true),
        ("longer", |file| fs::write(file, b"weights and more").unwrap(), true),
        ("gone", |file| fs::remove_file(file).unwrap(), true),
        (
            "a directory",
            |file| {
                fs::remove_file(file).unwrap();
                fs::create_dir(file).unwrap();
            },
            true,
        ),
        ("other bytes of the same length", |file| fs::write(file, b"Weights").unwrap(), false),
    ];
    for (case, damage, at_use) in table {
        let fixture = Fixture::new();
        let store = fixture.installed();
        damage(&store.file("m", "a.bin").unwrap());
        assert_eq!(store.file("m", "a.bin").is_err(), *at_use, "{case}");
        if *at_use {
            let problem = problem(store.file("m", "a.bin"));
            assert!(problem.contains("not whole") && problem.contains("models fetch"), "{case}: {problem}");
        }
        assert!(matches!(store.verify("m", &mut |_| {}).unwrap(), State::Damaged(_)), "{case}");
    }
}

#[test]
fn a_model_of_another_version_is_damaged_goods() {
    let fixture = Fixture::new();
    let store = fixture.store();
    install(&store, "m", b"older weights");
    let State::Damaged(problems) = store.state("m").unwrap() else { panic!("not noticed") };
    assert!(problems[0].contains("another version"), "{problems:?}");
}

#[test]
fn a_folder_without_its_record_does_not_count() {
    let fixture = Fixture::new();
    let store = fixture.store();
    fixture.write("models/m/a.bin", CONTENT);
    assert_eq!(store.state("m").unwrap(), State::Missing);
    assert!(store.file("m", "a.bin").is_err());
    // Fetching replaces it.
    install(&store, "m", CONTENT);
    assert_eq!(store.state("m").unwrap(), State::Whole);
}

#[test]
fn a_record_that_is_nonsense_is_an_error_and_no_panic() {
    let huge = vec![b'['; 2 << 20];
    for bytes in [b"".as_slice(), b"{", b"null", b"[[[[", b"\xff\xfe", br#"{"id":"m"}"#, &huge] {
        let fixture = Fixture::new();
        let store = fixture.installed();
        fixture.write("models/m/manifest.json", bytes);
        assert!(matches!(store.state("m").unwrap(), State::Damaged(_)));
        let problem = problem(store.file("m", "a.bin"));
        assert!(problem.contains("manifest.json"), "{problem}");
        assert_eq!(store.list().unwrap().len(), 3);
    }
}

#[test]
fn a_writer_that_stops_half_way_leaves_nothing_that_loads() {
    let fixture = Fixture::new();
    let store = fixture.store();
    {
        let lock = store.lock().unwrap();
        let staging = Staging::new(&lock).unwrap();
        let mut file = staging.begin("a.bin", 100).unwrap();
        file.append(&mut &b"half of it"[..], Path::new("memory")).unwrap();
        // As after a kill: nothing is cleaned up.
        std::mem::forget(file);
        std::mem::forget(staging);
        assert!(store.file("m", "a.bin").is_err());
    }
    assert!(fixture.path("models/.incoming").exists());
    assert!(store.list().unwrap().iter().all(|listing| listing.state != State::Whole));
    drop(store.lock().unwrap());
    assert!(!fixture.path("models/.incoming").exists(), "the next lock clears it");
}

#[test]
fn no_more_is_written_than_expected() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let lock = store.lock().unwrap();
    let staging = Staging::new(&lock).unwrap();
    let mut file = staging.begin("a.bin", 10).unwrap();
    let problem = problem(file.append(&mut std::io::repeat(7), Path::new("endless")));
    assert!(problem.contains("more than 10 bytes"), "{problem}");
}

#[test]
fn the_lock_is_for_one() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let lock = store.lock().unwrap();
    assert!(problem(store.lock()).contains("another process"));
    drop(lock);
    store.lock().unwrap();
}

#[test]
fn users_bring_their_own() {
    let settings = br#"{"audio":{"sample_rate":22050},"phoneme_id_map":{"_":[0]}}"#;
    for placing in [Placing::Copy, Placing::Link] {
        let fixture = Fixture::new();
        let store = fixture.store();
        fixture.write("in/voice.onnx.json", settings);
        for needed in ["llm.mnn", "llm.mnn.weight", "llm_config.json", ".hidden"] {
            fixture.write(&format!("in/Some-MNN/{needed}"), b"x");
        }
        for needed in ["config.json", "model-00001.safetensors", "model-00002.safetensors", "tokenizer.json"] {
            fixture.write(&format!("in/Some-HF/{needed}"), b"x");
        }
        for (path, kind, id, files) in [
            (fixture.write("in/My-Model.Q4_0.gguf", b"GGUF\x03\0\0\0"), Kind::Gguf, "my-model.q4_0", 1),
            (fixture.write("in/voice.onnx", b"\x08\x08rest"), Kind::Piper, "voice", 2),
            (fixture.write("in/ggml-small.bin", b"lmgg\0"), Kind::WhisperGgml, "ggml-small", 1),
            (fixture.path("in/Some-MNN"), Kind::Mnn, "some-mnn", 3),
            (fixture.path("in/Some-HF"), Kind::Safetensors, "some-hf", 4),
        ] {
            let mut read = 0;
            assert_eq!(store.add(&path, placing, None, &mut |n| read += n).unwrap(), id);
            assert!(read > 0);
            let manifest = store.manifest(id).unwrap().unwrap();
            assert_eq!((manifest.kind, manifest.files.len()), (Some(kind), files));
            assert_eq!(store.verify(id, &mut |_| {}).unwrap(), State::Whole);
            let listed = store.list().unwrap();
            let listing = listed.iter().find(|listing| listing.id == id).unwrap();
            assert_eq!((listing.origin, listing.role), (Origin::User, kind.role()));
            assert!(store.with_role(kind.role()).unwrap().contains(&id.to_owned()));
            assert!(problem(store.add(&path, placing, None, &mut |_| {})).contains("models remove"));
            if kind.role() == Role::Llm {
                let name = if kind.is_folder() { "" } else { &manifest.files[0].name };
                assert_eq!(store.language_model(id).unwrap(), store.folder(id).join(name));
            }
            for file in &manifest.files {
                let kept = store.file(id, &file.name).unwrap();
                assert_eq!(fs::symlink_metadata(kept).unwrap().is_symlink(), placing == Placing::Link && cfg!(unix));
            }
        }
        store.remove("my-model.q4_0").unwrap();
        assert!(fixture.path("in/My-Model.Q4_0.gguf").exists(), "the user's file stays");
        assert!(problem(store.file("my-model.q4_0", "x")).contains("no model"));
        // A link whose target went is seen.
        fs::remove_file(fixture.path("in/ggml-small.bin")).unwrap();
        assert_eq!(store.file("ggml-small", "ggml-small.bin").is_err(), placing == Placing::Link && cfg!(unix));
    }
}

#[test]
fn what_is_no_model_is_refused_and_leaves_nothing() {
    let fixture = Fixture::new();
    let store = fixture.store();
    fixture.write("in/half-mnn/llm.mnn", b"x");
    fixture.write("in/bad.onnx.json", b"{\"audio\":{}}");
    fixture.write("in/text.onnx.json", b"not json");
    for (path, said) in [
        (fixture.path("in/absent.gguf"), "cannot read"),
        (fixture.write("in/empty.gguf", b""), "empty"),
        (fixture.write("in/short.gguf", b"GG"), "none of"),
        (fixture.write("in/page.gguf", b"<html>"), "none of"),
        (fixture.write("in/alone.onnx", b"\x08\x08"), "alone.onnx.json"),
        (fixture.write("in/bad.onnx", b"\x08\x08"), "phoneme_id_map"),
        (fixture.write("in/text.onnx", b"\x08\x08"), "not JSON"),
        (fixture.path("in/half-mnn"), "llm.mnn.weight"),
        (fixture.write("in/模型.gguf", b"GGUF"), "letters and digits"),
        (fixture.write("in/m.gguf", b"GGUF"), "already a model `m`"),
    ] {
        let problem = problem(store.add(&path, Placing::Copy, None, &mut |_| {}));
        assert!(problem.contains(said), "{}: {problem}", path.display());
    }
    assert!(store.list().unwrap().iter().all(|listing| listing.origin == Origin::Catalogue));
}

#[test]
fn removing_what_is_not_there_is_an_error() {
    let fixture = Fixture::new();
    let store = fixture.installed();
    store.remove("m").unwrap();
    assert_eq!(store.state("m").unwrap(), State::Missing);
    assert!(problem(store.remove("m")).contains("not in"));
    for id in ["nonsense", "..", ".", "", ".incoming", "a/b"] {
        assert!(problem(store.remove(id)).contains("no model"), "{id}");
    }
    assert!(fixture.path("models").exists());
}

#[test]
fn real_exports_are_recognised() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/fixtures");
    if !fixtures.is_dir() {
        println!("skipped: there are no fixtures at {}", fixtures.display());
        return;
    }
    for (path, kind) in [
        ("gguf-tiny/qwen3-tiny-Q4_1.gguf", Kind::Gguf),
        ("mnn-tiny/llama-b-q4", Kind::Mnn),
        ("mnn-tiny/qwen3-a-q4", Kind::Mnn),
        ("mnn-tiny/qwen3-hf", Kind::Safetensors),
    ] {
        let fixture = Fixture::new();
        let store = fixture.store();
        let path = fixtures.join(path);
        assert_eq!(Kind::of(&path).unwrap(), kind, "{}", path.display());
        let id = store.add(&path, Placing::Copy, None, &mut |_| {}).unwrap();
        assert_eq!(store.verify(&id, &mut |_| {}).unwrap(), State::Whole);
        assert!(store.language_model(&id).unwrap().exists());
    }
}
