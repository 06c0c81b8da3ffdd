//! The conversation: actors, dialogue, history, probes and audio hosts.

pub mod audio;
