//! The directories of a commit, read by id within a budget.
//!
//! In: ids of directories and of blobs. Out: what stands there. Whoever may push decides how many links there are, how far
//! each leads, and how often a directory is named: a small pack may stand for years of work. What links go through is
//! parsed once, as long as it is little. It does not know paths.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use git2::{ObjectType, Odb, Oid, Repository};

use super::Error;
use super::tree_object::{MAX_BYTES, TreeEntry, TreeObject, is_link, is_submodule, is_tree};
use super::walk::{Kind, Taken};
use crate::model::Problem;

/// The most steps that the directories and links of one tree may take: some seconds of work, and ten times what 20,000
/// links through eight directories take.
const MAX_STEPS: usize = 5_000_000;
/// How many bytes of a directory are read in one step.
const BYTES_PER_STEP: usize = 64;
/// How many steps it takes to read a link.
const LINK_STEPS: usize = 20;
/// The most entries of directories that are kept: about 20 MiB.
const MAX_KEPT: usize = 200_000;

/// What stands in a directory by name; nothing where two entries have the name.
type Names = HashMap<Vec<u8>, Option<(Kind, Oid)>>;

/// The directories of a commit.
pub(super) struct Directories<'r> {
    repository: &'r Repository,
    odb: Odb<'r>,
    /// How many steps are left.
    steps: Cell<usize>,
    kept: RefCell<HashMap<Oid, Rc<Names>>>,
    /// How many entries may still be kept.
    room: Cell<usize>,
}

impl<'r> Directories<'r> {
    /// Those of `repository`; none was read yet.
    pub(super) fn of(repository: &'r Repository) -> Result<Self, Error> {
        let odb = repository.odb();
        Ok(Self {
            repository,
            odb: odb.map_err(|cause| Error::damaged(repository, &cause))?,
            steps: Cell::new(MAX_STEPS),
            kept: RefCell::default(),
            room: Cell::new(MAX_KEPT),
        })
    }

    fn spend(&self, steps: usize) -> Result<(), Problem> {
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or_default());
        let too_much = || {
            Problem::Unreadable(
                "the directories and links before it already take as long as all may take; take links out, or name them \
                 in .capstanignore"
                    .to_owned(),
            )
        };
        left.map(drop).ok_or_else(too_much)
    }

    /// The directory `id`; says why, if the object is none that can be read.
    pub(super) fn read(&self, id: Oid) -> Taken<Result<TreeObject<'_>, String>> {
        let damaged = |cause| Error::damaged(self.repository, &cause);
        let (size, _) = self.odb.read_header(id).map_err(damaged)?;
        let read = self.spend(1 + size.min(MAX_BYTES) / BYTES_PER_STEP);
        let read = read.map(|()| TreeObject::read(&self.odb, id).map_err(damaged));
        read.map_or_else(|problem| Ok(Err(problem)), |tree| Ok(Ok(tree?)))
    }

    /// What is called `name` in a directory; nothing, if two entries are.
    pub(super) fn child(&self, directory: Oid, name: &[u8]) -> Taken<Option<(Kind, Oid)>> {
        if let Err(problem) = self.spend(1) {
            return Ok(Err(problem));
        }
        let kept = self.kept.borrow().get(&directory).map(Rc::clone);
        if let Some(names) = kept {
            return Ok(Ok(names.get(name).copied().flatten()));
        }
        let tree = match self.read(directory)? {
            Ok(Ok(tree)) => tree,
            Ok(Err(_)) => return Ok(Ok(None)),
            Err(problem) => return Ok(Err(problem)),
        };
        // One more, so that empty directories take room as well.
        let size = 1 + tree.entries().count();
        let Some(room) = self.room.get().checked_sub(size) else {
            let entry = tree.entry(name);
            return Ok(Ok(entry.map(|entry| (kind(entry), entry.id))));
        };
        self.room.set(room);
        let mut names = Names::with_capacity(size);
        for entry in tree.entries() {
            let of_one = Some((kind(entry), entry.id));
            let is_double = |found: &mut Option<_>| *found = None;
            names
                .entry(entry.name.to_vec())
                .and_modify(is_double)
                .or_insert(of_one);
        }
        let found = names.get(name).copied().flatten();
        self.kept.borrow_mut().insert(directory, Rc::new(names));
        Ok(Ok(found))
    }

    /// The target of a link, or its size when that is over `limit`.
    pub(super) fn link(&self, id: Oid, limit: usize) -> Taken<Result<Arc<[u8]>, usize>> {
        match self.spend(LINK_STEPS) {
            Ok(()) => Ok(Ok(self.blob(id, limit)?)),
            Err(problem) => Ok(Err(problem)),
        }
    }

    /// The bytes of a blob, or its size when that is over `limit`.
    pub(super) fn blob(&self, id: Oid, limit: usize) -> Result<Result<Arc<[u8]>, usize>, Error> {
        let damaged = |cause| Error::damaged(self.repository, &cause);
        let (size, kind) = self.odb.read_header(id).map_err(damaged)?;
        if size > limit || kind != ObjectType::Blob {
            return Ok(Err(size));
        }
        let object = self.odb.read(id).map_err(damaged)?;
        Ok(Ok(object.data().into()))
    }
}

/// What an entry of a directory is.
pub(super) fn kind(entry: TreeEntry<'_>) -> Kind {
    match entry.mode {
        mode if is_tree(mode) => Kind::Directory,
        mode if is_link(mode) => Kind::Link,
        mode if is_submodule(mode) => Kind::Submodule,
        _ => Kind::File,
    }
}
