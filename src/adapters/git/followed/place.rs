//! Where the path of a followed directory leads now.
//!
//! In: a path. Out: a [`Place`], which differs from an earlier one when a link was exchanged or a directory
//! replaced. It does not know what is in the files.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::way::{Checkout, Way, commit, is_link};

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
    /// The links on the way.
    pub(super) links: Vec<PathBuf>,
    /// A directory that was deleted and made again is another one.
    inodes: [(u64, u64); 2],
}

impl Place {
    /// What `path` leads to.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let way = Way::of(path)?;
        let data = way.at.join(DATA);
        // A commit may contain a link of that name.
        let is_mount = way.checkout.is_none() && is_link(&data);
        let at = match is_mount {
            true => inner(&way.at, &data)?,
            false => way.at,
        };
        if !fs::metadata(&at)?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        let (root, update) = match way.checkout {
            Some(Checkout {
                root,
                commit: Some(commit),
            }) => (root, Update::Commit(commit)),
            Some(checkout) => (checkout.root, Update::InPlace),
            None if is_mount => (at.clone(), Update::Data),
            None => (at.clone(), Update::InPlace),
        };
        let inode = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
        Ok(Self {
            inodes: [inode(&root)?, inode(&at)?],
            root,
            at,
            update,
            links: way.links,
        })
    }

    /// Whether all of it is exchanged at once: its files never change.
    pub(super) fn is_exchanged(&self) -> bool {
        self.update != Update::InPlace
    }

    /// Where `part` of it is, a directory in the same checkout.
    pub(super) fn part(&self, part: &str) -> io::Result<PathBuf> {
        let real = fs::canonicalize(self.at.join(part))?;
        match real.starts_with(&self.root) {
            true if real.is_dir() => Ok(real),
            true => Err(io::Error::from(io::ErrorKind::NotADirectory)),
            false => Err(leaving(&real, &self.root)),
        }
    }
}

/// Where a link in `directory` leads: to a directory beside it, as Kubernetes makes it.
fn inner(directory: &Path, link: &Path) -> io::Result<PathBuf> {
    let at = fs::canonicalize(link)?;
    match at.parent() == Some(directory) {
        true => Ok(at),
        false => Err(leaving(&at, directory)),
    }
}

fn leaving(at: &Path, root: &Path) -> io::Error {
    let (at, root) = (at.display(), root.display());
    io::Error::other(format!("it leads to {at}, out of {root}"))
}

/// The link to a worktree that git-sync keeps in `directory`, if that is its root.
pub(super) fn link_in(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    let mut links = entries
        .map(|entry| entry.path())
        .filter(|path| is_link(path));
    links.find(|link| fs::canonicalize(link).is_ok_and(|to| commit(&to).is_some()))
}
