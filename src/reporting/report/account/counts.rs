//! Clusters, node pools, nodes and other objects by what happens to them: every number of an account comes from here.
//!
//! In: what is new, changes and goes. Out: counts, and the title that they make. It does not know how the rest is said.

use std::collections::BTreeMap;

use crate::plan::losses::Unit;
use crate::reporting::report::parts::counted;

/// What happens to a cluster, a pool or an object, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// A field changes that cannot be changed.
    Replaced,
    /// It changes to what Azure refuses.
    Refused,
    /// It is deleted.
    Deleted,
    /// It leaves the fleet and stays in Azure, or in the cluster.
    Released,
    /// It goes under one name and comes under another.
    Renamed,
    /// Its nodes are replaced.
    Rolled,
    /// It is changed in place.
    Changed,
    /// It is created.
    New,
}

/// What a title counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Noun {
    Cluster,
    Pool,
    Object,
}

/// What happens to what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// The clusters that anything happens to.
    pub(super) clusters: BTreeMap<Unit, Fate>,
    /// The pools of clusters that stay, each with its nodes.
    pub(super) pools: BTreeMap<Unit, (Fate, u64)>,
    /// The objects that belong to no cluster.
    pub(super) objects: BTreeMap<Fate, usize>,
    /// Nodes that are made.
    pub(super) new_nodes: u64,
    /// Nodes that go with their cluster.
    pub(super) nodes_of_clusters: u64,
}

impl Counts {
    /// Notes what happens to a cluster; the worst counts.
    pub(super) fn cluster(&mut self, unit: &Unit, fate: Fate) {
        let known = self.clusters.entry(unit.root()).or_insert(fate);
        *known = fate.min(*known);
    }

    /// Notes what happens to a pool with so many nodes; the worst counts.
    pub(super) fn pool(&mut self, unit: &Unit, fate: Fate, nodes: u64) {
        let known = self.pools.entry(unit.clone()).or_insert((fate, nodes));
        *known = (fate.min(known.0), nodes);
    }

    /// Notes what happens to an object that belongs to no cluster.
    pub(super) fn object(&mut self, fate: Fate) {
        *self.objects.entry(fate).or_default() += 1;
    }

    /// Returns true if nothing happens.
    pub(super) fn is_empty(&self) -> bool {
        self.clusters.is_empty() && self.pools.is_empty() && self.objects.is_empty()
    }

    /// How many nodes are replaced.
    pub(super) fn rolled_nodes(&self) -> u64 {
        self.nodes(|fate| fate == Fate::Rolled)
    }

    /// How many nodes go, with their cluster or pool.
    pub(super) fn lost_nodes(&self) -> u64 {
        let goes = |fate| matches!(fate, Fate::Deleted | Fate::Renamed);
        self.nodes_of_clusters + self.nodes(goes)
    }

    fn nodes(&self, counts: impl Fn(Fate) -> bool) -> u64 {
        let pools = self.pools.values().filter(|(fate, _)| counts(*fate));
        pools.map(|(_, nodes)| nodes).sum()
    }

    /// The clusters that are touched, by themselves or by one of their pools.
    pub(super) fn touched(&self) -> impl Iterator<Item = Unit> {
        let pools = self.pools.keys().map(Unit::root);
        let touched: std::collections::BTreeSet<Unit> =
            self.clusters.keys().cloned().chain(pools).collect();
        touched.into_iter()
    }

    /// `1 cluster replaced, 2 released, 1 pool deleted (2 nodes), 2 rolled (14 nodes), 5 objects changed, 55 new`
    pub(super) fn title(&self) -> String {
        let mut counts: BTreeMap<(u8, Fate, Noun), (usize, u64)> = BTreeMap::new();
        for fate in self.clusters.values() {
            counts.entry(key(*fate, Noun::Cluster)).or_default().0 += 1;
        }
        for (fate, nodes) in self.pools.values() {
            let count = counts.entry(key(*fate, Noun::Pool)).or_default();
            *count = (count.0 + 1, count.1 + nodes);
        }
        for (fate, count) in &self.objects {
            counts.entry(key(*fate, Noun::Object)).or_default().0 += count;
        }
        let mut last = None;
        let mut parts = Vec::new();
        for ((_, fate, noun), (count, nodes)) in counts {
            let what = match last == Some(noun) {
                true => count.to_string(),
                false => counted(count, word(noun)),
            };
            last = Some(noun);
            let nodes = match (fate, noun) {
                (Fate::Changed, _) | (_, Noun::Cluster | Noun::Object) => String::new(),
                // What is renamed and released keeps them.
                (Fate::Renamed, _) if nodes == 0 => String::new(),
                _ => format!(
                    " ({})",
                    counted(usize::try_from(nodes).unwrap_or(usize::MAX), "node")
                ),
            };
            parts.push(format!("{what} {}{nodes}", done(fate)));
        }
        parts.join(", ")
    }
}

/// What is lost comes first, by cluster, pool and object; then what changes; then what is new.
fn key(fate: Fate, noun: Noun) -> (u8, Fate, Noun) {
    let part = match (fate, noun) {
        (Fate::Changed, _) => 3,
        (Fate::New, _) => 5,
        // It stays in the cluster, and nothing in Azure depends on it.
        (Fate::Released, Noun::Object) => 4,
        (_, Noun::Cluster) => 0,
        (_, Noun::Pool) => 1,
        (_, Noun::Object) => 2,
    };
    (part, fate, noun)
}

fn word(noun: Noun) -> &'static str {
    match noun {
        Noun::Cluster => "cluster",
        Noun::Pool => "pool",
        Noun::Object => "object",
    }
}

/// The word for what happened.
pub(super) fn done(fate: Fate) -> &'static str {
    match fate {
        Fate::Replaced => "replaced",
        Fate::Refused => "refused",
        Fate::Deleted => "deleted",
        Fate::Released => "released",
        Fate::Renamed => "renamed",
        Fate::Rolled => "rolled",
        Fate::Changed => "changed",
        Fate::New => "new",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str) -> Unit {
        Unit::parse(name).expect("a name")
    }

    #[test]
    fn a_title_begins_with_the_worst_and_names_each_noun_once_in_a_row() {
        let mut counts = Counts::default();
        for (name, fate) in [
            ("ns/a", Fate::Replaced),
            ("ns/b", Fate::Released),
            ("ns/c", Fate::Released),
            ("ns/d", Fate::New),
            ("ns/e", Fate::Changed),
        ] {
            counts.cluster(&unit(name), Fate::Changed);
            counts.cluster(&unit(name), fate);
        }
        counts.clusters.insert(unit("ns/d"), Fate::New);
        for (name, fate, nodes) in [
            ("ns/e/x", Fate::Deleted, 2),
            ("ns/e/y", Fate::Rolled, 10),
            ("ns/f/y", Fate::Rolled, 4),
            ("ns/f/z", Fate::New, 1),
        ] {
            counts.pool(&unit(name), fate, nodes);
        }
        for fate in [Fate::New, Fate::Changed, Fate::Released, Fate::Changed] {
            counts.object(fate);
        }
        assert_eq!(
            counts.title(),
            "1 cluster replaced, 2 released, 1 pool deleted (2 nodes), 2 rolled (14 nodes), 1 cluster changed, 2 objects changed, 1 released, 1 cluster new, 1 pool new (1 node), 1 object new"
        );
        assert_eq!((counts.rolled_nodes(), counts.lost_nodes()), (14, 2));
        assert_eq!(Counts::default().title(), "");
    }
}
