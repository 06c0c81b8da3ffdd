//! The command as a user runs it: a process with arguments, streams and an exit code.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

mod conversation;
mod process;
mod stages;
mod talk;
mod usage;
