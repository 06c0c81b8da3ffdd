//! The user's own models: recognised, copied or linked aside, recorded, then put in place.

#[cfg(not(unix))]
use std::fs;
use std::fs::File;
use std::path::Path;

use crate::catalogue::is_plain_name;
use crate::manifest::{Manifest, ManifestFile, Origin};
use crate::{Error, Result, Sha256, Staging, Store, kind};

/// Whether a user's file is copied into the models directory or stays where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placing {
    /// The store has a file of its own; the original may go.
    #[default]
    Copy,
    /// The store points at the original, which must stay as it is.
    Link,
}

impl Store {
    /// Adds the model at `path` (a GGUF file, a directory of MNN or safetensors files, a Piper voice, a ggml Whisper model) and returns
    /// its id, which is made from its name. `from` says where it came from, if not from `path`.
    ///
    /// # Errors
    /// When it is none of these, its id is taken, or it cannot be copied.
    pub fn add(
        &self,
        path: &Path,
        placing: Placing,
        from: Option<&str>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<String> {
        let path = path.canonicalize().map_err(|e| Error::io("read", path, e))?;
        let (kind, files) = kind::detect(&path)?;
        let id = id_for(&path)?;
        if self.catalogue().model(&id).is_some() || self.folder(&id).exists() {
            return Err(Error::Exists { id });
        }
        let lock = self.lock()?;
        let staging = Staging::new(&lock)?;
        let mut recorded = Vec::new();
        for file in files {
            let Some(name) = file.file_name().and_then(|name| name.to_str()).filter(|name| is_file_name(name)) else {
                return Err(Error::NotAModel {
                    path: file,
                    problem: "its name has characters other than letters, digits, dot, dash, underscore".into(),
                });
            };
            let (size, sha256) = match placing {
                Placing::Copy => {
                    let mut source =
                        Watched { inner: File::open(&file).map_err(|e| Error::io("read", &file, e))?, progress };
                    let mut copy = staging.begin(name, u64::MAX)?;
                    copy.append(&mut source, &file)?;
                    copy.finish()?
                }
                Placing::Link => {
                    let to = staging.folder().join(name);
                    link(&file, &to).map_err(|e| Error::io("link", &file, e))?;
                    Sha256::of_file(&to, progress)?
                }
            };
            recorded.push(ManifestFile { name: name.into(), size, sha256, recipe: None });
        }
        let manifest = Manifest {
            id: id.clone(),
            role: kind.role(),
            origin: Origin::User,
            kind: Some(kind),
            from: Some(from.map_or_else(|| path.display().to_string(), str::to_owned)),
            files: recorded,
        };
        staging.commit(self, &manifest)?;
        Ok(id)
    }
}

/// The file's or directory's name in lower case, without the ending, with dashes for what an id cannot have.
fn id_for(path: &Path) -> Result<String> {
    let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
    let id: String = name
        .unwrap_or_default()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let id = id.trim_matches(['-', '.', '_']).to_owned();
    if is_plain_name(&id) {
        return Ok(id);
    }
    Err(Error::NotAModel {
        path: path.to_owned(),
        problem: "no id can be made from its name; give it a name of letters and digits".into(),
    })
}

fn is_file_name(name: &str) -> bool {
    is_plain_name(name) && name != crate::MANIFEST
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

/// Symbolic links need a privilege on Windows; hard links do not, but stay on one drive.
#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::hard_link(from, to)
}

/// A file that tells how much of it has been read.
struct Watched<'a> {
    inner: File,
    progress: &'a mut dyn FnMut(u64),
}

impl std::io::Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        (self.progress)(n as u64);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::id_for;
    use std::path::Path;

    #[test]
    fn ids_come_from_names() {
        for (path, id) in [
            ("/x/MNN-Pocket-0.3B-Q4_K.gguf", Some("mnn-pocket-0.3b-q4_k")),
            ("/x/My model (1).gguf", Some("my-model--1")),
            ("/x/..gguf", None),
            ("/x/模型.gguf", None),
        ] {
            assert_eq!(id_for(Path::new(path)).ok().as_deref(), id, "{path}");
        }
    }
}
