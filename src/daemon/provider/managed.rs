//! ACM's ManagedClusters of hosted clusters that are gone.
//!
//! In: snapshots. Out: deletions, after those of the hosted clusters, also of clusters that went while no process ran: a ConfigMap holds the
//! names of those that were there. Only ManagedClusters that ACM made for a hosted cluster of this hub are deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::kinds::{CONFIG_MAP, MANAGED_CLUSTER};
use super::pace::Turn;
use super::state::Snapshot;
use crate::adapters::kubernetes::{Error, Hub};
use crate::api::fleet::{ManagedClusterPolicy, ServiceProvider};
use crate::model::ErrorClass;
use crate::provider::labels;

/// The key of the names in the ConfigMap.
const KEY: &str = "managedClusters";
/// The time between two looks.
const LOOK: Duration = Duration::from_secs(30);
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
    state: watch::Receiver<Arc<Snapshot>>,
    turn: Turn,
) -> Option<AbortOnDropHandle<()>> {
    if settings.managed_cluster == ManagedClusterPolicy::Ignore {
        return None;
    }
    let cleaner = Arc::new(Cleaner {
        hub: hub.clone(),
        namespace: settings.namespace.clone(),
        record: settings.clusters_record(),
    });
    let clean = async move {
        let compare = || {
            let (cleaner, snapshot) = (Arc::clone(&cleaner), state.borrow().clone());
            async move {
                if snapshot.is_whole {
                    cleaner.compare(&snapshot).await
                } else {
                    Ok(())
                }
            }
        };
        turn.repeat(
            "the ManagedClusters of deleted clusters cannot be deleted",
            LOOK,
            compare,
        )
        .await;
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
    /// Deletes the ManagedClusters of recorded clusters that are gone, and records those that are there. The record is read each time: another
    /// process may have written it. One that cannot be deleted stays recorded, and holds up no other.
    async fn compare(&self, snapshot: &Snapshot) -> Result<(), Error> {
        let (before, now) = (self.read().await?, recorded(snapshot));
        let there = names(snapshot);
        let (mut next, mut fault) = (now.clone(), None);
        for (name, instance) in before.iter().filter(|(name, _)| !there.contains(*name)) {
            if let Err(error) = self.delete(name, instance).await {
                next.insert(name.clone(), instance.clone());
                fault = Some(error);
            }
        }
        if before != next {
            self.write(&next).await?;
        }
        fault.map_or(Ok(()), Err)
    }

    /// Deletes the ManagedCluster that ACM made for an instance: ACM copies the labels of the hosted cluster.
    async fn delete(&self, name: &str, instance: &str) -> Result<(), Error> {
        let found = match self.hub.get(MANAGED_CLUSTER, "", name).await {
            // The hub has no ACM.
            Err(error) if error.class() == ErrorClass::Gone => None,
            found => found?,
        };
        let is_its =
            |cluster: &Json| is_of_hosted(cluster) && labels::instance(cluster) == Some(instance);
        let Some(cluster) = found.filter(is_its) else {
            return Ok(());
        };
        self.hub.delete(MANAGED_CLUSTER, &cluster).await?;
        tracing::info!(name, "the ManagedCluster of a deleted cluster is deleted");
        Ok(())
    }

    async fn read(&self) -> Result<Record, Error> {
        let found = self
            .hub
            .get(CONFIG_MAP, &self.namespace, &self.record)
            .await?;
        let text = found.as_ref().and_then(|map| map["data"][KEY].as_str());
        let record = text.and_then(|text| serde_json::from_str(text).ok());
        Ok(record.unwrap_or_default())
    }

    async fn write(&self, record: &Record) -> Result<(), Error> {
        let text = serde_json::to_string(record).unwrap_or_default();
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": self.record, "namespace": self.namespace}, "data": {KEY: text},
        });
        self.hub.apply(CONFIG_MAP, &map).await
    }
}

/// The IDs of instances, by the names of their ManagedClusters.
type Record = BTreeMap<String, String>;

/// The name of the ManagedCluster of a hosted cluster.
fn name_of(cluster: &Json) -> Option<String> {
    let metadata = &cluster["metadata"];
    let own = metadata["annotations"][NAME].as_str();
    own.or_else(|| metadata["name"].as_str()).map(str::to_owned)
}

/// The names of the ManagedClusters of all hosted clusters, whatever their labels.
fn names(snapshot: &Snapshot) -> BTreeSet<String> {
    let hosted = snapshot.hub.hosted();
    hosted
        .iter()
        .filter_map(|hosted| name_of(&hosted.cluster))
        .collect()
}

/// Those of the instances on the hub.
fn recorded(snapshot: &Snapshot) -> Record {
    let named = snapshot.entries.iter().filter_map(|entry| {
        let hosted = entry.instance.hosted.as_ref()?;
        Some((name_of(&hosted.cluster)?, entry.instance.stored.id.clone()))
    });
    named.collect()
}

/// Returns true if ACM made a ManagedCluster for a hosted cluster. One that Hive made is somebody else's.
fn is_of_hosted(cluster: &Json) -> bool {
    let annotations = &cluster["metadata"]["annotations"];
    annotations[DEPLOY_MODE] == "Hosted" && annotations[CREATED_VIA] != "hive"
}
