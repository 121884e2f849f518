//! How many nodes a plan replaces.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Consequence, Part, embedded_in};
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::api::labels;
use crate::health::Live;
use crate::model::{Change, ObjectId, Path};

/// The nodes that are replaced, and their clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rolled {
    /// How many, if every node pool has its maximum size.
    pub nodes: u64,
    /// Of how many clusters.
    pub clusters: usize,
}

/// A cluster, by namespace and name.
type Cluster = (String, String);

impl Rolled {
    /// The nodes that `consequences` replace among `objects`, which are all wanted objects.
    #[must_use]
    pub fn count<'a>(
        objects: impl Iterator<Item = &'a Json>,
        consequences: impl Iterator<Item = &'a Consequence>,
    ) -> Self {
        let rolled = consequences.filter(|consequence| consequence.change == Change::Rolling);
        let rolled: BTreeSet<&ObjectId> = rolled.map(|consequence| &consequence.part).collect();
        if rolled.is_empty() {
            return Self::default();
        }
        let parts: Vec<(Cluster, Part<'_>)> = objects.flat_map(parts).collect();
        let of_kind = |kind: &'static str| {
            parts
                .iter()
                .filter(move |(_, part)| part.id.is(RED_HAT_OPENSHIFT, kind))
        };
        let whole: BTreeSet<&Cluster> = of_kind("HcpOpenShiftCluster")
            .filter(|(_, part)| rolled.contains(&part.id))
            .map(|(cluster, _)| cluster)
            .collect();
        let pools: Vec<_> = of_kind("HcpOpenShiftClustersNodePool")
            .filter(|(cluster, pool)| whole.contains(cluster) || rolled.contains(&pool.id))
            .collect();
        let touched = pools.iter().map(|(cluster, _)| cluster).chain(whole);
        Self {
            nodes: pools.iter().map(|(_, pool)| size(pool.value)).sum(),
            clusters: touched.collect::<BTreeSet<_>>().len(),
        }
    }
}

/// `rolls 3 nodes of 1 cluster`
impl std::fmt::Display for Rolled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = |more: bool| if more { "s" } else { "" };
        let (nodes, clusters) = (self.nodes, self.clusters);
        let (of_nodes, of_clusters) = (plural(nodes != 1), plural(clusters != 1));
        write!(
            f,
            "rolls {nodes} node{of_nodes} of {clusters} cluster{of_clusters}"
        )
    }
}

/// The maximum number of nodes of a node pool.
fn size(pool: &Json) -> u64 {
    let count = |pointer: &str| pool.pointer(pointer).and_then(Json::as_u64);
    count("/spec/properties/replicas")
        .or_else(|| count("/spec/properties/autoScaling/max"))
        .unwrap_or_default()
}

/// An object and those embedded in it, each with its cluster.
fn parts(object: &Json) -> Vec<(Cluster, Part<'_>)> {
    let label = Live(object).label(labels::CLUSTER_NAME);
    let own = Part {
        id: Live(object).id(),
        path: Path::default(),
        value: object,
    };
    let cluster = |part: &Part<'_>| {
        let name = match part.id.kind.as_str() {
            _ if !label.is_empty() => label,
            "HcpOpenShiftClustersNodePool" => Live(part.value).text(&["spec", "owner", "name"]),
            _ => part.id.name.as_str(),
        };
        (part.id.namespace.clone(), name.to_owned())
    };
    let parts = std::iter::once(own).chain(embedded_in(object));
    parts.map(|part| (cluster(&part), part)).collect()
}
