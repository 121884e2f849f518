//! The directory a mirror lives in: one process at a time, and nothing half-written.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use crate::adapters::git::Error;

/// Takes the directory for this process alone, until it ends or lets go.
pub(in crate::adapters::git) fn lock(dir: &Path) -> Result<File, Error> {
    let path = dir.join("lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|cause| Error::disk(&path, &cause))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Busy { dir: dir.into() }),
        Err(TryLockError::Error(cause)) => Err(Error::disk(&path, &cause)),
    }
}

/// Removes a directory, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::disk(path, &cause))
        }
        _ => Ok(()),
    }
}

/// Moves a directory, if it is there.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    match fs::rename(from, to) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::disk(from, &cause))
        }
        _ => Ok(()),
    }
}

/// Removes the locks and half-written files of a process that was killed. Nobody else works here.
pub(super) fn sweep(path: &Path) -> Result<(), Error> {
    let failed = |cause| Error::disk(path, &cause);
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type().map_err(failed)?.is_dir() {
            sweep(&entry.path())?;
        } else if name.ends_with(".lock") || name.contains("_git2_") {
            fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}
