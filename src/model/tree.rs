//! An immutable snapshot of files at one revision.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A file of the tree that could not be taken in, and why. The file's text is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is larger than the limit; its size in bytes.
    TooLarge(u64),
    /// It is a link that leads out of the tree, or nowhere.
    LinkLeavesTree,
    /// It could not be read; what the system said.
    Unreadable(String),
    /// The tree holds more files than this many; this is the first that was left out.
    TooManyFiles(usize),
}

/// The files of a fleet at one revision. Paths are relative to the repository root, `/`-separated;
/// only `*.yaml`, `*.yml` and `*.json` that `.capstanignore` leaves in are here.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// What the files are called together: a commit id, or empty for a directory.
    pub revision: String,
    /// Text by path, in order.
    pub files: BTreeMap<Arc<str>, Arc<[u8]>>,
    /// What was left out, and why.
    pub problems: BTreeMap<Arc<str>, Problem>,
}

impl Tree {
    /// The most bytes one file may have (DESIGN §3, limits): 1 MiB.
    pub const MAX_FILE_BYTES: u64 = 1 << 20;
    /// The most files a tree may have: 20,000.
    pub const MAX_FILES: usize = 20_000;

    /// Whether a file of this name is read at all.
    #[must_use]
    pub fn reads(path: &str) -> bool {
        [".yaml", ".yml", ".json"]
            .iter()
            .any(|ending| path.ends_with(ending))
    }
}
