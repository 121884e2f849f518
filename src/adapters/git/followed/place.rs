//! Where the path of a followed directory leads now.
//!
//! In: a path. Out: a [`Place`], which differs from an earlier one when a link was exchanged or a directory
//! replaced. It does not know what is in the files.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::adapters::git::directory::enclosing_repository;

/// The link that Kubernetes exchanges in a mounted ConfigMap.
const DATA: &str = "..data";

/// How a directory gets new content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Update {
    /// A link is exchanged for one to the worktree of this commit, as git-sync does.
    Commit(String),
    /// A link in the directory is exchanged, as in a mounted ConfigMap.
    Data,
    /// Its files are written one by one.
    InPlace,
}

/// What a path leads to now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The top of the checkout, from which paths of files count.
    pub(super) root: PathBuf,
    /// The directory itself, inside of that.
    pub(super) at: PathBuf,
    pub(super) update: Update,
    /// A directory that was deleted and made again is another one.
    inodes: [(u64, u64); 2],
}

impl Place {
    /// What `path` leads to.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let data = path.join(DATA);
        let at = match is_link(&data) {
            true => fs::canonicalize(&data)?,
            false => fs::canonicalize(path)?,
        };
        if !fs::metadata(&at)?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        let (root, update) = match worktree(path, &at) {
            _ if is_link(&data) => (at.clone(), Update::Data),
            Some((root, commit)) => (root, Update::Commit(commit)),
            None => {
                let root = enclosing_repository(&at).unwrap_or(&at).to_owned();
                (root, Update::InPlace)
            }
        };
        let inode = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
        Ok(Self {
            inodes: [inode(&root)?, inode(&at)?],
            root,
            at,
            update,
        })
    }

    /// Whether all of it is exchanged at once: its files never change.
    pub(super) fn is_exchanged(&self) -> bool {
        self.update != Update::InPlace
    }

    /// Where `part` of it is, if that is a directory in the same checkout.
    pub(super) fn part(&self, part: &str) -> io::Result<Option<PathBuf>> {
        let real = fs::canonicalize(self.at.join(part))?;
        Ok(Some(real).filter(|real| real.starts_with(&self.root) && real.is_dir()))
    }
}

/// The worktree around `at` that a link on the way of `path` leads to, and the commit that it is named after.
fn worktree(path: &Path, at: &Path) -> Option<(PathBuf, String)> {
    let targets: Vec<PathBuf> = links(path)
        .filter_map(|link| fs::canonicalize(link).ok())
        .collect();
    let mut above = at.ancestors();
    let root =
        above.find(|above| commit(above).is_some() && targets.iter().any(|to| to == above))?;
    Some((root.to_owned(), commit(root)?))
}

/// The links on the way of `path`, the last first.
pub(super) fn links(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().filter(|path| is_link(path))
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.is_symlink())
}

/// The commit that a directory is named after, as the worktrees of git-sync are.
fn commit(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (matches!(name.len(), 40 | 64) && name.bytes().all(is_digit)).then(|| name.to_owned())
}

/// The link to a worktree that git-sync keeps in `directory`, if that is its root.
pub(super) fn link_in(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    let mut links = entries
        .map(|entry| entry.path())
        .filter(|path| is_link(path));
    links.find(|link| fs::canonicalize(link).is_ok_and(|to| commit(&to).is_some()))
}
