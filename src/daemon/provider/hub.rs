//! What the hub has of clusters, releases and machines.
//!
//! In: a client. Out: the newest state of the kinds, as they change. It does not know what the provider makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::select_all;
use kube::Client;
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::kinds::{AGENT, CLUSTER_IMAGE_SET, HOSTED_CLUSTER, NODE_POOL};
use crate::adapters::kubernetes::{HubKind, Known, follow_kind};
use crate::api::fleet::ServiceProvider;
use crate::provider::instance::Hosted;

/// The kinds of the hub, as they change.
pub(super) struct HubView {
    kinds: Vec<watch::Receiver<Known>>,
    _followers: Vec<AbortOnDropHandle<()>>,
}

/// The objects of the hub as they are now.
#[derive(Clone, Debug, Default)]
pub(super) struct HubState {
    pub(super) clusters: Known,
    pub(super) pools: Known,
    pub(super) image_sets: Known,
    pub(super) agents: Known,
}

impl HubView {
    pub(super) fn follow(client: &Client, settings: &ServiceProvider) -> Self {
        let own = settings.namespace.as_str();
        let agents = settings.bare_metal.agent_namespace.as_deref();
        let followed: [(HubKind, Option<&str>); 4] = [
            (HOSTED_CLUSTER, Some(own)),
            (NODE_POOL, Some(own)),
            (CLUSTER_IMAGE_SET, None),
            (AGENT, agents.or(Some(own))),
        ];
        let followed = followed.map(|(kind, namespace)| follow_kind(client, kind, namespace));
        let (kinds, followers) = followed.into_iter().unzip();
        Self {
            kinds,
            _followers: followers,
        }
    }

    /// The newest state.
    pub(super) fn state(&mut self) -> HubState {
        let mut read = self
            .kinds
            .iter_mut()
            .map(|kind| kind.borrow_and_update().clone());
        let mut next = || read.next().unwrap_or_default();
        HubState {
            clusters: next(),
            pools: next(),
            image_sets: next(),
            agents: next(),
        }
    }

    /// Waits for a change.
    pub(super) async fn changed(&mut self) {
        let changes = self.kinds.iter_mut().map(|kind| Box::pin(kind.changed()));
        let (change, _, _) = select_all(changes).await;
        if change.is_err() {
            // A follower ended, which only a panic does: the others go on.
            std::future::pending::<()>().await;
        }
    }
}

impl HubState {
    /// Returns true if every hosted cluster and node pool is known.
    pub(super) fn is_whole(&self) -> bool {
        let is_known = |known: &Known| matches!(known, Known::Read(_) | Known::Unserved);
        is_known(&self.clusters) && is_known(&self.pools)
    }

    /// The hosted clusters with their node pools, by name.
    pub(super) fn hosted(&self) -> Vec<Hosted> {
        let mut pools: BTreeMap<(String, String), Vec<Arc<Json>>> = BTreeMap::new();
        for pool in self
            .pools
            .objects()
            .into_iter()
            .flatten()
            .map(|(_, pool)| pool)
        {
            let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
            let cluster = (
                text(&pool["metadata"]["namespace"]),
                text(&pool["spec"]["clusterName"]),
            );
            pools.entry(cluster).or_default().push(Arc::clone(pool));
        }
        let clusters = self.clusters.objects().into_iter().flatten();
        let hosted = clusters.map(|(key, cluster)| {
            let (namespace, name) = key.split_once('/').unwrap_or_default();
            let own = pools.remove(&(namespace.to_owned(), name.to_owned()));
            Hosted {
                cluster: Arc::clone(cluster),
                pools: own.unwrap_or_default(),
            }
        });
        hosted.collect()
    }

    /// The names of all hosted clusters, `namespace/name`.
    pub(super) fn names(&self) -> BTreeSet<String> {
        names(&self.clusters)
    }

    /// The names of all node pools, `namespace/name`.
    pub(super) fn pool_names(&self) -> BTreeSet<String> {
        names(&self.pools)
    }

    /// The objects of a kind as values.
    pub(super) fn values(known: &Known) -> Vec<Json> {
        let objects = known.objects().into_iter().flatten();
        objects.map(|(_, object)| (**object).clone()).collect()
    }
}

/// The names of the objects of a kind, `namespace/name`.
fn names(known: &Known) -> BTreeSet<String> {
    let objects = known.objects().into_iter();
    objects.flat_map(|all| all.keys().cloned()).collect()
}
