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
    const CANNOT: &str = "cannot listen for Ctrl-C";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().context(CANNOT)?;
    // Registered before anything starts, so that no signal is missed.
    let mut signals = runtime.block_on(async { Signals::new() }).context(CANNOT)?;
    let wait = move || {
        runtime.block_on(async {
            while signals.next().await {
                if INTERRUPTED.swap(true, Ordering::AcqRel) {
                    std::process::exit(ENDED);
                }
                let _ = WAKE.get_or_init(|| bounded(1)).0.try_send(());
            }
        });
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop).context(CANNOT)
}

/// What the system asks of the process.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next request to stop; `false` when there can be none any more.
    async fn next(&mut self) -> bool {
        tokio::select! {
            received = self.interrupt.recv() => received.is_some(),
            received = self.terminate.recv() => received.is_some(),
            received = self.hang_up.recv() => received.is_some(),
        }
    }
}

/// What the system asks of the process.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next Ctrl-C; `false` when there can be none any more.
    async fn next(&mut self) -> bool {
        tokio::signal::ctrl_c().await.is_ok()
    }
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
