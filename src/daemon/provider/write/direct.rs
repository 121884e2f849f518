//! Clusters as objects on the hub, without a file.
//!
//! In: requests. Out: a HostedCluster and its NodePool, written under a field manager of their own. No fleet owns them. A cluster that a kill
//! left without its node pool is completed by what its annotations say.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value as Json, json};
use tokio::sync::{Mutex, watch};

use super::rejection::rejection;
use super::{Order, Writer, repeated, whole, with_file};
use crate::adapters::kubernetes::{Error, Hub};
use crate::api::fleet::ServiceProvider;
use crate::api::labels::{
    DELETION_POLICY, MANAGED_BY, REQUEST, REQUEST_KEY, REQUESTED_AT, REQUESTED_VERSION, SOURCE,
};
use crate::compile::compile_by;
use crate::daemon::provider::kinds::{HOSTED_CLUSTER, NODE_POOL};
use crate::daemon::provider::state::Snapshot;
use crate::model::Tree;
use crate::provider::conflict::Asked;
use crate::provider::definition::{Accepted, path, text_of};
use crate::provider::instance::{Instance, Stored};
use crate::provider::problem::Problem;
use crate::settings::SyncConfig;

/// The field manager of what it writes, and the value of the label for the tool that manages an object.
pub(in crate::daemon::provider) const MANAGER: &str = "capstan-service-provider";

/// Writes objects to the hub.
pub(in crate::daemon::provider) struct DirectWriter {
    pub(in crate::daemon::provider) settings: ServiceProvider,
    pub(in crate::daemon::provider) config: Arc<SyncConfig>,
    pub(in crate::daemon::provider) hub: Hub,
    pub(in crate::daemon::provider) state: watch::Receiver<Arc<Snapshot>>,
    /// One request is written at a time.
    pub(in crate::daemon::provider) turn: Mutex<()>,
}

impl DirectWriter {
    async fn create_one(&self, order: &Order) -> Result<Stored, Problem> {
        let _turn = self.turn.lock().await;
        let snapshot = whole(&self.state).await?;
        let asked = Asked {
            chosen: order.chosen.as_deref(),
            key: order.key.as_deref(),
            request: &order.request,
            namespace: &self.settings.namespace,
        };
        if let Some(before) = repeated(&snapshot, None, &asked, self.settings.duplicate_create)? {
            return Ok(before);
        }
        let [cluster, pool] = self.objects(&order.accepted())?;
        let is_new = self
            .hub
            .create(HOSTED_CLUSTER, &cluster)
            .await
            .map_err(failed)?;
        if !is_new {
            return self.exists(order).await;
        }
        if let Err(error) = self.hub.create(NODE_POOL, &pool).await {
            let undone = self.hub.delete(HOSTED_CLUSTER, &cluster).await;
            if let Err(undone) = undone {
                tracing::error!(%error, %undone, "a node pool was not created, and its cluster not deleted; the next start completes it");
            }
            return Err(failed(error));
        }
        Ok(order.stored(&self.settings.namespace))
    }

    /// Answers for a cluster that was created since the snapshot, perhaps by this request.
    async fn exists(&self, order: &Order) -> Result<Stored, Problem> {
        let name = &order.request.name;
        let found = self
            .hub
            .get(HOSTED_CLUSTER, &self.settings.namespace, name)
            .await
            .map_err(failed)?;
        let stored = found.as_ref().and_then(Stored::of);
        let own = order.stored(&self.settings.namespace);
        match stored {
            Some(stored) if stored == own => Ok(stored),
            _ => Err(Problem::exists(format!(
                "cluster with name {name:?} already exists"
            ))),
        }
    }

    async fn delete_one(&self, id: &str) -> Result<(), Problem> {
        let _turn = self.turn.lock().await;
        let snapshot = whole(&self.state).await?;
        let instance = snapshot.entry(id).map(|entry| &entry.instance);
        let hosted = instance.and_then(|instance| instance.hosted.as_ref());
        let Some(hosted) = hosted else {
            return Err(Problem::no_cluster(id));
        };
        if hosted.is_of_fleet() {
            let path = hosted.cluster["metadata"]["annotations"][SOURCE].as_str();
            let detail = format!(
                "the cluster is defined in git ({}): remove it there",
                path.unwrap_or("its fleet's repository")
            );
            return Err(Problem::exists(detail));
        }
        if hosted.is_deleting() {
            return Ok(());
        }
        self.hub
            .delete(HOSTED_CLUSTER, &hosted.cluster)
            .await
            .map_err(failed)
    }

    /// Creates the node pools that a kill left out.
    pub(in crate::daemon::provider) async fn repair(&self) {
        let _turn = self.turn.lock().await;
        let snapshot = self.state.borrow().clone();
        if !snapshot.is_whole {
            return;
        }
        for entry in &snapshot.entries {
            let instance = &entry.instance;
            if let Some(pool) = self.missing_pool(instance) {
                let name = &instance.stored.name;
                match self.hub.create(NODE_POOL, &pool).await {
                    Ok(true) => {
                        tracing::info!(name, "a cluster without its node pool was completed")
                    }
                    Ok(false) => {}
                    Err(error) => {
                        tracing::warn!(name, %error, "a cluster without its node pool cannot be completed")
                    }
                }
            }
        }
    }

    /// The node pool of a cluster that has none, and that this provider wrote.
    fn missing_pool(&self, instance: &Instance) -> Option<Json> {
        let hosted = instance.hosted.as_ref()?;
        let is_half = hosted.pools.is_empty() && !hosted.is_of_fleet() && !hosted.is_deleting();
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
        if let Some(problem) = rejection(&compiled, &Default::default()) {
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

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Problem>> {
        self.delete_one(id).boxed()
    }
}

/// A request that the hub did not carry out. Its words are for the log.
fn failed(error: Error) -> Problem {
    use crate::model::ErrorClass;

    tracing::warn!(%error, "the hub did not carry out a request of the service provider");
    match error.class() {
        ErrorClass::Transient => Problem::later("the hub does not answer: try again later", 10),
        ErrorClass::Invalid => Problem::unprocessable("the hub does not accept the cluster"),
        _ => Problem::internal(),
    }
}
