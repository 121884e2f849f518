//! The commit that a directory has checked out, if it is a clone that git itself updates.

use std::path::Path;

use git2::{Oid, Repository};

use crate::adapters::git::Error;
use crate::adapters::git::history::{described, trailers, walk};
use crate::adapters::git::objects::Objects;
use crate::model::Tree;

/// What git holds while it writes files.
pub(super) const LOCK: &str = ".git/index.lock";

/// The commit that is checked out, and the first line of its message.
pub(super) struct Head {
    pub(super) id: String,
    pub(super) title: String,
    /// Whether the files are those of the commit.
    pub(super) is_clean: bool,
}

impl Head {
    /// The head of the clone at `root`, whose directories `parts` have the files in `trees`. `None` where there is no
    /// clone, or one of another user, which git refuses to read.
    pub(super) fn of(root: &Path, parts: &[String], trees: &[Tree]) -> Option<Self> {
        let repository = open(root)?;
        let commit = repository.head().ok()?.peel_to_commit().ok()?;
        let is_clean = |(part, tree): (&String, &Tree)| {
            let objects = Objects::at(&repository, commit.tree_id(), part).ok()??;
            let there = objects.read("").ok()?;
            Some(there.files == tree.files && there.problems == tree.problems)
        };
        let mut parts = parts.iter().zip(trees);
        Some(Self {
            is_clean: parts.all(|part| is_clean(part) == Some(true)),
            id: commit.id().to_string(),
            title: described(&commit).title,
        })
    }
}

/// Whether git is writing the files of the clone at `root`.
pub(super) fn is_locked(root: &Path) -> bool {
    root.join(LOCK).exists()
}

/// The values of the trailer `key` in the commits that lead to `to` and not to `from`, as far as the clone at `root`
/// has them.
pub(super) fn approving(
    root: &Path,
    from: Option<&str>,
    to: &str,
    limit: usize,
    key: &str,
) -> Result<Vec<String>, Error> {
    let Some((repository, to)) = open(root).zip(Oid::from_str(to).ok()) else {
        return Ok(Vec::new());
    };
    let damaged = |cause: git2::Error| Error::damaged(&repository, &cause);
    let from = from.and_then(|from| Oid::from_str(from).ok());
    let from = from.filter(|from| repository.find_commit(*from).is_ok());
    // Of a clone without history, only the newest commit counts.
    let limit = from.map_or(1, |_| limit);
    if repository.find_commit(to).is_err() {
        return Ok(Vec::new());
    }
    let mut values = Vec::new();
    for commit in walk(&repository, from, to, limit).map_err(damaged)? {
        let commit = Oid::from_str(&commit.id).and_then(|id| repository.find_commit(id));
        values.extend(trailers(&commit.map_err(damaged)?, key));
    }
    Ok(values)
}

/// Whether there is a clone at `root` that can be read.
pub(super) fn is_clone(root: &Path) -> bool {
    open(root).is_some()
}

/// The clone at `root`. A worktree, whose `.git` is a file, belongs to a repository elsewhere.
fn open(root: &Path) -> Option<Repository> {
    let is_clone = root.join(".git").is_dir();
    is_clone.then(|| Repository::open(root).ok()).flatten()
}
