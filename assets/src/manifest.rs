//! `manifest.json`: what lies in a model's folder, and proof that the folder is finished.

use std::fs;
use std::path::Path;

use crate::{Error, Kind, Result, Role, Sha256};

/// File name of the manifest in a model's folder.
pub const MANIFEST: &str = "manifest.json";

/// A manifest larger than this was not written by us.
const MAX_BYTES: u64 = 1 << 20;

/// Who brought a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Fetched by the catalogue.
    Catalogue,
    /// Added by the user.
    User,
}

/// A file as it was when it was installed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ManifestFile {
    /// Name in the model's folder.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// SHA-256.
    pub sha256: Sha256,
    /// The conversion that made it, for a derived file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
}

/// The folder's contents.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Manifest {
    /// Name of the folder.
    pub id: String,
    /// What it is for.
    pub role: Role,
    /// Who brought it.
    pub origin: Origin,
    /// What the user's file turned out to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Where the user's file came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What it consists of.
    pub files: Vec<ManifestFile>,
}

impl Manifest {
    /// The manifest in `folder`; `None` when there is none, so that the folder counts as absent.
    ///
    /// # Errors
    /// When there is one that cannot be read.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(MANIFEST);
        let failed = |e| Error::io("read", &path, e);
        let size = match fs::metadata(&path) {
            Ok(metadata) => metadata.len(),
            Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(e) => return Err(failed(e)),
        };
        let damaged = |problem: String| Error::Damaged {
            path: path.clone(),
            problem,
            command: "pocket-voice models fetch".into(),
        };
        if size > MAX_BYTES {
            return Err(damaged(format!("{size} bytes are too many for a manifest")));
        }
        let bytes = fs::read(&path).map_err(failed)?;
        serde_json::from_slice(&bytes).map(Some).map_err(|e| damaged(e.to_string()))
    }

    /// The recorded file called `name`.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&ManifestFile> {
        self.files.iter().find(|file| file.name == name)
    }

    /// Bytes of all files.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}
