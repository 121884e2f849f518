//! Clusters as definitions on the followed branch, one file and one commit each.
//!
//! In: requests. Out: commits, pushed only onto the head that they were checked on. Whoever else pushes meanwhile wins, and the request is
//! checked anew. It does not know how a revision is applied.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::definitions::{ATTEMPTS, Definitions, Unwritten, contended};
use super::order::{Order, Writer, whole};
use super::push::Change;
use crate::adapters::git::Edits;
use crate::adapters::service_provider::Caller;
use crate::daemon::provider::git::Revision;
use crate::daemon::provider::state::{Entry, Snapshot};
use crate::provider::instance::{Hosted, Stored};
use crate::provider::problem::{Problem, ProblemKind};

/// Writes definitions to the followed branch.
pub(in crate::daemon::provider) struct CommitWriter(pub(in crate::daemon::provider) Definitions);

impl CommitWriter {
    async fn create_one(&self, order: &Order) -> Result<Stored, Problem> {
        let definitions = &self.0;
        let mut written = definitions
            .queue
            .turn(&order.caller, &definitions.state)
            .await?;
        let snapshot = whole(&definitions.state).await?;
        let stored = order.stored(&definitions.settings.namespace);
        let mut checked: Option<(Arc<Revision>, Revision)> = None;
        for attempt in 0..ATTEMPTS {
            let revision = definitions.newest(attempt).await?;
            if let Some(defined) = revision.index.instances.get(&order.id)
                && attempt > 0
                && order.wrote(&defined.stored)
            {
                // A push whose answer did not arrive.
                return Ok(stored);
            }
            if let Some(before) = definitions.before(order, &snapshot, &revision, &written)? {
                return Ok(before);
            }
            definitions.check_new(&revision, order).await?;
            let (base, mut next) = match checked.take() {
                // Only other files of the repository changed meanwhile.
                Some((base, next)) if revision.is_same(&base) => (base, next),
                _ => {
                    let next = definitions.check(&revision, order).await;
                    let next = definitions.settled(attempt, &revision, next).await?;
                    let Some(next) = next else { continue };
                    (Arc::clone(&revision), next)
                }
            };
            let pusher = &definitions.pusher;
            let change = definitions.addition(order);
            if let Some(commit) = pusher.push(&revision, change).await? {
                next.head = commit;
                pusher.branches.advance(next).await;
                let id = order.id.clone();
                let is_there = move |snapshot: &Snapshot| snapshot.entry(&id).is_some();
                pusher.announce(definitions.state.clone(), is_there);
                written.push(stored.clone());
                return Ok(stored);
            }
            checked = Some((base, next));
        }
        Err(contended())
    }

    async fn delete_one(&self, id: &str, caller: &Caller) -> Result<(), Problem> {
        let definitions = &self.0;
        let mut written = definitions.queue.turn(caller, &definitions.state).await?;
        written.retain(|stored| stored.id != id);
        let snapshot = whole(&definitions.state).await?;
        let entry = snapshot.entry(id).map(|entry| &entry.instance);
        let hosted = entry.and_then(|instance| instance.hosted.as_ref());
        let pusher = &definitions.pusher;
        for attempt in 0..ATTEMPTS {
            let revision = definitions.newest(attempt).await?;
            let change = match revision.index.instances.get(id) {
                Some(defined) => {
                    let removal = definitions
                        .checked_removal(&revision, defined, hosted, || self.may_approve());
                    let removal = definitions
                        .settled(attempt, &revision, removal.await)
                        .await?;
                    let Some(change) = removal else { continue };
                    change
                }
                // What is known may be old.
                None if attempt == 0 => continue,
                None if entry.is_none() && attempt == 1 => return Err(Problem::no_cluster(id)),
                None => match self.unwritten(id, hosted, &revision).await? {
                    Some(change) => change,
                    None => return Ok(()),
                },
            };
            if pusher.push(&revision, change).await?.is_some() {
                let _ = pusher.branches.refresh(false).await;
                let id = id.to_owned();
                pusher.announce(definitions.state.clone(), move |snapshot| {
                    snapshot.entry(&id).is_none_or(Entry::is_going)
                });
                return Ok(());
            }
        }
        Err(contended())
    }

    /// The commit that is still to be pushed for an instance that no file defines, if there is one.
    async fn unwritten(
        &self,
        id: &str,
        hosted: Option<&Hosted>,
        revision: &Revision,
    ) -> Result<Option<Change>, Problem> {
        match self.0.delete_unwritten(hosted, revision).await? {
            Unwritten::Nothing => Ok(None),
            Unwritten::Approval(name) => {
                self.may_approve()?;
                let subject = format!("Approve the deletion of cluster {name}");
                let names = BTreeSet::from([name]);
                Ok(Some(self.0.approving(subject, id, names, Edits::new())))
            }
        }
    }

    /// Refuses to delete in the place of the people who have to approve it.
    fn may_approve(&self) -> Result<(), Problem> {
        if !self.0.config.approvals.is_set() {
            return Ok(());
        }
        let detail = "deletions in this fleet need the approval of a person: remove the definition, or approve its removal, in a pull request";
        Err(Problem::new(ProblemKind::PermissionDenied, detail))
    }
}

impl Writer for CommitWriter {
    fn create<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Stored, Problem>> {
        self.create_one(order).boxed()
    }

    fn delete<'a>(&'a self, id: &'a str, caller: &'a Caller) -> BoxFuture<'a, Result<(), Problem>> {
        self.delete_one(id, caller).boxed()
    }
}
