//! The tree behind a notes ref: one blob per commit, by the commit's id.
//!
//! In: a commit of the ref and changes of some texts. Out: those texts, and a commit on top. It
//! does not know where the ref is, nor who else writes it.

use std::collections::BTreeMap;
use std::path::Path;

use git2::build::TreeUpdateBuilder;
use git2::{ErrorCode, FileMode, Oid, Repository, Signature, Time, Tree};
use jiff::Timestamp;

/// From a note's text, if there is one, to its new text.
pub type Rewrite<'a> = dyn Fn(Option<&str>) -> String + 'a;

/// What to do with the note on one commit.
pub struct NoteEdit<'a> {
    /// The commit's id.
    pub commit: &'a str,
    /// Maps the old text to the new one. Called again for every attempt.
    pub rewrite: &'a Rewrite<'a>,
}

/// The notes of one commit of a notes ref.
pub(super) struct Notes<'r> {
    repository: &'r Repository,
    tip: Option<git2::Commit<'r>>,
    tree: Tree<'r>,
}

impl<'r> Notes<'r> {
    /// The notes at the commit `tip` of the ref, which may not exist yet.
    pub(super) fn at(repository: &'r Repository, tip: Option<Oid>) -> Result<Self, git2::Error> {
        let tip = tip.map(|tip| repository.find_commit(tip)).transpose()?;
        let tree = match &tip {
            Some(tip) => tip.tree()?,
            None => repository.find_tree(repository.treebuilder(None)?.write()?)?,
        };
        Ok(Self {
            repository,
            tip,
            tree,
        })
    }

    /// The path of the note on `commit`, whether it exists or not, and its text. Git looks for `<40 digits>`
    /// and spreads many notes over `<2>/<38>` and `<2>/<2>/<36>`; ours go into `<2>/<38>`, so that
    /// a write stays small however many there are.
    pub(super) fn find(&self, commit: Oid) -> Result<(String, Option<String>), git2::Error> {
        let id = commit.to_string();
        let (first, rest) = id.split_at(2);
        let (second, last) = rest.split_at(2);
        let spread = format!("{first}/{rest}");
        for path in [&spread, &id, &format!("{first}/{second}/{last}")] {
            match self.tree.get_path(Path::new(path)) {
                Ok(entry) => {
                    let blob = self.repository.find_blob(entry.id())?;
                    return Ok((path.clone(), Some(decoded(blob.content()))));
                }
                Err(cause) if cause.code() == ErrorCode::NotFound => {}
                Err(cause) => return Err(cause),
            }
        }
        Ok((spread, None))
    }

    /// A commit on top with the texts rewritten; `None` if they do not change.
    pub(super) fn rewritten(
        &self,
        edits: &[NoteEdit<'_>],
        at: Timestamp,
    ) -> Result<Option<Oid>, git2::Error> {
        let mut notes: BTreeMap<Oid, (String, Option<String>)> = BTreeMap::new();
        for edit in edits {
            let commit = Oid::from_str(edit.commit)?;
            let (path, text) = match notes.remove(&commit) {
                Some(edited) => edited,
                None => self.find(commit)?,
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
        let tree = update.create_updated(self.repository, &self.tree)?;
        if tree == self.tree.id() {
            return Ok(None);
        }
        let commits: Vec<Oid> = notes.into_keys().collect();
        self.commit(tree, &commits, at).map(Some)
    }

    fn commit(&self, tree: Oid, of: &[Oid], at: Timestamp) -> Result<Oid, git2::Error> {
        let tree = self.repository.find_tree(tree)?;
        let who = Signature::new(
            "Capstan",
            "capstan@localhost",
            &Time::new(at.as_second(), 0),
        )?;
        let parents: Vec<_> = self.tip.iter().collect();
        let message = match of {
            [one] => format!("capstan: note on {one}\n"),
            many => format!("capstan: notes on {} commits\n", many.len()),
        };
        self.repository
            .commit(None, &who, &who, &message, &tree, &parents)
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
