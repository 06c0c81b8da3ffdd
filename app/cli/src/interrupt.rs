//! Ctrl-C: the first asks everything to stop, the second ends the program at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use crossbeam_channel::{Receiver, Sender, bounded};

/// Raised by the first Ctrl-C; every stage reads it.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

static WAKE: OnceLock<(Sender<()>, Receiver<()>)> = OnceLock::new();

/// Exit code of a program ended by SIGINT, by convention.
const ENDED: i32 = 130;

/// Listens for Ctrl-C and for requests to terminate.
pub(crate) fn watch() -> anyhow::Result<()> {
    let (wake, _) = WAKE.get_or_init(|| bounded(1));
    ctrlc::set_handler(move || {
        if INTERRUPTED.swap(true, Ordering::AcqRel) {
            std::process::exit(ENDED);
        }
        let _ = wake.try_send(());
    })
    .context("cannot listen for Ctrl-C")
}

/// The flag for everything that can be cancelled.
pub(crate) fn flag() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Whether Ctrl-C was pressed.
pub(crate) fn happened() -> bool {
    INTERRUPTED.load(Ordering::Acquire)
}

/// Delivers a message when Ctrl-C is pressed.
pub(crate) fn channel() -> Receiver<()> {
    WAKE.get_or_init(|| bounded(1)).1.clone()
}
