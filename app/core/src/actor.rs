//! Named threads around plain stages: receive, call, send.

pub(crate) mod ears;
pub(crate) mod recogniser;
pub(crate) mod thinker;
pub(crate) mod turn_judge;
pub(crate) mod voice;

use std::io;
use std::thread::{Builder, JoinHandle};

/// Messages that may wait for an actor. Far more than are ever under way; a full channel means a stuck stage.
pub(crate) const INBOX: usize = 1024;

/// Starts a named actor.
pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).spawn(body)
}
