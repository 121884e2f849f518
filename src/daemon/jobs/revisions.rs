//! The revisions of what is followed: where they come from, which of them are trusted, and which must not be lost.
//!
//! In: settings, and the origin. Out: what is new, and what leads to a revision. It does not know what becomes of one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;

use super::commit_approvals::Commits as _;
use super::origin::Origin;
use super::signatures::Signatures;
use crate::adapters::git::{Error, Ref, RetainedRef};
use crate::daemon::spans::spawn_blocking;
use crate::follow::{Candidate, Lane, RemoteRefs};
use crate::settings::SyncConfig;

/// How far back a good revision is looked for when the newest is broken.
pub(super) const LOOK_BACK: usize = 50;
/// How often a directory is looked at that cannot be watched.
const UNWATCHED: Duration = Duration::from_secs(5);

/// The revisions of a repository or a directory.
pub(in crate::daemon) struct Revisions {
    pub(in crate::daemon) origin: Origin,
    pub(super) reference: Ref,
    pub(super) signatures: Signatures,
    /// Takes revisions that must not be lost; the newest of a kind counts.
    unretained: Sender<(RetainedRef, String)>,
    /// Held while they are pinned: the newest comes last.
    pinning: Mutex<Receiver<(RetainedRef, String)>>,
}

impl Revisions {
    pub(super) fn new(origin: Origin, config: &SyncConfig) -> Self {
        let reference = reference(config);
        let (unretained, pinning) = channel();
        Self {
            signatures: Signatures::new(origin.clone(), reference.clone(), config),
            origin,
            reference,
            unretained,
            pinning: Mutex::new(pinning),
        }
    }

    /// The longest wait until the next look, if the settings ask for more than that.
    pub(in crate::daemon) fn next_look_within(&self) -> Option<Duration> {
        let directory = self.origin.directory()?;
        (!directory.is_watched()).then_some(UNWATCHED)
    }

    /// Returns true if nobody can approve in the message of a commit.
    pub(in crate::daemon) fn is_without_commits(&self) -> bool {
        let directory = self.origin.directory();
        directory.is_some_and(|directory| !directory.has_commits())
    }

    /// Brings what is new. What is kept may be let go of by that: it is pinned before.
    pub(super) fn fetch(&self) -> Result<RemoteRefs, Error> {
        self.pin();
        let (fetched, head) = self.origin.fetch(&self.reference)?;
        let signed_anew = self.signatures.is_signed_anew(&head);
        let refs = fetched.map(|fetched| {
            let mut refs = fetched.refs;
            refs.extend(fetched.strangers);
            refs
        });
        Ok(RemoteRefs {
            refs,
            head,
            signed_anew,
        })
    }

    /// Keeps what later revisions are compared with: in a repository from the next look on, in a directory, which is
    /// written by somebody else, at once. Nothing is waited for.
    pub(in crate::daemon) fn retain(self: &Arc<Self>, retained: RetainedRef, revision: &str) {
        self.retain_later(retained, revision);
        if self.origin.directory().is_some() {
            let revisions = Arc::clone(self);
            drop(spawn_blocking(move || revisions.pin()));
        }
    }

    /// The same from the next look on.
    pub(super) fn retain_later(&self, retained: RetainedRef, revision: &str) {
        let _ = self.unretained.send((retained, revision.to_owned()));
    }

    /// Pins what must not be lost.
    fn pin(&self) {
        let pinning = self.pinning.lock();
        let unretained: BTreeMap<RetainedRef, String> = pinning.try_iter().collect();
        for (retained, revision) in unretained {
            if let Err(error) = self.origin.retain(retained, &revision) {
                tracing::warn!(%error, revision, "cannot retain this revision: it may be lost");
            }
        }
    }

    /// The commits that lead to `revision`, the newest first, without it.
    pub(super) fn earlier(&self, revision: &str) -> Vec<String> {
        let log = self.origin.log(None, revision, LOOK_BACK);
        let ids = log.unwrap_or_default().into_iter().map(|commit| commit.id);
        ids.filter(|id| id != revision).collect()
    }

    /// The same, and what an earlier process took up last: after a forced push, it does not lead to `revision`.
    pub(super) fn earlier_or_begun(&self, revision: &str) -> Vec<String> {
        let mut earlier = self.earlier(revision);
        let begun = self.origin.retained(RetainedRef::Begun);
        let begun = begun.filter(|begun| begun != revision && !earlier.contains(begun));
        earlier.extend(begun);
        earlier
    }

    /// The lane of a candidate: anybody can open a pull request, and who may push to a branch is decided by the repository.
    pub(super) fn lane(&self, candidate: &Candidate) -> Lane {
        match candidate.name.starts_with("refs/heads/") {
            true => Lane::Own,
            false => self.lane_of(&candidate.commit),
        }
    }

    /// The lane of a commit, by whether it is on a branch.
    pub(super) fn lane_of(&self, commit: &str) -> Lane {
        let repository = self.origin.repository();
        let is_on_branch = repository.and_then(|repository| repository.is_on_branch(commit));
        match is_on_branch.unwrap_or_default() {
            true => Lane::Own,
            false => Lane::Fork,
        }
    }
}

/// What to follow, as git names it.
fn reference(config: &SyncConfig) -> Ref {
    let wanted = config.reference.as_ref();
    let of = |name: fn(&crate::api::fleet::GitReference) -> Option<&String>| {
        wanted.and_then(name).cloned()
    };
    let commit = of(|wanted| wanted.commit.as_ref()).map(Ref::Commit);
    let tag = || of(|wanted| wanted.tag.as_ref()).map(Ref::Tag);
    // The settings are checked: what is there is a range.
    let range = || {
        of(|wanted| wanted.semver.as_ref())?
            .parse()
            .ok()
            .map(Ref::Newest)
    };
    let branch = || of(|wanted| wanted.branch.as_ref()).map(Ref::Branch);
    commit
        .or_else(range)
        .or_else(tag)
        .or_else(branch)
        .unwrap_or(Ref::Head)
}
