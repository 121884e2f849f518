//! The tree behind a notes ref: one blob per commit, by the commit's id.
//!
//! In: a commit of the ref and changes of some texts. Out: those texts, and a commit on top. It
//! does not know where the ref is, nor who else writes it.

use std::collections::BTreeMap;

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Odb, Oid, Repository};
use jiff::Timestamp;

use super::commit_object::CommitObject;
use super::tree_object::{TreeObject, is_submodule, is_tree};

/// The most bytes of a note that is read: 4 MiB. Whoever may push decides how large it is.
const MAX_BYTES: usize = 4 << 20;

/// From a note's text, if there is one, to its new text.
pub type Rewrite<'a> = dyn Fn(Option<&str>) -> String + 'a;

/// What to do with the note on one commit.
pub struct NoteEdit<'a> {
    /// The commit's id.
    pub commit: &'a str,
    /// Maps the old text to the new one. Called again for every attempt.
    pub rewrite: &'a Rewrite<'a>,
}

/// Why notes cannot be read or written.
#[derive(Debug)]
pub(super) enum NotesFault {
    /// An object is missing.
    Git(git2::Error),
    /// The ref leads to something else than notes, or to notes that cannot be used.
    Unusable(String),
}

impl From<git2::Error> for NotesFault {
    fn from(cause: git2::Error) -> Self {
        Self::Git(cause)
    }
}

/// The notes of one commit of a notes ref.
pub(super) struct Notes<'r> {
    repository: &'r Repository,
    odb: Odb<'r>,
    tip: Option<Oid>,
    tree: Oid,
}

impl<'r> Notes<'r> {
    /// The notes at the commit `tip` of the ref, which may not exist yet.
    pub(super) fn at(repository: &'r Repository, tip: Option<Oid>) -> Result<Self, NotesFault> {
        let odb = repository.odb()?;
        let tree = match tip {
            Some(tip) => {
                let commit = CommitObject::read(&odb, tip)?;
                let unusable = || NotesFault::Unusable("it leads to no commit".to_owned());
                commit.ok_or_else(unusable)?.tree
            }
            None => odb.write(ObjectType::Tree, b"")?,
        };
        TreeObject::read(&odb, tree)?.map_err(NotesFault::Unusable)?;
        Ok(Self {
            repository,
            odb,
            tip,
            tree,
        })
    }

    /// The path of the note on `commit`, whether it exists or not, and its text. Git looks for `<40 digits>`
    /// and spreads many notes over `<2>/<38>` and `<2>/<2>/<36>`; ours go into `<2>/<38>`, so that
    /// a write stays small however many there are.
    pub(super) fn find(&self, commit: Oid) -> Result<(String, Option<String>), NotesFault> {
        let id = commit.to_string();
        let (first, rest) = id.split_at_checked(2).unwrap_or_default();
        let (second, last) = rest.split_at_checked(2).unwrap_or_default();
        let spread = format!("{first}/{rest}");
        for path in [&spread, &id, &format!("{first}/{second}/{last}")] {
            if let Some(blob) = self.blob(path)? {
                return Ok((path.clone(), Some(self.text(commit, blob)?)));
            }
        }
        Ok((spread, None))
    }

    /// What is at a path, if it is no directory.
    fn blob(&self, path: &str) -> Result<Option<Oid>, NotesFault> {
        let (mut at, mut parts) = (self.tree, path.split('/').peekable());
        while let Some(part) = parts.next() {
            let tree = TreeObject::read(&self.odb, at)?.map_err(NotesFault::Unusable)?;
            let Some(entry) = tree.entry(part.as_bytes()) else {
                return Ok(None);
            };
            if is_tree(entry.mode) != parts.peek().is_some() {
                return Ok(None);
            }
            if is_submodule(entry.mode) {
                return Err(NotesFault::Unusable(format!("{path} is not a file")));
            }
            at = entry.id;
        }
        Ok(Some(at))
    }

    fn text(&self, commit: Oid, blob: Oid) -> Result<String, NotesFault> {
        let (size, kind) = self.odb.read_header(blob)?;
        if kind != ObjectType::Blob {
            let cause = format!("the note on {commit} is not a file");
            return Err(NotesFault::Unusable(cause));
        }
        if size > MAX_BYTES {
            let cause = format!("the note on {commit} has {size} bytes; the limit is {MAX_BYTES}");
            return Err(NotesFault::Unusable(cause));
        }
        Ok(decoded(self.odb.read(blob)?.data()))
    }

    /// A commit on top with the texts rewritten; `None` if they do not change. A note that cannot be used is left as it
    /// is, and hinders no other: the first fault is returned as well.
    pub(super) fn rewritten(
        &self,
        edits: &[NoteEdit<'_>],
        at: Timestamp,
    ) -> Result<(Option<Oid>, Option<String>), NotesFault> {
        let mut notes: BTreeMap<Oid, (String, Option<String>)> = BTreeMap::new();
        let mut fault = None;
        for edit in edits {
            let commit = Oid::from_str(edit.commit)?;
            let found = notes.remove(&commit);
            let (path, text) = match found.map_or_else(|| self.find(commit), Ok) {
                Ok(found) => found,
                Err(NotesFault::Unusable(cause)) => {
                    fault.get_or_insert(cause);
                    continue;
                }
                Err(cause) => return Err(cause),
            };
            let text = (edit.rewrite)(text.as_deref());
            notes.insert(commit, (path, Some(text)));
        }
        let mut update = TreeUpdateBuilder::new();
        for (path, text) in notes.values() {
            let blob = self
                .repository
                .blob(text.as_deref().unwrap_or_default().as_bytes())?;
            update.upsert(path.as_str(), blob, FileMode::Blob);
        }
        let updated = self.repository.find_tree(self.tree);
        let updated = updated.and_then(|tree| update.create_updated(self.repository, &tree));
        // The directories were read before; libgit2 is stricter.
        let tree = updated.map_err(|cause| NotesFault::Unusable(cause.message().to_owned()))?;
        if tree == self.tree {
            return Ok((None, fault));
        }
        let commits: Vec<Oid> = notes.into_keys().collect();
        Ok((Some(self.commit(tree, &commits, at)?), fault))
    }

    /// Written as it is: libgit2 would parse the parent, which somebody else may have made.
    fn commit(&self, tree: Oid, of: &[Oid], at: Timestamp) -> Result<Oid, git2::Error> {
        let parent = self
            .tip
            .map_or_else(String::new, |tip| format!("parent {tip}\n"));
        let who = format!("Capstan <capstan@localhost> {} +0000", at.as_second());
        let message = match of {
            [one] => format!("capstan: note on {one}\n"),
            many => format!("capstan: notes on {} commits\n", many.len()),
        };
        let text = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\n{message}");
        self.odb.write(ObjectType::Commit, text.as_bytes())
    }
}

/// The text of a note. A line that is not UTF-8 is read as Latin-1, so that none of its letters is lost when the note
/// is written again.
fn decoded(bytes: &[u8]) -> String {
    let line = |line: &[u8]| match std::str::from_utf8(line) {
        Ok(line) => line.to_owned(),
        Err(_) => line.iter().map(|byte| char::from(*byte)).collect(),
    };
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(line)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_another_encoding_is_not_lost() {
        let note = [b"Gr\xfc\xdfe\n", "Grüße\n".as_bytes()].concat();
        assert_eq!(decoded(&note), "Grüße\nGrüße\n");
    }
}
