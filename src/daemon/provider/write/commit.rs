//! Clusters as definitions on the followed branch, one file and one commit each.
//!
//! In: requests. Out: commits, pushed only onto the head that they were checked on. Whoever else pushes meanwhile wins, and the request is
//! checked anew. It does not know how a revision is applied.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::watch;

use super::direct::{MANAGER, failed};
use super::order::{Newer, Order, Queue, Writer, repeated, whole};
use super::push::{Change, Pusher};
use super::rejection::rejection;
use crate::adapters::git::{Branch, CommitMessage, Edit, Edits};
use crate::adapters::kubernetes::Hub;
use crate::api::fleet::ServiceProvider;
use crate::api::labels::{APPROVE, MANAGED_BY};
use crate::daemon::provider::git::{ADD, LOOK_BACK, Revision};
use crate::daemon::provider::kinds::HOSTED_CLUSTER;
use crate::daemon::provider::state::{Entry, Snapshot};
use crate::daemon::spans::spawn_blocking;
use crate::model::Clock;
use crate::provider::conflict::Asked;
use crate::provider::definition::{path, text_of};
use crate::provider::instance::{Defined, Hosted, Stored};
use crate::provider::problem::{Problem, ProblemKind};
use crate::settings::SyncConfig;

/// How often a push is tried: others who push all the time win for a few seconds.
const ATTEMPTS: u32 = 20;
/// The trailer with the ID of the instance.
const INSTANCE: &str = "Capstan-Instance";
/// The trailer with the digest of the `Idempotency-Key`.
const KEY: &str = "Capstan-Request-Key";

/// Writes definitions to the followed branch.
pub(in crate::daemon::provider) struct CommitWriter {
    pub(in crate::daemon::provider) settings: ServiceProvider,
    pub(in crate::daemon::provider) config: Arc<SyncConfig>,
    pub(in crate::daemon::provider) pusher: Pusher,
    pub(in crate::daemon::provider) state: watch::Receiver<Arc<Snapshot>>,
    pub(in crate::daemon::provider) clock: Arc<dyn Clock>,
    pub(in crate::daemon::provider) queue: Queue,
    /// The hub, for clusters that were made on it directly.
    pub(in crate::daemon::provider) hub: Hub,
}

impl CommitWriter {
    async fn create_one(&self, order: &Order) -> Result<Stored, Problem> {
        let mut written = self.queue.turn(&self.state).await?;
        let snapshot = whole(&self.state).await?;
        let mut checked: Option<(Arc<Revision>, Revision)> = None;
        for attempt in 0..ATTEMPTS {
            let revision = self.newest(attempt).await?;
            let stored = order.stored(&self.settings.namespace);
            if let Some(defined) = revision.index.instances.get(&order.id)
                && attempt > 0
                && order.wrote(&defined.stored)
            {
                // A push whose answer did not arrive.
                return Ok(stored);
            }
            let file = path(&order.id, &self.config.path, &self.settings);
            let asked = Asked {
                chosen: order.chosen.as_deref(),
                key: order.key.as_deref(),
                request: &order.request,
                namespace: &self.settings.namespace,
            };
            let newer = Newer {
                tree: Some(&revision.index),
                written: &written,
            };
            let before = repeated(&snapshot, &newer, &asked, self.settings.duplicate_create)?;
            if let Some(before) = before {
                return Ok(before);
            }
            self.check_new(&revision, order, &file).await?;
            let text = text_of(&order.accepted(), &self.settings);
            let (base, mut next) = match checked.take() {
                // Only other files of the repository changed meanwhile.
                Some((base, next)) if revision.is_same(&base) => (base, next),
                _ => {
                    let next = self.check(&revision, &file, &text).await?;
                    (Arc::clone(&revision), next)
                }
            };
            let subject = format!("{ADD}{}/{}", stored.namespace, stored.name);
            let mut trailers = vec![(INSTANCE.to_owned(), order.id.clone())];
            trailers.extend(order.key.clone().map(|key| (KEY.to_owned(), key)));
            let change = Change {
                edits: [(file, Edit::Write(text.into_bytes()))].into(),
                message: message(subject, trailers),
                at: order.at,
            };
            if let Some(commit) = self.pusher.push(&revision, change).await? {
                next.head = commit;
                self.pusher.branches.advance(next).await;
                let id = order.id.clone();
                let is_there = move |snapshot: &Snapshot| snapshot.entry(&id).is_some();
                self.pusher.announce(self.state.clone(), is_there);
                written.push(stored.clone());
                return Ok(stored);
            }
            checked = Some((base, next));
        }
        Err(contended())
    }

    async fn delete_one(&self, id: &str) -> Result<(), Problem> {
        let mut written = self.queue.turn(&self.state).await?;
        written.retain(|stored| stored.id != id);
        let snapshot = whole(&self.state).await?;
        let entry = snapshot.entry(id).map(|entry| &entry.instance);
        let hosted = entry.and_then(|instance| instance.hosted.as_ref());
        for attempt in 0..ATTEMPTS {
            let revision = self.newest(attempt).await?;
            let change = match revision.index.instances.get(id) {
                Some(defined) => self.removal(defined, hosted)?,
                // What is known may be old.
                None if attempt == 0 => continue,
                None => {
                    let is_known = entry.is_some() || attempt > 1;
                    let unwritten = is_known.then(|| self.delete_unwritten(id, hosted, &revision));
                    match unwritten.ok_or_else(|| Problem::no_cluster(id))?.await? {
                        Some(change) => change,
                        None => return Ok(()),
                    }
                }
            };
            if self.pusher.push(&revision, change).await?.is_some() {
                let _ = self.pusher.branches.refresh(false).await;
                let id = id.to_owned();
                self.pusher.announce(self.state.clone(), move |snapshot| {
                    snapshot.entry(&id).is_none_or(Entry::is_going)
                });
                return Ok(());
            }
        }
        Err(contended())
    }

    /// What is still to be pushed for an instance that no file defines.
    async fn delete_unwritten(
        &self,
        id: &str,
        hosted: Option<&Hosted>,
        revision: &Revision,
    ) -> Result<Option<Change>, Problem> {
        let Some(hosted) = hosted.filter(|hosted| !hosted.is_deleting()) else {
            return Ok(None);
        };
        if hosted.set() == revision.followed.set.as_deref() {
            let name = hosted.full_name();
            if revision.followed.approved.contains(&name) {
                // The fleet deletes it next.
                return Ok(None);
            }
            // Somebody removed the file, and nobody approved what follows from that.
            let subject = format!("Approve the deletion of cluster {name}");
            let names = BTreeSet::from([name]);
            return self.approving(subject, id, names, Edits::new()).map(Some);
        }
        // It was made while requests went to the hub directly.
        let is_ours = hosted.cluster["metadata"]["labels"][MANAGED_BY] == MANAGER;
        if is_ours && hosted.set().is_none() {
            let deleted = self.hub.delete(HOSTED_CLUSTER, &hosted.cluster).await;
            return deleted.map(|()| None).map_err(|error| failed(&error));
        }
        let detail =
            "the cluster is not defined in the followed branch: delete it where it was made";
        Err(Problem::exists(detail))
    }

    /// Refuses a request whose file is there, or whose key belongs to a cluster that was deleted: a repetition that comes late is not a
    /// wish for another cluster.
    async fn check_new(
        &self,
        revision: &Revision,
        order: &Order,
        file: &str,
    ) -> Result<(), Problem> {
        if revision.tree.files.contains_key(file) {
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

    /// The commit that removes a definition, which only the API may have written.
    fn removal(&self, defined: &Defined, hosted: Option<&Hosted>) -> Result<Change, Problem> {
        let stored = &defined.stored;
        let file = path(&stored.id, &self.config.path, &self.settings);
        let is_ours = stored.request.is_some() && defined.is_alone && *defined.path == *file;
        if !is_ours {
            let detail = format!(
                "the cluster is defined in {}, which was not written by this API alone: remove it there",
                defined.path
            );
            return Err(Problem::exists(detail));
        }
        let name = format!("{}/{}", stored.namespace, stored.name);
        let subject = format!("Remove cluster {name}");
        // Somebody may have renamed it in the file meanwhile.
        let live = hosted.map(Hosted::full_name);
        let names = live.into_iter().chain([name]).collect();
        let edits = [(file, Edit::Remove)].into();
        self.approving(subject, &stored.id, names, edits)
    }

    /// A change that approves the deletion of the clusters with these names.
    fn approving(
        &self,
        subject: String,
        id: &str,
        names: BTreeSet<String>,
        edits: Edits,
    ) -> Result<Change, Problem> {
        if self.config.approvals.is_set() {
            let detail = "deletions in this fleet need the approval of a person: remove the definition, or approve its removal, in a pull request";
            return Err(Problem::new(ProblemKind::PermissionDenied, detail));
        }
        let approvals = names.into_iter();
        let approvals = approvals.map(|name| (APPROVE.to_owned(), format!("delete {name}")));
        let instance = (INSTANCE.to_owned(), id.to_owned());
        Ok(Change {
            edits,
            message: message(subject, approvals.chain([instance]).collect()),
            at: self.clock.now(),
        })
    }

    /// The newest revision of the other side.
    async fn newest(&self, attempt: u32) -> Result<Arc<Revision>, Problem> {
        // What is known is usually the newest: the push tells if it is not.
        let read = self.pusher.branches.refresh(attempt > 0).await;
        read.map_err(|error| {
            tracing::warn!(%error, attempt, "the service provider cannot fetch the repository");
            Problem::later("the config repository does not answer: try again later", 10)
        })
    }

    /// Checks a definition together with the fleet that it becomes a part of, and returns the fleet with it.
    async fn check(
        &self,
        revision: &Arc<Revision>,
        file: &str,
        text: &str,
    ) -> Result<Revision, Problem> {
        let (revision, branches) = (Arc::clone(revision), Arc::clone(&self.pusher.branches));
        let (file, text) = (file.to_owned(), text.to_owned());
        let checked = spawn_blocking(move || {
            let next = branches.with_file(&revision, &file, &text);
            let rejected = rejection(&next.errors, &revision.errors);
            rejected.map_or(Ok(next), Err)
        });
        checked.await.map_err(|_| Problem::internal())?
    }
}

impl Writer for CommitWriter {
    fn create<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Stored, Problem>> {
        self.create_one(order).boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Problem>> {
        self.delete_one(id).boxed()
    }
}

fn message(subject: String, trailers: Vec<(String, String)>) -> CommitMessage {
    CommitMessage {
        subject,
        body: "Requested over the service provider's API.".to_owned(),
        trailers,
    }
}

fn contended() -> Problem {
    let detail = "others push to the config repository all the time: try again later";
    Problem::later(detail, 5)
}
