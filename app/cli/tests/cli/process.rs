//! Runs the program and looks at what comes back.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Fails unless the program succeeded.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// Fails unless the program failed with `code` and one sentence in which all `parts` occur.
    pub(crate) fn failed(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let sentences: Vec<_> = self.stderr.lines().filter(|line| line.starts_with("pocket-voice: ")).collect();
        assert_eq!(sentences.len(), 1, "not one sentence: {self:#?}");
        for part in parts {
            assert!(sentences[0].contains(part), "no {part:?} in {self:#?}");
        }
        for word in ["panicked", "Error {", "RUST_BACKTRACE"] {
            assert!(!self.stderr.contains(word), "{self:#?}");
        }
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }
}

/// Held by tests that compute with models: conversations keep real time, which they cannot on a machine that does something
/// else at the same time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program, not yet started.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pocket-voice"));
    command.stdin(Stdio::null());
    command
}

/// Runs `command` to its end.
pub(crate) fn finish(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs the program with these arguments.
pub(crate) fn run<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Ran {
    finish(program().args(arguments))
}

/// A clip that comes with the project.
pub(crate) fn clip(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/audio").join(name)
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
