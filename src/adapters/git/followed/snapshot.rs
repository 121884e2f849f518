//! The files of a followed directory at one moment, in memory and on the disk.
//!
//! What is on the disk outlives a restart. Where the directory has a broken revision then, the last good one is
//! applied again; a new one is compared with it. While the directory is away, nothing is applied.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::place::Place;
use crate::adapters::git::{Error, RetainedRef};
use crate::model::{Tree, hex};

/// The files at one moment.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) revision: String,
    /// What is said of it in a line; of a commit, the first of its message.
    pub(super) title: String,
    /// The path of the directory in its checkout.
    pub(super) root: String,
    /// The directories in it that were read, as the settings name them.
    pub(super) parts: Vec<String>,
    /// The files of each.
    pub(super) trees: Vec<Tree>,
    /// Of these files; see [`digest`].
    pub(super) digest: String,
    /// Where they were read; `None` for one of the disk.
    pub(super) place: Option<Place>,
}

/// A snapshot on the disk.
#[derive(Serialize, Deserialize)]
struct Saved {
    title: String,
    root: String,
    parts: Vec<String>,
    files: Vec<BTreeMap<String, String>>,
}

impl Snapshot {
    /// Whether `other` has the same files under the same name.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.revision, &self.parts, &self.digest)
            == (&other.revision, &other.parts, &other.digest)
            && (&self.title, &self.root) == (&other.title, &other.root)
    }

    /// The files of a part.
    pub(super) fn tree(&self, part: &str) -> Option<&Tree> {
        let at = self.parts.iter().position(|known| known == part)?;
        self.trees.get(at)
    }

    /// A file of this that `other`, of the same revision, does not have, or has with other content. Parts that only
    /// one of them has do not count.
    pub(super) fn missing_in(&self, other: &Self) -> Option<String> {
        if self.root != other.root {
            return None;
        }
        let lost = |(part, tree): (&String, &Tree)| {
            let there = other.tree(part)?;
            let mut files = tree.files.iter();
            let lost = files.find(|(path, text)| there.files.get(*path) != Some(text));
            lost.map(|(path, _)| path.to_string())
        };
        self.parts.iter().zip(&self.trees).find_map(lost)
    }

    /// What is written; `None` if some file has no text: such a revision is never good.
    fn saved(&self) -> Option<Saved> {
        let text = |(path, bytes): (&Arc<str>, &Arc<[u8]>)| {
            let text = std::str::from_utf8(bytes).ok()?;
            Some((path.to_string(), text.to_owned()))
        };
        let part = |tree: &Tree| -> Option<BTreeMap<String, String>> {
            let files = tree.files.iter().map(text).collect();
            tree.problems.is_empty().then_some(files)?
        };
        Some(Saved {
            title: self.title.clone(),
            root: self.root.clone(),
            parts: self.parts.clone(),
            files: self.trees.iter().map(part).collect::<Option<_>>()?,
        })
    }
}

impl Saved {
    fn snapshot(self, revision: &str) -> Snapshot {
        let file = |(path, text): (String, String)| (path.into(), text.into_bytes().into());
        let tree = |files: BTreeMap<String, String>| Tree {
            revision: revision.to_owned(),
            files: files.into_iter().map(file).collect(),
            ..Tree::default()
        };
        let trees: Vec<Tree> = self.files.into_iter().map(tree).collect();
        Snapshot {
            revision: revision.to_owned(),
            title: self.title,
            root: self.root,
            parts: self.parts,
            digest: digest(&trees),
            trees,
            place: None,
        }
    }
}

/// A digest of the files, the same for the same files.
pub(super) fn digest(trees: &[Tree]) -> String {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    };
    for tree in trees {
        add(b"tree");
        for (path, text) in &tree.files {
            add(path.as_bytes());
            add(text);
        }
        for (path, problem) in &tree.problems {
            add(path.as_bytes());
            add(format!("{problem:?}").as_bytes());
        }
    }
    hex(&digest.finalize())
}

/// Snapshots on the disk: the newest, and those that are retained.
#[derive(Debug)]
pub(super) struct Store {
    directory: PathBuf,
}

impl Store {
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// The file that a revision is kept in.
    pub(super) fn file(&self, revision: &str) -> PathBuf {
        self.directory.join(format!("{revision}.json"))
    }

    fn pointer(&self, retained: RetainedRef) -> PathBuf {
        self.directory.join(format!("{retained:?}").to_lowercase())
    }

    pub(super) fn load(&self, revision: &str) -> Option<Snapshot> {
        let text = fs::read(self.file(revision)).ok()?;
        let saved: Saved = serde_json::from_slice(&text).ok()?;
        Some(saved.snapshot(revision))
    }

    /// Keeps a snapshot, in place of another one of its revision: that may have other parts.
    pub(super) fn save(&self, snapshot: &Snapshot) -> Result<(), Error> {
        let kept = self.load(&snapshot.revision);
        if kept.is_some_and(|kept| kept.is_same(snapshot)) {
            return Ok(());
        }
        let Some(saved) = snapshot.saved() else {
            return Ok(());
        };
        let file = self.file(&snapshot.revision);
        let text = serde_json::to_vec(&saved).map_err(io::Error::from);
        let written = text.and_then(|text| replace(&file, &text));
        written.map_err(|cause| Error::disk(&file, &cause))
    }

    /// Forgets all but what was seen `lately`, and what is retained.
    pub(super) fn sweep(&self, lately: &[String]) {
        let kept = RetainedRef::ALL.map(|retained| self.retained(retained));
        let kept = kept.iter().flatten().chain(lately);
        let kept: Vec<PathBuf> = kept.map(|revision| self.file(revision)).collect();
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let files = entries.map(|entry| entry.path());
        let files = files.filter(|file| file.extension().is_some_and(|ending| ending == "json"));
        for file in files.filter(|file| !kept.contains(file)) {
            drop(fs::remove_file(file));
        }
    }

    pub(super) fn retain(&self, retained: RetainedRef, revision: &str) -> Result<(), Error> {
        let pointer = self.pointer(retained);
        let written = replace(&pointer, revision.as_bytes());
        written.map_err(|cause| Error::disk(&pointer, &cause))
    }

    pub(super) fn retained(&self, retained: RetainedRef) -> Option<String> {
        fs::read_to_string(self.pointer(retained)).ok()
    }
}

/// Writes a file as a whole: who reads it finds the old text or the new, also after a loss of power.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = fs::File::create(&new)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&new, path)
}
