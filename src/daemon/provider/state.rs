//! Everything the provider knows, as one value.
//!
//! In: the hub and the followed branch as they change. Out: a snapshot of all instances with their statuses, again after each change. It does
//! not know who reads it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::git::Revision;
use super::hub::{HubState, HubView};
use super::pace::at;
use crate::adapters::kubernetes::GATHERING;
use crate::api::fleet::ServiceProvider;
use crate::model::Clock;
use crate::provider::instance::{Instance, Proposals, TreeIndex, join};
use crate::provider::status::{State, Status};
use crate::provider::view::{Followed, lacking, status};

/// The longest time between two looks at statuses that depend on the time.
const LONGEST: Duration = Duration::from_secs(600);

/// An instance, and its status.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) instance: Instance,
    pub(super) status: Status,
}

impl Entry {
    /// Returns true if the cluster is being deleted.
    pub(super) fn is_going(&self) -> bool {
        self.status.state == State::Deleting
    }
}

/// The clusters and all that decides about them, at one moment.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// Returns true if all that decides about an instance was read at least once.
    pub(super) is_whole: bool,
    /// The objects of the hub.
    pub(super) hub: HubState,
    /// All instances, by name.
    pub(super) entries: Vec<Entry>,
    by_id: BTreeMap<String, usize>,
    /// The time of the snapshot.
    pub(super) at: Timestamp,
}

impl Snapshot {
    /// One that knows all, with these instances.
    #[cfg(test)]
    pub(super) fn of(entries: Vec<Entry>) -> Self {
        let ids = entries.iter().enumerate();
        let ids = ids.map(|(index, entry)| (entry.instance.stored.id.clone(), index));
        Self {
            is_whole: true,
            by_id: ids.collect(),
            entries,
            ..Self::default()
        }
    }

    /// The instance with this ID.
    pub(super) fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.get(*self.by_id.get(id)?)
    }
}

/// The sources of a snapshot.
pub(super) struct Sources {
    pub(super) settings: ServiceProvider,
    pub(super) hub: HubView,
    /// `None` if the provider writes to the hub alone.
    pub(super) revision: Option<watch::Receiver<Option<Arc<Revision>>>>,
    /// `None` if the provider opens no pull requests.
    pub(super) proposals: Option<watch::Receiver<Option<Proposals>>>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Sources {
    /// Takes snapshots until the handle is dropped.
    pub(super) fn follow(mut self) -> (watch::Receiver<Arc<Snapshot>>, AbortOnDropHandle<()>) {
        let (sender, receiver) = watch::channel(Arc::default());
        let follow = async move {
            loop {
                let (snapshot, again) = self.take();
                sender.send_replace(Arc::new(snapshot));
                let now = self.clock.now();
                let wait = again
                    .map(|again| Duration::try_from(again.duration_since(now)).unwrap_or_default());
                let wait = self.clock.real(wait.unwrap_or(LONGEST).min(LONGEST));
                self.changed(Instant::now() + wait).await;
                at(Some(Instant::now() + GATHERING)).await;
            }
        };
        (
            receiver,
            AbortOnDropHandle::new(tokio::spawn(follow.in_current_span())),
        )
    }

    /// Waits for a change, at the latest until then.
    async fn changed(&mut self, latest: Instant) {
        tokio::select! {
            biased;
            () = self.hub.changed() => {}
            () = renewed(&mut self.revision) => {}
            () = renewed(&mut self.proposals) => {}
            () = at(Some(latest)) => {}
        }
    }

    /// The state now, and when it may be another one without a change.
    fn take(&mut self) -> (Snapshot, Option<Timestamp>) {
        let hub = self.hub.state();
        // Read before the revision: a proposal leaves this list only after the revision has its merge.
        let proposals = self
            .proposals
            .as_mut()
            .map(|one| one.borrow_and_update().clone());
        let is_listed = proposals.as_ref().is_none_or(Option::is_some);
        let proposals = proposals.flatten().unwrap_or_default();
        let revision = self
            .revision
            .as_mut()
            .map(|one| one.borrow_and_update().clone());
        let is_read = revision.as_ref().is_none_or(Option::is_some);
        let revision = revision.flatten();
        let nothing = TreeIndex::default();
        let index = revision
            .as_ref()
            .map_or(&nothing, |revision| &revision.index);
        let followed = revision
            .as_ref()
            .map_or_else(Followed::default, |revision| revision.followed.clone());
        let at = self.clock.now();
        let mut again = None;
        let instances = join(index, &proposals, &hub.hosted());
        let entries = instances.into_iter().map(|instance| {
            let found = status(&instance, &followed, &self.settings, at);
            again = again.into_iter().chain(found.again).min();
            let mut status = found.status;
            let agents = hub.agents.objects().into_iter().flatten();
            let agents = agents.map(|(_, agent)| &**agent);
            if let Some(shortage) = lacking(&instance, &status, &self.settings, agents) {
                status.message = shortage;
            }
            Entry { status, instance }
        });
        let entries: Vec<Entry> = entries.collect();
        let ids = entries.iter().enumerate();
        let by_id = ids
            .map(|(index, entry)| (entry.instance.stored.id.clone(), index))
            .collect();
        let snapshot = Snapshot {
            is_whole: is_read && is_listed && hub.is_whole(),
            hub,
            entries,
            by_id,
            at,
        };
        (snapshot, again)
    }
}

/// Waits until a source says something new; for ever if there is none, or it says nothing any more.
async fn renewed<T>(source: &mut Option<watch::Receiver<T>>) {
    let is_new = match source {
        Some(source) => source.changed().await.is_ok(),
        None => false,
    };
    if !is_new {
        std::future::pending::<()>().await;
    }
}
