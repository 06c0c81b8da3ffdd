//! The conversation: actors, dialogue, history, probes and audio hosts.
//!
//! [`Assistant`] is the whole of it: give it a [`Config`], loaded [`Models`] and an [`audio::AudioHost`], read its
//! [`Event`]s, and take its [`report::Report`] at the end.

mod actor;
pub mod alone;
mod assistant;
pub mod audio;
pub mod barge_in;
pub mod bench;
mod budget;
mod clock;
pub mod config;
pub mod dialogue;
pub mod echo;
mod error;
pub mod history;
pub mod message;
pub mod models;
mod recording;
pub mod report;
pub mod simulation;
pub mod words;

pub use assistant::Assistant;
pub use config::Config;
pub use error::{Error, Result};
pub use message::{Command, Event, TurnId};
pub use models::Models;
