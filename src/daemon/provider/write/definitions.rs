//! Definitions in the repository, as every way over git needs them.
//!
//! In: requests, and the newest revision. Out: commits to make, or the problem. It does not know where a commit is pushed to.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

use super::direct::{MANAGER, failed};
use super::fault::{REPOSITORY, fault};
use super::order::{Newer, Order, repeated};
use super::push::{Change, Pusher};
use super::queue::Queue;
use super::rejection::rejection;
use crate::adapters::git::{Branch, CommitMessage, Edit, Edits};
use crate::adapters::kubernetes::Hub;
use crate::api::fleet::ServiceProvider;
use crate::api::labels::{APPROVE, MANAGED_BY};
use crate::daemon::provider::git::{ADD, LOOK_BACK, REMOVE, Revision};
use crate::daemon::provider::kinds::HOSTED_CLUSTER;
use crate::daemon::provider::state::Snapshot;
use crate::daemon::spans::spawn_blocking;
use crate::model::Clock;
use crate::provider::conflict::Asked;
use crate::provider::definition::{path, text_of};
use crate::provider::instance::{Defined, Hosted, Stored};
use crate::provider::problem::Problem;
use crate::settings::SyncConfig;

/// The number of attempts of a push: others who push all the time win for a few seconds.
pub(super) const ATTEMPTS: u32 = 20;
/// The trailer with the ID of the instance.
const INSTANCE: &str = "Capstan-Instance";
/// The trailer with the digest of the `Idempotency-Key`.
const KEY: &str = "Capstan-Request-Key";

/// The fleet's definitions, and the way to change them.
pub(in crate::daemon::provider) struct Definitions {
    pub(in crate::daemon::provider) settings: ServiceProvider,
    pub(in crate::daemon::provider) config: Arc<SyncConfig>,
    pub(in crate::daemon::provider) pusher: Pusher,
    pub(in crate::daemon::provider) state: watch::Receiver<Arc<Snapshot>>,
    pub(in crate::daemon::provider) clock: Arc<dyn Clock>,
    pub(in crate::daemon::provider) queue: Queue,
    /// The hub, for clusters that were made on it directly.
    pub(in crate::daemon::provider) hub: Hub,
}

/// The rest of the work for an instance that no file defines.
pub(super) enum Unwritten {
    /// Nothing: its cluster is gone, or goes.
    Nothing,
    /// The fleet keeps the cluster with this name, `namespace/name`, until its deletion is approved.
    Approval(String),
}

impl Definitions {
    /// The file of an instance.
    pub(super) fn file(&self, id: &str) -> String {
        path(id, &self.config.path, &self.settings)
    }

    /// The newest revision of the other side.
    pub(super) async fn newest(&self, attempt: u32) -> Result<Arc<Revision>, Problem> {
        // What is known is usually the newest: the push tells if it is not.
        let read = self.pusher.branches.refresh(attempt > 0).await;
        read.map_err(|error| {
            tracing::warn!(%error, attempt, "the service provider cannot fetch the repository");
            fault(REPOSITORY, &error)
        })
    }

    /// The instance that the same request created before.
    pub(super) fn before(
        &self,
        order: &Order,
        snapshot: &Snapshot,
        revision: &Revision,
        written: &[Stored],
    ) -> Result<Option<Stored>, Problem> {
        let asked = Asked {
            chosen: order.chosen.as_deref(),
            key: order.key.as_deref(),
            request: &order.request,
            namespace: &self.settings.namespace,
        };
        let newer = Newer {
            tree: Some(&revision.index),
            written,
        };
        repeated(snapshot, &newer, &asked, self.settings.duplicate_create)
    }

    /// Refuses a request whose file is there, or whose key belongs to a cluster that was deleted: a repetition that comes late is not a
    /// wish for another cluster.
    pub(super) async fn check_new(
        &self,
        revision: &Revision,
        order: &Order,
    ) -> Result<(), Problem> {
        let file = self.file(&order.id);
        let directory = format!("{file}/");
        let from: Arc<str> = directory.as_str().into();
        let mut beside = revision.tree.files.range(from..);
        let is_directory = beside
            .next()
            .is_some_and(|(path, _)| path.starts_with(&directory));
        if is_directory || revision.tree.files.contains_key(&*file) {
            let detail = format!(
                "the file of the ID {:?} exists already: choose another ID",
                order.id
            );
            return Err(Problem::exists(detail));
        }
        let Some(key) = order.key.clone() else {
            return Ok(());
        };
        let (branches, head) = (Arc::clone(&self.pusher.branches), revision.head.clone());
        let found = spawn_blocking(move || {
            Branch::of(&branches.mirror, &branches.name())?.find(&head, KEY, &key, LOOK_BACK)
        });
        match found.await {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(_))) => {
                let detail = "the cluster of this Idempotency-Key was deleted: send a new key";
                Err(Problem::exists(detail))
            }
            Ok(Err(_)) | Err(_) => Err(Problem::internal()),
        }
    }

    /// Checks a definition together with the fleet that it becomes a part of, and returns the fleet with it.
    pub(super) async fn check(
        &self,
        revision: &Arc<Revision>,
        order: &Order,
    ) -> Result<Revision, Problem> {
        let (revision, branches) = (Arc::clone(revision), Arc::clone(&self.pusher.branches));
        let (file, text) = (self.file(&order.id), self.text(order));
        let checked = spawn_blocking(move || {
            let next = branches.with_file(&revision, &file, &text);
            let rejected = rejection(&next.errors, &revision.errors);
            rejected.map_or(Ok(next), Err)
        });
        checked.await.map_err(|_| Problem::internal())?
    }

    /// Returns what a check on a revision came to; `None` if there is a newer revision, in which somebody may have mended what was refused.
    pub(super) async fn settled<T>(
        &self,
        attempt: u32,
        revision: &Revision,
        checked: Result<T, Problem>,
    ) -> Result<Option<T>, Problem> {
        let problem = match checked {
            Ok(checked) => return Ok(Some(checked)),
            Err(problem) => problem,
        };
        // Later attempts begin with a fetch.
        let fetched = match attempt {
            0 => self.pusher.branches.refresh(true).await.ok(),
            _ => None,
        };
        match fetched.filter(|newest| newest.head != revision.head) {
            Some(_) => Ok(None),
            None => Err(problem),
        }
    }

    /// The commit that removes a definition, if `may` allows it and the fleet is applied without it.
    pub(super) async fn checked_removal(
        &self,
        revision: &Arc<Revision>,
        defined: &Defined,
        hosted: Option<&Hosted>,
        may: impl FnOnce() -> Result<(), Problem>,
    ) -> Result<Change, Problem> {
        let change = self.removal(defined, hosted)?;
        may()?;
        self.check_removal(revision, defined).await?;
        Ok(change)
    }

    /// Refuses a removal after which the fleet would not be applied: the cluster would stay.
    async fn check_removal(
        &self,
        revision: &Arc<Revision>,
        defined: &Defined,
    ) -> Result<(), Problem> {
        let (revision, branches) = (Arc::clone(revision), Arc::clone(&self.pusher.branches));
        let file = defined.path.clone();
        let checked = spawn_blocking(move || {
            let next = branches.without_file(&revision, &file);
            if next.is_empty {
                let detail = "the fleet would have no objects left, and would not be applied: add another object to the repository first, such as the Namespace of the clusters";
                return Err(Problem::exists(detail));
            }
            match rejection(&next.errors, &revision.errors) {
                None => Ok(()),
                Some(problem) => Err(Problem::exists(format!(
                    "the fleet would have errors without the cluster, and would not be applied: {}",
                    problem.detail
                ))),
            }
        });
        checked.await.map_err(|_| Problem::internal())?
    }

    fn text(&self, order: &Order) -> String {
        text_of(&order.accepted(), &self.settings)
    }

    /// The commit that adds a definition.
    pub(super) fn addition(&self, order: &Order) -> Change {
        let name = format!("{}/{}", self.settings.namespace, order.request.name);
        let mut trailers = vec![(INSTANCE.to_owned(), order.id.clone())];
        trailers.extend(order.key.clone().map(|key| (KEY.to_owned(), key)));
        Change {
            edits: [(
                self.file(&order.id),
                Edit::Write(self.text(order).into_bytes()),
            )]
            .into(),
            message: message(format!("{ADD}{name}"), trailers),
            at: order.at,
        }
    }

    /// The commit that removes a definition, which only the API may have written, and approves the deletion if that counts.
    fn removal(&self, defined: &Defined, hosted: Option<&Hosted>) -> Result<Change, Problem> {
        let stored = &defined.stored;
        let file = self.file(&stored.id);
        let is_ours = stored.request.is_some() && defined.is_alone && *defined.path == *file;
        if !is_ours {
            let detail = format!(
                "the cluster is defined in {}, which was not written by this API alone: remove it there",
                defined.path
            );
            return Err(Problem::exists(detail));
        }
        let name = format!("{}/{}", stored.namespace, stored.name);
        let subject = format!("{REMOVE}{name}");
        // Somebody may have renamed it in the file meanwhile.
        let live = hosted.map(Hosted::full_name);
        let names = live.into_iter().chain([name]).collect();
        Ok(self.approving(subject, &stored.id, names, [(file, Edit::Remove)].into()))
    }

    /// A change that approves the deletion of the clusters with these names. Where people approve, its word would not count.
    pub(super) fn approving(
        &self,
        subject: String,
        id: &str,
        names: BTreeSet<String>,
        edits: Edits,
    ) -> Change {
        let counts = !self.config.approvals.is_set();
        let approvals = names.into_iter().filter(|_| counts);
        let approvals = approvals.map(|name| (APPROVE.to_owned(), format!("delete {name}")));
        let instance = (INSTANCE.to_owned(), id.to_owned());
        Change {
            edits,
            message: message(subject, approvals.chain([instance]).collect()),
            at: self.clock.now(),
        }
    }

    /// Deletes what no file defines, as far as no commit is needed.
    pub(super) async fn delete_unwritten(
        &self,
        hosted: Option<&Hosted>,
        revision: &Revision,
    ) -> Result<Unwritten, Problem> {
        let Some(hosted) = hosted.filter(|hosted| !hosted.is_deleting()) else {
            return Ok(Unwritten::Nothing);
        };
        if hosted.set() == revision.followed.set.as_deref() {
            let name = hosted.full_name();
            return Ok(if revision.followed.approved.contains(&name) {
                // The fleet deletes it next.
                Unwritten::Nothing
            } else {
                // Somebody removed the file, and nobody approved what follows from that.
                Unwritten::Approval(name)
            });
        }
        // It was made while requests went to the hub directly.
        let is_ours = hosted.cluster["metadata"]["labels"][MANAGED_BY] == MANAGER;
        if is_ours && hosted.set().is_none() {
            let deleted = self.hub.delete(HOSTED_CLUSTER, &hosted.cluster).await;
            return deleted
                .map(|()| Unwritten::Nothing)
                .map_err(|error| failed(&error));
        }
        let detail =
            "the cluster is not defined in the followed branch: delete it where it was made";
        Err(Problem::exists(detail))
    }
}

fn message(subject: String, trailers: Vec<(String, String)>) -> CommitMessage {
    CommitMessage {
        subject,
        body: "Requested over the service provider's API.".to_owned(),
        trailers,
    }
}

pub(super) fn contended() -> Problem {
    let detail = "others push to the config repository all the time: try again later";
    Problem::later(detail, 5)
}
