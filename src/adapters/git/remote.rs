//! The other side: which refs it has, what they point to, and how one of them is changed.
//!
//! In: an address and a local repository. Out: the refs by name, and their objects in the local
//! repository. A repository on this machine is read as it is, one on a server by `wire`. It does not
//! know which refs are wanted, nor where they are kept.

use std::collections::{BTreeMap, BTreeSet};

use git2::{Oid, Repository};

use super::Error;
use super::access::Access;
use super::address::{Address, Place};
use super::hooks::Change;
use super::local::Local;
use super::local_copy;
use super::push::{self, Pushed};
use super::wire::{Report, Server, Service, Session};

/// What each ref of a repository points to: a commit, or the object of an annotated tag.
pub(super) type Listing = BTreeMap<String, Oid>;

/// The repository that is mirrored.
#[derive(Debug)]
pub(super) enum Remote {
    Local(Local),
    Server(Box<Server>),
}

impl Remote {
    /// Nothing is connected yet.
    pub(super) fn new(address: &Address, access: &Access) -> Result<Self, Error> {
        let access = access.clone();
        match address.place.clone() {
            Place::Local(local) => Ok(Self::Local(local)),
            Place::Http(place) => Self::server(Server::http(&address.shown, place, access)),
            Place::Ssh(place) => Self::server(Server::ssh(&address.shown, place, access)),
        }
    }

    fn server(server: Result<Server, Error>) -> Result<Self, Error> {
        Ok(Self::Server(Box::new(server?)))
    }

    /// Whether anything may be pushed, as far as a server says before it gets something.
    pub(super) fn probe(&self) -> Result<(), Error> {
        match self {
            Self::Local(_) => Ok(()),
            Self::Server(server) => server.open(Service::ReceivePack).map(drop),
        }
    }

    /// Makes `change`, with the objects that `from` holds, unless somebody else moved the ref.
    pub(super) fn push(&self, from: &Repository, change: Change<'_>) -> Result<Pushed, Error> {
        let server = match self {
            Self::Local(local) => return push::push(from, local, change),
            Self::Server(server) => server,
        };
        match server.open(Service::ReceivePack)?.push(from, change)? {
            Report::Done => Ok(Pushed::Done),
            Report::Moved => Ok(Pushed::Moved),
            Report::Refused(cause) => Err(Error::Refused {
                url: server.shown().to_owned(),
                reference: change.reference.to_owned(),
                cause,
            }),
        }
    }
}

/// The names of all refs of the repository at `url`, `HEAD` among them. Nothing is fetched or kept.
///
/// # Errors
/// When the address is of an unknown kind or not allowed, or the repository does not answer.
pub fn ref_names(url: &str, access: &Access) -> Result<Vec<String>, Error> {
    let remote = Remote::new(&Address::parse(url, access.reach)?, access)?;
    Ok(Connection::open(&remote)?.list()?.into_keys().collect())
}

/// A repository that answered.
pub(super) enum Connection<'r> {
    Local(Repository, &'r Local),
    Server(Box<Session<'r>>, &'r Server),
}

impl<'r> Connection<'r> {
    /// Connects for reading.
    pub(super) fn open(remote: &'r Remote) -> Result<Self, Error> {
        match remote {
            Remote::Local(local) => {
                let opened = Repository::open(local.text()?);
                let opened = opened.map_err(|cause| local.unreachable(&cause))?;
                Ok(Self::Local(opened, local))
            }
            Remote::Server(server) => {
                let session = server.open(Service::UploadPack)?;
                Ok(Self::Server(Box::new(session), server))
            }
        }
    }

    /// All refs, `HEAD` among them.
    pub(super) fn list(&self) -> Result<Listing, Error> {
        match self {
            Self::Local(repository, local) => {
                list(repository).map_err(|cause| local.unreachable(&cause))
            }
            Self::Server(session, _) => Ok(session.refs().clone()),
        }
    }

    /// Brings `wanted` into `repository`, and what it leads to. No ref changes. `before` is what was listed the last
    /// time.
    pub(super) fn download(
        &mut self,
        repository: &Repository,
        wanted: &BTreeSet<Oid>,
        before: &BTreeSet<Oid>,
    ) -> Result<(), Error> {
        match self {
            Self::Local(from, local) => {
                local_copy::copy(from, repository, wanted).map_err(|cause| Error::Download {
                    url: local.shown.clone(),
                    dir: repository.path().to_owned(),
                    cause: cause.message().to_owned(),
                })
            }
            Self::Server(session, server) => {
                if session.is_closed() {
                    **session = server.open(Service::UploadPack)?;
                }
                session.fetch(repository, wanted, before)
            }
        }
    }
}

/// The refs of a repository on this machine. One that leads nowhere is left out, as git does.
fn list(repository: &Repository) -> Result<Listing, git2::Error> {
    let mut listing = Listing::new();
    let head = repository.find_reference("HEAD");
    for reference in repository.references()?.chain([head]) {
        // One that cannot be read costs only itself.
        let Ok(reference) = reference else { continue };
        let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
        let target = reference.resolve().ok().and_then(|found| found.target());
        listing.extend(target.map(|target| (name, target)));
    }
    Ok(listing)
}
