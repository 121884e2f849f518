//! Whether anything in a directory was touched between two looks at it.
//!
//! In: directories. Out: a digest of when the file system last changed each file and directory below them. It reads no
//! file. Content alone does not tell: a file may be away at each of two looks, and there in between.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// What this gives twice was not touched in between. What is gone meanwhile does not count.
pub(super) fn touched(directories: &[PathBuf]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut left = directories.to_vec();
    while let Some(path) = left.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        (&path, metadata.ino(), changed).hash(&mut hasher);
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            // What git writes for itself is no change of a checkout.
            let entries = entries.filter(|entry| entry.file_name() != ".git");
            let mut below: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            below.sort();
            left.append(&mut below);
        }
    }
    hasher.finish()
}
