//! The candidates that were being planned when the process ended, kept across restarts.
//!
//! In: which candidate is being planned, and which no longer is. Out: the same, also in the next process: what one
//! process died of, the next does not plan again until somebody pushes or asks. It does not know how a candidate is
//! planned.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::record_file;

/// See the module.
#[derive(Debug)]
pub(super) struct InProgress {
    path: PathBuf,
    planning: BTreeSet<Ref>,
    interrupted: BTreeSet<Ref>,
    /// The process ends in order: what is being planned is no reason for that.
    is_closed: bool,
}

/// A ref and what it points to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Ref {
    name: String,
    id: String,
}

#[derive(Default, Serialize, Deserialize)]
struct Contents {
    planning: BTreeSet<Ref>,
    interrupted: BTreeSet<Ref>,
}

impl InProgress {
    /// Reads what an earlier process left. A file that cannot be read holds nothing.
    pub(super) fn open(path: PathBuf) -> Self {
        let left: Contents = record_file::read(&path).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "cannot read which pull requests were being planned when the daemon ended: they are planned again");
            Contents::default()
        });
        Self {
            path,
            planning: BTreeSet::new(),
            is_closed: false,
            interrupted: left.planning.into_iter().chain(left.interrupted).collect(),
        }
    }

    /// Returns true if an earlier process ended while it planned what has this id.
    pub(super) fn was_interrupted(&self, id: &str) -> bool {
        self.interrupted.iter().any(|one| one.id == id)
    }

    /// Records that this candidate is being planned. Somebody wanted that if it was interrupted before.
    pub(super) fn begin(&mut self, name: &str, id: &str) {
        if self.is_closed {
            return;
        }
        self.interrupted.retain(|one| one.id != id);
        self.planning.insert(Ref {
            name: name.to_owned(),
            id: id.to_owned(),
        });
        self.save();
    }

    /// Records that this candidate is not being planned any more.
    pub(super) fn end(&mut self, name: &str, id: &str) {
        let planning = self.planning.len();
        self.planning
            .retain(|one| (one.name.as_str(), one.id.as_str()) != (name, id));
        if self.planning.len() != planning {
            self.save();
        }
    }

    /// Forgets the interrupted candidates whose ref does not point to their id any more, as `points` says.
    pub(super) fn retain(&mut self, points: impl Fn(&str, &str) -> bool) {
        let interrupted = self.interrupted.len();
        self.interrupted.retain(|one| points(&one.name, &one.id));
        if self.interrupted.len() != interrupted {
            self.save();
        }
    }

    /// Records that the process ends in order, and nothing after that.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        if !self.planning.is_empty() {
            self.planning.clear();
            self.save();
        }
    }

    fn save(&self) {
        let is_empty = self.planning.is_empty() && self.interrupted.is_empty();
        let saved = match is_empty {
            true => remove(&self.path),
            false => self.write(),
        };
        if let Err(error) = saved {
            tracing::warn!(path = %self.path.display(), %error, "cannot record which pull request is being planned; make the directory writable");
        }
    }

    fn write(&self) -> io::Result<()> {
        let contents = Contents {
            planning: self.planning.clone(),
            interrupted: self.interrupted.clone(),
        };
        record_file::write(&self.path, contents)
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_was_being_planned_at_the_end_is_interrupted_until_it_moves_or_somebody_asks() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("planning.json");
        let mut killed = InProgress::open(path.clone());
        killed.begin("refs/pull/1/head", "1");
        killed.begin("refs/pull/2/head", "2");
        killed.end("refs/pull/1/head", "1");
        drop(killed);
        let mut next = InProgress::open(path.clone());
        assert!(next.was_interrupted("2") && !next.was_interrupted("1"));
        next.begin("refs/pull/3/head", "3");
        drop(next);
        let mut third = InProgress::open(path.clone());
        assert!(third.was_interrupted("2") && third.was_interrupted("3"));
        third.retain(|_, id| id != "2");
        assert!(!third.was_interrupted("2") && third.was_interrupted("3"));
        third.begin("refs/heads/pr/3", "3");
        assert!(!third.was_interrupted("3"), "somebody asked");
        third.close();
        third.begin("refs/pull/4/head", "4");
        assert!(!path.exists(), "it ended in order");
    }

    #[test]
    fn a_file_that_cannot_be_read_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("planning.json");
        for text in ["", "{", r#"{"v":2,"planning":[],"interrupted":[]}"#] {
            std::fs::write(&path, text).unwrap();
            let mut record = InProgress::open(path.clone());
            assert!(!record.was_interrupted("1"));
            record.begin("refs/pull/1/head", "1");
            assert!(InProgress::open(path.clone()).was_interrupted("1"));
        }
    }
}
