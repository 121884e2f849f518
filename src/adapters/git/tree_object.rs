//! Directories as git stores them, read as the bytes they are.
//!
//! In: the id of an object. Out: its entries, in the order in which they are stored. libgit2 refuses a whole directory
//! for one entry that it cannot parse, and keeps one of two entries of one name. It does not know what is in the files.

use git2::{ObjectType, Odb, OdbObject, Oid};

/// The most bytes that one directory may have: 32 MiB, which are about 700,000 entries.
const MAX_BYTES: usize = 32 << 20;

/// The kind of an entry, among the bits of its mode.
const KIND: u32 = 0o170_000;
const TREE: u32 = 0o040_000;
const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

/// A directory.
pub(super) struct TreeObject<'o>(OdbObject<'o>);

/// What stands in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry<'t> {
    pub(super) name: &'t [u8],
    pub(super) mode: u32,
    pub(super) id: Oid,
}

/// Whether an entry of this mode is a directory.
pub(super) const fn is_tree(mode: u32) -> bool {
    mode & KIND == TREE
}

/// Whether an entry of this mode is a symbolic link.
pub(super) const fn is_link(mode: u32) -> bool {
    mode & KIND == LINK
}

/// Whether an entry of this mode is a directory of another repository.
pub(super) const fn is_submodule(mode: u32) -> bool {
    mode & KIND == SUBMODULE
}

impl<'o> TreeObject<'o> {
    /// Reads a directory; says why, if the object is none that can be read.
    ///
    /// # Errors
    /// When there is no such object, or it cannot be read.
    pub(super) fn read(odb: &'o Odb<'_>, id: Oid) -> Result<Result<Self, String>, git2::Error> {
        let (size, kind) = odb.read_header(id)?;
        if kind != ObjectType::Tree {
            return Ok(Err(format!("the object {id} is not a directory")));
        }
        if size > MAX_BYTES {
            let cause = format!("the directory {id} has {size} bytes; the limit is {MAX_BYTES}");
            return Ok(Err(cause));
        }
        let tree = Self(odb.read(id)?);
        let mut rest = tree.0.data();
        while !rest.is_empty() {
            match split(rest) {
                Some((_, after)) => rest = after,
                None => return Ok(Err(format!("the directory {id} is malformed"))),
            }
        }
        Ok(Ok(tree))
    }

    /// What stands in it.
    pub(super) fn entries(&self) -> impl Iterator<Item = TreeEntry<'_>> {
        let mut rest = self.0.data();
        std::iter::from_fn(move || {
            let (entry, after) = split(rest)?;
            rest = after;
            Some(entry)
        })
    }

    /// The entry of this name, if there is exactly one.
    pub(super) fn entry(&self, name: &[u8]) -> Option<TreeEntry<'_>> {
        let mut found = self.entries().filter(|entry| entry.name == name);
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

/// The first entry: `<mode> <name>`, a NUL, and the 20 bytes of its id.
fn split(bytes: &[u8]) -> Option<(TreeEntry<'_>, &[u8])> {
    let space = bytes.iter().take(12).position(|byte| *byte == b' ')?;
    let (digits, rest) = (&bytes[..space], &bytes[space + 1..]);
    let mode = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (name, rest) = (&rest[..end], &rest[end + 1..]);
    let (id, rest) = rest.split_at_checked(20)?;
    let id = Oid::from_bytes(id).ok()?;
    Some((TreeEntry { name, mode, id }, rest))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::adapters::git::fixture::Origin;

    fn written(origin: &Origin, bytes: &[u8]) -> Oid {
        let odb = origin.repository.odb().unwrap();
        odb.write(ObjectType::Tree, bytes).unwrap()
    }

    #[test]
    fn entries_are_read_as_they_are_stored() {
        let origin = Origin::new();
        let entry =
            |mode: &str, name: &str| [format!("{mode} {name}\0").as_bytes(), &[7; 20]].concat();
        let twice = [
            entry("100644", "b"),
            entry("40000", "a"),
            entry("120000", "b"),
        ]
        .concat();
        let id = written(&origin, &twice);
        let odb = origin.repository.odb().unwrap();
        let tree = TreeObject::read(&odb, id).unwrap().unwrap();
        let names: Vec<_> = tree
            .entries()
            .map(|entry| (entry.name, entry.mode))
            .collect();
        let expected: [(&[u8], u32); 3] = [(b"b", 0o100_644), (b"a", 0o40_000), (b"b", LINK)];
        assert_eq!(names, expected);
        assert!(tree.entry(b"a").is_some_and(|entry| is_tree(entry.mode)));
        assert_eq!((tree.entry(b"b"), tree.entry(b"c")), (None, None));
    }

    #[test]
    fn what_is_malformed_is_said_to_be_so() {
        let origin = Origin::new();
        let odb = origin.repository.odb().unwrap();
        for bytes in [
            &b"100644 a\0short"[..],
            b"nonsense",
            b"100648 a\0",
            b"+644 ",
        ] {
            let read = TreeObject::read(&odb, written(&origin, bytes)).unwrap();
            assert!(read.is_err_and(|cause| cause.ends_with("is malformed")));
        }
        let blob = origin.repository.blob(b"x").unwrap();
        assert!(TreeObject::read(&odb, blob).unwrap().is_err());
    }
}
