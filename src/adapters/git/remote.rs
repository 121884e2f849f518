//! The other side: which refs it has, what they point to, and how one of them is changed.
//!
//! In: an address and a local repository. Out: the refs by name, and their objects in the local
//! repository. A repository on this machine is read by libgit2, one on a server by `wire`. It does not
//! know which refs are wanted, nor where they are kept.

use std::collections::{BTreeMap, BTreeSet};

use git2::{AutotagOption, Direction, FetchOptions, Oid, Repository};

use super::Error;
use super::access::Access;
use super::address::{Address, Place};
use super::hooks::Change;
use super::local::Local;
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

/// A repository that answered.
pub(super) enum Connection<'r> {
    Local(git2::Remote<'r>, &'r Repository, &'r Local),
    Server(Box<Session<'r>>, &'r Repository),
}

impl<'r> Connection<'r> {
    /// Connects for reading.
    pub(super) fn open(repository: &'r Repository, remote: &'r Remote) -> Result<Self, Error> {
        match remote {
            Remote::Local(local) => {
                let unreachable = |cause| local.unreachable(&cause);
                let mut remote = repository
                    .remote_anonymous(local.text()?)
                    .map_err(unreachable)?;
                remote.connect(Direction::Fetch).map_err(unreachable)?;
                Ok(Self::Local(remote, repository, local))
            }
            Remote::Server(server) => {
                let session = server.open(Service::UploadPack)?;
                Ok(Self::Server(Box::new(session), repository))
            }
        }
    }

    /// All refs, `HEAD` among them.
    pub(super) fn list(&self) -> Result<Listing, Error> {
        let (remote, local) = match self {
            Self::Local(remote, _, local) => (remote, local),
            Self::Server(session, _) => return Ok(session.refs().clone()),
        };
        let heads = remote.list();
        let heads = heads.map_err(|cause| local.unreachable(&cause))?;
        let named = heads
            .iter()
            .map(|head| (head.name().to_owned(), head.oid()));
        // `refs/tags/x^{}` repeats what the tag x points to.
        Ok(named.filter(|(name, _)| !name.ends_with("^{}")).collect())
    }

    /// Brings what `listing` points to, which is what the refs that match `patterns` point to. No local
    /// ref changes. `before` is what was listed the last time.
    pub(super) fn download(
        &mut self,
        patterns: &[&str],
        listing: &Listing,
        before: &Listing,
    ) -> Result<(), Error> {
        let (remote, repository, local) = match self {
            Self::Local(remote, repository, local) => (remote, repository, local),
            Self::Server(session, repository) => {
                let ids = |listing: &Listing| listing.values().copied().collect::<BTreeSet<Oid>>();
                return session.fetch(repository, &ids(listing), &ids(before));
            }
        };
        let specs: Vec<String> = patterns
            .iter()
            .map(|pattern| format!("+{pattern}:refs/incoming/{pattern}"))
            .collect();
        let mut options = FetchOptions::new();
        options.download_tags(AutotagOption::None);
        remote
            .download(&specs, Some(&mut options))
            .map_err(|cause| Error::Download {
                url: local.shown.clone(),
                dir: repository.path().to_owned(),
                cause: cause.message().to_owned(),
            })
    }
}
