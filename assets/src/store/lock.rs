//! One process at a time changes the models directory.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::staging::INCOMING;
use crate::{Error, Result, Store};

const LOCK: &str = ".lock";

/// Held while the models directory changes; readers need none. The system frees it when the process ends in any way.
#[derive(Debug)]
pub struct StoreLock {
    root: PathBuf,
    file: File,
}

impl StoreLock {
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        // Only an empty folder can be removed; what an unfinished step left is cleared by the next lock.
        let _ = fs::remove_dir(self.root.join(INCOMING));
        // Closing alone would keep the lock while a child that is just being started still has a copy of the handle.
        let _ = self.file.unlock();
    }
}

impl Store {
    /// Takes the lock, creating the models directory if need be, and clears what an earlier process left unfinished.
    ///
    /// # Errors
    /// When another process holds it, or the directory cannot be written.
    pub fn lock(&self) -> Result<StoreLock> {
        fs::create_dir_all(&self.root).map_err(|e| Error::io("create", &self.root, e))?;
        let path = self.root.join(LOCK);
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|e| Error::io("write", &path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked { root: self.root.clone() });
            }
            Err(TryLockError::Error(e)) => return Err(Error::io("lock", &path, e)),
        }
        let incoming = self.root.join(INCOMING);
        if incoming.exists() {
            fs::remove_dir_all(&incoming).map_err(|e| Error::io("clear", &incoming, e))?;
        }
        Ok(StoreLock { root: self.root.clone(), file })
    }
}
