//! The commit that a directory has checked out, if it is a clone that git itself updates, and whether git is done.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use crate::adapters::git::Error;
use crate::adapters::git::commit_object::{CommitObject, Peeled, peel};
use crate::adapters::git::history::{Commit, first_parents};
use crate::adapters::git::mentions::{self, MOST_COMMITS};
use crate::adapters::git::objects::Objects;
use crate::model::Tree;

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
        let at = repository.head().ok()?.target()?;
        let Peeled::Commit(commit) = peel(&repository.odb().ok()?, at).ok()? else {
            return None;
        };
        let is_clean = |(part, tree): (&String, &Tree)| {
            let objects = Objects::at(&repository, commit.tree, part).ok()??;
            let there = objects.read("").ok()?;
            Some(there.files == tree.files && there.problems == tree.problems)
        };
        let mut parts = parts.iter().zip(trees);
        Some(Self {
            is_clean: parts.all(|part| is_clean(part) == Some(true)),
            id: commit.id.to_string(),
            title: commit.title(),
        })
    }
}

/// Why the files of the checkout at `root` do not count yet: git is writing them, or stopped before their end, as is seen
/// of one that `is_exchanged`. `None` also where there is no repository to see.
pub(super) fn at_work(root: &Path, is_exchanged: bool) -> Option<String> {
    let (at, is_worktree) = repository(root)?;
    let (lock, index) = (at.join("index.lock"), at.join("index"));
    if lock.exists() {
        let lock = lock.display();
        return Some(format!("git is at work in it; if not, delete {lock}"));
    }
    // Git writes it after the files. Others may make a checkout without one, git-sync does not.
    let is_missing = is_worktree && is_exchanged && !index.exists();
    is_missing.then(|| {
        let index = index.display();
        format!("git has not checked out all files yet: there is no {index}")
    })
}

/// What git knows of the checkout at `root`, and whether that is a worktree: it leads there by a file, which no commit
/// can contain.
fn repository(root: &Path) -> Option<(PathBuf, bool)> {
    let at = root.join(".git");
    if at.is_dir() {
        return Some((at, false));
    }
    let text = fs::read_to_string(at).ok()?;
    let named = root.join(text.strip_prefix("gitdir: ")?.trim_end());
    named.is_dir().then_some((named, true))
}

/// The commits from `to` back along first parents, up to the first that is `from` or leads to it, as far as the clone at
/// `root` has them.
pub(super) fn line(
    root: &Path,
    from: Option<&str>,
    to: &str,
    limit: usize,
) -> Result<Vec<Commit>, Error> {
    let Some((repository, to)) = open(root).zip(Oid::from_str(to).ok()) else {
        return Ok(Vec::new());
    };
    let read = || {
        let odb = repository.odb()?;
        let is_here = |id: &Oid| matches!(CommitObject::read(&odb, *id), Ok(Some(_)));
        let from = from.and_then(|from| Oid::from_str(from).ok());
        let from = from.filter(is_here);
        if !is_here(&to) {
            return Ok(Vec::new());
        }
        // Of a clone without history, only the newest commit counts.
        let limit = from.map_or(1, |_| limit);
        let line = first_parents(&repository, from, to, limit)?.into_iter();
        let commits = line.map(|id| Ok(CommitObject::read(&odb, id)?.as_ref().map(Commit::from)));
        commits.filter_map(Result::transpose).collect()
    };
    read().map_err(|cause: git2::Error| Error::damaged(&repository, &cause))
}

/// For each of `words` that a commit after `from`, on the way from `to` back along first parents, writes into a file of the
/// clone at `root`, the newest such commit.
pub(super) fn written(
    root: &Path,
    from: &str,
    to: &str,
    words: &BTreeSet<String>,
) -> Result<BTreeMap<String, String>, Error> {
    let Some(repository) = open(root) else {
        return Ok(BTreeMap::new());
    };
    let read = || {
        let (from, to) = (Oid::from_str(from)?, Oid::from_str(to)?);
        let line = first_parents(&repository, Some(from), to, MOST_COMMITS)?;
        mentions::written(&repository, &line, words)
    };
    let found = read().map_err(|cause| Error::damaged(&repository, &cause))?;
    let named = found.into_iter().map(|(word, id)| (word, id.to_string()));
    Ok(named.collect())
}

/// The message of a commit of the clone at `root`, if it has that.
pub(super) fn message(root: &Path, commit: &str) -> Option<String> {
    let (repository, id) = open(root).zip(Oid::from_str(commit).ok())?;
    let commit = CommitObject::read(&repository.odb().ok()?, id).ok()??;
    Some(commit.text())
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
