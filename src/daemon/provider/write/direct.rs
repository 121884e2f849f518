//! Clusters as objects on the hub, without a file.
//!
//! In: requests. Out: a HostedCluster and its NodePool, written under a field manager of their own. No fleet owns them. A cluster that a kill
//! left without its node pool is completed by what its annotations say.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value as Json, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::order::{Newer, Order, Writer, repeated, whole, with_file};
use super::queue::Queue;
use super::rejection::rejection;
use crate::adapters::kubernetes::{Error, Hub};
use crate::adapters::service_provider::Caller;
use crate::api::fleet::ServiceProvider;
use crate::api::labels::{
    DELETION_POLICY, MANAGED_BY, PART_OF, REQUEST, REQUEST_KEY, REQUESTED_AT, REQUESTED_VERSION,
    SOURCE,
};
use crate::compile::compile_by;
use crate::daemon::provider::kinds::{HOSTED_CLUSTER, NODE_POOL};
use crate::daemon::provider::pace::{Turn, at};
use crate::daemon::provider::state::Snapshot;
use crate::model::{ErrorClass, Tree};
use crate::provider::conflict::{Asked, Existing, earlier};
use crate::provider::definition::{Accepted, path, text_of};
use crate::provider::instance::{Instance, Stored};
use crate::provider::labels;
use crate::provider::problem::Problem;
use crate::settings::SyncConfig;

/// The field manager of what it writes, and the value of the label for the tool that manages an object.
pub(in crate::daemon::provider) const MANAGER: &str = "capstan-service-provider";

/// The pause before half clusters are completed again that could not be.
const REPAIR: Duration = Duration::from_secs(10);

/// Writes objects to the hub.
pub(in crate::daemon::provider) struct DirectWriter {
    pub(in crate::daemon::provider) settings: ServiceProvider,
    pub(in crate::daemon::provider) config: Arc<SyncConfig>,
    pub(in crate::daemon::provider) hub: Hub,
    pub(in crate::daemon::provider) state: watch::Receiver<Arc<Snapshot>>,
    pub(in crate::daemon::provider) queue: Queue,
}

impl DirectWriter {
    async fn create_one(&self, order: &Order) -> Result<Stored, Problem> {
        let mut written = self.queue.turn(&order.caller, &self.state).await?;
        let snapshot = whole(&self.state).await?;
        let asked = Asked {
            chosen: order.chosen.as_deref(),
            key: order.key.as_deref(),
            request: &order.request,
            namespace: &self.settings.namespace,
        };
        let duplicate = self.settings.duplicate_create;
        let newer = Newer {
            written: &written,
            ..Newer::default()
        };
        if let Some(before) = repeated(&snapshot, &newer, &asked, duplicate)? {
            return Ok(before);
        }
        let [cluster, pool] = self.objects(&order.accepted())?;
        let created = self.hub.create(HOSTED_CLUSTER, &cluster).await;
        let Some(cluster) = created.map_err(|error| failed(&error))? else {
            return self.exists(&asked).await;
        };
        let stored = order.stored(&self.settings.namespace);
        written.push(stored.clone());
        if let Err(problem) = self.create_pool(&pool).await {
            let undone = self.hub.delete(HOSTED_CLUSTER, &cluster).await;
            if let Err(error) = undone {
                tracing::error!(%error, "a node pool was not created, and its cluster not deleted; the next start completes it");
            }
            written.pop();
            return Err(problem);
        }
        Ok(stored)
    }

    /// Creates a node pool. One of that name that belongs to the same cluster is as good.
    async fn create_pool(&self, pool: &Json) -> Result<(), Problem> {
        let created = self.hub.create(NODE_POOL, pool).await;
        if created.map_err(|error| failed(&error))?.is_some() {
            return Ok(());
        }
        let name = pool["metadata"]["name"].as_str().unwrap_or_default();
        let found = self
            .hub
            .get(NODE_POOL, &self.settings.namespace, name)
            .await;
        let found = found.map_err(|error| failed(&error))?.unwrap_or_default();
        let is_own = found["spec"]["clusterName"] == pool["spec"]["clusterName"];
        if is_own && found["metadata"]["deletionTimestamp"].is_null() {
            return Ok(());
        }
        Err(Problem::exists(format!(
            "a node pool with name {name:?} already exists"
        )))
    }

    /// Answers for a cluster that was created since the snapshot, perhaps by the same request.
    async fn exists(&self, asked: &Asked<'_>) -> Result<Stored, Problem> {
        let name = &asked.request.name;
        let found = self
            .hub
            .get(HOSTED_CLUSTER, &self.settings.namespace, name)
            .await;
        let found = found.map_err(|error| failed(&error))?;
        let stored = found.as_ref().and_then(Stored::of);
        let existing = Existing {
            instances: stored.iter().collect(),
            ..Existing::default()
        };
        let before = earlier(&existing, asked, self.settings.duplicate_create)?;
        let taken = || Problem::exists(format!("cluster with name {name:?} already exists"));
        before.cloned().ok_or_else(taken)
    }

    async fn delete_one(&self, id: &str, caller: &Caller) -> Result<(), Problem> {
        let mut written = self.queue.turn(caller, &self.state).await?;
        written.retain(|stored| stored.id != id);
        let snapshot = whole(&self.state).await?;
        let known = snapshot
            .entry(id)
            .and_then(|entry| entry.instance.hosted.as_ref());
        let cluster = match known {
            Some(hosted) => Arc::clone(&hosted.cluster),
            // A watch that was interrupted does not know it yet.
            None => self.find(id).await?,
        };
        let metadata = &cluster["metadata"];
        if metadata["labels"][PART_OF].is_string() {
            let path = metadata["annotations"][SOURCE].as_str();
            let path = path.unwrap_or("its fleet's repository");
            let detail = format!("the cluster is defined in git ({path}): remove it there");
            return Err(Problem::exists(detail));
        }
        if metadata["deletionTimestamp"].is_string() {
            return Ok(());
        }
        let deleted = self.hub.delete(HOSTED_CLUSTER, &cluster).await;
        deleted.map_err(|error| failed(&error))
    }

    /// The cluster of an instance, as the hub has it now.
    async fn find(&self, id: &str) -> Result<Arc<Json>, Problem> {
        let listed = self
            .hub
            .list(HOSTED_CLUSTER, &self.settings.namespace)
            .await;
        let listed = listed.map_err(|error| failed(&error))?;
        let mut found = listed
            .into_iter()
            .filter(|one| labels::instance(one) == Some(id));
        found
            .next()
            .map(Arc::new)
            .ok_or_else(|| Problem::no_cluster(id))
    }

    /// Completes half clusters once, when all are known and this process may write: later, a node pool may be missing because somebody
    /// wants it so.
    pub(in crate::daemon::provider) async fn keep_whole(self: Arc<Self>, turn: Turn) {
        let mut state = self.state.clone();
        if state.wait_for(|snapshot| snapshot.is_whole).await.is_err() {
            return;
        }
        while turn.becomes(true).await {
            match self.repair().await {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(%error, "a cluster without its node pool cannot be completed");
                }
            }
            at(Some(Instant::now() + REPAIR)).await;
        }
    }

    /// Creates the node pools that a kill left out.
    async fn repair(&self) -> Result<(), Error> {
        let snapshot = self.state.borrow().clone();
        for entry in &snapshot.entries {
            let instance = &entry.instance;
            if let Some(pool) = self.missing_pool(instance)
                && self.hub.create(NODE_POOL, &pool).await?.is_some()
            {
                let name = &instance.stored.name;
                tracing::info!(name, "a cluster without its node pool was completed");
            }
        }
        Ok(())
    }

    /// The node pool of a cluster that has none, and that this provider wrote.
    fn missing_pool(&self, instance: &Instance) -> Option<Json> {
        let hosted = instance.hosted.as_ref()?;
        let is_half = hosted.pools.is_empty() && hosted.set().is_none() && !hosted.is_deleting();
        let image = hosted.cluster["spec"]["release"]["image"].as_str()?;
        let stored = &instance.stored;
        let accepted = Accepted {
            instance: &stored.id,
            request: stored.request.as_ref().filter(|_| is_half)?,
            image,
            key: stored.key.as_deref(),
            at: stored.requested_at.as_ref()?.parse().ok()?,
        };
        let [_, pool] = self.objects(&accepted).ok()?;
        Some(pool)
    }

    /// The objects of a request, by the same expansion as those of every definition.
    fn objects(&self, accepted: &Accepted<'_>) -> Result<[Json; 2], Problem> {
        let text = text_of(accepted, &self.settings);
        let file = path(accepted.instance, "", &self.settings);
        let tree = with_file(&Tree::default(), &file, &text);
        let compiled = compile_by(&self.config.policy, &tree, &[]);
        if let Some(problem) = rejection(&compiled.findings, &[]) {
            return Err(problem);
        }
        let objects = compiled.objects.iter().map(|object| object.node.to_json());
        let objects = <[Json; 2]>::try_from(objects.collect::<Vec<_>>());
        let [mut cluster, mut pool] = objects.map_err(|_| Problem::internal())?;
        let annotations = [
            (REQUEST, Some(accepted.request.sent.to_string())),
            (REQUEST_KEY, accepted.key.map(str::to_owned)),
            (
                REQUESTED_AT,
                Some(accepted.at.strftime("%FT%TZ").to_string()),
            ),
            (REQUESTED_VERSION, Some(accepted.request.version.clone())),
        ];
        for (key, value) in annotations {
            if let Some(value) = value {
                cluster["metadata"]["annotations"][key] = value.into();
            }
        }
        for object in [&mut cluster, &mut pool] {
            let metadata = &mut object["metadata"];
            metadata["labels"][MANAGED_BY] = json!(MANAGER);
            if let Some(annotations) = metadata["annotations"].as_object_mut() {
                // They are a fleet's.
                annotations.remove(SOURCE);
                annotations.remove(DELETION_POLICY);
            }
        }
        Ok([cluster, pool])
    }
}

impl Writer for DirectWriter {
    fn create<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Stored, Problem>> {
        self.create_one(order).boxed()
    }

    fn delete<'a>(&'a self, id: &'a str, caller: &'a Caller) -> BoxFuture<'a, Result<(), Problem>> {
        self.delete_one(id, caller).boxed()
    }
}

/// A request that the hub did not carry out. Its words are for the log.
pub(super) fn failed(error: &Error) -> Problem {
    tracing::warn!(%error, "the hub did not carry out a request of the service provider");
    match error.class() {
        ErrorClass::Transient => Problem::later("the hub does not answer: try again later", 10),
        ErrorClass::Invalid => Problem::unprocessable("the hub does not accept the cluster"),
        _ => Problem::internal(),
    }
}
