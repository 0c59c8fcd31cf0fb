//! Who works on an output.

use std::fs::{self, File};
use std::path::Path;

use super::{OutputError, write_error};

/// Keeps others from planning or finishing the same output; gone with its owner, however it ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock at `path`; `None` where somebody has it.
    ///
    /// # Errors
    /// [`OutputError::Write`] where the lock's file cannot be made.
    pub fn take(path: &Path) -> Result<Option<Self>, OutputError> {
        Self::by(path, File::try_lock)
    }

    /// Takes the lock at `path` together with others that share it; `None` where somebody has it
    /// alone.
    ///
    /// # Errors
    /// [`OutputError::Write`] where the lock's file cannot be made.
    pub fn share(path: &Path) -> Result<Option<Self>, OutputError> {
        Self::by(path, File::try_lock_shared)
    }

    fn by(
        path: &Path,
        lock: impl FnOnce(&File) -> Result<(), fs::TryLockError>,
    ) -> Result<Option<Self>, OutputError> {
        let failed = |e| write_error("lock", path, e);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let file = File::create(path).map_err(failed)?;
        match lock(&file) {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}
