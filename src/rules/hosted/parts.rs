//! The hosted clusters of a fleet, and their node pools.

use std::collections::BTreeMap;

use crate::api::fleet::{FleetPolicy, LinkSwitches, Management};
use crate::api::platform::{HYPERSHIFT, HYPERSHIFT_VERSION};
use crate::model::{Finding, Message, Node, Object, Path, Segment};

/// All HostedClusters and NodePools.
pub(super) struct Parts<'a> {
    clusters: Vec<Hosted<'a>>,
    pools: Vec<Hosted<'a>>,
    by_name: BTreeMap<(&'a str, &'a str), usize>,
    /// The management cluster's place in Azure, if the fleet says it.
    pub(super) management: Option<&'a Management>,
    /// The switches of the controllers of private clusters, if the fleet says them.
    pub(super) links: Option<LinkSwitches>,
}

/// A HostedCluster or a NodePool.
#[derive(Clone, Copy)]
pub(super) struct Hosted<'a> {
    pub(super) object: &'a Object,
}

impl<'a> Parts<'a> {
    pub(super) fn of(objects: &[&'a Object], policy: &'a FleetPolicy) -> Self {
        let of_kind = |kind: &str| {
            let known =
                |one: &&Object| one.id.is(HYPERSHIFT, kind) && one.version == HYPERSHIFT_VERSION;
            let objects = objects.iter().copied().filter(known);
            objects.map(|object| Hosted { object }).collect::<Vec<_>>()
        };
        let clusters = of_kind("HostedCluster");
        let named = clusters.iter().enumerate();
        let by_name = named
            .map(|(index, one)| ((one.namespace(), one.name()), index))
            .collect();
        Self {
            clusters,
            pools: of_kind("NodePool"),
            by_name,
            management: policy.management.as_ref(),
            links: policy.links,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.clusters.is_empty() && self.pools.is_empty()
    }

    pub(super) fn clusters(&self) -> impl Iterator<Item = Hosted<'a>> {
        self.clusters.iter().copied()
    }

    pub(super) fn pools(&self) -> impl Iterator<Item = Hosted<'a>> {
        self.pools.iter().copied()
    }

    /// The ARM IDs of the subnets of nodes, in lower case.
    pub(super) fn subnets_of_nodes(&self) -> impl Iterator<Item = String> {
        let all = self.clusters.iter().chain(&self.pools);
        let named = all.filter_map(|one| one.text("spec.platform.azure.subnetID"));
        named.map(str::to_lowercase)
    }

    /// The cluster of a node pool, if it is in the fleet.
    pub(super) fn cluster_of(&self, pool: Hosted<'a>) -> Option<Hosted<'a>> {
        let name = pool.text("spec.clusterName")?;
        let index = self.by_name.get(&(pool.namespace(), name))?;
        self.clusters.get(*index).copied()
    }
}

impl<'a> Hosted<'a> {
    pub(super) fn name(self) -> &'a str {
        &self.object.id.name
    }

    pub(super) fn namespace(self) -> &'a str {
        &self.object.id.namespace
    }

    /// The value at `path` (dotted).
    pub(super) fn at(self, path: &str) -> Option<&'a Node> {
        self.object.node.dotted(path)
    }

    /// The text at `path` (dotted).
    pub(super) fn text(self, path: &str) -> Option<&'a str> {
        self.at(path)?.as_str()
    }

    /// The items of the list at `path` (dotted).
    pub(super) fn items(self, path: &str) -> &'a [Node] {
        self.at(path).and_then(Node::as_list).unwrap_or_default()
    }

    /// An annotation with its path.
    pub(super) fn annotation(self, name: &str) -> Option<(Path, &'a Node)> {
        let path = ["metadata", "annotations", name];
        let node = self.object.node.at(&path)?;
        let path = Path(path.map(|key| Segment::Key(key.to_owned())).to_vec());
        Some((path, node))
    }

    /// Returns true if it has a field at `path` (dotted).
    pub(super) fn has(self, path: &str) -> bool {
        self.at(path).is_some()
    }

    /// An error about a field.
    pub(super) fn error(
        self,
        id: &'static str,
        field: &Path,
        message: impl Into<Message>,
    ) -> Finding {
        self.pointed(Finding::error(id, message), field)
    }

    /// A warning about a field.
    pub(super) fn warning(
        self,
        id: &'static str,
        field: &Path,
        message: impl Into<Message>,
    ) -> Finding {
        self.pointed(Finding::warning(id, message), field)
    }

    fn pointed(self, finding: Finding, field: &Path) -> Finding {
        let span = self.object.node.nearest(field).span();
        finding.at(span).field(field).of(&self.object.id)
    }
}
