//! Packed low-bit weights and the kernels over them, with a scalar reference as their oracle.
//!
//! A [`Matrix`] is repacked once from whatever a model file holds ([`Packer`]); products take activations that
//! are quantized to 8 bits on the fly ([`Activations`], [`matmul`]). The instruction set is detected at run
//! time ([`Isa::choose`]), never chosen by build flags; [`mod@reference`] defines the results. All
//! parallel functions take a [`Pool`].

mod activations;
mod arena;
mod attention;
mod bandwidth;
mod cache;
mod compute;
mod dot;
pub mod elementwise;
mod error;
mod isa;
mod lanes;
mod linear;
mod matrix;
mod packing;
mod pool;
mod product;
pub mod reference;
#[cfg(test)]
mod testing;

pub use activations::Activations;
pub use arena::{Arena, Block};
pub use attention::Heads;
pub use bandwidth::read_bandwidth;
pub use cache::KvCache;
pub use compute::{Compute, Input, Output};
pub use error::{Error, Result};
pub use isa::{Avx2, Avx512Vnni, AvxVnni, Isa, NeonDot, NeonI8mm};
pub use linear::{matmul, matmul_quantized};
pub use matrix::{Bits, Format, Matrix, Minimum, PANEL_ROWS};
pub use packing::{Packer, Source, q4_1_has_groups_of_64};
pub use pool::{Claims, MAX_THREADS, Pool};
