//! Evaluation over the same pipeline as a conversation: VoiceBench, text tasks, review extraction.
//!
//! Data is read from local files only; nothing here can reach a network.

mod error;
pub mod json;
pub mod score;
#[cfg(test)]
mod testing;

pub use error::{Error, Result};
