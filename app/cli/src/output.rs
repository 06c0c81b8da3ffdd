//! Printing: results to standard output, remarks to standard error, JSON to where it was asked for.

use std::fmt::Display;
use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

/// Where a command prints.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Out {
    quiet: bool,
}

impl Out {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Whether only results are wanted.
    pub(crate) fn quiet(&self) -> bool {
        self.quiet
    }

    /// Whether somebody watches standard output.
    pub(crate) fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Prints a result as it stands.
    pub(crate) fn text(&self, text: impl Display) -> anyhow::Result<()> {
        let mut stdout = io::stdout().lock();
        write!(stdout, "{text}")?;
        Ok(stdout.flush()?)
    }

    /// Prints a line of the result.
    pub(crate) fn line(&self, line: impl Display) -> anyhow::Result<()> {
        self.text(format_args!("{line}\n"))
    }

    /// Prints a remark, unless only results are wanted.
    pub(crate) fn remark(&self, remark: impl Display) {
        if !self.quiet {
            // A closed standard error is no reason to stop.
            let _ = writeln!(io::stderr(), "{remark}");
        }
    }
}

/// Writes `value` to `path`, aside and then renamed, or to standard output if `path` is `-`.
pub(crate) fn json(path: &Path, value: &impl Serialize, out: &Out) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    if path == Path::new("-") {
        return out.line(text);
    }
    let cannot = || format!("cannot write {}", path.display());
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        // A pipe or a terminal cannot be replaced, only written to.
        return fs::write(path, text + "\n").with_context(cannot);
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(".part");
    let written = fs::write(&aside, text + "\n").and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written.with_context(cannot)
}

/// Whether the reader of our output has gone away.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}

/// The error and its causes as one sentence, without what a cause repeats.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let mut sentence = String::new();
    for cause in error.chain() {
        let cause = cause.to_string().replace('\n', " ");
        if sentence.contains(&cause) {
            continue;
        }
        if !sentence.is_empty() {
            sentence.push_str(": ");
        }
        sentence.push_str(&cause);
    }
    sentence
}

/// Text from a model or a microphone without what a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

/// A size for people: 1,234 bytes as "1.2 kB".
pub(crate) fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB"] {
        if value < 999.5 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1000.0;
    }
    format!("{value:.1} GB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once() {
        let inner = io::Error::other("disk full");
        let error = anyhow::Error::new(inner).context("cannot write a.wav: disk full").context("the answer is lost");
        assert_eq!(sentence(&error), "the answer is lost: cannot write a.wav: disk full");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(plain("a\x1b[2Jb\u{9b}1mc\n"), "a [2Jb 1mc\n");
    }

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 999, 1000, 1_234_567, 275_000_000, 4_000_000_000];
        assert_eq!(sizes.map(size), ["0 B", "999 B", "1.0 kB", "1.2 MB", "275.0 MB", "4.0 GB"]);
    }
}
