//! The nodes of a node pool.
//!
//! In: the node pool, its HCP cluster, and the nodes of the workload cluster. Out: the provider ids of the pool's nodes.
//! HyperShift labels a node with its pool: with the domain prefix of the cluster and the pool's name in Azure, whatever
//! they are called in Kubernetes (ARO-26765). It does not know how the workload cluster is reached.

use serde_json::Value;

use super::super::links;
use super::super::outcome::Outcome;
use super::super::world::World;
use crate::health::Live;

/// The longest value of a label.
const LONGEST: usize = 63;

/// The nodes of a pool, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Nodes {
    /// Their provider ids, sorted. Those that were known last, if the workload cluster cannot be asked.
    pub(super) ids: Vec<String>,
    /// Why the workload cluster cannot be asked.
    pub(super) unknown: Option<String>,
}

/// The nodes of `node_pool`, embedded in the AROMachinePool `live` of `cluster`.
pub(super) fn find(
    world: World<'_>,
    live: Live<'_>,
    cluster: Live<'_>,
    (hcp, node_pool): (Option<Live<'_>>, Live<'_>),
    outcome: &mut Outcome,
) -> Nodes {
    outcome.need(links::kubeconfig(cluster));
    outcome.needs.push(links::nodes(cluster));
    let known = || {
        let ids = live.list(&["spec", "providerIDList"]).iter();
        ids.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    match world.nodes(&cluster.id()) {
        Some(Ok(nodes)) => {
            let label = label(cluster.name(), hcp, node_pool);
            let ours = nodes.iter().filter(|node| node.pool == label);
            let ids = ours.map(|node| node.provider_id.clone());
            let mut ids: Vec<String> = ids.filter(|id| !id.is_empty()).collect();
            ids.sort_unstable();
            Nodes { ids, unknown: None }
        }
        Some(Err(error)) => Nodes {
            ids: known(),
            unknown: Some(error.to_string()),
        },
        None => Nodes {
            ids: known(),
            unknown: None,
        },
    }
}

/// The value of the label on the nodes of a pool.
fn label(cluster: &str, hcp: Option<Live<'_>>, node_pool: Live<'_>) -> String {
    let path = ["status", "properties", "dns", "baseDomainPrefix"];
    let prefix = match hcp.map_or("", |hcp| hcp.text(&path)) {
        "" => cluster,
        prefix => prefix,
    };
    let name = match node_pool.text(&["spec", "azureName"]) {
        "" => node_pool.name(),
        name => name,
    };
    let label = format!("{prefix}-{name}");
    label.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{AdapterError, ErrorClass, WorkloadNode};
    use crate::reconcile::snapshot::Snapshot;

    fn node_pool(name: &str, azure_name: &str) -> Value {
        json!({"metadata": {"name": name}, "spec": {"azureName": azure_name}})
    }

    fn hcp(prefix: &str) -> Value {
        json!({"status": {"properties": {"dns": {"baseDomainPrefix": prefix}}}})
    }

    /// The cases of CAPZ's own suite (facts/aro-controllers.md §9) and its regression ARO-26765.
    #[test]
    fn aro_26765_a_label_has_the_domain_prefix_and_the_name_in_azure() {
        let long = "p".repeat(60);
        let cases = [
            (None, node_pool("np1", "np1"), "c-np1"),
            (None, node_pool("np1", ""), "c-np1"),
            (
                Some(hcp("aro04-sbx-va7")),
                node_pool("aro04-sbx-va7-workeraro-1", "workeraro1"),
                "aro04-sbx-va7-workeraro1",
            ),
            (Some(hcp("other")), node_pool("np1", "np1"), "other-np1"),
            (Some(hcp("")), node_pool("np1", "np1"), "c-np1"),
            (Some(json!({})), node_pool("np1", "np1"), "c-np1"),
            (
                Some(hcp(&long)),
                node_pool("x", "np1"),
                &format!("{long}-np"),
            ),
        ];
        for (hcp, pool, expected) in cases {
            let found = label("c", hcp.as_ref().map(Live), Live(&pool));
            assert_eq!(found, expected, "{pool}");
        }
    }

    fn found(nodes: Option<Result<Vec<WorkloadNode>, AdapterError>>) -> Nodes {
        let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": "c", "namespace": "ns"}});
        let live = json!({"spec": {"providerIDList": ["known"]}});
        let mut snapshot = Snapshot::default();
        snapshot.set_nodes(&Live(&cluster).id(), nodes);
        let pool = node_pool("np1", "np1");
        let pool = (None, Live(&pool));
        let mut outcome = Outcome::default();
        find(
            World::of(&snapshot),
            Live(&live),
            Live(&cluster),
            pool,
            &mut outcome,
        )
    }

    #[test]
    fn the_ids_of_the_pools_own_nodes_are_sorted_and_none_is_empty() {
        let node = |name: &str, pool: &str, id: &str| WorkloadNode {
            name: name.to_owned(),
            pool: pool.to_owned(),
            provider_id: id.to_owned(),
            ready: true,
        };
        let nodes = vec![
            node("c-np1-9", "c-np1", "azure:///9"),
            node("c-np1-0", "c-np1", "azure:///0"),
            node("c-np1-1", "c-np1", ""),
            // A name that starts like the pool's proves nothing.
            node("c-np1-2", "c-np10", "azure:///2"),
            node("c-np1-3", "", "azure:///3"),
        ];
        assert_eq!(found(Some(Ok(nodes))).ids, ["azure:///0", "azure:///9"]);
        assert_eq!(found(Some(Ok(Vec::new()))), Nodes::default());
    }

    #[test]
    fn what_was_known_stays_while_the_workload_cluster_cannot_be_asked() {
        let error = AdapterError::new(ErrorClass::Transient, "no route");
        let lost = found(Some(Err(error)));
        assert_eq!(lost.ids, ["known"]);
        assert_eq!(lost.unknown.as_deref(), Some("no route"));
        let unheard = found(None);
        assert_eq!(
            (unheard.ids, unheard.unknown),
            (vec!["known".to_owned()], None)
        );
    }
}
