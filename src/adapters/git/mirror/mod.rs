//! A bare copy of a repository in a directory of ours, which outlives restarts.
//!
//! In: an address and a directory. Out: the refs over there, and their commits over here. The
//! directory holds `lock`, so that one process works in it at a time, and `repository.git`, where
//! the ref `refs/heads/x` of the other side is kept as `refs/origin/heads/x`, and retained refs as
//! `refs/capstan/...`. A ref is written only
//! when all it leads to has arrived, so a process killed at any moment leaves a usable mirror. One
//! that is damaged all the same is copied anew beside itself and then replaced.

mod compact;
mod fetching;
mod home;
#[cfg(test)]
mod hostile;
mod incoming;
mod kept;
mod look;
mod reference;
mod selection;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{io, thread};

use git2::{Oid, Repository};
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockWriteGuard};

use self::compact::Clutter;
pub(super) use self::home::lock;
use self::home::{remove, rename, sweep};
use self::incoming::Incoming;
pub use self::kept::Refs;
pub(super) use self::kept::{
    fetched_tags, is_kept, is_missing, is_test_merge, kept, kept_branches,
};
use self::kept::{is_pattern, kept_refs};
use self::look::Look;
pub use self::reference::{Fetched, Ref};
pub(super) use self::state::State;
use super::access::Access;
use super::address::Address;
use super::commit_object::{CommitObject, Peeled, peel};
use super::remote::{Listing, Remote};
use super::retained::{self, RetainedRef};
use super::wire::haves;
use super::{Error, nearby};
use crate::model::TagRange;

/// A copy that is not complete yet.
const UNFINISHED: &str = "unfinished.git";
/// A copy that was replaced.
const DAMAGED: &str = "damaged.git";
/// The setting that holds the URL of the mirrored repository.
const URL: &str = "capstan.url";

/// A repository copied to a directory. All methods block; they may be called from many threads.
#[derive(Debug)]
pub struct Mirror {
    dir: PathBuf,
    pub(super) address: Address,
    pub(super) remote: Remote,
    patterns: Vec<String>,
    damaged: AtomicBool,
    /// The damage that a new copy has as well, or was made for already.
    lasting: Mutex<BTreeSet<String>>,
    /// The damage that the next fetch is going to mend.
    found: Mutex<Option<String>>,
    /// Held while what is followed is brought, and for changes on this machine: nobody waits for the network with it but
    /// for what is followed.
    state: Mutex<State>,
    /// Held while all else is brought.
    others: Mutex<()>,
    /// Held while notes or branches are written over there.
    noting: Mutex<()>,
    /// Held while kept refs are written.
    keeping: Mutex<()>,
    /// Held by readers, and alone by who removes files that they may need.
    removing: RwLock<()>,
    _lock: File,
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
        let mirror = Self {
            dir: dir.to_owned(),
            remote: Remote::new(&address, access)?,
            address,
            patterns: patterns.to_vec(),
            damaged: AtomicBool::new(false),
            lasting: Mutex::default(),
            found: Mutex::default(),
            state: Mutex::default(),
            others: Mutex::default(),
            noting: Mutex::default(),
            keeping: Mutex::default(),
            removing: RwLock::new(()),
            _lock: lock,
        };
        mirror.prepare()?;
        Ok(mirror)
    }

    /// Fetches what is new of the default branch and all else, strangers' heads as well.
    ///
    /// # Errors
    /// As [`Self::fetch_followed`].
    pub fn fetch(&self) -> Result<Refs, Error> {
        Ok(self.fetch_all(&Ref::Head, true)?.refs)
    }

    /// Fetches what is new, and drops what is gone: `followed` first and by itself, then the branches, tags and notes.
    /// What strangers propose is only listed. Only lists the refs when nothing changed.
    ///
    /// # Errors
    /// When the repository does not answer, or what is followed does not arrive; what was fetched before stays as it
    /// is.
    pub fn fetch_followed(&self, followed: &Ref) -> Result<Fetched, Error> {
        self.fetch_all(followed, false)
    }

    /// The same for who must not wait for what is not followed: `None` if the rest is not here `patience` after what is
    /// followed. It is brought meanwhile, by one thread at a time, and a later call returns it.
    ///
    /// # Errors
    /// As [`Self::fetch_followed`].
    pub fn fetch_followed_within(
        self: &Arc<Self>,
        followed: &Ref,
        patience: Duration,
    ) -> Result<Option<Fetched>, Error> {
        let (sender, steps) = mpsc::channel();
        let (mirror, followed) = (Arc::clone(self), followed.clone());
        let work = move || {
            let step = mirror.look(&followed).and_then(|look| {
                // Who has left does not hear of it.
                let _ = sender.send(None);
                let others = mirror.others.try_lock();
                if others.is_none() && matches!(look, Look::New(_)) {
                    return Ok(None);
                }
                mirror.finish(look, &followed, false).map(Some)
            });
            let _ = sender.send(Some(step));
        };
        let thread = thread::Builder::new().name("refs".to_owned());
        thread
            .spawn(work)
            .map_err(|cause| Error::disk(&self.dir, &cause))?;
        // The end of the channel is a panic there.
        let lost = || Error::disk(&self.dir, &io::Error::other("the fetch has ended"));
        match steps.recv().map_err(|_| lost())? {
            Some(failed) => failed,
            None => match steps.recv_timeout(patience) {
                Ok(rest) => rest.unwrap_or(Ok(None)),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(lost()),
            },
        }
    }

    /// The branches whose short names begin with `prefix`, and the commit of each, as they were last fetched.
    ///
    /// # Errors
    /// When the mirror cannot be read.
    pub fn branches(&self, prefix: &str) -> Result<Vec<(String, String)>, Error> {
        self.reading(|repository| {
            let all = kept_refs(repository).map_err(|cause| Error::damaged(repository, &cause))?;
            let named = all.into_iter().filter_map(|(name, commit)| {
                let branch = name.strip_prefix("refs/heads/")?;
                branch
                    .starts_with(prefix)
                    .then(|| (branch.to_owned(), commit.to_string()))
            });
            Ok(named.collect())
        })
    }

    fn fetch_all(&self, followed: &Ref, is_open: bool) -> Result<Fetched, Error> {
        let look = self.look(followed)?;
        let _others = self.others.lock();
        self.finish(look, followed, is_open)
    }

    /// Brings what is followed; copies what is damaged anew.
    fn look(&self, followed: &Ref) -> Result<Look<'_>, Error> {
        let mut state = self.writing();
        let cause = match self.damaged.load(Ordering::Relaxed) {
            true => self.found.lock().clone().unwrap_or_default(),
            false => {
                let repository = self.repository();
                let looked =
                    repository.and_then(|repository| self.begin(&repository, &mut state, followed));
                match looked {
                    Err(Error::Damaged { cause, .. }) if self.lasting.lock().contains(&cause) => {
                        return Err(self.broken(cause));
                    }
                    Err(Error::Damaged { cause, .. }) => cause,
                    other => return other,
                }
            }
        };
        let rebuilt = self.rebuild(&mut state, followed);
        if let Ok(_) | Err(Error::Damaged { .. }) = &rebuilt {
            self.lasting.lock().insert(cause);
            self.damaged.store(false, Ordering::Relaxed);
            *self.found.lock() = None;
        }
        match rebuilt {
            Err(Error::Damaged { cause, .. }) => {
                self.lasting.lock().insert(cause.clone());
                Err(self.broken(cause))
            }
            other => other,
        }
    }

    /// The directory of the mirror, in which a [`Quarantine`](super::Quarantine) finds what it brings.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.dir
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
            Ref::Newest(range) => return self.newest(range),
            Ref::Commit(id) => return self.reading(|repository| self.commit_id(repository, id)),
        };
        self.reading(|repository| {
            let damaged = |cause| Error::damaged(repository, &cause);
            let id = match repository.refname_to_id(&kept(&name)) {
                Ok(id) => id,
                Err(cause) if is_missing(&cause) => {
                    return Err(self.missing_in(repository, wanted));
                }
                Err(cause) => return Err(damaged(cause)),
            };
            let odb = repository.odb().map_err(damaged)?;
            let not_a_commit = |cause: String| Error::NotACommit {
                wanted: wanted.to_string(),
                place: self.address.shown.clone(),
                cause,
            };
            match peel(&odb, id).map_err(damaged)? {
                Peeled::Commit(commit) => Ok(commit.id.to_string()),
                Peeled::Elsewhere => Err(not_a_commit("it is a file or a directory".to_owned())),
                Peeled::Unusable(cause) => Err(not_a_commit(cause)),
            }
        })
    }

    /// The commit of the tag with the highest version in the range. A tag that leads to no commit is none of a version.
    fn newest(&self, range: &TagRange) -> Result<String, Error> {
        self.reading(|repository| {
            let newest = || {
                let (odb, mut tags) = (repository.odb()?, fetched_tags(repository)?);
                while let Some(name) = range.newest(tags.keys().map(String::as_str)) {
                    let name = name.to_owned();
                    if let Some(id) = tags.remove(&name)
                        && let Ok(Peeled::Commit(commit)) = peel(&odb, id)
                    {
                        return Ok(Some(commit.id.to_string()));
                    }
                }
                Ok(None)
            };
            let newest = newest().map_err(|cause: git2::Error| Error::damaged(repository, &cause));
            newest?.ok_or_else(|| self.missing(&Ref::Newest(range.clone())))
        })
    }

    fn commit_id(&self, repository: &Repository, id: &str) -> Result<String, Error> {
        let is_id = (7..=40).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let find = || {
            let odb = repository.odb()?;
            // Behind the digits, zeros.
            let beginning = Oid::from_str(&format!("{id:0<40}"))?;
            CommitObject::read(&odb, odb.exists_prefix(beginning, id.len())?)
        };
        let found = is_id.then(find).and_then(Result::ok).flatten();
        let commit = found.ok_or_else(|| self.missing(&Ref::Commit(id.to_owned())))?;
        Ok(commit.id.to_string())
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
        let _reading = self.removing.read();
        let result = self.repository().and_then(|repository| read(&repository));
        match result {
            Err(Error::Damaged { cause, .. }) if self.lasting.lock().contains(&cause) => {
                Err(self.broken(cause))
            }
            Err(Error::Damaged { dir, cause }) => {
                self.note_damage(&cause);
                Err(Error::Damaged { dir, cause })
            }
            other => other,
        }
    }

    /// The next fetch copies everything anew, unless a new copy was no better.
    fn note_damage(&self, cause: &str) {
        if !self.lasting.lock().contains(cause) {
            self.found.lock().get_or_insert_with(|| cause.to_owned());
            self.damaged.store(true, Ordering::Relaxed);
        }
    }

    /// What a new copy does not mend.
    fn broken(&self, cause: String) -> Error {
        Error::Broken {
            url: self.address.shown.clone(),
            cause,
        }
    }

    /// The right to change the repository.
    pub(super) fn writing(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The right to write notes and branches over there.
    pub(super) fn noting(&self) -> MutexGuard<'_, ()> {
        self.noting.lock()
    }

    /// The right to write kept refs.
    pub(super) fn keeping(&self) -> MutexGuard<'_, ()> {
        self.keeping.lock()
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

    /// Copies what is followed anew; the damaged repository serves until that is done. All else comes after it.
    fn rebuild(&self, state: &mut State, followed: &Ref) -> Result<Look<'_>, Error> {
        let (path, unfinished) = (self.path(), self.beside(UNFINISHED));
        let damaged = self.beside(DAMAGED);
        state.forget();
        remove(&unfinished)?;
        remove(&damaged)?;
        let copy = self.init(&unfinished)?;
        let look = self.begin(&copy, state, followed)?;
        if let Ok(damaged) = self.repository() {
            retained::carry(&damaged, &copy);
        }
        let nobody_reads = self.removing();
        rename(&path, &damaged)?;
        rename(&unfinished, &path)?;
        drop(nobody_reads);
        remove(&damaged)?;
        Ok(look)
    }

    /// Compacts the mirror, if there is need to. No ref leads to what is on its way: while notes are written, it waits for
    /// the next time.
    fn tidy(&self, repository: &Repository, before: &[Listing]) {
        let Some(_nobody_notes) = self.noting.try_lock() else {
            return;
        };
        if let Err(error) = self.compact(repository, before) {
            tracing::warn!(%error, "cannot compact the mirror");
            if let Error::Damaged { cause, .. } = error {
                self.note_damage(&cause);
            }
        }
    }

    /// Makes one pack of many. Whatever goes wrong, nothing that is needed is removed. What was there `before` this
    /// fetch stays: its newest commit may be examined, or just begun and not retained yet. Afterwards `repository`
    /// must be opened anew.
    fn compact(&self, repository: &Repository, before: &[Listing]) -> Result<(), Error> {
        let disk = |cause| Error::disk(repository.path(), &cause);
        let clutter = Clutter::of(repository).map_err(disk)?;
        if !clutter.is_much() {
            return Ok(());
        }
        let before = before.iter().flat_map(Listing::values).copied();
        let kept = compact::pack(repository, before);
        let kept = kept.map_err(|cause| compact::fault(repository, &cause))?;
        let _nobody_reads = self.removing();
        clutter.remove(&kept).map_err(disk)
    }

    /// The right to remove files that readers may need.
    fn removing(&self) -> RwLockWriteGuard<'_, ()> {
        self.removing.write()
    }
}
