//! A model's folder while it is being written: aside, checked, then renamed into place.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::hash::HashingWriter;
use crate::manifest::{MANIFEST, Manifest, ManifestFile};
use crate::{Error, Result, Sha256, Store, StoreLock};

/// Folder for unfinished work inside the models directory; ids cannot start with a dot.
pub(crate) const INCOMING: &str = ".incoming";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder that becomes a model by [`Staging::commit`], or vanishes when dropped.
#[derive(Debug)]
pub struct Staging {
    folder: PathBuf,
}

impl Staging {
    /// An empty folder on the same file system as the models. The lock shows that nobody else is at work here.
    ///
    /// # Errors
    /// When the models directory cannot be written.
    pub fn new(lock: &StoreLock) -> Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = lock.root().join(INCOMING).join(format!("{}-{number}", std::process::id()));
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|e| Error::io("clear", &folder, e))?;
        }
        fs::create_dir_all(&folder).map_err(|e| Error::io("create", &folder, e))?;
        Ok(Self { folder })
    }

    /// Where the files are being written.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens the new file `name`, which may become at most `limit` bytes long.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn begin(&self, name: &str, limit: u64) -> Result<StagedFile> {
        let path = self.folder.join(name);
        let file = File::create(&path).map_err(|e| Error::io("write", &path, e))?;
        Ok(StagedFile { path, writer: HashingWriter::new(file), left: limit, limit })
    }

    /// Takes over a finished file from elsewhere, without copying where the file system allows.
    ///
    /// # Errors
    /// When it can neither be linked nor copied.
    pub fn keep(&self, name: &str, from: &Path) -> Result<()> {
        let to = self.folder.join(name);
        if fs::hard_link(from, &to).is_err() {
            fs::copy(from, &to).map_err(|e| Error::io("copy", from, e))?;
            sync(&to)?;
        }
        Ok(())
    }

    /// Writes the manifest and puts the folder in place of whatever had that id before.
    ///
    /// # Errors
    /// When the system refuses; the former folder is then still or again in place.
    pub fn commit(self, store: &Store, manifest: &Manifest) -> Result<()> {
        write_manifest(&self.folder, manifest)?;
        sync(&self.folder)?;
        let target = store.folder(&manifest.id);
        let former = self.folder.with_extension("former");
        let replaced = match fs::rename(&target, &former) {
            Ok(()) => true,
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            Err(e) => return Err(Error::io("replace", &target, e)),
        };
        if let Err(e) = fs::rename(&self.folder, &target) {
            if replaced {
                // Best effort: the error that is reported is the one that matters.
                let _ = fs::rename(&former, &target);
            }
            return Err(Error::io("put in place", &target, e));
        }
        sync(store.root())?;
        if replaced {
            fs::remove_dir_all(&former).map_err(|e| Error::io("remove", &former, e))?;
        }
        Ok(())
    }

    /// Moves one finished file into a model that is already in place, and records it there.
    ///
    /// # Errors
    /// When the system refuses; a file that is not recorded is not handed out.
    pub fn commit_file(self, store: &Store, manifest: &mut Manifest, file: ManifestFile) -> Result<()> {
        let folder = store.folder(&manifest.id);
        let (from, to) = (self.folder.join(&file.name), folder.join(&file.name));
        sync(&from)?;
        fs::rename(&from, &to).map_err(|e| Error::io("put in place", &to, e))?;
        manifest.files.retain(|known| known.name != file.name);
        manifest.files.push(file);
        write_manifest(&self.folder, manifest)?;
        let to = folder.join(MANIFEST);
        fs::rename(self.folder.join(MANIFEST), &to).map_err(|e| Error::io("put in place", &to, e))?;
        sync(&folder)
    }
}

/// A file being written into a [`Staging`] folder.
pub struct StagedFile {
    path: PathBuf,
    writer: HashingWriter<File>,
    left: u64,
    limit: u64,
}

impl StagedFile {
    /// Appends all of `content`, which came from `from`. Whatever a source claims, no more is written than the limit.
    ///
    /// # Errors
    /// When reading or writing fails, or there is more than the limit.
    pub fn append(&mut self, content: &mut dyn Read, from: &Path) -> Result<()> {
        let mut buffer = vec![0; 1 << 20];
        loop {
            let n = match content.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(Error::io("read", from, e)),
            };
            self.left = self.left.checked_sub(n as u64).ok_or_else(|| Error::Mismatch {
                path: self.path.clone(),
                problem: format!("there are more than {} bytes of it", self.limit),
            })?;
            self.writer.write_all(&buffer[..n]).map_err(|e| Error::io("write", &self.path, e))?;
        }
    }

    /// Brings the file through to the disk; its size and digest.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn finish(self) -> Result<(u64, Sha256)> {
        let (file, size, sha256) = self.writer.finish();
        file.sync_all().map_err(|e| Error::io("write", &self.path, e))?;
        Ok((size, sha256))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // After a commit there is nothing left; after a failure, what cannot be removed now is cleared by the next lock.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn write_manifest(folder: &Path, manifest: &Manifest) -> Result<()> {
    let path = folder.join(MANIFEST);
    let text = serde_json::to_string_pretty(manifest).map_err(|e| Error::io("write", &path, e.into()))?;
    fs::write(&path, text).map_err(|e| Error::io("write", &path, e))?;
    sync(&path)
}

/// Makes sure a file's bytes, or a folder's names, are on the disk before anything relies on them.
pub(crate) fn sync(path: &Path) -> Result<()> {
    if cfg!(windows) && path.is_dir() {
        // Windows cannot flush a folder; its journal keeps the order of renames.
        return Ok(());
    }
    File::open(path).and_then(|file| file.sync_all()).map_err(|e| Error::io("write", path, e))
}
