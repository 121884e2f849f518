//! Three directories merged into one, as git merges commits, without a search for renames.
//!
//! In: the directory both sides began with, and what each made of it. Out: the merged directory, or the paths that both
//! changed. What is the same on two sides is not looked into, so that a merge costs what the changes cost. Only a file that
//! both sides changed is read, and none that is large. The directories of the result are written to the object database
//! that is given.

use std::collections::{BTreeMap, BTreeSet};

use git2::{MergeFileInput, MergeFileOptions, ObjectType, Odb, Oid, merge_file};

use super::tree_object::{TreeObject, is_link, is_submodule, is_tree};
use crate::model::Tree;

/// The most directory entries that are compared.
const MAX_ENTRIES: usize = 1_000_000;
/// The deepest directory that is looked into.
const MAX_DEPTH: usize = 256;
/// The most conflicts that are named.
const MAX_CONFLICTS: usize = 1_000;
/// The most bytes of a file that is merged line by line: what a file of a fleet may have.
#[allow(clippy::cast_possible_truncation)]
const MAX_FILE: usize = Tree::MAX_FILE_BYTES as usize;
const TREE: u32 = 0o040_000;

/// What stands in a directory under one name.
type Entry = (u32, Oid);
type Entries = BTreeMap<Vec<u8>, Entry>;

/// Why directories are not merged.
#[derive(Debug)]
pub(super) enum Unmerged {
    /// An object is missing.
    Git(git2::Error),
    /// What is to be merged cannot be: it is malformed, or there is too much of it.
    Unusable(String),
}

impl From<git2::Error> for Unmerged {
    fn from(cause: git2::Error) -> Self {
        Self::Git(cause)
    }
}

/// A merge under way.
pub(super) struct ThreeWay<'o> {
    odb: &'o Odb<'o>,
    entries: usize,
    conflicts: BTreeSet<String>,
}

impl<'o> ThreeWay<'o> {
    /// Merges what `ours` and `theirs` made of `start`: the directory, or the paths in conflict.
    pub(super) fn merge(
        odb: &'o Odb<'o>,
        start: Oid,
        ours: Oid,
        theirs: Oid,
    ) -> Result<Result<Oid, Vec<String>>, Unmerged> {
        let mut merge = Self {
            odb,
            entries: 0,
            conflicts: BTreeSet::new(),
        };
        let sides = [Some(start), Some(ours), Some(theirs)];
        let root = merge.directory(sides, "", 0)?;
        Ok(match merge.conflicts.is_empty() {
            true => Ok(root.map_or_else(|| odb.write(ObjectType::Tree, b""), Ok)?),
            false => Err(merge.conflicts.into_iter().collect()),
        })
    }

    /// The merged directory; `None` if nothing is left in it.
    fn directory(
        &mut self,
        [start, ours, theirs]: [Option<Oid>; 3],
        path: &str,
        depth: usize,
    ) -> Result<Option<Oid>, Unmerged> {
        if ours == theirs || start == theirs {
            return Ok(ours);
        }
        if start == ours {
            return Ok(theirs);
        }
        if depth > MAX_DEPTH {
            let cause = format!("it has more than {MAX_DEPTH} directories in one another");
            return Err(Unmerged::Unusable(cause));
        }
        let (start, ours, theirs) = (self.read(start)?, self.read(ours)?, self.read(theirs)?);
        let names: BTreeSet<&Vec<u8>> = [&start, &ours, &theirs]
            .into_iter()
            .flat_map(BTreeMap::keys)
            .collect();
        let mut merged = Entries::new();
        for name in names {
            let sides =
                [start.get(name), ours.get(name), theirs.get(name)].map(Option::<&_>::copied);
            let text = String::from_utf8_lossy(name);
            let at = match path.is_empty() {
                true => text.into_owned(),
                false => format!("{path}/{text}"),
            };
            if let Some(entry) = self.entry(sides, &at, depth)? {
                merged.insert(name.clone(), entry);
            }
        }
        if merged.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.odb.write(ObjectType::Tree, &written(&merged))?))
    }

    fn entry(
        &mut self,
        [start, ours, theirs]: [Option<Entry>; 3],
        path: &str,
        depth: usize,
    ) -> Result<Option<Entry>, Unmerged> {
        if ours == theirs || start == theirs {
            return Ok(ours);
        }
        if start == ours {
            return Ok(theirs);
        }
        let directory =
            |side: Option<Entry>| side.filter(|(mode, _)| is_tree(*mode)).map(|(_, id)| id);
        let is_directory_or_none = |side: Option<Entry>| side.is_none_or(|(mode, _)| is_tree(mode));
        let (mine, other) = (directory(ours), directory(theirs));
        if (mine.is_some() || other.is_some())
            && is_directory_or_none(ours)
            && is_directory_or_none(theirs)
        {
            let merged = self.directory([directory(start), mine, other], path, depth + 1)?;
            return Ok(merged.map(|id| (TREE, id)));
        }
        match self.file([start, ours, theirs])? {
            Some(merged) => Ok(Some(merged)),
            None => self.conflict(path),
        }
    }

    /// A file that both changed; `None` for what does not fit together.
    fn file(&mut self, sides: [Option<Entry>; 3]) -> Result<Option<Entry>, Unmerged> {
        let is_plain = |mode: u32| !is_tree(mode) && !is_link(mode) && !is_submodule(mode);
        let [Some(start), Some(ours), Some(theirs)] = sides else {
            return Ok(None);
        };
        if ![start, ours, theirs]
            .iter()
            .all(|(mode, _)| is_plain(*mode))
        {
            return Ok(None);
        }
        let mode = match start.0 == ours.0 {
            true => theirs.0,
            false => ours.0,
        };
        if ours.1 == theirs.1 || start.1 == theirs.1 {
            return Ok(Some((mode, ours.1)));
        }
        if start.1 == ours.1 {
            return Ok(Some((mode, theirs.1)));
        }
        for (_, id) in [start, ours, theirs] {
            let (size, kind) = self.odb.read_header(id)?;
            if kind != ObjectType::Blob || size > MAX_FILE {
                return Ok(None);
            }
        }
        let [start, ours, theirs] = [
            self.odb.read(start.1)?,
            self.odb.read(ours.1)?,
            self.odb.read(theirs.1)?,
        ];
        if [&start, &ours, &theirs]
            .iter()
            .any(|side| side.data().contains(&0))
        {
            return Ok(None);
        }
        let mut inputs = [
            MergeFileInput::new(),
            MergeFileInput::new(),
            MergeFileInput::new(),
        ];
        for (input, side) in inputs.iter_mut().zip([&start, &ours, &theirs]) {
            input.content(side.data());
        }
        let merged = merge_file(
            &inputs[0],
            &inputs[1],
            &inputs[2],
            Some(&mut MergeFileOptions::new()),
        )?;
        if !merged.is_automergeable() {
            return Ok(None);
        }
        Ok(Some((
            mode,
            self.odb.write(ObjectType::Blob, merged.content())?,
        )))
    }

    fn conflict(&mut self, path: &str) -> Result<Option<Entry>, Unmerged> {
        self.conflicts.insert(path.to_owned());
        match self.conflicts.len() > MAX_CONFLICTS {
            true => Err(Unmerged::Unusable(format!(
                "it is in conflict with what it is merged onto in more than {MAX_CONFLICTS} files"
            ))),
            false => Ok(None),
        }
    }

    fn read(&mut self, id: Option<Oid>) -> Result<Entries, Unmerged> {
        let mut entries = Entries::new();
        let Some(id) = id else { return Ok(entries) };
        let tree = TreeObject::read(self.odb, id)?.map_err(Unmerged::Unusable)?;
        for entry in tree.entries() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                let cause = format!("it changes directories of more than {MAX_ENTRIES} entries");
                return Err(Unmerged::Unusable(cause));
            }
            if entries
                .insert(entry.name.to_vec(), (entry.mode, entry.id))
                .is_some()
            {
                let name = String::from_utf8_lossy(entry.name);
                let cause = format!("a directory has two entries called {name:?}");
                return Err(Unmerged::Unusable(cause));
            }
        }
        Ok(entries)
    }
}

/// A directory as git stores it: sorted as if the name of each directory ended with `/`.
fn written(entries: &Entries) -> Vec<u8> {
    let mut sorted: Vec<(&Vec<u8>, &Entry)> = entries.iter().collect();
    sorted.sort_by_cached_key(|(name, (mode, _))| {
        let mut key = (*name).clone();
        key.extend(is_tree(*mode).then_some(b'/'));
        key
    });
    let mut bytes = Vec::new();
    for (name, (mode, id)) in sorted {
        bytes.extend(format!("{mode:o} ").into_bytes());
        bytes.extend(name);
        bytes.push(0);
        bytes.extend(id.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use git2::{Index, Repository};

    use super::*;
    use crate::adapters::git::author::{FILE, entry};

    type Files<'a> = &'a [(&'a str, &'a str)];

    fn repository() -> (tempfile::TempDir, Repository) {
        let dir = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(dir.path()).unwrap();
        (dir, repository)
    }

    fn tree(repository: &Repository, files: Files<'_>) -> Oid {
        let mut index = Index::new().unwrap();
        for (path, text) in files {
            let id = repository.blob(text.as_bytes()).unwrap();
            index.add(&entry(path.as_bytes(), FILE, id)).unwrap();
        }
        index.write_tree_to(repository).unwrap()
    }

    fn merged(start: Files<'_>, ours: Files<'_>, theirs: Files<'_>) -> Result<Vec<String>, String> {
        let (_dir, repository) = repository();
        let [start, ours, theirs] = [start, ours, theirs].map(|files| tree(&repository, files));
        let odb = repository.odb().unwrap();
        let merged = match ThreeWay::merge(&odb, start, ours, theirs) {
            Err(Unmerged::Unusable(cause)) => return Err(cause),
            other => other.unwrap(),
        };
        let root = merged.map_err(|paths| paths.join(" "))?;
        // libgit2 gives the same id to the same files.
        let mut files = Vec::new();
        let root = repository.find_tree(root).unwrap();
        root.walk(git2::TreeWalkMode::PreOrder, |at, entry| {
            if let Ok(blob) = repository.find_blob(entry.id()) {
                let text = String::from_utf8_lossy(blob.content()).into_owned();
                files.push(format!("{at}{}={text}", entry.name().unwrap()));
            }
            git2::TreeWalkResult::Ok
        })
        .unwrap();
        Ok(files)
    }

    #[test]
    fn changes_of_both_sides_are_taken() {
        let start: Files<'_> = &[
            ("a/x", "1"),
            ("a/y", "1"),
            ("b", "1\n2\n3\n4\n"),
            ("c", "1"),
        ];
        let ours: Files<'_> = &[
            ("a/x", "2"),
            ("a/y", "1"),
            ("b", "0\n2\n3\n4\n"),
            ("c", "1"),
            ("a.b", "new"),
        ];
        let theirs: Files<'_> = &[("a/x", "1"), ("b", "1\n2\n3\n5\n"), ("d/e", "new")];
        let expected = ["a.b=new", "a/x=2", "b=0\n2\n3\n5\n", "d/e=new"];
        assert_eq!(merged(start, ours, theirs).unwrap(), expected);
        // A directory of which nothing is left is none.
        let files = merged(
            &[("a/x", "1"), ("b", "1")],
            &[("b", "1")],
            &[("a/x", "1"), ("b", "2")],
        );
        assert_eq!(files.unwrap(), ["b=2"]);
    }

    #[test]
    fn what_both_changed_otherwise_is_in_conflict() {
        for (start, ours, theirs) in [
            // Both changed it, both added it, one removed it.
            (
                &[("f/a", "1")][..],
                &[("f/a", "2")][..],
                &[("f/a", "3")][..],
            ),
            (&[], &[("f/a", "2")], &[("f/a", "3")]),
            (&[("f/a", "1")], &[], &[("f/a", "3")]),
        ] {
            assert_eq!(merged(start, ours, theirs).unwrap_err(), "f/a");
        }
        // A file became a directory, and was changed.
        let clash = merged(&[("f", "1")], &[("f/a", "1")], &[("f", "2")]);
        assert_eq!(clash.unwrap_err(), "f");
    }

    #[test]
    fn a_large_file_is_not_read() {
        let (start, ours) = ("1\n".repeat(MAX_FILE), "2\n".repeat(MAX_FILE));
        let theirs = format!("{start}3\n");
        let clash = merged(&[("a", &start)], &[("a", &ours)], &[("a", &theirs)]);
        assert_eq!(clash.unwrap_err(), "a");
        // One that only one side changed need not be.
        let files = merged(&[("a", &start)], &[("a", &ours)], &[("a", &start)]);
        assert_eq!(files.unwrap().len(), 1);
    }

    #[test]
    fn a_directory_that_is_malformed_or_has_a_name_twice_is_refused() {
        let (_dir, repository) = repository();
        let odb = repository.odb().unwrap();
        let blob = repository.blob(b"x").unwrap();
        let start = tree(&repository, &[("a", "1")]);
        let ours = tree(&repository, &[("a", "2")]);
        let one = [b"100644 a\0", blob.as_bytes()].concat();
        for (bytes, says) in [
            ([&one[..], &one].concat(), "two entries called \"a\""),
            (b"no directory".to_vec(), "malformed"),
        ] {
            let theirs = odb.write(ObjectType::Tree, &bytes).unwrap();
            let refused = ThreeWay::merge(&odb, start, ours, theirs);
            let is_said =
                matches!(&refused, Err(Unmerged::Unusable(cause)) if cause.contains(says));
            assert!(is_said, "{refused:?}");
        }
    }
}
