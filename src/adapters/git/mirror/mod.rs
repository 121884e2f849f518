//! A bare copy of a repository in a directory of ours, which outlives restarts.
//!
//! In: an address and a directory. Out: the refs over there, and their commits over here. The
//! directory holds `lock`, so that one process works in it at a time, and `repository.git`, where
//! the ref `refs/heads/x` of the other side is kept as `refs/origin/heads/x`, and retained refs as
//! `refs/capstan/...`. A ref is written only
//! when all it leads to has arrived, so a process killed at any moment leaves a usable mirror. One
//! that is damaged all the same is copied anew beside itself and then replaced.

mod compact;
mod home;
mod incoming;
mod kept;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};

use git2::Repository;

use self::compact::Clutter;
pub(super) use self::home::lock;
use self::home::{remove, rename, sweep};
use self::incoming::Incoming;
pub use self::kept::Refs;
use self::kept::{commits, is_pattern, keep, kept_refs, leads_elsewhere, matches};
pub(super) use self::kept::{
    fetched_tags, is_kept, is_missing, is_test_merge, kept, kept_branches,
};
use super::access::Access;
use super::address::Address;
use super::remote::{Connection, Listing, Remote};
use super::retained::{self, RetainedRef};
use super::wire::haves;
use super::{Error, nearby};
use crate::model::TagRange;

/// What is fetched without being asked for.
const ALWAYS: &[&str] = &["HEAD", "refs/heads/*", "refs/tags/*", "refs/notes/capstan"];
/// A copy that is not complete yet.
const UNFINISHED: &str = "unfinished.git";
/// A copy that was replaced.
const DAMAGED: &str = "damaged.git";
/// The setting that holds the URL of the mirrored repository.
const URL: &str = "capstan.url";

/// A revision, as people name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ref {
    /// The default branch.
    Head,
    /// A branch, by short name.
    Branch(String),
    /// A tag, by short name.
    Tag(String),
    /// The tag with the highest version in a range.
    Newest(TagRange),
    /// A commit, by id or by the first seven or more digits of it.
    Commit(String),
    /// Any fetched ref, by full name.
    Name(String),
}

impl fmt::Display for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => f.write_str("default branch"),
            Self::Branch(name) => write!(f, "branch {name}"),
            Self::Tag(name) => write!(f, "tag {name}"),
            Self::Newest(range) => write!(f, "tag with a version in the range {range}"),
            Self::Commit(id) => write!(f, "commit {id}"),
            Self::Name(name) => write!(f, "ref {name}"),
        }
    }
}

/// What a look at a repository found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// The refs whose commits are here.
    pub refs: Refs,
    /// What strangers propose, which is not here: the refs that match the patterns of the mirror and are no branches,
    /// tags or notes, and the object that each points to. [`Mirror::bring`] brings it.
    pub strangers: BTreeMap<String, String>,
    /// The refs that were left out, and why.
    pub faults: BTreeMap<String, String>,
}

/// A repository copied to a directory. All methods block; they may be called from many threads.
#[derive(Debug)]
pub struct Mirror {
    dir: PathBuf,
    pub(super) address: Address,
    pub(super) remote: Remote,
    patterns: Vec<String>,
    damaged: AtomicBool,
    seen: Mutex<Option<Seen>>,
    /// Held by readers, and alone by who removes files that they may need.
    removing: RwLock<()>,
    _lock: File,
}

/// What the other side had when it was last fetched.
#[derive(Debug)]
pub(super) struct Seen {
    listing: Listing,
    refs: Refs,
}

impl Mirror {
    /// Opens the mirror of `url` in `dir`, or begins one. Nothing is fetched yet. Besides branches,
    /// tags and our notes it will fetch the refs that match `patterns` (`refs/pull/*/head`).
    ///
    /// # Errors
    /// When the address cannot be served, or the directory cannot be used.
    pub fn open(dir: &Path, url: &str, patterns: &[String]) -> Result<Self, Error> {
        Self::open_with(dir, url, patterns, &Access::default())
    }

    /// The same for a repository that is reached by `access`.
    ///
    /// # Errors
    /// As there.
    pub fn open_with(
        dir: &Path,
        url: &str,
        patterns: &[String],
        access: &Access,
    ) -> Result<Self, Error> {
        let address = Address::parse(url, access.reach)?;
        if let Some(pattern) = patterns.iter().find(|pattern| !is_pattern(pattern)) {
            let pattern = pattern.clone();
            return Err(Error::Pattern { pattern });
        }
        fs::create_dir_all(dir).map_err(|cause| Error::disk(dir, &cause))?;
        let lock = lock(dir)?;
        let always = ALWAYS.iter().map(|pattern| (*pattern).to_owned());
        let mirror = Self {
            dir: dir.to_owned(),
            remote: Remote::new(&address, access)?,
            address,
            patterns: always.chain(patterns.iter().cloned()).collect(),
            damaged: AtomicBool::new(false),
            seen: Mutex::new(None),
            removing: RwLock::new(()),
            _lock: lock,
        };
        mirror.prepare()?;
        Ok(mirror)
    }

    /// Fetches what is new, and drops what is gone. Only lists the refs when nothing changed.
    ///
    /// # Errors
    /// When the repository does not answer; what was fetched before stays as it is.
    pub fn fetch(&self) -> Result<Refs, Error> {
        let mut seen = self.writing();
        if !self.damaged.load(Ordering::Relaxed) {
            let repository = self.repository();
            match repository.and_then(|repository| self.update(&repository, &mut seen)) {
                Err(Error::Damaged { .. }) => {}
                other => return other,
            }
        }
        self.rebuild(&mut seen)
    }

    /// Fetches what is new, and drops what is gone: `followed` first and by itself, then the branches, tags and notes.
    /// What strangers propose is only listed. Only lists the refs when nothing changed.
    ///
    /// # Errors
    /// When the repository does not answer, or what is followed does not arrive; what was fetched before stays as it
    /// is.
    pub fn fetch_followed(&self, followed: &Ref) -> Result<Fetched, Error> {
        let _ = followed;
        Ok(Fetched {
            refs: self.fetch()?,
            ..Fetched::default()
        })
    }

    /// Writes what strangers propose to files, one pack or more, without opening any: the name of each ref and the
    /// object that it points to, as they were listed. A [`Quarantine`](super::Quarantine) takes the files in. For a
    /// repository on this machine there are none: it finds the objects where they are. Others may fetch meanwhile.
    ///
    /// # Errors
    /// When none of it arrives. What fails while other refs arrive is left out with a warning.
    pub fn bring(&self, wanted: &[(String, String)]) -> Result<Vec<PathBuf>, Error> {
        let Remote::Server(server) = &self.remote else {
            return Ok(Vec::new());
        };
        let incoming = Incoming::open(&self.dir)?;
        let haves = self.reading(|repository| {
            haves(repository, &BTreeSet::new()).map_err(|cause| Error::damaged(repository, &cause))
        })?;
        incoming.bring(server, wanted, &haves)
    }

    /// Keeps `commit`, in place of the one that was kept as the same.
    ///
    /// # Errors
    /// When it is not here, or the directory cannot be written.
    pub fn retain(&self, retained: RetainedRef, commit: &str) -> Result<(), Error> {
        let _writing = self.writing();
        self.reading(|repository| {
            let id = self.find(repository, commit)?.id;
            match repository.refname_to_id(retained.reference()) {
                Ok(kept) if kept == id => return Ok(()),
                Err(cause) if !is_missing(&cause) => {
                    return Err(Error::damaged(repository, &cause));
                }
                Ok(_) | Err(_) => {}
            }
            let written = repository.reference(retained.reference(), id, true, "pin");
            written.map(drop).map_err(|cause| Error::Disk {
                path: repository.path().join(retained.reference()),
                cause: cause.message().to_owned(),
            })
        })
    }

    /// The commit that is kept as this, if there is one.
    #[must_use]
    pub fn retained(&self, retained: RetainedRef) -> Option<String> {
        let name = retained.reference();
        let kept = self.reading(|repository| Ok(repository.refname_to_id(name).ok()));
        kept.ok().flatten().map(|id| id.to_string())
    }

    /// The commit that `wanted` leads to, by what was last fetched.
    ///
    /// # Errors
    /// When there is no such revision.
    pub fn resolve(&self, wanted: &Ref) -> Result<String, Error> {
        let name = match wanted {
            Ref::Head => "HEAD".to_owned(),
            Ref::Branch(name) => format!("refs/heads/{name}"),
            Ref::Tag(name) => format!("refs/tags/{name}"),
            Ref::Name(name) => name.clone(),
            Ref::Newest(range) => self.newest(range)?,
            Ref::Commit(id) => return self.reading(|repository| self.commit_id(repository, id)),
        };
        self.reading(|repository| match repository.find_reference(&kept(&name)) {
            Ok(found) => match found.peel_to_commit() {
                Ok(commit) => Ok(commit.id().to_string()),
                Err(cause) if leads_elsewhere(&cause) => Err(self.missing_in(repository, wanted)),
                Err(cause) => Err(Error::damaged(repository, &cause)),
            },
            Err(cause) if is_missing(&cause) => Err(self.missing_in(repository, wanted)),
            Err(cause) => Err(Error::damaged(repository, &cause)),
        })
    }

    /// The full name of the tag with the highest version in the range.
    fn newest(&self, range: &TagRange) -> Result<String, Error> {
        const TAGS: &str = "refs/tags/";
        let kept = self.reading(|repository| {
            kept_refs(repository).map_err(|cause| Error::damaged(repository, &cause))
        })?;
        let tags = kept.keys().filter_map(|name| name.strip_prefix(TAGS));
        let newest = range.newest(tags).map(|tag| format!("{TAGS}{tag}"));
        newest.ok_or_else(|| self.missing(&Ref::Newest(range.clone())))
    }

    fn commit_id(&self, repository: &Repository, id: &str) -> Result<String, Error> {
        let is_id = id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let found = is_id.then(|| repository.find_commit_by_prefix(id).ok());
        match found.flatten() {
            Some(commit) => Ok(commit.id().to_string()),
            None => Err(self.missing(&Ref::Commit(id.to_owned()))),
        }
    }

    pub(super) fn missing(&self, wanted: &Ref) -> Error {
        Error::NoSuchRevision {
            wanted: wanted.to_string(),
            place: self.address.shown.clone(),
            instead: String::new(),
        }
    }

    /// The same with the branches or tags that there are.
    fn missing_in(&self, repository: &Repository, wanted: &Ref) -> Error {
        let (name, all) = match wanted {
            Ref::Branch(name) => (name, "refs/heads/"),
            Ref::Tag(name) => (name, "refs/tags/"),
            Ref::Head | Ref::Newest(_) | Ref::Commit(_) | Ref::Name(_) => {
                return self.missing(wanted);
            }
        };
        let refs = kept_refs(repository).unwrap_or_default();
        let names = refs.keys().filter_map(|name| name.strip_prefix(all));
        Error::NoSuchRevision {
            wanted: wanted.to_string(),
            place: self.address.shown.clone(),
            instead: nearby::hint(name, names),
        }
    }

    /// Does `read` on the repository, and remembers when that shows damage.
    pub(super) fn reading<T>(
        &self,
        read: impl FnOnce(&Repository) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _reading = self.removing.read().unwrap_or_else(PoisonError::into_inner);
        let result = self.repository().and_then(|repository| read(&repository));
        if matches!(result, Err(Error::Damaged { .. })) {
            self.damaged.store(true, Ordering::Relaxed);
        }
        result
    }

    /// The right to change the repository.
    pub(super) fn writing(&self) -> MutexGuard<'_, Option<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self) -> PathBuf {
        self.beside("repository.git")
    }

    /// Opened for each use: a libgit2 repository belongs to one thread.
    fn repository(&self) -> Result<Repository, Error> {
        Repository::open_bare(self.path()).map_err(|cause| Error::Damaged {
            dir: self.path(),
            cause: cause.message().to_owned(),
        })
    }

    /// Makes the repository ready after whatever happened before.
    fn prepare(&self) -> Result<(), Error> {
        let path = self.path();
        Incoming::clear(&self.dir)?;
        remove(&self.beside(UNFINISHED))?;
        remove(&self.beside(DAMAGED))?;
        let of = self.repository().and_then(|repository| {
            let setting = repository.config().and_then(|all| all.get_string(URL));
            setting.map_err(|cause| Error::damaged(&repository, &cause))
        });
        if of.is_ok_and(|url| url == self.address.shown) {
            return sweep(&path);
        }
        remove(&path)?;
        self.init(&path).map(drop)
    }

    fn init(&self, path: &Path) -> Result<Repository, Error> {
        let begun = Repository::init_bare(path).and_then(|repository| {
            repository.config()?.set_str(URL, &self.address.shown)?;
            Ok(repository)
        });
        begun.map_err(|cause| Error::Disk {
            path: path.to_owned(),
            cause: cause.message().to_owned(),
        })
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Copies everything anew; the damaged repository serves until that is done.
    fn rebuild(&self, seen: &mut Option<Seen>) -> Result<Refs, Error> {
        let (path, unfinished) = (self.path(), self.beside(UNFINISHED));
        let damaged = self.beside(DAMAGED);
        *seen = None;
        remove(&unfinished)?;
        remove(&damaged)?;
        let copy = self.init(&unfinished)?;
        let refs = self.update(&copy, seen)?;
        if let Ok(damaged) = self.repository() {
            retained::carry(&damaged, &copy);
        }
        let nobody_reads = self.removing();
        rename(&path, &damaged)?;
        rename(&unfinished, &path)?;
        drop(nobody_reads);
        self.damaged.store(false, Ordering::Relaxed);
        remove(&damaged)?;
        Ok(refs)
    }

    fn update(&self, repository: &Repository, seen: &mut Option<Seen>) -> Result<Refs, Error> {
        let mut connection = Connection::open(repository, &self.remote)?;
        let mut listing = connection.list()?;
        listing.retain(|name, _| self.patterns.iter().any(|pattern| matches(pattern, name)));
        if let Some(seen) = seen.as_ref().filter(|seen| seen.listing == listing) {
            return Ok(seen.refs.clone());
        }
        let damaged = |cause| Error::damaged(repository, &cause);
        let before = kept_refs(repository).map_err(damaged)?;
        if before != listing {
            let patterns: Vec<&str> = self.patterns.iter().map(String::as_str).collect();
            connection.download(&patterns, &listing, &before)?;
            keep(repository, &before, &listing).map_err(damaged)?;
        }
        let refs = commits(repository, &listing).map_err(damaged)?;
        *seen = Some(Seen {
            listing,
            refs: refs.clone(),
        });
        if let Err(error) = self.compact(repository, &before) {
            tracing::warn!(%error, "cannot compact the mirror");
            let is_damaged = matches!(error, Error::Damaged { .. });
            self.damaged.fetch_or(is_damaged, Ordering::Relaxed);
        }
        Ok(refs)
    }

    /// Makes one pack of many. Whatever goes wrong, nothing that is needed is removed. What was there `before` this
    /// fetch stays: its newest commit may be examined, or just begun and not retained yet. Afterwards `repository`
    /// must be opened anew.
    fn compact(&self, repository: &Repository, before: &Listing) -> Result<(), Error> {
        let disk = |cause| Error::disk(repository.path(), &cause);
        let clutter = Clutter::of(repository).map_err(disk)?;
        if !clutter.is_much() {
            return Ok(());
        }
        let kept = compact::pack(repository, before.values().copied());
        let kept = kept.map_err(|cause| compact::fault(repository, &cause))?;
        let _nobody_reads = self.removing();
        clutter.remove(&kept).map_err(disk)
    }

    /// The right to remove files that readers may need.
    fn removing(&self) -> RwLockWriteGuard<'_, ()> {
        let removing = self.removing.write();
        removing.unwrap_or_else(PoisonError::into_inner)
    }
}
