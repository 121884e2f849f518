//! The tree of a commit with some files changed.
//!
//! In: the tree at the head and the edits. Out: the new tree, and the objects of it that are to be written. Entries that
//! are not edited keep their bytes, whatever these are: libgit2 would write other modes. Nothing is written here, so that
//! the last edit can still be refused.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use git2::{ObjectType, Odb, Oid};

use super::edits::{Directory, Edit, Node, unusable};
use crate::adapters::git::Error;
use crate::adapters::git::tree_object::{TreeEntry, TreeObject, is_link, is_submodule, is_tree};

const TREE: u32 = 0o040_000;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;

/// A tree and what is new in it.
pub(super) struct Edited {
    pub(super) tree: Oid,
    /// Each behind what it refers to.
    pub(super) objects: Vec<(ObjectType, Vec<u8>)>,
}

/// Returns the tree `root` of the commit `head` with the edits; without a head, one that has nothing else.
///
/// # Errors
/// When the path of an edit is not that of a file, when a file to remove is missing, or when a directory cannot be read.
pub(super) fn edited(
    odb: &Odb<'_>,
    head: &str,
    root: Option<Oid>,
    edits: &Directory<'_>,
    damaged: &dyn Fn(&git2::Error) -> Error,
) -> Result<Edited, Error> {
    let mut editor = Editor {
        odb,
        head,
        damaged,
        objects: Vec::new(),
    };
    let tree = match editor.directory(root, edits, "")? {
        Some(tree) => tree,
        None => editor.add(ObjectType::Tree, Vec::new())?,
    };
    Ok(Edited {
        tree,
        objects: editor.objects,
    })
}

/// An entry of a directory that is written.
struct Entry {
    name: Vec<u8>,
    is_tree: bool,
    /// As it is stored.
    bytes: Vec<u8>,
}

impl Entry {
    fn new(name: &[u8], mode: u32, id: Oid) -> Self {
        let head = format!("{mode:o} ");
        Self {
            name: name.to_vec(),
            is_tree: is_tree(mode),
            bytes: [head.as_bytes(), name, &[0], id.as_bytes()].concat(),
        }
    }

    /// The order of git: a directory counts as if its name ended in `/`.
    fn order(&self, other: &Self) -> Ordering {
        let end = |entry: &Self| if entry.is_tree { b'/' } else { 0 };
        let (ours, theirs) = ([end(self)], [end(other)]);
        let theirs = other.name.iter().chain(&theirs);
        self.name.iter().chain(&ours).cmp(theirs)
    }
}

impl From<TreeEntry<'_>> for Entry {
    fn from(entry: TreeEntry<'_>) -> Self {
        Self {
            name: entry.name.to_vec(),
            is_tree: is_tree(entry.mode),
            bytes: entry.bytes.to_vec(),
        }
    }
}

struct Editor<'o> {
    odb: &'o Odb<'o>,
    head: &'o str,
    damaged: &'o dyn Fn(&git2::Error) -> Error,
    objects: Vec<(ObjectType, Vec<u8>)>,
}

impl Editor<'_> {
    /// Edits the directory `old`, at `path`; `None` if nothing is left of it.
    fn directory(
        &mut self,
        old: Option<Oid>,
        edits: &Directory<'_>,
        path: &str,
    ) -> Result<Option<Oid>, Error> {
        let odb = self.odb;
        let tree = match old {
            Some(old) => {
                let read = TreeObject::read(odb, old).map_err(|cause| (self.damaged)(&cause))?;
                Some(read.map_err(|cause| unusable(path, cause))?)
            }
            None => None,
        };
        let (mut entries, mut edited) = (Vec::new(), BTreeMap::<&str, Vec<TreeEntry<'_>>>::new());
        for entry in tree.iter().flat_map(TreeObject::entries) {
            let name = std::str::from_utf8(entry.name).ok();
            match name.filter(|name| edits.contains_key(name)) {
                Some(name) => edited.entry(name).or_default().push(entry),
                None => entries.push(Entry::from(entry)),
            }
        }
        for (name, edit) in edits {
            let path = match path.is_empty() {
                true => (*name).to_owned(),
                false => format!("{path}/{name}"),
            };
            let found = match edited.get(name).map(Vec::as_slice) {
                None | Some([]) => None,
                Some([one]) => Some(*one),
                Some(_) => {
                    let cause = format!("commit {} has two entries of this name", self.head);
                    return Err(unusable(&path, cause));
                }
            };
            entries.extend(self.entry(name, found, edit, &path)?);
        }
        // Stable: what is not edited stays as it is, if it was in order.
        entries.sort_by(Entry::order);
        if entries.is_empty() {
            return Ok(None);
        }
        let bytes = entries.into_iter().flat_map(|entry| entry.bytes).collect();
        self.add(ObjectType::Tree, bytes).map(Some)
    }

    /// What becomes of the entry `found`; `None` if nothing.
    fn entry(
        &mut self,
        name: &str,
        found: Option<TreeEntry<'_>>,
        edit: &Node<'_>,
        path: &str,
    ) -> Result<Option<Entry>, Error> {
        let kind = found.map(|found| kind(found.mode));
        let (mode, id) = match (edit, found.zip(kind)) {
            (Node::Directory(edits), found) => {
                let old = match found {
                    None => None,
                    Some((old, Kind::Directory)) => Some(old.id),
                    Some((_, other)) => {
                        return Err(unusable(
                            path,
                            format!("it is {} and no directory", other.words()),
                        ));
                    }
                };
                let Some(id) = self.directory(old, edits, path)? else {
                    return Ok(None);
                };
                (TREE, id)
            }
            (Node::File(Edit::Remove), None) => return Err(self.absent(path)),
            (Node::File(Edit::Remove), Some((_, Kind::File))) => return Ok(None),
            (Node::File(Edit::Write(bytes)), None) => {
                (FILE, self.add(ObjectType::Blob, bytes.clone())?)
            }
            (Node::File(Edit::Write(bytes)), Some((old, Kind::File))) => {
                let mode = if old.mode & 0o100 == 0 { FILE } else { PROGRAM };
                (mode, self.add(ObjectType::Blob, bytes.clone())?)
            }
            (Node::File(_), Some((_, other))) => {
                return Err(unusable(
                    path,
                    format!("it is {} and no file", other.words()),
                ));
            }
        };
        match found.filter(|found| found.id == id) {
            Some(same) => Ok(Some(same.into())),
            None => Ok(Some(Entry::new(name.as_bytes(), mode, id))),
        }
    }

    fn absent(&self, path: &str) -> Error {
        Error::NoSuchEntry {
            commit: self.head.to_owned(),
            path: path.to_owned(),
        }
    }

    fn add(&mut self, kind: ObjectType, bytes: Vec<u8>) -> Result<Oid, Error> {
        let id = Oid::hash_object(kind, &bytes).map_err(|cause| (self.damaged)(&cause))?;
        self.objects.push((kind, bytes));
        Ok(id)
    }
}

/// What an entry is.
#[derive(Clone, Copy)]
enum Kind {
    File,
    Directory,
    Link,
    Submodule,
}

impl Kind {
    const fn words(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::Submodule => "a submodule",
        }
    }
}

const fn kind(mode: u32) -> Kind {
    if is_tree(mode) {
        Kind::Directory
    } else if is_link(mode) {
        Kind::Link
    } else if is_submodule(mode) {
        Kind::Submodule
    } else {
        Kind::File
    }
}
