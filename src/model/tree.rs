//! An immutable snapshot of files at one revision.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A file of the tree that was not read, and why. Its text is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is larger than the limit; its size in bytes.
    TooLarge(u64),
    /// It is a symbolic link that is broken or leads out of the tree.
    LinkLeavesTree,
    /// A symbolic link to a hidden directory, whose files are not read.
    LinkToHidden,
    /// It could not be read, with the system's error.
    Unreadable(String),
    /// The tree has more files than this many; this is the first that was left out.
    TooManyFiles(usize),
    /// Its suffix is in upper case, as in `.YAML`.
    UpperCase,
    /// It is a pointer of Git LFS; its content is elsewhere.
    LfsPointer,
    /// It is a submodule: a directory of another repository.
    Submodule,
    /// A directory of the commit has two entries of this name.
    Twice,
}

/// The files of a fleet at one revision. Paths are relative to the repository root and separated by `/`.
/// Only `*.yaml`, `*.yml` and `*.json` files that `.capstanignore` does not exclude are included.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The revision: a commit id, or empty for a directory.
    pub revision: String,
    /// Text by path, in order.
    pub files: BTreeMap<Arc<str>, Arc<[u8]>>,
    /// The files that were left out, and why.
    pub problems: BTreeMap<Arc<str>, Problem>,
}

impl Tree {
    /// The most bytes one file may have (DESIGN §3, limits): 1 MiB.
    pub const MAX_FILE_BYTES: u64 = 1 << 20;
    /// The most bytes a file may have with its CustomResourceDefinitions, which operators publish in one file with all else:
    /// 16 MiB.
    pub const MAX_DEFINITIONS_BYTES: u64 = 16 << 20;
    /// The most files a tree may have: 20,000.
    pub const MAX_FILES: usize = 20_000;

    /// Whether a file of this size and content is read: CustomResourceDefinitions do not count. A document is taken for one if
    /// its only line with a `kind` at its beginning says so, which is quick to see; reading it shows whether that is true.
    #[must_use]
    pub fn takes(text: &[u8]) -> bool {
        let size = text.len() as u64;
        size <= Self::MAX_FILE_BYTES
            || size <= Self::MAX_DEFINITIONS_BYTES
                && Self::definitions(text).1 <= Self::MAX_FILE_BYTES
    }

    /// Counts the documents that are taken for CustomResourceDefinitions, and the bytes of the others.
    #[must_use]
    pub fn definitions(text: &[u8]) -> (usize, u64) {
        let (mut definitions, mut others) = (0, 0);
        let (mut kinds, mut is_definition, mut bytes) = (0, true, 0);
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        for line in lines.chain([&b"---"[..]]) {
            if line.starts_with(b"---") {
                match kinds > 0 && is_definition {
                    true => definitions += 1,
                    false => others += bytes,
                }
                (kinds, is_definition, bytes) = (0, true, 0);
            }
            if let Some(kind) = line.strip_prefix(b"kind:") {
                kinds += 1;
                is_definition &= kind.trim_ascii() == b"CustomResourceDefinition";
            }
            bytes += line.len() as u64;
        }
        (definitions, others)
    }

    /// Whether a file with this content only stands for one that Git LFS keeps (its specification, version 1:
    /// under 1,024 bytes, the version first).
    #[must_use]
    pub fn is_lfs_pointer(text: &[u8]) -> bool {
        text.len() < 1024 && text.starts_with(b"version https://git-lfs.github.com/spec/v1\n")
    }

    /// Whether files of this name are read at all.
    #[must_use]
    pub fn reads(path: &str) -> bool {
        [".yaml", ".yml", ".json"]
            .iter()
            .any(|ending| path.ends_with(ending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_do_not_count_in_the_size_of_a_file() {
        let padded = |text: &str, size: u64| {
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let mut text = text.as_bytes().to_vec();
            text.resize(size, b'\n');
            text
        };
        let one = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  kind: A\n";
        let two = format!("{one}---\n{one}");
        let other = format!("{one}---\nkind: Secret\n");
        let mixed = format!("kind: Secret\n---\n{one}");
        let hidden = format!("{one}kind: Secret\n");
        for (text, size, taken) in [
            (two.as_str(), Tree::MAX_DEFINITIONS_BYTES, true),
            (&two, Tree::MAX_DEFINITIONS_BYTES + 1, false),
            (&other, Tree::MAX_FILE_BYTES, true),
            // What pads it belongs to the Secret.
            (&other, Tree::MAX_FILE_BYTES + 100, false),
            (&mixed, Tree::MAX_FILE_BYTES + 100, true),
            (&hidden, Tree::MAX_FILE_BYTES + 100, false),
            ("a: b\n", Tree::MAX_FILE_BYTES + 1, false),
        ] {
            assert_eq!(Tree::takes(&padded(text, size)), taken, "{text} {size}");
        }
    }
}
