//! Clusters and node pools by their names.
//!
//! In: the id of an object, and the name of its cluster. Out: the [`Unit`] that it is, or belongs to. One that Cluster
//! API leads and one that is written as resources of Azure Service Operator are alike here.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::api::labels::CLUSTER_NAME;
use crate::api::platform::{PlatformKind, Role};
use crate::health::Live;
use crate::model::{Object, ObjectId};

/// A cluster, or a node pool of one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Unit {
    /// The namespace of its objects.
    pub namespace: String,
    /// The name of the cluster.
    pub cluster: String,
    /// The name of the pool within the cluster; `None` for the cluster itself.
    pub pool: Option<String>,
}

impl Unit {
    /// The cluster of this name.
    #[must_use]
    pub fn new(namespace: &str, cluster: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            cluster: cluster.to_owned(),
            pool: None,
        }
    }

    /// The cluster that a root is, or that a part belongs to; the pool that a pool is. `cluster` is the name of the
    /// cluster as the object states it, which may be empty.
    #[must_use]
    pub fn of(id: &ObjectId, cluster: &str) -> Option<Self> {
        let role = Role::of(id)?;
        let cluster = match role {
            Role::Root => id.name.as_str(),
            Role::Pool | Role::Part => cluster,
        };
        let pool = match role {
            Role::Pool => {
                let within = id.name.strip_prefix(cluster);
                let within = within.and_then(|rest| rest.strip_prefix('-'));
                let within = within.filter(|rest| !cluster.is_empty() && !rest.is_empty());
                Some(within.unwrap_or(&id.name).to_owned())
            }
            Role::Root | Role::Part => None,
        };
        Some(Self {
            pool,
            ..Self::new(&id.namespace, cluster)
        })
    }

    /// The same for an object of the fleet.
    #[must_use]
    pub fn of_object(object: &Object) -> Option<Self> {
        let name = |keys: &[&str]| object.node.text(keys).unwrap_or_default();
        Self::of(
            &object.id,
            stated(&object.id, object.label(CLUSTER_NAME), name),
        )
    }

    /// The name of the pool, or of the cluster, as a file has it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.pool.as_deref().unwrap_or(&self.cluster)
    }

    /// The cluster of a pool; a cluster itself.
    #[must_use]
    pub fn root(&self) -> Self {
        Self {
            pool: None,
            ..self.clone()
        }
    }

    /// Returns true for a cluster itself, and for a pool of it.
    #[must_use]
    pub fn is_within(&self, cluster: &Self) -> bool {
        (&self.namespace, &self.cluster) == (&cluster.namespace, &cluster.cluster)
    }

    /// The names that the object of the pool, or of the cluster, may have.
    #[must_use]
    pub fn object_names(&self) -> Vec<String> {
        match &self.pool {
            Some(pool) => vec![pool.clone(), format!("{}-{pool}", self.cluster)],
            None => vec![self.cluster.clone()],
        }
    }

    /// Returns true if an object of this id may be the cluster or the pool, judged by names alone.
    #[must_use]
    pub fn may_be(&self, id: &ObjectId) -> bool {
        let role = match self.pool {
            Some(_) => Role::Pool,
            None => Role::Root,
        };
        Role::of(id) == Some(role)
            && id.namespace == self.namespace
            && self.object_names().contains(&id.name)
    }

    /// Reads `<namespace>/<cluster>` and `<namespace>/<cluster>/<pool>`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_name = |part: &&str| !part.is_empty() && !part.contains(char::is_whitespace);
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            _ if !parts.iter().all(is_name) => None,
            [namespace, cluster] => Some(Self::new(namespace, cluster)),
            [namespace, cluster, pool] => Some(Self {
                pool: Some((*pool).to_owned()),
                ..Self::new(namespace, cluster)
            }),
            _ => None,
        }
    }
}

/// The entries of a cluster and its pools. Entries of other clusters are not visited.
pub fn within<'u, T>(
    units: &'u BTreeMap<Unit, T>,
    cluster: &Unit,
) -> impl Iterator<Item = (&'u Unit, &'u T)> {
    let cluster = cluster.root();
    // Pools follow their cluster.
    let from = units.range(&cluster..);
    from.take_while(move |(unit, _)| unit.is_within(&cluster))
}

/// Where a Cluster and a MachinePool refer to their other half.
const REFERENCES: [&[&str]; 3] = [
    &["spec", "controlPlaneRef"],
    &["spec", "infrastructureRef"],
    &["spec", "template", "spec", "infrastructureRef"],
];

/// The kinds and names of the objects that an object refers to there.
pub(super) fn references(object: &Json) -> impl Iterator<Item = (Box<str>, Box<str>)> {
    let at = |path: &[&str], field: &str| -> Box<str> {
        let text = Live(object).text(&[path, &[field]].concat());
        text.into()
    };
    let all = REFERENCES.iter();
    let all = all.map(move |path| (at(path, "kind"), at(path, "name")));
    all.filter(|(_, name)| !name.is_empty())
}

/// The name of the cluster that an object as JSON states; empty if it states none.
#[must_use]
pub fn cluster_of<'a>(id: &ObjectId, object: &'a Json) -> &'a str {
    let label = Live(object).label(CLUSTER_NAME);
    let label = Some(label).filter(|label| !label.is_empty());
    stated(id, label, |keys| Live(object).text(keys))
}

/// The label wins, since Cluster API sets it to what it has resolved.
fn stated<'a>(id: &ObjectId, label: Option<&'a str>, name: impl Fn(&[&str]) -> &'a str) -> &'a str {
    label.unwrap_or_else(|| match PlatformKind::of(id) {
        Some(kind) if !kind.cluster.is_empty() => name(kind.cluster),
        _ => "",
    })
}

/// `<namespace>/<cluster>[/<pool>]`, as an approval names it.
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.cluster)?;
        match &self.pool {
            Some(pool) => write!(f, "/{pool}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_within_a_cluster_is_it_and_its_pools() {
        let names = ["n/a", "n/a/x", "n/a/y", "n/a-b/x", "n/ab", "m/a", "o/a/x"];
        let units = names.iter().filter_map(|name| Unit::parse(name));
        let units: BTreeMap<Unit, ()> = units.map(|unit| (unit, ())).collect();
        assert_eq!(units.len(), names.len());
        for (of, expected) in [
            ("n/a", &["n/a", "n/a/x", "n/a/y"][..]),
            ("n/a/y", &["n/a", "n/a/x", "n/a/y"]),
            ("n/a-b", &["n/a-b/x"]),
            ("o/a", &["o/a/x"]),
            ("o/b", &[]),
        ] {
            let cluster = Unit::parse(of).expect("a name");
            let found = within(&units, &cluster).map(|(unit, ())| unit.to_string());
            assert_eq!(found.collect::<Vec<_>>(), expected, "{of}");
        }
    }

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for text in ["ns/c", "ns/c/p"] {
            assert_eq!(
                Unit::parse(text).map(|unit| unit.to_string()).as_deref(),
                Some(text)
            );
        }
        for text in [
            "", "c", "/c", "ns/", "ns//p", "ns/c/", "a/b/c/d", "ns/c d", "ns/c\n",
        ] {
            assert_eq!(Unit::parse(text), None, "{text}");
        }
    }
}
