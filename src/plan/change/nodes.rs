//! How many nodes a plan replaces.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Consequence, Part, embedded_in};
use crate::api::labels;
use crate::api::platform::{Platform, Role};
use crate::health::Live;
use crate::model::{Change, ObjectId, Path};
use crate::plan::losses::cluster_of;

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
        let of_role = |role: Role| {
            let parts = parts.iter();
            parts.filter(move |(_, part)| has_nodes(&part.id) && Role::of(&part.id) == Some(role))
        };
        let whole: BTreeSet<&Cluster> = of_role(Role::Root)
            .filter(|(_, part)| rolled.contains(&part.id))
            .map(|(cluster, _)| cluster)
            .collect();
        let pools: Vec<_> = of_role(Role::Pool)
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

/// Returns true for what has nodes itself: an object of Cluster API only stands for one.
fn has_nodes(id: &ObjectId) -> bool {
    Platform::of(id).is_some_and(|platform| !platform.mirrors)
}

/// The maximum number of nodes of a node pool.
fn size(pool: &Json) -> u64 {
    let count = |pointer: &&str| pool.pointer(pointer).and_then(Json::as_u64);
    let counts = [
        "/spec/properties/replicas",
        "/spec/properties/autoScaling/max",
        "/spec/replicas",
        "/spec/autoScaling/max",
    ];
    counts.iter().find_map(count).unwrap_or_default()
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
        let name = match (label, cluster_of(&part.id, part.value)) {
            ("", "") => part.id.name.as_str(),
            ("", stated) => stated,
            (label, _) => label,
        };
        (part.id.namespace.clone(), name.to_owned())
    };
    let parts = std::iter::once(own).chain(embedded_in(object));
    parts.map(|part| (cluster(&part), part)).collect()
}
