//! An immutable snapshot of files at one revision.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A file of the tree that was not read, and why. Its text is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is larger than the limit; its size in bytes.
    TooLarge(u64),
    /// It is a symbolic link that is broken or leads out of the tree.
    LinkLeavesTree,
    /// It could not be read, with the system's error.
    Unreadable(String),
    /// The tree has more files than this many; this is the first that was left out.
    TooManyFiles(usize),
    /// Its suffix is in upper case, as in `.YAML`.
    UpperCase,
}

/// The files of a fleet at one revision. Paths are relative to the repository root and separated by `/`.
/// Only `*.yaml`, `*.yml` and `*.json` files that `.capstanignore` does not exclude are included.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The revision: a commit id, or empty for a directory.
    pub revision: String,
    /// Text by path, in order.
    pub files: BTreeMap<Arc<str>, Arc<[u8]>>,
    /// The files that were left out, and why.
    pub problems: BTreeMap<Arc<str>, Problem>,
}

impl Tree {
    /// The most bytes one file may have (DESIGN §3, limits): 1 MiB.
    pub const MAX_FILE_BYTES: u64 = 1 << 20;
    /// The most files a tree may have: 20,000.
    pub const MAX_FILES: usize = 20_000;

    /// Whether files of this name are read at all.
    #[must_use]
    pub fn reads(path: &str) -> bool {
        [".yaml", ".yml", ".json"]
            .iter()
            .any(|ending| path.ends_with(ending))
    }
}
