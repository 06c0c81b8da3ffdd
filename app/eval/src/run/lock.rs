//! One process a run folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::{Error, Result};

/// Held while a run is open; the system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "holding it is what it is for")] File);

impl Lock {
    /// Takes the lock.
    ///
    /// # Errors
    /// [`Error::Setting`] where another process has it.
    pub fn take(path: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(path).map_err(Error::io(path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(Error::setting("out", "another process is running in this folder")),
            Err(TryLockError::Error(e)) => Err(Error::io(path)(e)),
        }
    }
}
