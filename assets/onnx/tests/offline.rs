//! Models load and run with networking cut off.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::net::TcpStream;
use std::process::Command;

#[test]
fn models_run_with_networking_cut_off() {
    if !Command::new("unshare").args(["-rn", "true"]).output().is_ok_and(|done| done.status.success()) {
        println!("skipped: cutting off the network for a process is not permitted here");
        return;
    }
    let output = Command::new("unshare")
        .arg("-rn")
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "without_a_network"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "run by models_run_with_networking_cut_off in a process without a network"]
fn without_a_network() {
    // An address that is for documentation only. Without any route this fails at once.
    TcpStream::connect("192.0.2.1:80").expect_err("there is a network");
    let store = assets::Store::open().unwrap();
    let runtime = onnx::Runtime::load(&store.onnxruntime().unwrap()).unwrap();
    for (id, file) in [
        ("silero-vad", "silero_vad_16k_op15.onnx"),
        ("smart-turn-v3.2", "smart-turn-v3.2-cpu.onnx"),
        ("piper-en-us-joe", "en_US-joe-medium.onnx"),
    ] {
        assert_eq!(store.verify(id, &mut |_| {}).unwrap(), assets::State::Whole, "{id}");
        let session = runtime.session(&store.file(id, file).unwrap(), 2).unwrap();
        assert!(!session.inputs().is_empty() && !session.outputs().is_empty(), "{id}");
    }
}
