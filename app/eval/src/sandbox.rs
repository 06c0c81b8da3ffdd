//! Runs generated Python where it can reach nothing: no network, no files of the user, bounded time and memory.
//!
//! Linux only. The program gets new user, mount, network and process namespaces (`unshare`), a root directory in memory
//! that holds the interpreter and system libraries read-only and nothing else, and resource limits. Where the system
//! refuses namespaces nothing is run.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Error, Result};

/// What a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time; processor time is limited to the same.
    pub time: Duration,
    /// Address space in bytes.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        // HumanEval's own time; its reference solutions need some 30 MB.
        Self { time: Duration::from_secs(3), memory: 512 << 20 }
    }
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With success.
    Passed,
    /// With an error, and the last line of what it printed to stderr.
    Failed(String),
    /// Not within its time.
    TimedOut,
}

/// A Python that can be run shut in.
#[derive(Debug, Clone)]
pub struct Sandbox {
    python: PathBuf,
    /// The interpreter's own folder, with its library.
    prefix: PathBuf,
    limits: Limits,
}

/// Runs inside the new namespaces, as root of them and of nothing else: builds the root directory and enters it.
const SCRIPT: &str = r#"
set -e
mount -t tmpfs -o size=16m,mode=755 tmpfs /mnt
cd /mnt
for d in /usr /bin /sbin /lib /lib64 "$PREFIX"; do
  [ -e "$d" ] || continue
  if [ -L "$d" ]; then mkdir -p ".$(dirname "$d")"; cp -P "$d" ".$d"; continue; fi
  mkdir -p ".$d"; mount --rbind "$d" ".$d"; mount -o remount,bind,ro,nosuid,nodev ".$d"
done
mkdir -p dev tmp work
: > dev/null
mount --bind /dev/null dev/null
mount -o remount,ro /mnt
ulimit -v "$MEMORY_KB" -t "$SECONDS_CPU" -f 0 -n 32 -c 0
exec chroot /mnt /usr/bin/env -i HOME=/cell PYTHONHASHSEED=0 "$PYTHON" -I -S -B -
"#;

/// Output that is kept; a program may print without end.
const KEEP: u64 = 1 << 16;

impl Sandbox {
    /// Finds an interpreter and checks that it can be shut in here.
    ///
    /// # Errors
    /// [`Error::Sandbox`] saying what this machine lacks.
    pub fn new(python: &Path, limits: Limits) -> Result<Self> {
        if !cfg!(target_os = "linux") {
            return Err(Error::Sandbox("generated programs are only run on Linux; leave humaneval out".into()));
        }
        let ask = "import sys, os; print(os.path.realpath(sys.executable)); print(os.path.realpath(sys.base_prefix))";
        let output = Command::new(python).args(["-I", "-c", ask]).output();
        let output = output.map_err(|e| Error::Sandbox(format!("{}: {e}", python.display())))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines().map(PathBuf::from);
        let (Some(python), Some(prefix)) = (lines.next(), lines.next()) else {
            return Err(Error::Sandbox(format!("{} is no Python 3", python.display())));
        };
        let this = Self { python, prefix, limits };
        // Both that it works and that it shuts in.
        let probe = "import os, socket\n\
            assert not os.path.exists('/etc/passwd') and not os.path.exists('/proc/1'), 'sees files'\n\
            try:\n    open('/cell/x', 'w').write('x')\n    raise SystemExit('writes files')\nexcept OSError:\n    pass\n\
            try:\n    socket.create_connection(('192.0.2.1', 80), 1)\n    raise SystemExit('reaches a network')\n\
            except OSError:\n    pass\n";
        match this.run(probe)? {
            Outcome::Passed => Ok(this),
            Outcome::Failed(why) => Err(Error::Sandbox(format!("this system cannot shut a program in: {why}"))),
            Outcome::TimedOut => Err(Error::Sandbox("this system is too slow to start a program".into())),
        }
    }

    /// Runs a program.
    ///
    /// # Errors
    /// [`Error::Sandbox`] where it cannot be started.
    pub fn run(&self, program: &str) -> Result<Outcome> {
        let failed = |e: std::io::Error| Error::Sandbox(format!("unshare: {e}"));
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--ipc", "--kill-child"]);
        command.args(["/bin/sh", "-c", SCRIPT]);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("PYTHON", &self.python).env("PREFIX", &self.prefix);
        command.env("MEMORY_KB", (self.limits.memory >> 10).to_string());
        command.env("SECONDS_CPU", self.limits.time.as_secs().max(1).to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let input = child.stdin.take();
        let program = program.to_owned();
        // A program that reads nothing must not block us, and one that prints must not block itself.
        let feed = std::thread::spawn(move || input.map(|mut input| input.write_all(program.as_bytes())));
        let errors = child.stderr.take();
        let listen = std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(mut errors) = errors {
                let _ = (&mut errors).take(KEEP).read_to_end(&mut text);
                let _ = std::io::copy(&mut errors, &mut std::io::sink());
            }
            String::from_utf8_lossy(&text).into_owned()
        });
        let status = wait(&mut child, self.limits.time + Duration::from_secs(1)).map_err(failed)?;
        let text = listen.join().unwrap_or_default();
        let _ = feed.join();
        Ok(match status {
            None => Outcome::TimedOut,
            Some(true) => Outcome::Passed,
            Some(false) => Outcome::Failed(text.lines().last().unwrap_or("no message").chars().take(200).collect()),
        })
    }
}

/// Whether a child succeeded; `None` where it had to be ended.
fn wait(child: &mut Child, time: Duration) -> std::io::Result<Option<bool>> {
    let end = Instant::now() + time;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if Instant::now() >= end {
            child.kill()?; // and with it, by --kill-child, all that it began
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_shut_in() {
        let limits = Limits { time: Duration::from_secs(2), ..Limits::default() };
        let sandbox = match Sandbox::new(Path::new("python3"), limits) {
            Ok(sandbox) => sandbox,
            Err(e) => {
                eprintln!("skipped: {e}");
                return;
            }
        };
        let failed = |part: &str| Outcome::Failed(part.to_owned());
        for (program, expected) in [
            ("assert sorted([2, 1]) == [1, 2]", Outcome::Passed),
            ("import math, collections, re, hashlib", Outcome::Passed),
            ("assert False, 'wrong'", failed("AssertionError: wrong")),
            ("open('/etc/passwd')", failed("No such file")),
            ("open('/tmp/x', 'w').write('x')", failed("Read-only file system")),
            ("import os; os.listdir('/root')", failed("No such file")),
            ("import os; os.kill(1, 0) or os.listdir('/proc/1')", failed("No such file")),
            ("x = bytearray(1 << 31)", failed("MemoryError")),
            ("while True: pass", failed("no message")),
            ("import time; time.sleep(60)", Outcome::TimedOut),
            ("import socket; socket.create_connection(('1.1.1.1', 53), 1)", failed("Network is unreachable")),
        ] {
            let outcome = sandbox.run(program).unwrap();
            match (&outcome, &expected) {
                (Outcome::Failed(text), Outcome::Failed(part)) => {
                    assert!(text.contains(part.as_str()) || part == "no message", "{program}: {text}");
                }
                (Outcome::TimedOut, Outcome::Failed(part)) if part == "no message" => {}
                _ => assert_eq!(outcome, expected, "{program}"),
            }
        }
    }

    #[test]
    fn a_python_that_is_none_is_named() {
        let message = Sandbox::new(Path::new("/bin/true"), Limits::default()).unwrap_err().to_string();
        assert!(message.contains("/bin/true"), "{message}");
    }
}
