//! `talk` without hardware: a sound server of its own with virtual devices, a recorded user played into the microphone, the
//! loudspeaker recorded and written down.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::process::{alone, clip, program, run, text};

/// A PulseAudio server that ends with the test. Its sink `ear` is what is played into the microphone, `mouth` is the
/// loudspeaker.
struct Server {
    process: Child,
    dir: tempfile::TempDir,
}

impl Server {
    /// `None` where PulseAudio or its ALSA plugin is not installed.
    fn start() -> Option<Self> {
        let installed = |program: &str| {
            let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            version.is_ok_and(|status| status.success())
        };
        let plugin =
            ["/usr/lib", "/usr/lib64"].iter().any(|dir| has_file(Path::new(dir), "libasound_module_pcm_pulse.so"));
        if !["pulseaudio", "pactl", "paplay", "parecord"].into_iter().all(installed) || !plugin {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let sink = |name: &str| format!("module-null-sink sink_name={name} rate=48000 channels=2");
        let process = Command::new("pulseaudio")
            .args(["-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--log-level=error"])
            .args(["-L", &format!("module-native-protocol-unix auth-anonymous=1 socket={}", socket.display())])
            .args(["-L", &sink("ear"), "-L", &sink("mouth")])
            .args(["-L", "module-remap-source master=ear.monitor source_name=microphone"])
            .env("XDG_RUNTIME_DIR", dir.path())
            .env("HOME", dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { process, dir };
        let start = Instant::now();
        while !server.client("pactl").arg("info").output().unwrap().status.success() {
            assert!(start.elapsed() < Duration::from_secs(30), "the sound server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.configure(&mut command);
        command
    }

    fn configure(&self, command: &mut Command) {
        command
            .env("PULSE_SERVER", format!("unix:{}", self.dir.path().join("socket").display()))
            .env("PULSE_SINK", "mouth")
            .env("PULSE_SOURCE", "microphone")
            .env("XDG_RUNTIME_DIR", self.dir.path());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn has_file(dir: &Path, name: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        entry.file_name() == name
            || path.is_dir() && (path.ends_with("alsa-lib") || is_architecture(&path)) && has_file(&path, name)
    })
}

fn is_architecture(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("-linux-gnu"))
}

/// A program that does not outlive the test.
struct Running(Child);

impl Running {
    /// Ends it as Ctrl-C would, and waits for it.
    fn interrupt(mut self) -> ExitStatus {
        assert!(Command::new("kill").args(["-INT", &self.0.id().to_string()]).status().unwrap().success());
        self.0.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `path` holds `wanted`, which `program` should write.
fn wait_for(path: &Path, wanted: &str, program: &mut Running) {
    let start = Instant::now();
    while !std::fs::read_to_string(path).is_ok_and(|text| text.contains(wanted)) {
        let state = program.0.try_wait().unwrap();
        let said = std::fs::read_to_string(path).unwrap_or_default();
        assert!(state.is_none(), "talk ended ({state:?}) before {wanted:?}: {said}");
        assert!(start.elapsed() < Duration::from_secs(90), "no {wanted:?} in: {said}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_conversation_over_virtual_devices() {
    let _alone = alone();
    let Some(server) = Server::start() else {
        println!("skipped: PulseAudio and libasound2-plugins are not installed");
        return;
    };
    let path = |name: &str| -> PathBuf { server.dir.path().join(name) };
    let (log, said, report, recorded) = (path("log"), path("said"), path("report.json"), path("mouth.wav"));
    let mut talk = program();
    server.configure(&mut talk);
    let talk = talk
        .args(["talk", "--json", text(&report)])
        .stdout(std::fs::File::create(&said).unwrap())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn();
    let mut talk = Running(talk.unwrap());
    wait_for(&log, "ready after", &mut talk);

    let record = ["--device=mouth.monitor", "--rate=48000", "--channels=1", "--file-format=wav", text(&recorded)];
    let recorder = Running(server.client("parecord").args(record).spawn().unwrap());
    let played = server.client("paplay").args(["--device=ear", text(&clip("demo.wav"))]).status().unwrap();
    assert!(played.success());
    // Printed when the answer has been spoken to its end.
    wait_for(&said, "first audio", &mut talk);
    std::thread::sleep(Duration::from_secs(1));
    let ended = talk.interrupt();
    recorder.interrupt();

    let (said, remarks) = (std::fs::read_to_string(&said).unwrap(), std::fs::read_to_string(&log).unwrap());
    assert_eq!(ended.code(), Some(0), "{said}\n{remarks}");
    assert!(!remarks.contains("ALSA lib"), "{remarks}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    let turn = &report["turns"][0];
    assert!(turn["user"].as_str().is_some_and(|user| user.contains("capital of France")), "{report:#}\n{remarks}");
    assert!(turn["events_ms"]["first_audio"].is_number() && turn["events_ms"]["drained"].is_number(), "{report:#}");
    assert!(said.contains("Paris"), "{said}");
    let heard = run(["transcribe", text(&recorded), "--quiet"]).ok().stdout;
    assert!(heard.to_lowercase().contains("capital"), "the loudspeaker said {heard:?} for {turn:#}");
}
