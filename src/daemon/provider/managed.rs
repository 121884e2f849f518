//! ACM's ManagedClusters of hosted clusters that are gone.
//!
//! In: snapshots. Out: deletions, after those of the hosted clusters, also of clusters that went while no process ran: a ConfigMap holds the
//! names of those that were there. Only ManagedClusters that ACM made for a hosted cluster of this hub are deleted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::kinds::{CONFIG_MAP, MANAGED_CLUSTER};
use super::state::Snapshot;
use crate::adapters::kubernetes::{Error, Holder, Hub};
use crate::api::fleet::{ManagedClusterPolicy, ServiceProvider};
use crate::model::ErrorClass;

/// The key of the names in the ConfigMap.
const KEY: &str = "managedClusters";
/// The pause before what failed is tried again.
const RETRY: Duration = Duration::from_secs(10);
/// On a HostedCluster: the name of its ManagedCluster, if that is another than its own.
const NAME: &str = "cluster.open-cluster-management.io/managedcluster-name";
/// On a ManagedCluster: how its agent is deployed.
const DEPLOY_MODE: &str = "import.open-cluster-management.io/klusterlet-deploy-mode";
/// On a ManagedCluster: what made it.
const CREATED_VIA: &str = "open-cluster-management/created-via";

/// Deletes ManagedClusters, until the handle is dropped.
pub(super) fn clean(
    hub: &Hub,
    settings: &ServiceProvider,
    mut state: watch::Receiver<Arc<Snapshot>>,
    holder: Option<watch::Receiver<Holder>>,
) -> Option<AbortOnDropHandle<()>> {
    if settings.managed_cluster == ManagedClusterPolicy::Ignore {
        return None;
    }
    let cleaner = Cleaner {
        hub: hub.clone(),
        namespace: settings.namespace.clone(),
        record: format!("{}-clusters", settings.name),
    };
    let clean = async move {
        let mut recorded = None;
        loop {
            let is_ours = holder
                .as_ref()
                .is_none_or(|holder| *holder.borrow() == Holder::Us);
            let snapshot = state.borrow_and_update().clone();
            let mut is_done = true;
            if is_ours && snapshot.is_whole {
                let cleaned = cleaner.compare(&snapshot, &mut recorded).await;
                if let Err(error) = &cleaned {
                    tracing::warn!(%error, "the ManagedClusters of deleted clusters cannot be deleted");
                }
                is_done = cleaned.is_ok();
            } else {
                // Another process may record meanwhile.
                recorded = None;
            }
            let pause = async {
                if is_done {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(RETRY).await;
            };
            tokio::select! {
                () = pause => {}
                changed = state.changed() => if changed.is_err() {
                    return;
                },
            }
        }
    };
    Some(AbortOnDropHandle::new(tokio::spawn(
        clean.in_current_span(),
    )))
}

struct Cleaner {
    hub: Hub,
    namespace: String,
    /// The name of the ConfigMap.
    record: String,
}

impl Cleaner {
    /// Deletes the ManagedClusters of recorded clusters that are gone, and records those that are there.
    async fn compare(
        &self,
        snapshot: &Snapshot,
        recorded: &mut Option<BTreeSet<String>>,
    ) -> Result<(), Error> {
        let now = names(snapshot);
        let before = match recorded.take() {
            Some(before) => before,
            None => self.read().await?,
        };
        for name in before.difference(&now) {
            self.delete(name).await?;
        }
        if before != now {
            self.write(&now).await?;
        }
        *recorded = Some(now);
        Ok(())
    }

    async fn delete(&self, name: &str) -> Result<(), Error> {
        let found = match self.hub.get(MANAGED_CLUSTER, "", name).await {
            // The hub has no ACM.
            Err(error) if error.class() == ErrorClass::Gone => None,
            found => found?,
        };
        let Some(cluster) = found.filter(is_of_hosted) else {
            return Ok(());
        };
        self.hub.delete(MANAGED_CLUSTER, &cluster).await?;
        tracing::info!(name, "the ManagedCluster of a deleted cluster is deleted");
        Ok(())
    }

    async fn read(&self) -> Result<BTreeSet<String>, Error> {
        let found = self
            .hub
            .get(CONFIG_MAP, &self.namespace, &self.record)
            .await?;
        let text = found.as_ref().and_then(|map| map["data"][KEY].as_str());
        Ok(text
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default())
    }

    async fn write(&self, names: &BTreeSet<String>) -> Result<(), Error> {
        let text = serde_json::to_string(names).unwrap_or_default();
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": self.record, "namespace": self.namespace}, "data": {KEY: text},
        });
        self.hub.apply(CONFIG_MAP, &map).await
    }
}

/// The names of the ManagedClusters of all instances on the hub.
fn names(snapshot: &Snapshot) -> BTreeSet<String> {
    let hosted = snapshot
        .entries
        .iter()
        .filter_map(|entry| entry.instance.hosted.as_ref());
    let named = hosted.filter_map(|hosted| {
        let metadata = &hosted.cluster["metadata"];
        let own = metadata["annotations"][NAME].as_str();
        own.or_else(|| metadata["name"].as_str()).map(str::to_owned)
    });
    named.collect()
}

/// Returns true if ACM made a ManagedCluster for a hosted cluster. One that Hive made is somebody else's.
fn is_of_hosted(cluster: &Json) -> bool {
    let annotations = &cluster["metadata"]["annotations"];
    annotations[DEPLOY_MODE] == "Hosted" && annotations[CREATED_VIA] != "hive"
}
