//! Which commits write a word into a file.
//!
//! In: commits and words. Out: for each word the newest commit whose tree has it in a file that its first parent has not, or
//! not so. Files are searched as bytes. What is more than the budget counts as if it had every word. It does not know what
//! the words mean.

use std::collections::{BTreeMap, BTreeSet};

use git2::{ObjectType, Odb, Oid, Repository};

use super::commit_object::CommitObject;
use super::tree_object::{TreeObject, is_submodule, is_tree};

/// The most commits that are searched.
pub(super) const MOST_COMMITS: usize = 10_000;
/// The most entries of directories that are compared.
const MOST_ENTRIES: usize = 1_000_000;
/// The most bytes that are searched: 64 MiB.
const MOST_BYTES: usize = 64 << 20;

/// Returns, for each of `words` that one of `commits` writes into a file, the first such commit. If there are
/// [`MOST_COMMITS`], some may be missing, and the first counts as if it wrote what no other does.
///
/// # Errors
/// When an object cannot be read.
pub(super) fn written(
    repository: &Repository,
    commits: &[Oid],
    words: &BTreeSet<String>,
) -> Result<BTreeMap<String, Oid>, git2::Error> {
    let odb = repository.odb()?;
    let mut search = Search {
        odb: &odb,
        missing: words.iter().map(|word| (key(word), word)).collect(),
        found: BTreeMap::new(),
        entries: 0,
        bytes: 0,
    };
    for id in commits {
        search.commit(*id)?;
    }
    if let Some(first) = commits.first().filter(|_| commits.len() >= MOST_COMMITS) {
        search.find_all(*first);
    }
    Ok(search.found)
}

/// Modes and objects of the entries of a directory, by name. A name may stand there more than once.
type Entries = BTreeMap<Vec<u8>, Vec<(u32, Oid)>>;

struct Search<'s> {
    odb: &'s Odb<'s>,
    /// The words that were not found yet, by what stands for them in a file.
    missing: BTreeMap<&'s [u8], &'s String>,
    found: BTreeMap<String, Oid>,
    entries: usize,
    bytes: usize,
}

impl Search<'_> {
    /// Finds the words that a commit writes.
    fn commit(&mut self, id: Oid) -> Result<(), git2::Error> {
        if self.missing.is_empty() {
            return Ok(());
        }
        let Some(commit) = CommitObject::read(self.odb, id)? else {
            return Ok(());
        };
        let parent = match commit.parents.first() {
            // A shallow repository lacks it.
            Some(parent) if self.odb.exists(*parent) => CommitObject::read(self.odb, *parent)?,
            _ => None,
        };
        let mut left = vec![(commit.tree, parent.map(|parent| parent.tree))];
        while let Some((new, old)) = left.pop() {
            if Some(new) == old {
                continue;
            }
            let before = match old {
                Some(old) => self.entries_of(old)?,
                None => Entries::new(),
            };
            for (name, entries) in self.entries_of(new)? {
                let before = before.get(&name).map_or(&[][..], Vec::as_slice);
                let changed = entries.iter().filter(|entry| !before.contains(entry));
                for (mode, file) in changed {
                    if is_tree(*mode) {
                        let before = before.iter().find(|(mode, _)| is_tree(*mode));
                        left.push((*file, before.map(|(_, id)| *id)));
                    } else if !is_submodule(*mode) {
                        self.file(*file, id)?;
                    }
                }
            }
            if self.is_exhausted() {
                self.find_all(id);
            }
        }
        Ok(())
    }

    /// Finds the words in a file, which `commit` writes.
    fn file(&mut self, id: Oid, commit: Oid) -> Result<(), git2::Error> {
        let (size, kind) = self.odb.read_header(id)?;
        self.bytes = self.bytes.saturating_add(size);
        if kind != ObjectType::Blob || self.is_exhausted() {
            return Ok(());
        }
        let file = self.odb.read(id)?;
        for name in file.data().split(|byte| !is_of_name(*byte)) {
            if let Some(word) = self.missing.remove(name) {
                self.found.insert(word.clone(), commit);
            }
        }
        Ok(())
    }

    /// Takes all words that are left for found.
    fn find_all(&mut self, commit: Oid) {
        let missing = std::mem::take(&mut self.missing);
        let found = missing.into_values().map(|word| (word.clone(), commit));
        self.found.extend(found);
    }

    /// The entries of a directory by name; none if it cannot be read as one.
    fn entries_of(&mut self, id: Oid) -> Result<Entries, git2::Error> {
        let mut all = Entries::new();
        if let Ok(tree) = TreeObject::read(self.odb, id)? {
            for entry in tree.entries() {
                self.entries += 1;
                let named = all.entry(entry.name.to_vec()).or_default();
                named.push((entry.mode, entry.id));
            }
        }
        Ok(all)
    }

    const fn is_exhausted(&self) -> bool {
        self.entries > MOST_ENTRIES || self.bytes > MOST_BYTES
    }
}

/// What stands for a word in a file: its part up to the first dot, since a name there may be one of a file.
fn key(word: &str) -> &[u8] {
    let part = word.split_once('.').map_or(word, |(part, _)| part);
    part.as_bytes()
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::adapters::git::fixture::Origin;

    fn words(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_word_is_no_part_of_a_longer_name() {
        for (text, expected) in [
            ("name: dev-1", true),
            ("dev-1", true),
            ("\"dev-1\"", true),
            ("clusters/dev-1.yaml", true),
            ("name: dev-10", false),
            ("name: my-dev-1", false),
            ("name: dev-1-west\nother: dev-1\n", true),
            ("", false),
        ] {
            let origin = Origin::new();
            let commit = Oid::from_str(&origin.push("main", &[("a", text)])).unwrap();
            let found = written(&origin.repository, &[commit], &words(&["dev-1"])).unwrap();
            assert_eq!(found.contains_key("dev-1"), expected, "{text}");
        }
    }

    #[test]
    fn the_newest_commit_that_writes_a_word_is_found() {
        let origin = Origin::new();
        let (one, two) = ("name: dev-1", "name: dev-2");
        let pushes: [&[(&str, &str)]; 6] = [
            &[("a/one.yaml", one), ("b.yaml", two)],
            &[("b.yaml", two)],
            &[("b.yaml", "name: dev-2\nmore: 1")],
            &[("b.yaml", two), ("c/d/e.yaml", one)],
            &[("b.yaml", two)],
            &[("b.yaml", two), ("f.yaml", "name: new.with.dots")],
        ];
        let ids = pushes.map(|files| Oid::from_str(&origin.push("main", files)).unwrap());
        let found = |from: usize, to: usize| {
            let all = words(&["dev-1", "dev-2", "new.with.dots", "none"]);
            let line: Vec<Oid> = ids[from + 1..=to].iter().rev().copied().collect();
            let found = written(&origin.repository, &line, &all).unwrap();
            let at = |id: Oid| ids.iter().position(|one| *one == id).unwrap();
            found
                .into_iter()
                .map(|(word, id)| (word, at(id)))
                .collect::<Vec<_>>()
        };
        let named = |word: &str, at| (word.to_owned(), at);
        assert_eq!(found(0, 1), []);
        assert_eq!(found(1, 2), [named("dev-2", 2)]);
        assert_eq!(found(1, 4), [named("dev-1", 3), named("dev-2", 3)]);
        assert_eq!(found(4, 5), [named("new.with.dots", 5)]);
    }
}
