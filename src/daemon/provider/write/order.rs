//! What is written, and what every way of writing needs.

use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::adapters::service_provider::Caller;
use crate::api::fleet::DuplicateCreate;
use crate::daemon::provider::state::{Entry, Snapshot};
use crate::model::Tree;
use crate::provider::conflict::{Asked, Existing, earlier};
use crate::provider::definition::Accepted;
use crate::provider::instance::{Stored, TreeIndex};
use crate::provider::problem::Problem;
use crate::provider::request::Request;

/// A request about to be written.
pub(in crate::daemon::provider) struct Order {
    pub(in crate::daemon::provider) caller: Caller,
    /// The ID of the instance, chosen or made up.
    pub(in crate::daemon::provider) id: String,
    /// The ID that the client chose.
    pub(in crate::daemon::provider) chosen: Option<String>,
    pub(in crate::daemon::provider) key: Option<String>,
    pub(in crate::daemon::provider) request: Request,
    /// The image of its release.
    pub(in crate::daemon::provider) image: String,
    pub(in crate::daemon::provider) at: Timestamp,
}

impl Order {
    pub(super) fn accepted(&self) -> Accepted<'_> {
        Accepted {
            instance: &self.id,
            request: &self.request,
            image: &self.image,
            key: self.key.as_deref(),
            at: self.at,
        }
    }

    /// Returns true if this very request wrote an instance.
    pub(super) fn wrote(&self, stored: &Stored) -> bool {
        // A definition does not say in which dialect its request came.
        let sent = stored.request.as_ref().map(|request| &request.sent);
        stored.id == self.id
            && stored.key == self.key
            && stored.requested_at == Some(self.requested_at())
            && sent == Some(&self.request.sent)
    }

    /// The time of the request, in whole seconds, as annotations have it.
    fn requested_at(&self) -> String {
        self.at.strftime("%FT%TZ").to_string()
    }

    /// The instance as it is known once it is written.
    pub(in crate::daemon::provider) fn stored(&self, namespace: &str) -> Stored {
        Stored {
            id: self.id.clone(),
            name: self.request.name.clone(),
            namespace: namespace.to_owned(),
            version: Some(self.request.version.clone()),
            request: Some(self.request.clone()),
            requested_at: Some(self.requested_at()),
            key: self.key.clone(),
        }
    }
}

/// A way in which requests become clusters.
pub(in crate::daemon::provider) trait Writer: Send + Sync {
    /// Creates a cluster; returns the instance, or the one that the same request created before.
    fn create<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Stored, Problem>>;

    /// Deletes a cluster. One that is being deleted is no problem.
    fn delete<'a>(&'a self, id: &'a str, caller: &'a Caller) -> BoxFuture<'a, Result<(), Problem>>;
}

/// The newest snapshot, once everything is known.
pub(super) async fn whole(
    state: &watch::Receiver<Arc<Snapshot>>,
) -> Result<Arc<Snapshot>, Problem> {
    let snapshot = state.borrow().clone();
    if snapshot.is_whole {
        return Ok(snapshot);
    }
    let detail = "the provider does not know all clusters yet: try again later";
    Err(Problem::later(detail, 5))
}

/// The instance that the same request created before, by a snapshot and what is newer than it.
pub(in crate::daemon::provider) fn repeated(
    snapshot: &Snapshot,
    newer: &Newer<'_>,
    asked: &Asked<'_>,
    duplicate: DuplicateCreate,
) -> Result<Option<Stored>, Problem> {
    let known = snapshot.entries.iter();
    let known = known.map(|entry| &entry.instance.stored);
    let tree = newer.tree.into_iter();
    let in_tree = tree.flat_map(|tree| tree.instances.values().map(|one| &one.stored));
    let existing = Existing {
        instances: in_tree.chain(newer.written).chain(known).collect(),
        tree: newer.tree,
        hub: snapshot.hub.names(),
        pools: snapshot.hub.pool_names(),
    };
    let before = earlier(&existing, asked, duplicate)?;
    let is_going = before.and_then(|before| snapshot.entry(&before.id));
    if is_going.is_some_and(Entry::is_going) {
        return Err(Problem::exists(
            "the cluster of this request is being deleted: try again once it is gone",
        ));
    }
    Ok(before.cloned())
}

/// The state that is newer than a snapshot.
#[derive(Clone, Copy, Default)]
pub(in crate::daemon::provider) struct Newer<'a> {
    pub(in crate::daemon::provider) tree: Option<&'a TreeIndex>,
    /// The instances that were written since.
    pub(in crate::daemon::provider) written: &'a [Stored],
}

/// A tree with one file more.
pub(super) fn with_file(tree: &Tree, path: &str, text: &str) -> Tree {
    let mut tree = tree.clone();
    tree.files.insert(path.into(), text.as_bytes().into());
    tree
}

impl<W: Writer> Writer for Arc<W> {
    fn create<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Stored, Problem>> {
        (**self).create(order)
    }

    fn delete<'a>(&'a self, id: &'a str, caller: &'a Caller) -> BoxFuture<'a, Result<(), Problem>> {
        (**self).delete(id, caller)
    }
}
