//! The way of a commit to the other side: onto the followed branch, or onto a new one.
//!
//! In: a change, and the revision that it was checked on. Out: that it arrived, or that it is to be tried again. It does not know what the
//! change is for.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::fault::{REPOSITORY, fault};
use crate::adapters::git::{
    Branch, CommitMessage, Committer, Edits, Error, NewCommit, Outcome, Signer,
};
use crate::adapters::kubernetes::annotate_parent;
use crate::api::labels::SYNC_REQUESTED;
use crate::daemon::provider::git::{Branches, Revision};
use crate::daemon::provider::pace::{NOTICED, at};
use crate::daemon::provider::state::Snapshot;
use crate::daemon::spans::spawn_blocking;
use crate::daemon::wall_time;
use crate::model::{AdapterError, ErrorClass};
use crate::plan::ApplySet;
use crate::provider::problem::Problem;

/// A change of files, with what the commit says of it.
pub(super) struct Change {
    pub(super) edits: Edits,
    pub(super) message: CommitMessage,
    pub(super) at: Timestamp,
}

/// Pushes changes.
pub(in crate::daemon::provider) struct Pusher {
    pub(in crate::daemon::provider) branches: Arc<Branches>,
    pub(in crate::daemon::provider) signer: Option<Arc<Signer>>,
    pub(in crate::daemon::provider) client: Client,
    /// The fleet, whose daemon looks at the branch at once.
    pub(in crate::daemon::provider) set: ApplySet,
}

impl Pusher {
    /// Pushes a change onto a revision, and returns its commit; `None` if it may not have arrived, and is to be tried again.
    pub(super) async fn push(
        &self,
        revision: &Revision,
        change: Change,
    ) -> Result<Option<String>, Problem> {
        let head = revision.head.clone();
        let name = self.branches.name();
        self.pushed(name, change, move |branch, commit| {
            branch.commit(&head, commit)
        })
        .await
    }

    /// Pushes a change of a revision as a new branch with this short name, and returns its commit; `None` if it may not have arrived, or the
    /// branch exists.
    pub(super) async fn propose(
        &self,
        revision: &Revision,
        change: Change,
        branch: &str,
    ) -> Result<Option<String>, Problem> {
        let head = revision.head.clone();
        let name = format!("refs/heads/{branch}");
        self.pushed(name, change, move |branch, commit| {
            branch.create(Some(&head), commit)
        })
        .await
    }

    /// Asks the daemon to look at the branch, once a snapshot shows what was pushed, so that no status of it is left out. The daemon looks at
    /// its next interval as well.
    pub(super) fn announce(
        &self,
        mut state: watch::Receiver<Arc<Snapshot>>,
        shows: impl Fn(&Snapshot) -> bool + Send + Sync + 'static,
    ) {
        let (client, set) = (self.client.clone(), self.set.clone());
        let announce = async move {
            tokio::select! {
                biased;
                _ = state.wait_for(|snapshot| shows(snapshot)) => {}
                () = at(Some(Instant::now() + NOTICED)) => {}
            }
            let now = wall_time().to_string();
            let asked = annotate_parent(&client, &set, SYNC_REQUESTED, Some(&now)).await;
            if let Err(error) = asked {
                tracing::debug!(%error, "the daemon is not asked to look at a pushed commit");
            }
        };
        drop(tokio::spawn(announce.in_current_span()));
    }

    async fn pushed(
        &self,
        name: String,
        change: Change,
        push: impl FnOnce(&Branch<'_>, &NewCommit<'_>) -> Result<Outcome<String>, Error>
        + Send
        + 'static,
    ) -> Result<Option<String>, Problem> {
        let (branches, signer) = (Arc::clone(&self.branches), self.signer.clone());
        let pushed = spawn_blocking(move || {
            let by = Committer {
                name: "Capstan service provider".to_owned(),
                email: "service-provider@capstan.dev".to_owned(),
            };
            let commit = NewCommit {
                edits: &change.edits,
                message: &change.message,
                by: &by,
                at: change.at,
                signer: signer.as_deref(),
            };
            push(&Branch::of(&branches.mirror, &name)?, &commit)
        });
        match pushed.await.map_err(|_| Problem::internal())? {
            Ok(Outcome::Done(commit)) => {
                tracing::info!(commit, "the service provider pushed a commit");
                Ok(Some(commit))
            }
            Ok(Outcome::Moved) => Ok(None),
            Err(error) => unpushed(&AdapterError::new(error.class(), error.to_string())),
        }
    }
}

fn unpushed(error: &AdapterError) -> Result<Option<String>, Problem> {
    tracing::warn!(%error, "the service provider cannot push");
    match error.class() {
        ErrorClass::Transient | ErrorClass::Conflict => Ok(None),
        _ => Err(fault(REPOSITORY, error)),
    }
}
