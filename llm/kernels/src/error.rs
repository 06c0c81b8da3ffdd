//! What can be wrong with a matrix or a request.

/// An error of the kernels crate; names what was asked and what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A slice does not have the length that the shapes ask for.
    #[error("{what} has {got} elements, but the shapes ask for {expected}")]
    Length {
        /// Which slice.
        what: &'static str,
        /// Its length.
        got: usize,
        /// The length that was needed.
        expected: usize,
    },
    /// A weight, scale or minimum is NaN or infinite.
    #[error("row {row} holds a weight that is not finite; the model file is damaged")]
    NotFinite {
        /// Row of the matrix.
        row: usize,
    },
    /// The requested format cannot hold this source exactly.
    #[error("cannot pack {source_kind} into {format}: {why}")]
    Format {
        /// Kind of source.
        source_kind: &'static str,
        /// Requested format.
        format: String,
        /// What stands in the way.
        why: &'static str,
    },
    /// The operating system gave no memory.
    #[error("no memory for {bytes} bytes of packed weights; close other programs or choose a smaller model")]
    Memory {
        /// How much was asked for.
        bytes: usize,
    },
    /// A size is zero where at least one is needed, or too large to address.
    #[error("{what} is {value}, which is outside {range}")]
    Range {
        /// Which size.
        what: &'static str,
        /// Its value.
        value: usize,
        /// What is allowed.
        range: &'static str,
    },
    /// `POCKET_VOICE_ISA` names an instruction set that this machine lacks or that does not exist.
    #[error("POCKET_VOICE_ISA={asked} is not available here; choose one of: {available}")]
    Isa {
        /// What was asked for.
        asked: String,
        /// What can be chosen.
        available: String,
    },
    /// A worker thread could not be started.
    #[error("could not start a worker thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Checks the length of a slice against its shape.
pub(crate) fn check_len(what: &'static str, got: usize, expected: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::Length { what, got, expected }) }
}
