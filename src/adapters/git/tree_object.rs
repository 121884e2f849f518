//! Directories as git stores them, read as the bytes they are.
//!
//! In: the id of an object. Out: its entries, in the order in which they are stored. libgit2 refuses a whole directory
//! for one entry that it cannot parse, and keeps one of two entries of one name. It does not know what is in the files.

use git2::{ObjectType, Odb, OdbObject, Oid};

/// The most bytes that one directory may have: 32 MiB, which are about 700,000 entries.
pub(super) const MAX_BYTES: usize = 32 << 20;

/// The kind of an entry, among the bits of its mode.
const KIND: u32 = 0o170_000;
const TREE: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
/// The bits of a mode.
const MODE: u32 = 0o177_777;

/// A directory.
pub(super) struct TreeObject<'o>(OdbObject<'o>);

/// What stands in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry<'t> {
    pub(super) name: &'t [u8],
    pub(super) mode: u32,
    pub(super) id: Oid,
    /// All of it, as it is stored.
    pub(super) bytes: &'t [u8],
}

/// Whether an entry of this mode is a directory.
pub(super) const fn is_tree(mode: u32) -> bool {
    mode & KIND == TREE
}

/// Whether an entry of this mode is a symbolic link.
pub(super) const fn is_link(mode: u32) -> bool {
    mode & KIND == LINK
}

/// Whether an entry of this mode is a directory of another repository, whose object need not be there. As for git, that
/// is what is no file, no link and no directory: a server takes entries of such modes whose objects are nowhere.
pub(super) const fn is_submodule(mode: u32) -> bool {
    !matches!(mode & KIND, FILE | LINK | TREE)
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
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'7');
    let (digits, rest) = bytes.split_at(bytes.iter().position(|byte| !is_digit(byte))?);
    let rest = rest.strip_prefix(b" ").filter(|_| !digits.is_empty())?;
    // There may be any number of digits: git keeps the bits that a mode has.
    let mode = digits.iter().fold(0, |mode, digit| {
        ((mode << 3) | u32::from(digit - b'0')) & MODE
    });
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (name, rest) = (&rest[..end], &rest[end + 1..]);
    let (id, rest) = rest.split_at_checked(20)?;
    let entry = TreeEntry {
        name,
        mode,
        id: Oid::from_bytes(id).ok()?,
        bytes: &bytes[..bytes.len() - rest.len()],
    };
    Some((entry, rest))
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
    fn a_mode_of_no_kind_is_a_submodule_as_for_git() {
        for (mode, is_one) in [
            (0o100_644, false),
            (0o100_666, false),
            (0o120_777, false),
            (0o040_755, false),
            (0o160_000, true),
            (0o644, true),
            (0, true),
            (0o010_644, true),
            (0o140_000, true),
            (0o170_000, true),
        ] {
            assert_eq!(is_submodule(mode), is_one, "{mode:o}");
        }
    }

    #[test]
    fn digits_of_a_mode_are_read_as_git_reads_them() {
        let origin = Origin::new();
        let odb = origin.repository.odb().unwrap();
        let mode = |digits: &str| {
            let bytes = [format!("{digits} a\0").as_bytes(), &[7; 20]].concat();
            let tree = TreeObject::read(&odb, written(&origin, &bytes)).unwrap();
            tree.ok().map(|tree| tree.entries().next().unwrap().mode)
        };
        assert_eq!(mode("00000000000000100644"), Some(0o100_644));
        assert_eq!(mode("7000000000100644"), Some(0o100_644));
        assert_eq!(
            (mode("+100644"), mode("10064x"), mode("")),
            (None, None, None)
        );
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
