//! The working copy that a directory belongs to.

use std::path::{Path, PathBuf};

use git2::Repository;

/// A working copy of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingCopy {
    /// Its top directory.
    pub root: PathBuf,
    /// The address of the remote `origin`, if there is one.
    pub origin: Option<String>,
}

impl WorkingCopy {
    /// The one around `path`, which exists.
    #[must_use]
    pub fn around(path: &Path) -> Option<Self> {
        let path = std::fs::canonicalize(path).ok()?;
        let repository = Repository::discover(path).ok()?;
        let root = std::fs::canonicalize(repository.workdir()?).ok()?;
        let remote = repository.find_remote("origin").ok();
        let origin = remote.and_then(|remote| remote.url().ok().map(str::to_owned));
        Some(Self { root, origin })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_directory_inside_knows_the_top_and_the_origin() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        assert_eq!(WorkingCopy::around(&inner), None);
        let repository = Repository::init(dir.path()).unwrap();
        let found = || WorkingCopy::around(&inner).unwrap();
        assert_eq!(found().root, dir.path().canonicalize().unwrap());
        assert_eq!(found().origin, None);
        repository
            .remote("origin", "https://github.com/a/b")
            .unwrap();
        assert_eq!(found().origin.as_deref(), Some("https://github.com/a/b"));
    }
}
