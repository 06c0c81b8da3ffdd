//! Evaluation over the same pipeline as a conversation: VoiceBench, text tasks, review extraction.
//!
//! Data is read from local files only; nothing here can reach a network.

mod error;
pub mod evaluate;
pub mod item;
pub mod journal;
pub mod json;
pub mod judge;
pub mod reader;
pub mod record;
pub mod report;
pub mod respond;
pub mod run;
pub mod sandbox;
pub mod score;
pub mod scores;
pub mod sound;
pub mod speak;
pub mod tally;
pub mod task;
#[cfg(test)]
mod testing;
pub mod voicebench;
pub mod wer;

pub use error::{Error, Result};
