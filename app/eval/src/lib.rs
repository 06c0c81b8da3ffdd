//! Evaluation over the same pipeline as a conversation: VoiceBench, text tasks, review extraction.
//!
//! Data is read from local files only; nothing here can reach a network.

mod error;
pub mod item;
pub mod json;
pub mod reader;
pub mod score;
pub mod sound;
#[cfg(test)]
mod testing;

pub use error::{Error, Result};
