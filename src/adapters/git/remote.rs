//! The other side: which refs it has, and what they point to.
//!
//! In: an address and a local repository. Out: the refs by name, and their objects in the local
//! repository. It does not know which refs are wanted, nor where they are kept.

use std::collections::BTreeMap;

use git2::{AutotagOption, Direction, FetchOptions, Oid, Remote, Repository};

use super::Error;
use super::address::Address;

/// What each ref of a repository points to: a commit, or the object of an annotated tag.
pub(super) type Listing = BTreeMap<String, Oid>;

/// A repository that answered.
pub(super) struct Connection<'r> {
    remote: Remote<'r>,
    repository: &'r Repository,
    address: &'r Address,
}

impl<'r> Connection<'r> {
    /// Connects for reading.
    pub(super) fn open(repository: &'r Repository, address: &'r Address) -> Result<Self, Error> {
        let unreachable = |cause| address.unreachable(&cause);
        let mut remote = repository
            .remote_anonymous(address.text()?)
            .map_err(unreachable)?;
        remote.connect(Direction::Fetch).map_err(unreachable)?;
        Ok(Self {
            remote,
            repository,
            address,
        })
    }

    /// All refs, `HEAD` among them.
    pub(super) fn list(&self) -> Result<Listing, Error> {
        let heads = self.remote.list();
        let heads = heads.map_err(|cause| self.address.unreachable(&cause))?;
        let named = heads
            .iter()
            .map(|head| (head.name().to_owned(), head.oid()));
        // `refs/tags/x^{}` repeats what the tag x points to.
        Ok(named.filter(|(name, _)| !name.ends_with("^{}")).collect())
    }

    /// Brings what the refs that match `patterns` point to. No local ref changes.
    pub(super) fn download(&mut self, patterns: &[&str]) -> Result<(), Error> {
        let specs: Vec<String> = patterns
            .iter()
            .map(|pattern| format!("+{pattern}:refs/incoming/{pattern}"))
            .collect();
        let mut options = FetchOptions::new();
        options.download_tags(AutotagOption::None);
        self.remote
            .download(&specs, Some(&mut options))
            .map_err(|cause| Error::Download {
                url: self.address.shown.clone(),
                dir: self.repository.path().to_owned(),
                cause: cause.message().to_owned(),
            })
    }
}
