//! Where revisions come from: a repository with its history, or a directory, which has hardly any.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::commit_approvals::Commits;
use crate::adapters::git::{
    Access, Commit, Error, Fetched, FollowedDirectory, Mirror, Ref, RetainedRef,
};
use crate::daemon::wall_time;
use crate::model::Tree;
use crate::settings::SyncConfig;

/// How long a new revision waits for what else is new in its repository. Mostly all comes at once; whoever pushes a huge
/// branch, or a server that stops in the middle of it, holds nothing up.
const OTHERS: Duration = Duration::from_secs(2);

/// Where revisions come from.
#[derive(Clone)]
pub(in crate::daemon) enum Origin {
    /// A mirror of a repository.
    Repository(Arc<Mirror>),
    /// A directory that another program keeps up to date.
    Directory(Arc<FollowedDirectory>),
}

impl Origin {
    /// What the settings name; a repository is reached by `access`.
    pub(in crate::daemon) fn open(config: &SyncConfig, access: &Access) -> Result<Self, Error> {
        let Some(directory) = &config.directory else {
            let (url, candidates) = (&config.url, &config.candidates);
            let mirror = Mirror::open_with(&config.mirror, url, candidates, access)?;
            return Ok(Self::Repository(Arc::new(mirror)));
        };
        let parts = std::iter::once(&config.path).chain(&config.overlays);
        let parts: Vec<String> = parts.cloned().collect();
        let directory = FollowedDirectory::open(directory, &parts, &config.mirror, wall_time)?;
        Ok(Self::Directory(Arc::new(directory)))
    }

    /// The repository: pull requests and signatures need one.
    pub(in crate::daemon) fn repository(&self) -> Result<&Arc<Mirror>, Error> {
        match self {
            Self::Repository(mirror) => Ok(mirror),
            Self::Directory(directory) => Err(directory.is_no_repository()),
        }
    }

    /// The directory, if it is one.
    pub(in crate::daemon) fn directory(&self) -> Option<&Arc<FollowedDirectory>> {
        match self {
            Self::Repository(_) => None,
            Self::Directory(directory) => Some(directory),
        }
    }

    /// Brings what is new: where the refs lead, unless that takes longer than the followed revision may wait, and which
    /// revision is followed now. What strangers propose is listed and not brought.
    pub(in crate::daemon) fn fetch(
        &self,
        reference: &Ref,
    ) -> Result<(Option<Fetched>, String), Error> {
        Ok(match self {
            Self::Repository(mirror) => {
                let fetched = mirror.fetch_followed_within(reference, OTHERS)?;
                (fetched, head(mirror, reference)?)
            }
            Self::Directory(directory) => (Some(Fetched::default()), directory.look()?),
        })
    }

    pub(super) fn retain(&self, retained: RetainedRef, revision: &str) -> Result<(), Error> {
        match self {
            Self::Repository(mirror) => mirror.retain(retained, revision),
            Self::Directory(directory) => directory.retain(retained, revision),
        }
    }

    pub(super) fn retained(&self, retained: RetainedRef) -> Option<String> {
        match self {
            Self::Repository(mirror) => mirror.retained(retained),
            Self::Directory(directory) => directory.retained(retained),
        }
    }

    /// What is said of a revision in a line: of a commit, the first of its message.
    pub(super) fn title(&self, revision: &str) -> String {
        let title = match self {
            Self::Repository(mirror) => mirror.commit(revision).ok().map(|commit| commit.title),
            Self::Directory(directory) => directory.title(revision),
        };
        title.unwrap_or_default()
    }

    /// The files below `path` at `revision`.
    pub(in crate::daemon) fn tree(&self, revision: &str, path: &str) -> Result<Tree, Error> {
        match self {
            Self::Repository(mirror) => mirror.tree(revision, path),
            Self::Directory(directory) => directory.tree(revision, path),
        }
    }
}

impl Commits for Origin {
    fn log(&self, from: Option<&str>, to: &str, limit: usize) -> Result<Vec<Commit>, Error> {
        match self {
            Self::Repository(mirror) => mirror.log(from, to, limit),
            Self::Directory(_) => Ok(Vec::new()),
        }
    }

    fn first_parents(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<Commit>, Error> {
        match self {
            Self::Repository(mirror) => mirror.first_parents(from, to, limit),
            Self::Directory(directory) => directory.first_parents(from, to, limit),
        }
    }

    fn written(
        &self,
        from: &str,
        to: &str,
        words: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, Error> {
        match self {
            Self::Repository(mirror) => mirror.written(from, to, words),
            Self::Directory(directory) => directory.written(from, to, words),
        }
    }

    fn message(&self, commit: &str) -> Result<String, Error> {
        match self {
            Self::Repository(mirror) => mirror.message(commit),
            Self::Directory(directory) => directory.message(commit),
        }
    }
}

/// The commit that is followed now. A bare repository whose default branch was never pushed to is common (its
/// HEAD says `master`): then it is `main`.
fn head(mirror: &Mirror, reference: &Ref) -> Result<String, Error> {
    let head = mirror.resolve(reference);
    head.or_else(|error| match reference {
        Ref::Head => mirror
            .resolve(&Ref::Branch("main".to_owned()))
            .map_err(|_| error),
        _ => Err(error),
    })
}
