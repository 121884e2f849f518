//! The files that a commit changes.
//!
//! In: paths from the root of the repository, and what becomes of each file. Out: the same as directories in each other, or
//! the first path that git, or a checkout, cannot have. It does not know what is in the repository.

use std::collections::BTreeMap;

use crate::adapters::git::Error;

/// The most files that one commit changes.
const MOST_EDITS: usize = 1_000;
/// The most bytes of a path, as in Linux.
const MOST_BYTES: usize = 4_095;
/// The most bytes of a name in a path, as in Linux.
const MOST_NAME_BYTES: usize = 255;
/// The most names in a path.
const MOST_NAMES: usize = 100;

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// It has these bytes, whether it was there or not.
    Write(Vec<u8>),
    /// It is removed. It must be there.
    Remove,
}

/// What becomes of files, by their paths from the root of the repository.
pub type Edits = BTreeMap<String, Edit>;

/// The edits below a directory, by name.
pub(super) type Directory<'e> = BTreeMap<&'e str, Node<'e>>;

/// What becomes of an entry of a directory.
pub(super) enum Node<'e> {
    File(&'e Edit),
    Directory(Directory<'e>),
}

/// Returns the edits below the root.
///
/// # Errors
/// When a path is none that a repository can have, or leads through another one.
pub(super) fn nested(edits: &Edits) -> Result<Directory<'_>, Error> {
    if edits.len() > MOST_EDITS {
        let cause = format!("it would change {} files", edits.len());
        return Err(Error::Commit {
            cause: format!("{cause}; the limit is {MOST_EDITS}"),
        });
    }
    let mut root = Directory::new();
    for (path, edit) in edits {
        let fault = |cause: String| unusable(path, cause);
        check(path).map_err(fault)?;
        insert(&mut root, path, edit).map_err(fault)?;
    }
    Ok(root)
}

/// The error for a path that cannot be changed.
pub(super) fn unusable(path: &str, cause: String) -> Error {
    let path = path.to_owned();
    Error::Edit { path, cause }
}

fn insert<'e>(at: &mut Directory<'e>, path: &'e str, edit: &'e Edit) -> Result<(), String> {
    let Some((name, rest)) = path.split_once('/') else {
        return match at.insert(path, Node::File(edit)) {
            None => Ok(()),
            Some(_) => Err("another change has it as a directory".to_owned()),
        };
    };
    let below = at
        .entry(name)
        .or_insert_with(|| Node::Directory(Directory::new()));
    match below {
        Node::Directory(below) => insert(below, rest, edit),
        Node::File(_) => Err(format!("another change has {name:?} as a file")),
    }
}

/// Checks a path as git does for all systems, and that a checkout on Linux can have it.
fn check(path: &str) -> Result<(), String> {
    if path.len() > MOST_BYTES {
        return Err(format!("it is longer than {MOST_BYTES} bytes"));
    }
    if path.starts_with('/') {
        return Err("it is absolute".to_owned());
    }
    if path.contains('\\') {
        return Err("it contains a backslash".to_owned());
    }
    if path.contains(char::is_control) {
        return Err("it contains a control character".to_owned());
    }
    if path.split('/').count() > MOST_NAMES {
        return Err(format!("it has more than {MOST_NAMES} parts"));
    }
    path.split('/').try_for_each(check_name)
}

fn check_name(name: &str) -> Result<(), String> {
    match name {
        "" => Err("a part of it is empty".to_owned()),
        "." | ".." => Err(format!("it contains {name:?}")),
        _ if name.len() > MOST_NAME_BYTES => Err(format!(
            "a part of it is longer than {MOST_NAME_BYTES} bytes"
        )),
        _ if is_of_git(name) => Err(format!("{name:?} is git's own directory on some systems")),
        _ => Ok(()),
    }
}

/// Whether a file system may take the name for `.git`: Windows drops dots and spaces at the end, takes what follows a colon
/// for a stream, and has short names; macOS drops characters that are not seen.
fn is_of_git(name: &str) -> bool {
    let visible: String = name.chars().filter(|c| !is_ignored(*c)).collect();
    let file = visible.split(':').next().unwrap_or_default();
    let file = file.trim_end_matches(['.', ' ']).to_lowercase();
    matches!(file.as_str(), ".git" | "git~1")
}

/// Whether HFS+ drops the character from names.
const fn is_ignored(c: char) -> bool {
    matches!(
        c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn fault(paths: &[&str]) -> String {
        let edits = paths.iter().map(|path| ((*path).to_owned(), Edit::Remove));
        let edits: Edits = edits.collect();
        let nested = nested(&edits);
        nested
            .err()
            .map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn a_path_that_no_checkout_can_have_is_refused() {
        let (long, deep) = ("a".repeat(256), "a/".repeat(100) + "b");
        let longest = ["a".repeat(255).as_str(); 17].join("/");
        for (path, cause) in [
            ("../a", "it contains \"..\""),
            ("a/../b", "it contains \"..\""),
            ("a/..", "it contains \"..\""),
            ("./a", "it contains \".\""),
            ("", "a part of it is empty"),
            ("a//b", "a part of it is empty"),
            ("a/", "a part of it is empty"),
            ("/etc/passwd", "it is absolute"),
            ("a\\b", "it contains a backslash"),
            ("a\0b", "it contains a control character"),
            ("a\nb", "it contains a control character"),
            (".git/config", "is git's own directory"),
            ("a/.GIT/hooks/update", "is git's own directory"),
            ("a/.git", "is git's own directory"),
            (".git. /config", "is git's own directory"),
            (".git::$INDEX_ALLOCATION/config", "is git's own directory"),
            ("GIT~1/config", "is git's own directory"),
            (".g\u{200c}it/config", "is git's own directory"),
            (&long, "is longer than 255 bytes"),
            (&longest, "it is longer than 4095 bytes"),
            (&deep, "it has more than 100 parts"),
        ] {
            let said = fault(&[path]);
            assert!(said.starts_with("cannot change "), "{path:?}: {said}");
            assert!(said.contains(cause), "{path:?}: {said}");
        }
        for path in ["a", "a/b.yaml", ".gitignore", "a/git", "...", "é/ü b.yaml"] {
            assert_eq!(fault(&[path]), "", "{path:?}");
        }
    }

    #[test]
    fn a_file_cannot_be_a_directory_as_well() {
        for paths in [["a", "a/b"], ["a/b", "a/b/c/d"]] {
            assert!(fault(&paths).contains("another change has"), "{paths:?}");
        }
        // Between these in order is the other.
        assert!(fault(&["a", "a-b", "a/b"]).contains("another change has"));
        assert_eq!(fault(&["a/b", "a/c", "a.b", "ab"]), "");
    }

    #[test]
    fn more_files_than_the_limit_are_refused() {
        let paths: Vec<String> = (0..=MOST_EDITS).map(|at| format!("{at}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert!(fault(&paths).contains("1001 files; the limit is 1000"));
        assert_eq!(fault(&paths[1..]), "");
    }
}
