//! The ways in which a request becomes a cluster.
//!
//! In: a request that passed all checks that need no lock. Out: that it is durable, or a problem. One thing is written at a time.

mod commit;
mod direct;
mod rejection;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

pub(super) use commit::CommitWriter;
pub(super) use direct::{DirectWriter, MANAGER};

use super::state::Snapshot;
use crate::adapters::kubernetes::Holder;
use crate::model::Tree;
use crate::provider::conflict::{Asked, Existing, earlier};
use crate::provider::definition::Accepted;
use crate::provider::instance::{Stored, TreeIndex};
use crate::provider::problem::Problem;
use crate::provider::request::Request;

/// A request about to be written.
pub(super) struct Order {
    /// The ID of the instance, chosen or made up.
    pub(super) id: String,
    /// The ID that the client chose.
    pub(super) chosen: Option<String>,
    pub(super) key: Option<String>,
    pub(super) request: Request,
    /// The image of its release.
    pub(super) image: String,
    pub(super) at: Timestamp,
}

impl Order {
    fn accepted(&self) -> Accepted<'_> {
        Accepted {
            instance: &self.id,
            request: &self.request,
            image: &self.image,
            key: self.key.as_deref(),
            at: self.at,
        }
    }

    /// What the instance is known by once it is written.
    fn stored(&self, namespace: &str) -> Stored {
        Stored {
            id: self.id.clone(),
            name: self.request.name.clone(),
            namespace: namespace.to_owned(),
            version: Some(self.request.version.clone()),
            request: Some(self.request.clone()),
            requested_at: Some(self.at.strftime("%FT%TZ").to_string()),
            key: self.key.clone(),
        }
    }
}

/// A way in which requests become clusters.
pub(super) trait Writer: Send + Sync {
    /// Creates a cluster; returns the instance, or the one that the same request created before.
    fn create<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Stored, Problem>>;

    /// Deletes a cluster. One that is being deleted is no problem.
    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Problem>>;
}

/// The newest snapshot, once everything is known.
async fn whole(state: &watch::Receiver<Arc<Snapshot>>) -> Result<Arc<Snapshot>, Problem> {
    let snapshot = state.borrow().clone();
    if snapshot.is_whole {
        return Ok(snapshot);
    }
    let detail = "the provider does not know all clusters yet: try again later";
    Err(Problem::later(detail, 5))
}

/// The instance that the same request created before, by a snapshot and a newer tree.
pub(super) fn repeated(
    snapshot: &Snapshot,
    tree: Option<&TreeIndex>,
    asked: &Asked<'_>,
    duplicate: crate::api::fleet::DuplicateCreate,
) -> Result<Option<Stored>, Problem> {
    let known = snapshot.entries.iter().map(|entry| &entry.instance.stored);
    let newer = tree
        .into_iter()
        .flat_map(|tree| tree.instances.values().map(|one| &one.stored));
    let existing = Existing {
        // The tree is the newer of both.
        instances: newer.chain(known).collect(),
        tree,
        hub: snapshot.hub.names(),
    };
    earlier(&existing, asked, duplicate).map(Option::<&Stored>::cloned)
}

/// A tree with one file more.
fn with_file(tree: &Tree, path: &str, text: &str) -> Tree {
    let mut tree = tree.clone();
    tree.files.insert(path.into(), text.as_bytes().into());
    tree
}

/// How often half clusters are looked for.
const REPAIR: Duration = Duration::from_secs(60);

/// Completes half clusters while this process may write, from the first moment on when all are known, until the handle is dropped.
pub(super) fn keep_whole(
    writer: Arc<DirectWriter>,
    mut state: watch::Receiver<Arc<Snapshot>>,
    holder: Option<watch::Receiver<Holder>>,
) -> AbortOnDropHandle<()> {
    let keep = async move {
        if state.wait_for(|snapshot| snapshot.is_whole).await.is_err() {
            return;
        }
        loop {
            if holder
                .as_ref()
                .is_none_or(|holder| *holder.borrow() == Holder::Us)
            {
                writer.repair().await;
            }
            tokio::time::sleep(REPAIR).await;
        }
    };
    AbortOnDropHandle::new(tokio::spawn(keep.in_current_span()))
}

impl<W: Writer> Writer for Arc<W> {
    fn create<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Stored, Problem>> {
        (**self).create(order)
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Problem>> {
        (**self).delete(id)
    }
}
