//! What new clusters consist of.
//!
//! In: the new objects of clusters. Out: a line for each cluster, and one for all. It does not know what else changes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::model::ObjectId;
use crate::plan::losses::{self, ClusterPart, Pool, Unit};
use crate::reporting::report::parts::counted;

/// New clusters, and the new pools of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Created {
    /// The version of each new cluster; empty if that is not known.
    versions: BTreeMap<Unit, String>,
    /// The new pools.
    pools: BTreeMap<Unit, Pool>,
    /// The objects of each new cluster.
    objects: BTreeMap<Unit, usize>,
}

impl Created {
    /// Reads what new objects say, each with the cluster or pool that it is of.
    pub(super) fn of<'a>(
        parts: impl Iterator<Item = (&'a ObjectId, &'a Unit, &'a ClusterPart)> + Clone,
    ) -> Self {
        let mut created = Self::default();
        for (_, unit, part) in parts.clone() {
            let version = String::from(&*part.version);
            match created.versions.entry(unit.root()) {
                Entry::Vacant(entry) => drop(entry.insert(version)),
                Entry::Occupied(mut entry) if !version.is_empty() => drop(entry.insert(version)),
                Entry::Occupied(_) => {}
            }
        }
        created.pools = losses::pools(parts.map(|(id, _, part)| (id, part)));
        created
    }

    /// Keeps only these clusters, with as many objects, and the pools of others.
    pub(super) fn among(mut self, clusters: BTreeMap<Unit, usize>) -> Self {
        self.versions.retain(|unit, _| clusters.contains_key(unit));
        self.objects = clusters;
        self
    }

    /// How many nodes are made.
    pub(super) fn nodes(&self) -> u64 {
        self.pools.values().map(|pool| pool.nodes).sum()
    }

    /// A line for each new cluster and each new pool of another.
    pub(super) fn lines(&self) -> Vec<String> {
        let clusters = self.objects.iter().map(|(unit, objects)| {
            let pools = losses::within(&self.pools, unit);
            let pools: Vec<&Pool> = pools.map(|(_, pool)| pool).collect();
            let version = self
                .versions
                .get(unit)
                .filter(|version| !version.is_empty());
            let version = version.map_or_else(String::new, |it| format!(", OpenShift {it}"));
            format!(
                "create cluster {unit}{version}: {}, {}",
                counted(*objects, "object"),
                nodes(&pools)
            )
        });
        let pools = self.pools.iter();
        let pools = pools.filter(|(unit, _)| !self.objects.contains_key(&unit.root()));
        let pools = pools.map(|(unit, pool)| {
            let version = match pool.version.as_str() {
                "" => String::new(),
                version => format!(", OpenShift {version}"),
            };
            format!("create node pool {unit}{version}: {}", nodes(&[pool]))
        });
        clusters.chain(pools).collect()
    }

    /// All new nodes, where they are of more than one cluster or pool; empty otherwise.
    pub(super) fn total(&self) -> String {
        let pools: Vec<&Pool> = self.pools.values().collect();
        match self.lines().len() {
            0 | 1 => String::new(),
            _ => format!("Creates in all {}.\n\n", nodes(&pools)),
        }
    }
}

/// `6 nodes (3 × Standard_D4s_v3, 3 × Standard_D8s_v3; 36 vCPUs)`
fn nodes(pools: &[&Pool]) -> String {
    let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
    for pool in pools {
        *sizes.entry(&pool.size).or_default() += pool.nodes;
    }
    let count: u64 = sizes.values().sum();
    let sizes = sizes
        .iter()
        .filter(|(size, count)| !size.is_empty() && **count > 0);
    let sizes: Vec<String> = sizes
        .map(|(size, count)| format!("{count} × {size}"))
        .collect();
    let processors: Option<u64> = pools.iter().map(|pool| pool.processors()).sum();
    let processors = processors.filter(|count| *count > 0);
    let processors = processors.map_or_else(String::new, |count| format!("; {count} vCPUs"));
    let count = counted(usize::try_from(count).unwrap_or(usize::MAX), "node");
    match sizes.is_empty() {
        true => count,
        false => format!("{count} ({}{processors})", sizes.join(", ")),
    }
}
