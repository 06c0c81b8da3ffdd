//! Full and read-only disks: a clear sentence, nothing half-written, and going on once there is room.
//!
//! The disk is a small one in memory, mounted for a process of its own; where the system does not allow that, these tests
//! say so and check nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::fixture::{Fixture, options_in};
use assets::{Placing, State, Store};

/// Larger than the small disk, but a package of it is tiny.
const LARGE: usize = 4 << 20;

/// Runs the ignored test `name` of this file with a disk of 1 MiB mounted as the store; false when that is not possible.
fn on_a_small_disk(fixture: &Fixture, name: &str) -> bool {
    let mut probe = Command::new("unshare");
    if !probe.args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).output().is_ok_and(|done| done.status.success()) {
        println!("skipped: mounting a disk in memory is not permitted here");
        return false;
    }
    fs::write(fixture.path("catalogue.toml"), fixture.catalogue()).unwrap();
    fs::create_dir(fixture.path("models")).unwrap();
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", "mount -t tmpfs -o size=1m none \"$0\" && exec \"$@\""])
        .arg(fixture.path("models"))
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", &format!("bad_disks::{name}")])
        .env("FETCH_DIR", fixture.dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    true
}

/// The fixture of the process that mounted the disk.
fn from_outside() -> (Store, fetch::Options<'static>) {
    let dir = std::env::var("FETCH_DIR").unwrap();
    let dir = Path::new(&dir);
    let catalogue = fs::read_to_string(dir.join("catalogue.toml")).unwrap();
    let store = Store::new(dir.join("models"), assets::Catalogue::parse(&catalogue).unwrap());
    (store, options_in(&dir.join("bin")))
}

fn remount(store: &Store, options: &str) {
    let status = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(store.root()).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_full_disk_is_named_and_later_gone_on_from() {
    let mut fixture = Fixture::new();
    let large = vec![0; LARGE];
    fixture.wheel("pkg", &[("a", large.as_slice())]);
    fixture.model("m", &[("a.bin", large.as_slice(), r#"[["pkg:a"]]"#)], "");
    if on_a_small_disk(&fixture, "inside_a_full_disk") {
        assert_eq!(fixture.calls(), 1, "the package was still there when there was room");
    }
}

#[test]
#[ignore = "run by a_full_disk_is_named_and_later_gone_on_from"]
fn inside_a_full_disk() {
    let (store, options) = from_outside();
    let problem = fetch::models(&store, &["m"], &options).unwrap_err().to_string();
    assert!(problem.contains("no space left") && problem.contains("a.bin"), "{problem}");
    assert_eq!(store.state("m").unwrap(), State::Missing);
    assert!(store.file("m", "a.bin").is_err());
    assert!(!store.root().join(".incoming").exists(), "the half that was written is gone");

    // A model of the user's own that does not fit.
    let own = store.root().parent().unwrap().join("own.gguf");
    fs::write(&own, [b"GGUF".as_slice(), &vec![0; LARGE]].concat()).unwrap();
    let problem = store.add(&own, Placing::Copy, None, &mut |_| {}).unwrap_err().to_string();
    assert!(problem.contains("no space left"), "{problem}");
    assert!(store.manifest("own").unwrap().is_none());

    remount(&store, "size=64m");
    fetch::models(&store, &["m"], &options).unwrap();
    assert_eq!(store.verify("m", &mut |_| {}).unwrap(), State::Whole);
}

#[test]
fn a_client_that_fills_the_disk_is_named() {
    let mut fixture = Fixture::new();
    fixture.wheel("pkg", &[("a", b"alpha")]);
    fixture.model("m", &[("a.bin", b"alpha", r#"[["pkg:a"]]"#)], "");
    fixture.hook("head -c 4000000 /dev/zero > \"$2/filler\" || { echo 'No space left on device' >&2; exit 1; }");
    on_a_small_disk(&fixture, "inside_a_disk_filled_by_the_client");
}

#[test]
#[ignore = "run by a_client_that_fills_the_disk_is_named"]
fn inside_a_disk_filled_by_the_client() {
    let (store, options) = from_outside();
    let problem = fetch::models(&store, &["m"], &options).unwrap_err().to_string();
    assert!(problem.contains("pip could not download pkg 1.0"), "{problem}");
    assert_eq!(store.state("m").unwrap(), State::Missing);
    assert!(!store.root().join(".incoming").exists());
}

#[test]
fn a_read_only_store_serves_and_refuses_changes() {
    let mut fixture = Fixture::new();
    fixture.wheel("pkg", &[("a", b"alpha")]);
    fixture.model("m", &[("a.bin", b"alpha", r#"[["pkg:a"]]"#)], "");
    fixture.model("n", &[("a.bin", b"alpha", r#"[["pkg:a"]]"#)], "");
    on_a_small_disk(&fixture, "inside_a_read_only_disk");
}

#[test]
#[ignore = "run by a_read_only_store_serves_and_refuses_changes"]
fn inside_a_read_only_disk() {
    let (store, options) = from_outside();
    fetch::models(&store, &["m"], &options).unwrap();
    remount(&store, "ro");
    assert!(store.file("m", "a.bin").is_ok());
    assert_eq!(fetch::models(&store, &["m"], &options).unwrap().present, ["m"], "what is whole needs no writing");
    let own = store.root().parent().unwrap().join("own.gguf");
    fs::write(&own, b"GGUF").unwrap();
    for problem in [
        fetch::models(&store, &["n"], &options).unwrap_err().to_string(),
        store.add(&own, Placing::Copy, None, &mut |_| {}).unwrap_err().to_string(),
        store.remove("m").unwrap_err().to_string(),
    ] {
        assert!(problem.contains("Read-only") && problem.contains("models"), "{problem}");
    }
    assert!(store.file("m", "a.bin").is_ok());
}
