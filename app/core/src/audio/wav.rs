//! WAV files: any that a user is likely to have in, 16-bit PCM out, by blocks of bounded size.
//!
//! The reader is our own because the usual crates refuse what users do have: 64-bit float, 24 bits behind the short
//! header, RF64, and headers of recorders that were cut off before they could fill in a length. Layout after "Multimedia
//! Programming Interface and Data Specifications 1.0", and EBU Tech 3306 for RF64.

mod format;
mod reader;
mod writer;

pub use format::{Coding, Format};
pub use reader::{Reader, Recording, read};
pub use writer::{Writer, write};
