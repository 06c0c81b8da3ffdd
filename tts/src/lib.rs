//! Speech synthesis: a stream of text in, chunks of audio out.
//!
//! Text runs through four steps, each a plain struct or function:
//!
//! 1. [`ClauseStream`] takes tokens as a language model writes them, strips what must not be spoken and cuts
//!    [`Clause`]s, the first one early;
//! 2. normalization turns what is written into what is said ("$5" into "five dollars");
//! 3. grapheme-to-phoneme conversion turns words into phonemes;
//! 4. a [`Synthesizer`] turns phonemes into [`Speech`]: samples, and where in them each word lies.
//!
//! Every step keeps byte ranges of the raw text, so that the dialogue can tell which words were heard.

mod error;

mod audio;
mod bench;
mod clause;
mod clause_stream;
mod g2p;
mod kokoro;
mod normalize;
mod onnx_graph;
mod piper;
mod speaker;
mod speech;
mod timing;
mod voice;

pub use bench::{VoiceBench, bench};
pub use clause::{Clause, Language, SpokenWord};
pub use clause_stream::{ChunkSize, ClausePlan, ClauseStream, StreamConfig};
pub use error::{Error, Result};
pub use kokoro::{Kokoro, KokoroVoice, voices as kokoro_voices};
pub use piper::Piper;
pub use speaker::Speaker;
pub use speech::{Speech, Synthesizer, WordTime};
pub use voice::VoiceConfig;
