//! Catalogue of models: what they are, where they lie, whether they are whole.
//!
//! ```no_run
//! # fn main() -> assets::Result<()> {
//! let store = assets::Store::open()?;
//! let vad = store.file("silero-vad", "silero_vad_16k_op15.onnx")?;
//! let library = store.onnxruntime()?;
//! # Ok(()) }
//! ```
//!
//! A model is a folder of the models directory, named by its id. Its `manifest.json` holds the size and SHA-256 of each
//! file and is part of a folder that arrives by one rename, so a half-written model has no manifest and is never handed
//! out. [`Store::file`] compares sizes, which costs nothing; [`Store::verify`] reads and hashes every byte.
//!
//! This crate reaches no network. The fetch crate downloads, and hands finished folders in through [`Staging`].

mod catalogue;
mod error;
mod hash;
mod kind;
mod manifest;
mod place;
mod platform;
mod staging;
mod store;

pub use catalogue::{
    Catalogue, Client, DEFAULT_PROFILE, DerivedFile, FileEntry, Member, ModelEntry, Package, Role, Unsupported,
    UserModel, Wheel,
};
pub use error::{Error, Result};
pub use hash::{HashingWriter, Sha256};
pub use kind::Kind;
pub use manifest::{MANIFEST, Manifest, ManifestFile, Origin};
pub use place::models_dir;
pub use platform::Platform;
pub use staging::{StagedFile, Staging};
pub use store::{Listing, Placing, State, Store, StoreLock};
