//! The files of a fleet in the object database of a repository: no work tree is made.
//!
//! In: a repository, a git tree and the fleet's path in it. Out: a [`Tree`]. It does not know which
//! commit was asked for, nor whose repository this is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use git2::{Oid, Repository};

use super::Error;
use super::directories::{Directories, kind};
use super::walk::{Entry, Kind, Source, Taken, Target, collect};
use crate::model::{Problem, Tree};

/// How many links are followed from one, as in Linux.
const MAX_HOPS: usize = 40;
/// The most bytes the target of a link may have, as in Linux.
const MAX_TARGET_BYTES: usize = 4096;

/// The parts of a `/`-separated path.
fn parts(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
}

/// What was read of a file: its bytes, or its size if it was refused.
type Text = Result<Arc<[u8]>, usize>;

/// A fleet's files, found by object id.
pub(super) struct Objects<'r> {
    directories: Directories<'r>,
    /// The tree of the whole commit, in which links are resolved.
    root: Oid,
    /// The fleet's path in it.
    path: String,
    /// The tree at that path.
    fleet: Oid,
    /// The files that were read.
    texts: RefCell<HashMap<Oid, Text>>,
}

impl<'r> Objects<'r> {
    /// The files at `path` in the tree `root`; `None` if there is no such directory.
    pub(super) fn at(
        repository: &'r Repository,
        root: Oid,
        path: &str,
    ) -> Result<Option<Self>, Error> {
        let names: Vec<&[u8]> = parts(path.as_bytes()).collect();
        let mut objects = Self {
            directories: Directories::of(repository)?,
            root,
            path: String::from_utf8_lossy(&names.join(&b'/')).into_owned(),
            fleet: root,
            texts: RefCell::default(),
        };
        for name in names {
            match objects.directories.child(objects.fleet, name)? {
                Ok(Some((Kind::Directory, id))) => objects.fleet = id,
                _ => return Ok(None),
            }
        }
        Ok(Some(objects))
    }

    /// The id of the fleet's tree: the same id means the same files.
    pub(super) fn id(&self) -> Oid {
        self.fleet
    }

    /// All files, called `revision` together.
    pub(super) fn read(&self, revision: &str) -> Result<Tree, Error> {
        collect(self, &self.fleet, &self.path, revision)
    }

    fn target(&self, names: &[Vec<u8>], found: Option<Oid>) -> Target<Oid> {
        let fleet: Vec<&[u8]> = parts(self.path.as_bytes()).collect();
        let inside =
            names.len() >= fleet.len() && names.iter().zip(&fleet).all(|(name, part)| name == part);
        match (inside, found) {
            (true, Some(file)) => Target::File(file),
            (true, None)
                if names[fleet.len()..]
                    .iter()
                    .any(|name| name.starts_with(b".")) =>
            {
                Target::HiddenDirectory
            }
            (true, None) => Target::Directory,
            (false, Some(_)) => Target::OutsideFile,
            (false, None) => Target::OutsideDirectory,
        }
    }
}

impl Source for Objects<'_> {
    type Handle = Oid;

    fn list(&self, directory: &Oid, most: usize) -> Taken<Vec<Entry<Oid>>> {
        let tree = match self.directories.read(*directory)? {
            Ok(Ok(tree)) => tree,
            Ok(Err(cause)) => return Ok(Err(Problem::Unreadable(cause))),
            Err(problem) => return Ok(Err(problem)),
        };
        if tree.entries().nth(most).is_some() {
            return Ok(Err(Problem::TooManyFiles(most)));
        }
        let entries = tree.entries().map(|entry| Entry {
            name: entry.name.to_vec(),
            kind: kind(entry),
            handle: entry.id,
        });
        Ok(Ok(entries.collect()))
    }

    fn read(&self, file: &Oid) -> Taken<Arc<[u8]>> {
        let limit = usize::try_from(Tree::MAX_DEFINITIONS_BYTES).unwrap_or(usize::MAX);
        let too_large = |size: usize| Problem::TooLarge(size as u64);
        // Many names may lead to one file: it is read once.
        if let Some(text) = self.texts.borrow().get(file) {
            return Ok(text.clone().map_err(too_large));
        }
        let text = self.directories.blob(*file, limit)?;
        // What is refused is not held.
        let kept = match &text {
            Ok(text) if !Tree::takes(text) => Err(text.len()),
            text => text.clone(),
        };
        self.texts.borrow_mut().insert(*file, kept);
        Ok(text.map_err(too_large))
    }

    /// Goes from the root of the commit part by part, as a file system would in a checkout.
    fn follow(&self, path: &str, _: &Oid) -> Taken<Target<Oid>> {
        let mut ahead: Vec<Vec<u8>> = parts(path.as_bytes()).rev().map(<[u8]>::to_vec).collect();
        let (mut names, mut trees, mut hops) = (Vec::new(), vec![self.root], 0);
        while let Some(name) = ahead.pop() {
            if name == b".." {
                trees.pop();
                names.pop();
            }
            let Some(&tree) = trees.last() else {
                return Ok(Ok(Target::Away));
            };
            if name == b".." {
                continue;
            }
            let child = match self.directories.child(tree, &name)? {
                Ok(child) => child,
                Err(problem) => return Ok(Err(problem)),
            };
            match child {
                Some((Kind::Directory, id)) => {
                    trees.push(id);
                    names.push(name);
                }
                Some((Kind::File, id)) if ahead.is_empty() => {
                    return Ok(Ok(self.target(&names, Some(id))));
                }
                Some((Kind::Link, id)) if hops < MAX_HOPS => {
                    hops += 1;
                    match self.directories.link(id, MAX_TARGET_BYTES)? {
                        Ok(Ok(target)) if !target.starts_with(b"/") => {
                            ahead.extend(parts(&target).rev().map(<[u8]>::to_vec));
                        }
                        Ok(_) => return Ok(Ok(Target::Away)),
                        Err(problem) => return Ok(Err(problem)),
                    }
                }
                _ => return Ok(Ok(Target::Away)),
            }
        }
        Ok(Ok(self.target(&names, None)))
    }
}

#[cfg(test)]
mod tests;
