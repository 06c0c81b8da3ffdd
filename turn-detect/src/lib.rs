//! End of turn: has the user finished? Audio and text in, a staged decision out.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use turn_detect::{Decision, Endpointing, SmartTurn};
//! let runtime = onnx::Runtime::load("libonnxruntime.so".as_ref())?;
//! let mut smart_turn = SmartTurn::open(&runtime, "smart-turn-v3.2-cpu.onnx".as_ref())?;
//! let endpointing = Endpointing::default();
//! // The user has been silent for 200 ms; the audio ends here, the transcript is what is known so far.
//! let (turn_audio, transcript) = (vec![0.0_f32; 48_000], "what time is it");
//! let p_complete = smart_turn.score(&turn_audio)?;
//! match endpointing.decide(200, Some(p_complete), transcript) {
//!     Decision::Commit => println!("answer now"),
//!     Decision::Wait | Decision::Speculate => {
//!         println!("ask again at {:?} ms of silence", endpointing.next_checkpoint_ms(200));
//!     }
//! }
//! # Ok(()) }
//! ```

pub mod mel;

mod endpointing;
mod error;
mod smart_turn;
pub mod text;

pub use endpointing::{Decision, Endpointing, EndpointingConfig, Stage};
pub use error::{Error, Result};
pub use smart_turn::SmartTurn;
pub use text::TextCue;
