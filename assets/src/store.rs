//! The models directory: what is there, whether it is whole, and the user's own additions.

mod add;
mod list;
mod lock;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalogue::{Catalogue, DEFAULT_PROFILE, ModelEntry};
use crate::manifest::{Manifest, ManifestFile};
use crate::{Error, Kind, Platform, Result, Sha256, place};

pub use add::Placing;
pub use list::Listing;
pub use lock::StoreLock;

/// How a model stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Nothing of it is there.
    Missing,
    /// All of it is there.
    Whole,
    /// These files are still to be made or fetched; the others can be used.
    Incomplete(Vec<String>),
    /// These things are wrong.
    Damaged(Vec<String>),
    /// This machine cannot have it, and why.
    Unsupported(String),
}

/// The models directory.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    catalogue: Arc<Catalogue>,
    platform: Platform,
}

impl Store {
    /// The user's models directory: `POCKET_VOICE_MODELS`, else `pocket-voice/models` in the data directory.
    /// It need not exist yet.
    ///
    /// # Errors
    /// When there is no home directory to put it in.
    pub fn open() -> Result<Self> {
        Ok(Self::new(place::models_dir()?, Catalogue::built_in()?))
    }

    /// A models directory elsewhere, with a catalogue of one's own.
    #[must_use]
    pub fn new(root: PathBuf, catalogue: Catalogue) -> Self {
        Self { root, catalogue: Arc::new(catalogue), platform: Platform::current() }
    }

    /// The models directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The catalogue in use.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The platform that files are chosen for.
    #[must_use]
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The folder that model `id` has or would have.
    #[must_use]
    pub fn folder(&self, id: &str) -> PathBuf {
        self.root.join(id)
    }

    /// The command that brings or mends model `id`.
    #[must_use]
    pub fn command_for(&self, id: &str) -> String {
        match self.catalogue.model(id) {
            Some(model) if model.profiles.iter().any(|name| name == DEFAULT_PROFILE) => {
                "pocket-voice models fetch".into()
            }
            Some(_) => format!("pocket-voice models fetch {id}"),
            None => "pocket-voice models add PATH".into(),
        }
    }

    /// The file `name` of model `id`, after a look at its size.
    ///
    /// # Errors
    /// When the model or file is unknown, absent, or of another size than recorded: the message names the command that
    /// mends it.
    pub fn file(&self, id: &str, name: &str) -> Result<PathBuf> {
        let manifest = self.require(id)?;
        let command = self.command_for(id);
        let path = self.folder(id).join(name);
        let Some(file) = manifest.file(name) else {
            let derived = |model: &ModelEntry| model.derived.iter().any(|derived| derived.name == name);
            let listed = |model: &ModelEntry| model.files_for(&self.platform).any(|file| file.name == name);
            return Err(match self.catalogue.model(id) {
                Some(model) if derived(model) => Error::Damaged {
                    path,
                    problem: "it has not been made from the downloaded files yet".into(),
                    command,
                },
                Some(model) if listed(model) => Error::Damaged {
                    path,
                    problem: "it was not part of the model when that was fetched".into(),
                    command,
                },
                _ => Error::UnknownFile { id: id.into(), name: name.into(), known: names(&manifest) },
            });
        };
        match quick_problem(&path, file) {
            None => Ok(path),
            Some(problem) => Err(Error::Damaged { path, problem, command }),
        }
    }

    /// What to open language model `id` by: its GGUF file, or its folder where it is a directory of several files.
    ///
    /// # Errors
    /// As [`Store::file`], for each of its files.
    pub fn language_model(&self, id: &str) -> Result<PathBuf> {
        let manifest = self.require(id)?;
        if manifest.kind.is_some_and(Kind::is_folder) {
            for file in &manifest.files {
                self.file(id, &file.name)?;
            }
            return Ok(self.folder(id));
        }
        let gguf = manifest.files.iter().find(|file| file.name.ends_with(".gguf"));
        self.file(id, gguf.map_or("a .gguf file", |file| &file.name))
    }

    /// The ONNX Runtime library for this platform.
    ///
    /// # Errors
    /// As [`Store::file`], and when ONNX Runtime is not built for this platform.
    pub fn onnxruntime(&self) -> Result<PathBuf> {
        const ID: &str = "onnxruntime";
        let model = self.catalogue.model(ID).ok_or_else(|| Error::UnknownModel { id: ID.into() })?;
        self.check_supported(model)?;
        let is_library = |name: &str| [".so", ".dylib", ".dll"].iter().any(|ending| name.contains(ending));
        let library = model.files_for(&self.platform).find(|file| is_library(&file.name));
        let name = library.map_or("the library", |file| &file.name);
        self.file(ID, name)
    }

    /// What is recorded about model `id`; `None` when it is not there.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn manifest(&self, id: &str) -> Result<Option<Manifest>> {
        if !crate::catalogue::is_plain_name(id) {
            return Err(Error::UnknownModel { id: id.into() });
        }
        Manifest::read(&self.folder(id))
    }

    /// How model `id` stands, by names and sizes.
    ///
    /// # Errors
    /// When the id is unknown.
    pub fn state(&self, id: &str) -> Result<State> {
        self.examine(id, &mut quick_problem)
    }

    /// How model `id` stands, by reading and hashing every file; `progress` is told the bytes of each step.
    ///
    /// # Errors
    /// When the id is unknown.
    pub fn verify(&self, id: &str, progress: &mut dyn FnMut(u64)) -> Result<State> {
        self.examine(id, &mut |path, file| {
            quick_problem(path, file).or_else(|| match Sha256::of_file(path, progress) {
                Ok((_, found)) if found == file.sha256 => None,
                Ok((_, found)) => Some(format!("its SHA-256 is {found}, not {}", file.sha256)),
                Err(e) => Some(e.to_string()),
            })
        })
    }

    /// Removes model `id` from the models directory.
    ///
    /// # Errors
    /// When it is not there, another process is at work, or the system refuses.
    pub fn remove(&self, id: &str) -> Result<()> {
        let known = self.catalogue.model(id).is_some();
        let folder = self.folder(id);
        if !crate::catalogue::is_plain_name(id) || (!known && !folder.is_dir()) {
            return Err(Error::UnknownModel { id: id.into() });
        }
        if !folder.exists() {
            return Err(Error::Missing { id: id.into(), root: self.root.clone(), command: self.command_for(id) });
        }
        let lock = self.lock()?;
        // Out of sight in one step, so that nobody finds half of it.
        let aside = crate::Staging::new(&lock)?;
        let doomed = aside.folder().join(id);
        fs::rename(&folder, &doomed).map_err(|e| Error::io("remove", &folder, e))?;
        fs::remove_dir_all(&doomed).map_err(|e| Error::io("remove", &folder, e))
    }

    fn require(&self, id: &str) -> Result<Manifest> {
        if let Some(model) = self.catalogue.model(id) {
            self.check_supported(model)?;
        }
        match self.manifest(id)? {
            Some(manifest) => Ok(manifest),
            None if self.catalogue.model(id).is_some() => {
                Err(Error::Missing { id: id.into(), root: self.root.clone(), command: self.command_for(id) })
            }
            None => Err(Error::UnknownModel { id: id.into() }),
        }
    }

    fn check_supported(&self, model: &ModelEntry) -> Result<()> {
        match model.unsupported_reason(&self.platform) {
            None => Ok(()),
            Some(reason) => {
                Err(Error::Unsupported { id: model.id.clone(), platform: self.platform.to_string(), reason })
            }
        }
    }

    /// Goes through every file that should be there, and asks `problem_of` about each that is recorded.
    fn examine(&self, id: &str, problem_of: &mut dyn FnMut(&Path, &ManifestFile) -> Option<String>) -> Result<State> {
        let model = self.catalogue.model(id);
        if let Some(reason) = model.and_then(|model| model.unsupported_reason(&self.platform)) {
            return Ok(State::Unsupported(reason));
        }
        let manifest = match self.manifest(id) {
            Ok(Some(manifest)) => manifest,
            Ok(None) if model.is_some() => return Ok(State::Missing),
            Ok(None) => return Err(Error::UnknownModel { id: id.into() }),
            Err(e @ Error::UnknownModel { .. }) => return Err(e),
            Err(e) => return Ok(State::Damaged(vec![e.to_string()])),
        };
        let mut problems = Vec::new();
        let mut absent = Vec::new();
        if let Some(model) = model {
            for file in model.files_for(&self.platform) {
                match manifest.file(&file.name) {
                    Some(known) if known.sha256 == file.sha256 => {}
                    Some(_) => problems.push(format!("{}: it is another version than the catalogue's", file.name)),
                    None => absent.push(file.name.clone()),
                }
            }
            for derived in &model.derived {
                let current = manifest.file(&derived.name).is_some_and(|known| {
                    known.recipe.as_ref() == Some(&derived.recipe)
                        && derived.sha256.is_none_or(|pinned| pinned == known.sha256)
                });
                if !current {
                    absent.push(derived.name.clone());
                }
            }
        }
        for file in &manifest.files {
            if let Some(problem) = problem_of(&self.folder(id).join(&file.name), file) {
                problems.push(format!("{}: {problem}", file.name));
            }
        }
        Ok(match (problems.is_empty(), absent.is_empty()) {
            (false, _) => State::Damaged(problems),
            (true, false) => State::Incomplete(absent),
            (true, true) => State::Whole,
        })
    }
}

/// What a glance at a file shows to be wrong with it.
fn quick_problem(path: &Path, file: &ManifestFile) -> Option<String> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Some("it is no file".into()),
        Ok(found) if found.len() != file.size => Some(format!("it has {} bytes, not {}", found.len(), file.size)),
        Ok(_) => None,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Some("it is missing".into()),
        Err(e) => Some(e.to_string()),
    }
}

fn names(manifest: &Manifest) -> String {
    let names: Vec<&str> = manifest.files.iter().map(|file| file.name.as_str()).collect();
    names.join(", ")
}
