//! What strangers propose, read apart from everything else.
//!
//! In: the directory of a mirror, and packs that it brought and nobody has opened. Out: the commits in them, and what they
//! would make of the files of the fleet. The repository `candidates.git` lies beside that of the mirror and finds the objects
//! of that one as well; it holds nothing that cannot be brought again, and is removed when it is large. It needs no
//! credential and no network, so that a process without either can use it, whose end costs nothing but the answer. One
//! process uses it at a time.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use git2::{ErrorClass, Odb, Oid, Repository};
use jiff::Timestamp;

use super::Error;
use super::access::Access;
use super::address::{Address, Place};
use super::commit_object::{Peeled, peel};
use super::history::{Commit, History};
use super::merge::{self, Merged};
use super::mirror::is_test_merge;
use crate::model::Tree;

/// The repository, beside that of the mirror.
const REPOSITORY: &str = "candidates.git";
/// The most bytes that it may have on the disk when it is opened: 256 MiB.
const MAX_BYTES: u64 = 256 << 20;
/// The most packs it may have when it is opened: each costs an open file.
const MAX_PACKS: usize = 100;

/// The heads of pull requests from forks, beside a mirror.
pub struct Quarantine {
    repository: Repository,
    place: String,
}

impl Quarantine {
    /// Opens the quarantine of the mirror in `dir`, or begins one. `source` is the address of the mirrored
    /// repository: if that is on this machine, its objects are found without being brought.
    ///
    /// # Errors
    /// When the directory cannot be used.
    pub fn open(dir: &Path, source: &str) -> Result<Self, Error> {
        let path = dir.join(REPOSITORY);
        let size = size(&path.join("objects/pack"));
        if size.0 > MAX_BYTES || size.1 > MAX_PACKS || Repository::open_bare(&path).is_err() {
            remove(&path)?;
        }
        let unusable = |cause: &git2::Error| Error::Disk {
            path: path.clone(),
            cause: cause.message().to_owned(),
        };
        if !path.exists() {
            Repository::init_bare(&path).map_err(|cause| unusable(&cause))?;
        }
        let mut alternates = vec![dir.join("repository.git/objects")];
        alternates.extend(local_objects(source)?);
        write_alternates(&path, &alternates)?;
        Ok(Self {
            repository: Repository::open_bare(&path).map_err(|cause| unusable(&cause))?,
            place: super::address::shown(source),
        })
    }

    /// Takes in the objects of a pack that [`Mirror::bring`](super::Mirror::bring) wrote, and removes its file. Here
    /// they are inflated for the first time.
    ///
    /// # Errors
    /// When it is no pack, or refers to objects that are not here.
    pub fn take_in(&self, pack: &Path) -> Result<(), Error> {
        let taken = self.index(pack);
        fs::remove_file(pack).map_err(|cause| Error::disk(pack, &cause))?;
        taken
    }

    fn index(&self, pack: &Path) -> Result<(), Error> {
        let unusable = |cause: &git2::Error| match cause.class() {
            ErrorClass::Os | ErrorClass::Filesystem => Error::Disk {
                path: self.repository.path().to_owned(),
                cause: cause.message().to_owned(),
            },
            _ => self.unreadable(cause),
        };
        let odb = self.odb()?;
        let mut writer = odb.packwriter().map_err(|cause| unusable(&cause))?;
        let mut file = fs::File::open(pack).map_err(|cause| Error::disk(pack, &cause))?;
        let mut part = vec![0; 64 << 10];
        loop {
            let count = match file.read(&mut part) {
                Ok(0) => break,
                Ok(count) => count,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(Error::disk(pack, &cause)),
            };
            // The writer's own error is always "Write error".
            let written = writer.write_all(&part[..count]);
            written.map_err(|_| unusable(&git2::Error::last_error(-1)))?;
        }
        writer.commit().map_err(|cause| unusable(&cause))?;
        odb.refresh().map_err(|cause| unusable(&cause))
    }

    /// Returns true if the object is here, or in the mirror.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        let odb = self.repository.odb();
        let found = Oid::from_str(id).and_then(|id| Ok(odb?.exists(id)));
        found.unwrap_or_default()
    }

    /// The commit that the ref `name` leads to, which points to the object `id`; of the test merge of a pull request,
    /// the head that it merges.
    ///
    /// # Errors
    /// When the object is not here, or leads to no commit.
    pub fn commit_of(&self, name: &str, id: &str) -> Result<String, Error> {
        let odb = self.odb()?;
        let peeled = Oid::from_str(id).and_then(|id| peel(&odb, id));
        let unusable = |cause: String| Error::Candidate { cause };
        match peeled.map_err(|cause| self.unreadable(&cause))? {
            Peeled::Commit(commit) => {
                let head = match commit.parents[..] {
                    [_, head] if is_test_merge(name) => head,
                    _ if is_test_merge(name) => {
                        return Err(unusable(format!("{name} is not a merge of two commits")));
                    }
                    _ => commit.id,
                };
                Ok(head.to_string())
            }
            Peeled::Elsewhere => Err(unusable(format!("{name} leads to no commit"))),
            Peeled::Unusable(cause) => Err(unusable(cause)),
        }
    }

    /// When the commit was made; 1970 if it does not say.
    ///
    /// # Errors
    /// When it is not here.
    pub fn at(&self, commit: &str) -> Result<Timestamp, Error> {
        Ok(self.commit(commit)?.at)
    }

    /// The commit's title, author and time.
    ///
    /// # Errors
    /// When it is not here.
    pub fn commit(&self, id: &str) -> Result<Commit, Error> {
        self.reading(|history| history.commit(id))
    }

    /// As [`Mirror::is_ancestor`](super::Mirror::is_ancestor).
    ///
    /// # Errors
    /// When one of the commits is not here.
    pub fn is_ancestor(&self, old: &str, new: &str) -> Result<bool, Error> {
        self.reading(|history| history.is_ancestor(old, new))
    }

    /// As [`Mirror::tree`](super::Mirror::tree).
    ///
    /// # Errors
    /// When the commit is not here, or has no directory at `path`.
    pub fn tree(&self, commit: &str, path: &str) -> Result<Tree, Error> {
        self.reading(|history| history.tree(commit, path))
    }

    /// As [`Mirror::merged`](super::Mirror::merged).
    ///
    /// # Errors
    /// When one of the commits is not here, they have no ancestor in common, or the result has no directory at `path`.
    pub fn merged(&self, base: &str, head: &str, path: &str) -> Result<Merged, Error> {
        self.reading(|history| merge::merged(&self.repository, history, base, head, path))
    }

    /// As [`Mirror::log`](super::Mirror::log).
    ///
    /// # Errors
    /// When one of the commits is not here.
    pub fn log(&self, from: Option<&str>, to: &str, limit: usize) -> Result<Vec<Commit>, Error> {
        self.reading(|history| history.log(from, to, limit))
    }

    /// As [`Mirror::messages`](super::Mirror::messages).
    ///
    /// # Errors
    /// When one of the commits is not here.
    pub fn messages(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<String>, Error> {
        self.reading(|history| history.messages(from, to, limit))
    }

    /// As [`Mirror::trailers`](super::Mirror::trailers).
    ///
    /// # Errors
    /// When one of the commits is not here.
    pub fn trailers(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
        key: &str,
    ) -> Result<Vec<String>, Error> {
        self.reading(|history| history.trailers(from, to, limit, key))
    }

    /// What cannot be read here is no damage of the mirror.
    fn reading<T>(&self, read: impl FnOnce(&History<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let history = History::of(&self.repository, &self.place);
        let result = history.and_then(|history| read(&history));
        result.map_err(|error| match error {
            Error::Damaged { cause, .. } => Error::Candidate { cause },
            other => other,
        })
    }

    fn odb(&self) -> Result<Odb<'_>, Error> {
        let odb = self.repository.odb();
        odb.map_err(|cause| self.unreadable(&cause))
    }

    #[allow(clippy::unused_self)]
    fn unreadable(&self, cause: &git2::Error) -> Error {
        Error::Candidate {
            cause: cause.message().to_owned(),
        }
    }
}

/// The objects of a repository on this machine.
fn local_objects(source: &str) -> Result<Option<PathBuf>, Error> {
    let Place::Local(local) = Address::parse(source, Access::default().reach)?.place else {
        return Ok(None);
    };
    let opened = Repository::open(&local.path).map_err(|cause| local.unreachable(&cause))?;
    Ok(Some(opened.commondir().join("objects")))
}

fn write_alternates(repository: &Path, alternates: &[PathBuf]) -> Result<(), Error> {
    let file = repository.join("objects/info/alternates");
    let real = alternates.iter().map(std::path::absolute);
    let real = real.collect::<io::Result<Vec<_>>>();
    let written = real.and_then(|real| {
        let lines = real.iter().map(|path| format!("{}\n", path.display()));
        fs::create_dir_all(repository.join("objects/info"))?;
        fs::write(&file, lines.collect::<String>())
    });
    written.map_err(|cause| Error::disk(&file, &cause))
}

/// How many bytes the files of a directory have, and how many of them are packs.
fn size(directory: &Path) -> (u64, usize) {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files.fold((0, 0), |(bytes, packs), file| {
        let is_pack = file.path().extension().is_some_and(|end| end == "pack");
        let size = file.metadata().map_or(0, |found| found.len());
        (bytes + size, packs + usize::from(is_pack))
    })
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(Error::disk(path, &cause)),
        _ => Ok(()),
    }
}
