//! Running package clients and watching what they download.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use assets::{Client, Package};

use crate::progress::Task;
use crate::{Error, Result};

const INSTALL_PIP: &str = "install pip for Python 3 (Debian, Ubuntu: apt-get install python3-pip; macOS: brew install python; Windows: winget install Python.Python.3.12) and run the command again";
const INSTALL_NPM: &str = "install npm (Debian, Ubuntu: apt-get install npm; macOS: brew install node; Windows: winget install OpenJS.NodeJS) and run the command again";

/// The Python version whose packages are asked for when a package does not say: the catalogue's packages hold data, and
/// the machine's own Python may be older than a package claims to need.
const PYTHON: &str = "3.12";

/// How often a running client is looked at.
const POLL: Duration = Duration::from_millis(100);

/// The programs that download; found on the search path unless given as paths.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Python 3 with pip.
    pub python: PathBuf,
    /// npm.
    pub npm: PathBuf,
    /// Hugging Face's client, under the names it had over time.
    pub hf: Vec<PathBuf>,
}

impl Default for Programs {
    fn default() -> Self {
        let windows = cfg!(windows);
        Self {
            python: if windows { "python" } else { "python3" }.into(),
            npm: if windows { "npm.cmd" } else { "npm" }.into(),
            hf: vec!["hf".into(), "huggingface-cli".into()],
        }
    }
}

/// Downloads `package` into the empty folder `into`, whose subfolder `out` then holds it.
pub(crate) fn download(
    programs: &Programs,
    package: &Package,
    into: &Path,
    task: &Task,
    cancel: Option<&AtomicBool>,
) -> Result<PathBuf> {
    let out = into.join("out");
    fs::create_dir_all(&out).map_err(|e| assets::Error::io("create", &out, e))?;
    let (mut command, name, install) = match package.client {
        Client::Pip => (pip(programs, package, &out)?, "pip", INSTALL_PIP),
        Client::Npm => (npm(programs, package, &out), "npm", INSTALL_NPM),
    };
    // What a client keeps while it works lies where its growth can be watched, and is cleared with the rest.
    let scratch = into.join("scratch");
    fs::create_dir_all(&scratch).map_err(|e| assets::Error::io("create", &scratch, e))?;
    for variable in ["TMPDIR", "TEMP", "TMP"] {
        command.env(variable, &scratch);
    }
    command.env("npm_config_cache", scratch.join("npm"));
    let what = format!("{} {}", package.name, package.version);
    let log = into.join("log");
    let mut watch = || task.at(largest_file(&scratch).max(largest_file(&out)));
    let status = run(&mut command, Some(&log), cancel, &mut watch).map_err(|e| match e {
        RunError::Start(e) => missing(&command, &what, &e.to_string(), install),
        RunError::Other(e) => e,
    })?;
    if !status.success() {
        return Err(Error::ClientFailed { program: name.into(), what, said: tail(&log) });
    }
    let path = out.join(&package.file);
    if path.is_file() {
        return Ok(path);
    }
    Err(Error::ClientFailed {
        program: name.into(),
        what,
        said: format!("it left no file {}: {}", package.file, tail(&log)),
    })
}

fn pip(programs: &Programs, package: &Package, out: &Path) -> Result<Command> {
    let mut command = Command::new(&programs.python);
    command.args(["-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input"]);
    command.args(["--disable-pip-version-check", "--progress-bar", "off"]);
    if pip_resumes(programs, &package.name)? {
        command.args(["--resume-retries", "10"]);
    }
    match &package.wheel {
        Some(wheel) => {
            let abi = format!("cp{}", wheel.python.replace('.', ""));
            command.args(["--python-version", &wheel.python, "--implementation", "cp", "--abi", &abi]);
            command.args(["--platform", &wheel.platform]);
        }
        None => {
            command.args(["--python-version", PYTHON]);
        }
    }
    command.arg("-d").arg(out).arg(format!("{}=={}", package.name, package.version));
    Ok(command)
}

/// Whether this pip can go on with a download that broke off. Also the moment to notice that there is no pip.
fn pip_resumes(programs: &Programs, what: &str) -> Result<bool> {
    let mut command = Command::new(&programs.python);
    command.args(["-m", "pip", "--version"]).stdin(Stdio::null());
    let output = command.output().map_err(|e| missing(&command, what, &e.to_string(), INSTALL_PIP))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut version = text.strip_prefix("pip ").unwrap_or_default().split(['.', ' ']);
    let mut number = || version.next().and_then(|part| part.parse::<u32>().ok());
    match (output.status.success(), number(), number()) {
        (true, Some(major), minor) => Ok((major, minor.unwrap_or(0)) >= (25, 1)),
        _ => Err(missing(&command, what, "it has no pip", INSTALL_PIP)),
    }
}

fn npm(programs: &Programs, package: &Package, out: &Path) -> Command {
    let mut command = Command::new(&programs.npm);
    command.args(["pack", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--pack-destination"]);
    command.arg(out).arg(format!("{}@{}", package.name, package.version));
    // Without a project around it, npm would take the settings of whatever folder it is started in.
    command.current_dir(out);
    command
}

pub(crate) enum RunError {
    Start(std::io::Error),
    Other(Error),
}

/// Runs `command` to its end, calling `watch` now and then; its output goes to `log`, or to our error stream.
pub(crate) fn run(
    command: &mut Command,
    log: Option<&Path>,
    cancel: Option<&AtomicBool>,
    watch: &mut dyn FnMut(),
) -> std::result::Result<ExitStatus, RunError> {
    let other = |action, path: &Path, e| RunError::Other(assets::Error::io(action, path, e).into());
    command.stdin(Stdio::null());
    if let Some(log) = log {
        let file = File::create(log).map_err(|e| other("write", log, e))?;
        let copy = file.try_clone().map_err(|e| other("write", log, e))?;
        command.stdout(file).stderr(copy);
    } else {
        command.stdout(Stdio::null());
    }
    tracing::debug!(?command, "starting a package client");
    let mut child = Running(command.spawn().map_err(RunError::Start)?);
    loop {
        if cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(RunError::Other(Error::Cancelled));
        }
        match child.0.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => thread::sleep(POLL),
            Err(e) => return Err(other("wait for", Path::new(command.get_program()), e)),
        }
        watch();
    }
}

/// A child that does not outlive our interest in it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail harmlessly when it has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn missing(command: &Command, what: &str, problem: &str, install: &'static str) -> Error {
    Error::ClientMissing {
        program: command.get_program().to_string_lossy().into_owned(),
        what: what.into(),
        problem: problem.into(),
        install,
    }
}

/// What a client gave as its reasons, on one line: the lines it marks as errors, else its last ones.
fn tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(16 << 10)..]).into_owned();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_error = |line: &&str| line.to_ascii_lowercase().contains("error:") || line.starts_with("npm error");
    let errors: Vec<&str> = lines.iter().copied().filter(is_error).collect();
    let told = if errors.is_empty() { lines } else { errors };
    match told.len() {
        0 => "it said nothing".into(),
        n => told[n.saturating_sub(3)..].join(" | "),
    }
}

/// A download is the largest file of its folder; sums would count copies twice.
fn largest_file(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => largest_file(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |metadata| metadata.len()),
        _ => 0,
    };
    entries.flatten().map(size).max().unwrap_or(0)
}
