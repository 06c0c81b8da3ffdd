//! The language model engine: model files, forward pass, KV cache, sampling.
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//! use llm::{Message, Model, Sampler, SamplerConfig, Session, SessionConfig, TextStream};
//!
//! let model = Model::open("SmolLM2-135M-Instruct.Q4_1.gguf".as_ref())?;
//! let mut session = Session::new(model.clone(), SessionConfig::default())?;
//! let mut sampler = Sampler::new(SamplerConfig::default())?;
//! let cancel = AtomicBool::new(false);
//! let prompt = model.chat().render(&[Message::user("Name three colours.")], true)?;
//! session.advance_to(&prompt, &cancel)?;
//! let mut text = TextStream::new(&model);
//! for token in session.generate(&mut sampler, &cancel) {
//!     print!("{}", text.push(token?));
//! }
//! println!("{}", text.finish());
//! # Ok::<(), llm::Error>(())
//! ```

pub mod bench;
mod chat;
mod config;
mod error;
mod fnv;
pub mod forward;
#[doc(hidden)]
pub mod fuzzing;
mod generate;
mod gguf;
mod mapped;
mod mnn;
mod model;
pub mod quant;
mod rope;
mod safetensors;
mod sampler;
mod session;
mod speculate;
mod tokenizer;
pub mod weights;

pub use chat::{Chat, ChatOptions, Message, Role};
pub use config::{Activation, Arch, Config, RopeStyle, TokenId};
pub use error::{Error, Result};
pub use generate::{Generator, Stats};
pub use mapped::Bytes;
pub use model::{Engine, Model, OpenOptions};
pub use sampler::{Sampler, SamplerConfig};
pub use session::{Prefill, Session, SessionConfig};
pub use speculate::Speculation;
pub use tokenizer::{TextStream, Tokenizer};
