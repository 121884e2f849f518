//! The clusters and node pools that leave the fleet with the files of a fork.
//!
//! In: those of the base, as plain data, and the merge. Out: text, and what it means for the check. Definitions and
//! hand-written objects are alike here. Pure; it does not know the cluster, nor what is applied.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::{counted, list};
use crate::api::fleet::{DeletionGuard, PoolGuard};
use crate::api::labels;
use crate::api::platform::Role;
use crate::model::{Object, ObjectId};
use crate::plan;
use crate::plan::losses::{self, ClusterPart};
use serde::{Deserialize, Serialize};

/// The clusters and node pools of a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holdings {
    /// The clusters, `namespace/name`, and whether each is deleted when its files go.
    clusters: BTreeMap<String, bool>,
    /// The node pools, `namespace/cluster/name`, and the cluster of each.
    pools: BTreeMap<String, String>,
}

/// What a merge has no more, and what holds deletions back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    deleted: BTreeSet<String>,
    released: BTreeSet<String>,
    /// Those of clusters that stay.
    pools: BTreeSet<String>,
}

/// An object that belongs to a cluster or a node pool. The others of both must be known before it counts.
#[derive(Clone, Debug)]
pub(crate) struct HeldObject {
    id: ObjectId,
    part: ClusterPart,
}

impl HeldObject {
    /// Keeps an object; `None` if it belongs to no cluster.
    pub(crate) fn of(object: &Object) -> Option<Self> {
        Some(Self {
            part: ClusterPart::of(&object.id, &plan::placed(object))?,
            id: object.id.clone(),
        })
    }
}

impl Holdings {
    /// Lists those of these objects.
    pub(crate) fn of(objects: &[HeldObject]) -> Self {
        Self::of_parts(objects.iter().map(|one| (&one.id, &one.part)))
    }

    /// The same for what objects say.
    pub(crate) fn of_parts<'a>(
        parts: impl Iterator<Item = (&'a ObjectId, &'a ClusterPart)> + Clone,
    ) -> Self {
        let units = losses::units(parts.clone());
        let mut holdings = Self::default();
        for (id, part) in parts {
            let Some(unit) = units.get(id) else {
                continue;
            };
            let name = unit.to_string();
            match Role::of(id) {
                Some(Role::Root) => {
                    holdings.clusters.insert(name, part.is_deleted);
                }
                Some(Role::Pool) => {
                    holdings.pools.insert(name, unit.root().to_string());
                }
                Some(Role::Part) | None => {}
            }
        }
        holdings
    }

    /// Splits off what `others` do not have.
    pub(crate) fn split(mut self, others: &Self) -> (Self, Self) {
        let mut missing = Self::default();
        let clusters = self.clusters.into_iter();
        (self.clusters, missing.clusters) =
            clusters.partition(|(name, _)| others.clusters.contains_key(name));
        let pools = self.pools.into_iter();
        (self.pools, missing.pools) = pools.partition(|(name, _)| others.pools.contains_key(name));
        (self, missing)
    }

    /// Lists its parts in words.
    pub(super) fn words(&self) -> Vec<String> {
        let clusters = self.clusters.keys().map(|name| format!("cluster {name}"));
        let pools = self.pools.keys().map(|name| format!("node pool {name}"));
        clusters.chain(pools).collect()
    }

    /// Lists its parts, for a digest.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let clusters = self.clusters.iter();
        let clusters = clusters.map(|(name, is_deleted)| format!("cluster {name} {is_deleted}"));
        clusters.chain(self.pools.keys().map(|name| format!("pool {name}")))
    }
}

impl Losses {
    /// Compares a base with what is left of it by what is merged onto it.
    pub(super) fn of(base: &Holdings, left: &Holdings) -> Self {
        let gone = base.clusters.iter();
        let gone = gone.filter(|(name, _)| !left.clusters.contains_key(*name));
        let gone: BTreeMap<&String, &bool> = gone.collect();
        let names = |wanted: bool| {
            let gone = gone
                .iter()
                .filter(move |(_, is_deleted)| ***is_deleted == wanted);
            gone.map(|(name, _)| (*name).clone()).collect()
        };
        let pools = base.pools.iter().filter(|(name, cluster)| {
            !left.pools.contains_key(*name) && !gone.contains_key(cluster)
        });
        Self {
            deleted: names(true),
            released: names(false),
            pools: pools.map(|(name, _)| name.clone()).collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// Whether any of them needs approval. Forks cannot give it.
    pub(super) fn need_approval(&self, allowed: DeletionGuard) -> bool {
        let most = usize::try_from(allowed.max_clusters).unwrap_or(0);
        let clusters = self.deleted.len() + self.released.len();
        clusters > most || !self.pools.is_empty() && allowed.pools == PoolGuard::Approve
    }

    /// `1 cluster and 2 node pools leave the fleet`; empty when nothing does.
    pub(super) fn title(&self) -> String {
        let clusters = self.deleted.len() + self.released.len();
        let counts = [(clusters, "cluster"), (self.pools.len(), "node pool")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = counts.map(|(count, noun)| counted(count, noun)).collect();
        let verb = match clusters + self.pools.len() {
            1 => "leaves",
            _ => "leave",
        };
        match parts.is_empty() {
            true => String::new(),
            false => format!("{} {verb} the fleet", parts.join(" and ")),
        }
    }

    /// What leaves and what that means, a line each; `is_pruned` says whether anything is removed at all, `is_whole` whether
    /// all files could be read.
    pub(super) fn text(&self, is_pruned: bool, is_whole: bool) -> String {
        if self.is_empty() {
            return String::new();
        }
        let line = |what: &str, name: &String, verb: &str, meaning: &str| match is_pruned {
            true => format!(
                "{what} {name}: {meaning}, once somebody who may write to the repository approves (`{}: {verb} {name}`)",
                labels::APPROVE
            ),
            false => format!("{what} {name}: kept in the cluster, since `spec.apply.prune` is off"),
        };
        let deleted = self.deleted.iter();
        let deleted = deleted.map(|name| line("cluster", name, "delete", "deleted"));
        let released = self.released.iter().map(|name| {
            let meaning =
                "released; it goes on running in Azure, and nobody manages, patches or deletes it";
            line("cluster", name, "release", meaning)
        });
        let pools = self.pools.iter();
        let pools = pools.map(|name| line("node pool", name, "delete", "deleted, with its nodes"));
        let lines: Vec<String> = deleted.chain(released).chain(pools).collect();
        let unread = match is_whole {
            true => "",
            false => ", where what cannot be read counts as gone",
        };
        format!(
            "Leaves the fleet with these files{unread}:\n\n{}\n",
            list(lines.into_iter())
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Objects as somebody writes them by hand.
    fn objects(text: &str) -> Vec<HeldObject> {
        let (documents, _) = crate::yaml::read(&Arc::from("a.yaml"), text.as_bytes());
        let objects = documents.into_iter();
        let objects = objects.filter_map(|node| Object::from_node(node, "ns"));
        objects
            .filter_map(|object| HeldObject::of(&object))
            .collect()
    }

    #[test]
    fn a_pool_that_is_written_by_hand_goes_with_its_cluster_or_is_a_loss() {
        let cluster =
            "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c}}\n";
        let pool = "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachinePool, metadata: {name: p}, spec: {clusterName: c}}\n";
        let infra = "---\n{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROMachinePool, metadata: {name: p}}\n";
        let labelled = "---\n{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROMachinePool, metadata: {name: q, labels: {cluster.x-k8s.io/cluster-name: c}}}\n";
        let all = [cluster, pool, infra, labelled].concat();
        let base = Holdings::of(&objects(&all));
        let of = |texts: &[&str]| {
            let losses = Losses::of(&base, &Holdings::of(&objects(&texts.concat())));
            let pools: Vec<String> = losses.pools.iter().cloned().collect();
            (losses.title(), pools.join(" "))
        };
        let words = |title: &str, pools: &str| (title.to_owned(), pools.to_owned());
        assert_eq!(of(&[cluster, pool, infra, labelled]), words("", ""));
        // Without its MachinePool, Cluster API deletes the other half.
        let half = words("1 node pool leaves the fleet", "ns/c/p");
        assert_eq!(of(&[cluster, infra, labelled]), half);
        let one = words("1 node pool leaves the fleet", "ns/c/q");
        assert_eq!(of(&[cluster, pool, infra]), one);
        let both = words("2 node pools leave the fleet", "ns/c/p ns/c/q");
        assert_eq!(of(&[cluster]), both);
        assert_eq!(of(&[]), words("1 cluster leaves the fleet", ""));
        let again: Holdings =
            serde_json::from_str(&serde_json::to_string(&base).expect("text")).expect("the same");
        assert_eq!(again, base);
    }
}
