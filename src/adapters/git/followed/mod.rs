//! A directory that another program keeps up to date: git-sync, a mounted ConfigMap, a clone.
//!
//! In: its path. Out: a revision, and the files of the fleet at one moment, never half of one moment and half
//! of another. It does not know: when to look, what a revision is for.
//!
//! Such programs write a new directory and exchange a link to it: git-sync the directory's own
//! (`<link> -> .worktrees/<commit>`), Kubernetes `..data` inside. The link is resolved once, everything is read
//! below its target, and read again if the link has changed meanwhile; the old target may be deleted at any
//! moment. Where files are written one by one, what counts is what stays, or what is exactly a commit.
//!
//! Git-sync repairs a worktree in place, with the link leading to it, and may be stopped in the middle. So what git
//! has not finished does not count, and a commit must have the files that were read under its ID before.

mod head;
mod noticing;
mod place;
mod snapshot;
#[cfg(test)]
mod tests;
mod touched;
mod way;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::contents::Contents;
use super::mirror::lock;
use super::{Commit, Error, RetainedRef, directory};
use crate::model::cut;
use crate::model::{Problem, Tree};
use head::Head;
use jiff::Timestamp;
use noticing::Noticing;
use parking_lot::Mutex;
use place::{Place, Update};
use snapshot::{Snapshot, Store, digest};
use touched::touched;

/// How long files that are written one by one must stay the same before they count.
const SETTLE: Duration = Duration::from_secs(2);
/// How often a directory that changes while it is read is read again before the next look.
const ATTEMPTS: usize = 5;
/// How many moments are remembered: one may be examined while newer ones come.
const REMEMBERED: usize = 4;

/// A directory that another program keeps up to date.
#[derive(Debug)]
pub struct FollowedDirectory {
    path: PathBuf,
    /// The directories in it that are read: that of the fleet, and those of overlays.
    parts: Vec<String>,
    settle: Duration,
    /// The newest comes last.
    seen: Mutex<VecDeque<Seen>>,
    has_commits: AtomicBool,
    store: Store,
    contents: Mutex<Contents>,
    time: fn() -> Timestamp,
    noticing: Mutex<Option<Noticing>>,
    is_watched: AtomicBool,
    /// Why it is not watched.
    unwatched: Mutex<Option<String>>,
    _lock: File,
}

/// What was seen.
#[derive(Debug)]
enum Seen {
    /// The newest; also what cannot be kept on the disk.
    InMemory(Arc<Snapshot>),
    /// The revision of what is on the disk: fleets are large.
    OnDisk(String),
}

impl Seen {
    fn revision(&self) -> &str {
        match self {
            Self::InMemory(snapshot) => &snapshot.revision,
            Self::OnDisk(revision) => revision,
        }
    }

    fn in_memory(&self) -> Option<&Arc<Snapshot>> {
        match self {
            Self::InMemory(snapshot) => Some(snapshot),
            Self::OnDisk(_) => None,
        }
    }
}

impl FollowedDirectory {
    /// The directory at `path`; of it, `parts` are read, the first of which is the fleet. What was read is kept in
    /// `store`. `time` tells the time now.
    ///
    /// # Errors
    /// When `store` cannot be used.
    pub fn open(
        path: &Path,
        parts: &[String],
        store: &Path,
        time: fn() -> Timestamp,
    ) -> Result<Self, Error> {
        Self::settling(path, parts, store, (SETTLE, time))
    }

    fn settling(
        path: &Path,
        parts: &[String],
        store: &Path,
        (settle, time): (Duration, fn() -> Timestamp),
    ) -> Result<Self, Error> {
        std::fs::create_dir_all(store).map_err(|cause| Error::disk(store, &cause))?;
        let absolute = std::path::absolute(path).map_err(|cause| Error::disk(path, &cause))?;
        Ok(Self {
            // Without a `/` at the end, which would follow a link.
            path: absolute.components().collect(),
            parts: parts.to_vec(),
            settle,
            seen: Mutex::default(),
            has_commits: AtomicBool::default(),
            store: Store::new(store),
            contents: Mutex::default(),
            time,
            noticing: Mutex::default(),
            is_watched: AtomicBool::default(),
            unwatched: Mutex::default(),
            _lock: lock(store)?,
        })
    }

    /// Looks at the directory; the revision that it has now: the commit, if it is one, else a digest of the files.
    ///
    /// # Errors
    /// When it is not there, lacks a part, has no files, or changes all the time.
    pub fn look(&self) -> Result<String, Error> {
        self.follow();
        let place = Place::of(&self.path).map_err(|cause| self.away(&cause))?;
        let is_clone = place.update == Update::InPlace && head::is_clone(&place.root);
        self.has_commits.store(is_clone, Ordering::Relaxed);
        let newest = self.newest();
        let newest = newest.filter(|newest| newest.place.as_ref() == Some(&place));
        if let Some(newest) = newest.as_ref().filter(|_| place.is_exchanged()) {
            return Ok(newest.revision.clone());
        }
        let read = self.read()?;
        let revision = read.revision.clone();
        if newest.is_some_and(|newest| newest.is_same(&read)) {
            return Ok(revision);
        }
        self.refuse_incomplete(&read)?;
        self.store.save(&read)?;
        self.remember(read);
        Ok(revision)
    }

    /// Remembers what was read; of what came before, the revision.
    fn remember(&self, read: Snapshot) {
        let mut seen = self.seen.lock();
        seen.retain(|seen| seen.revision() != read.revision);
        for before in seen.iter_mut() {
            if self.store.file(before.revision()).exists() {
                *before = Seen::OnDisk(before.revision().to_owned());
            }
        }
        seen.push_back(Seen::InMemory(Arc::new(read)));
        let surplus = seen.len().saturating_sub(REMEMBERED);
        seen.drain(..surplus);
        let lately: Vec<String> = seen.iter().map(|seen| seen.revision().to_owned()).collect();
        drop(seen);
        self.store.sweep(&lately);
    }

    /// The files of a part at a revision that was seen lately or is retained.
    ///
    /// # Errors
    /// When the revision is gone.
    pub fn tree(&self, revision: &str, part: &str) -> Result<Tree, Error> {
        let snapshot = self.snapshot(revision);
        let tree = snapshot.and_then(|snapshot| snapshot.tree(part).cloned());
        tree.ok_or_else(|| self.unusable(format!("it has changed since revision {revision}")))
    }

    /// The path of the directory in its checkout, from which the paths of files count.
    #[must_use]
    pub fn root(&self, revision: &str) -> Option<String> {
        Some(self.snapshot(revision)?.root.clone())
    }

    /// What is said of a revision in a line.
    #[must_use]
    pub fn title(&self, revision: &str) -> Option<String> {
        Some(self.snapshot(revision)?.title.clone())
    }

    /// Keeps a revision, in place of the one that was kept as the same.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn retain(&self, retained: RetainedRef, revision: &str) -> Result<(), Error> {
        self.store.retain(retained, revision)
    }

    /// The revision that is kept as this, if there is one.
    #[must_use]
    pub fn retained(&self, retained: RetainedRef) -> Option<String> {
        self.store.retained(retained)
    }

    /// Lists the commits from `to` back along first parents, up to the first that is `from` or leads to it. Where the
    /// directory is no clone or has no history, there are fewer or none.
    ///
    /// # Errors
    /// When the clone is damaged.
    pub fn first_parents(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<Commit>, Error> {
        match self.clone_root() {
            Some(root) => head::line(&root, from, to, limit),
            None => Ok(Vec::new()),
        }
    }

    /// Finds, for each of `words` that a commit on the line of [`Self::first_parents`] after `from` writes into a file, the
    /// newest such commit.
    ///
    /// # Errors
    /// When the clone is damaged, or lacks one of the commits.
    pub fn written(
        &self,
        from: &str,
        to: &str,
        words: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, Error> {
        match self.clone_root() {
            Some(root) => head::written(&root, from, to, words),
            None => Ok(BTreeMap::new()),
        }
    }

    /// Reads the message of a commit.
    ///
    /// # Errors
    /// When the directory is no clone any more, or has no such commit.
    pub fn message(&self, commit: &str) -> Result<String, Error> {
        let root = self.clone_root();
        let message = root.and_then(|root| head::message(&root, commit));
        message.ok_or_else(|| self.unusable(format!("it has no commit {commit}")))
    }

    /// Whether it was a clone at the last look: its commits have messages.
    #[must_use]
    pub fn has_commits(&self) -> bool {
        self.has_commits.load(Ordering::Relaxed)
    }

    /// The top of the checkout, if that may be a clone.
    fn clone_root(&self) -> Option<PathBuf> {
        let place = Place::of(&self.path).ok()?;
        (place.update == Update::InPlace).then_some(place.root)
    }

    /// What is answered to who needs more than files of it.
    #[must_use]
    pub fn is_no_repository(&self) -> Error {
        self.unusable(
            "it is a directory; follow the repository with source.git for this".to_owned(),
        )
    }

    /// Calls `changed` after every change from the next look on; more often than needed, if in doubt.
    pub fn watch(&self, changed: impl Fn() + Send + 'static) {
        let made = Noticing::new(changed);
        let fault = made.as_ref().err().map(ToString::to_string);
        self.note_unwatched(fault);
        *self.noticing.lock() = made.ok();
        self.follow();
    }

    /// Whether changes are noticed, so that looking is only for what the system fails to report.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed)
    }

    /// Watches what the path leads to now.
    fn follow(&self) {
        let followed = match &mut *self.noticing.lock() {
            Some(noticing) => noticing.follow(&self.path, &self.parts),
            None => return,
        };
        self.note_unwatched(followed.err());
    }

    /// Warns once.
    fn note_unwatched(&self, fault: Option<String>) {
        self.is_watched.store(fault.is_none(), Ordering::Relaxed);
        let mut unwatched = self.unwatched.lock();
        let path = self.path.display();
        match (&fault, unwatched.is_some()) {
            (Some(fault), false) => {
                tracing::warn!(%path, error = fault, "cannot watch the directory; looking every few seconds");
            }
            (None, true) => tracing::info!(%path, "the directory is watched"),
            _ => {}
        }
        *unwatched = fault;
    }

    /// Reads until what was read is of one moment.
    fn read(&self) -> Result<Snapshot, Error> {
        let mut last: Option<(Place, String, u64)> = None;
        let mut fault = "it changes all the time".to_owned();
        for attempt in 0..ATTEMPTS {
            let place = Place::of(&self.path).map_err(|cause| self.away(&cause))?;
            let at_work = head::at_work(&place.root, place.is_exchanged());
            let touched = touched(&self.found(&place)?);
            let read = self.below(&place);
            // What is wrong with a directory that is gone is not of interest.
            if Place::of(&self.path).ok().as_ref() != Some(&place) {
                continue;
            }
            let (snapshot, is_whole) = read?;
            let content = (place, snapshot.digest.clone(), touched);
            let is_same = || last.as_ref() == Some(&content) || self.is_newest(&snapshot);
            if is_whole || at_work.is_none() && is_same() {
                return Ok(snapshot);
            }
            let is_last = attempt + 1 == ATTEMPTS;
            if !is_last && (at_work.is_some() || self.may_be_filled(&content.0)) {
                std::thread::sleep(self.settle);
            }
            last = Some(content).filter(|_| at_work.is_none());
            fault = at_work.unwrap_or(fault);
        }
        Err(self.unusable(fault))
    }

    /// Whether somebody may be writing files there. A link is exchanged once all files are written; but git-sync
    /// repairs a worktree while the link leads to it, and with the same name.
    fn may_be_filled(&self, place: &Place) -> bool {
        match &place.update {
            Update::InPlace => true,
            Update::Data => false,
            Update::Commit(commit) => self.newest().is_none() || self.snapshot(commit).is_some(),
        }
    }

    /// The files of a commit never change. Where some that it had are missing, its worktree was made again, and is not
    /// complete: git-sync may have been stopped in the middle.
    fn refuse_incomplete(&self, read: &Snapshot) -> Result<(), Error> {
        let is_worktree = |place: &Place| matches!(place.update, Update::Commit(_));
        if !read.place.as_ref().is_some_and(is_worktree) {
            return Ok(());
        }
        let known = self.snapshot(&read.revision);
        let Some(path) = known.and_then(|known| known.missing_in(read)) else {
            return Ok(());
        };
        let (commit, kept) = (&read.revision, self.store.file(&read.revision));
        Err(self.unusable(format!(
            "the checkout of commit {commit} is not complete: {path} is missing, or not as it was read before; \
             if nothing is missing, delete {} and restart capstan",
            kept.display()
        )))
    }

    /// Whether this is what was read before.
    fn is_newest(&self, snapshot: &Snapshot) -> bool {
        let newest = self.newest();
        newest.is_some_and(|newest| newest.is_same(snapshot) && newest.place == snapshot.place)
    }

    /// What is at a place, and whether that is certainly a whole commit.
    fn below(&self, place: &Place) -> Result<(Snapshot, bool), Error> {
        let parts = self.found(place)?;
        let mut contents = self.contents.lock();
        contents.begin((self.time)());
        let trees = parts
            .iter()
            .map(|part| directory::read_below(&place.root, part, &mut contents));
        let trees: Result<Vec<Tree>, Error> = trees.collect();
        contents.end();
        drop(contents);
        let trees = trees?;
        self.refuse_empty(place, &trees)?;
        let names: Vec<String> = parts
            .iter()
            .map(|part| directory::below(&place.root, part))
            .collect();
        let head = match place.update {
            Update::InPlace => Head::of(&place.root, &names, &trees),
            Update::Commit(_) | Update::Data => None,
        };
        let is_whole = head.as_ref().is_some_and(|head| head.is_clean);
        let digest = digest(&trees);
        let (revision, title) = name(place, head, &digest);
        let with_revision = |tree: Tree| Tree {
            revision: revision.clone(),
            ..tree
        };
        let snapshot = Snapshot {
            parts: self.parts.clone(),
            trees: trees.into_iter().map(with_revision).collect(),
            root: names.into_iter().next().unwrap_or_default(),
            place: Some(place.clone()),
            digest,
            title,
            revision,
        };
        Ok((snapshot, is_whole))
    }

    /// Where the parts are.
    fn found(&self, place: &Place) -> Result<Vec<PathBuf>, Error> {
        let part = |part: &String| {
            let found = place.part(part);
            found.map_err(|cause| self.unusable(format!("{part}: {cause}")))
        };
        self.parts.iter().map(part).collect()
    }

    /// A directory without files is one that is not filled yet, or was deleted.
    fn refuse_empty(&self, place: &Place, trees: &[Tree]) -> Result<(), Error> {
        // The link of git-sync leads to a hidden directory.
        let is_link = |problem: &Problem| *problem == Problem::LinkToHidden;
        let is_empty = |tree: &Tree| tree.files.is_empty() && tree.problems.values().all(is_link);
        if !trees.first().is_none_or(is_empty) {
            return Ok(());
        }
        let mut cause = "it has no YAML or JSON files, so nothing is applied or removed".to_owned();
        if let Some(link) = place::link_in(&place.at) {
            cause += &format!("; if git-sync keeps it, name its link: {}", link.display());
        }
        Err(self.unusable(cause))
    }

    fn snapshot(&self, revision: &str) -> Option<Arc<Snapshot>> {
        let seen = self.seen.lock();
        let mut known = seen.iter().filter_map(Seen::in_memory);
        let found = known.find(|known| known.revision == revision).cloned();
        drop(seen);
        found.or_else(|| self.store.load(revision).map(Arc::new))
    }

    fn newest(&self) -> Option<Arc<Snapshot>> {
        self.seen.lock().back().and_then(Seen::in_memory).cloned()
    }

    fn away(&self, cause: &io::Error) -> Error {
        self.unusable(match cause.kind() {
            io::ErrorKind::NotFound => {
                "there is no such directory; correct the path, or start what creates it".to_owned()
            }
            io::ErrorKind::NotADirectory => "it is not a directory".to_owned(),
            _ => cause.to_string(),
        })
    }

    fn unusable(&self, cause: String) -> Error {
        Error::Directory {
            path: self.path.clone(),
            cause,
        }
    }
}

/// The revision of the files at a place, and what is said of it in a line.
fn name(place: &Place, head: Option<Head>, digest: &str) -> (String, String) {
    if let Update::Commit(commit) = &place.update {
        return (commit.clone(), String::new());
    }
    let content = || format!("files-{}", cut::head(digest, 16));
    match head {
        Some(head) if head.is_clean => (head.id, head.title),
        Some(head) => (content(), format!("not as commit {} has them", head.id)),
        None => (content(), String::new()),
    }
}
