//! Showing how far a download is: bars on a terminal, a line per file elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Where progress is shown; always on the error stream, results are the caller's to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// Bars when the error stream is a terminal, else a line per file.
    #[default]
    Auto,
    /// A line per file.
    Lines,
    /// Nothing.
    Quiet,
}

impl Progress {
    /// Starts to show one task of `total` bytes (0 when unknown).
    pub(crate) fn task(self, what: String, total: u64) -> Task {
        let bars = self == Self::Auto && std::io::stderr().is_terminal();
        let bar = if bars {
            let template = if total > 0 {
                "{msg:34!} [{bar:30}] {bytes:>10}/{total_bytes:10} {binary_bytes_per_sec:>12} {eta:>4}"
            } else {
                "{msg:34!} {spinner} {elapsed}"
            };
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            bar.set_style(style.progress_chars("=> "));
            bar.set_message(what.clone());
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        } else {
            if self != Self::Quiet {
                match total {
                    0 => eprintln!("{what}"),
                    _ => eprintln!("{what} ({})", HumanBytes(total)),
                }
            }
            ProgressBar::hidden()
        };
        Task { bar, total }
    }
}

/// One bar, or none.
pub(crate) struct Task {
    bar: ProgressBar,
    total: u64,
}

impl Task {
    /// Shows that `bytes` of the total are done.
    pub(crate) fn at(&self, bytes: u64) {
        self.bar.set_position(if self.total > 0 { bytes.min(self.total) } else { bytes });
    }

    /// Shows that `bytes` more are done.
    pub(crate) fn step(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    /// Leaves the finished bar standing.
    pub(crate) fn done(self) {
        if self.total > 0 {
            self.bar.finish();
        } else {
            self.bar.finish_and_clear();
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if !self.bar.is_finished() {
            self.bar.abandon();
        }
    }
}
