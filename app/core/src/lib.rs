//! The conversation: actors, dialogue, history, probes and audio hosts.

pub mod audio;
pub mod barge_in;
pub mod dialogue;
pub mod history;
pub mod message;
pub mod report;
pub mod words;
