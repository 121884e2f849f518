//! What every file of this module reads: a definition's values, and the names derived from it.

use crate::api::cluster_definition::{
    ClusterDefinition, HostedNodePool, HyperShift, HyperShiftSpec, Release,
};
use crate::api::platform::{HYPERSHIFT, HYPERSHIFT_VERSION};
use crate::expand::node::Leaf;
use crate::expand::top::Top;
use crate::expand::values::Values;
use crate::model::{Node, Origin};

/// One hosted cluster, about to be written.
pub(super) struct Blueprint<'a> {
    pub(super) definition: &'a ClusterDefinition,
    pub(super) spec: &'a HyperShift,
    pub(super) values: Values,
    pub(super) pools: Vec<Pool<'a>>,
}

/// One node pool, about to be written.
pub(super) struct Pool<'a> {
    pub(super) spec: &'a HostedNodePool,
    pub(super) values: Values,
    /// The name of its object.
    pub(super) name: String,
}

impl<'a> Blueprint<'a> {
    pub(super) fn of(definition: &'a ClusterDefinition, spec: &'a HyperShiftSpec) -> Self {
        let values = Values::of(definition);
        let cluster = &definition.id.name;
        let pool = |(spec, values): (&'a HostedNodePool, Values)| Pool {
            name: if spec.name == *cluster {
                cluster.clone()
            } else {
                format!("{cluster}-{}", spec.name)
            },
            spec,
            values,
        };
        let pools = spec.node_pools.iter().zip(values.items("nodePools"));
        Self {
            pools: pools.map(pool).collect(),
            definition,
            spec: &spec.hyper_shift,
            values,
        }
    }

    /// The name of the cluster.
    pub(super) fn name(&self) -> &'a str {
        &self.definition.id.name
    }

    /// The origin of constants and defaults.
    pub(super) fn origin(&self) -> &Origin {
        self.values.origin()
    }

    /// The value at `path` of the definition's spec.
    pub(super) fn value(&self, path: &'static str) -> Option<Node> {
        self.values.get(path)
    }

    /// A value, or another one of our own.
    pub(super) fn or(&self, value: Option<Node>, other: impl Leaf) -> Option<Node> {
        value.or_else(|| other.node(self.origin()))
    }

    /// An object of HyperShift.
    pub(super) fn top(&self, kind: &'static str, name: &'a str) -> Top<'a> {
        let version = format!("{HYPERSHIFT}/{HYPERSHIFT_VERSION}");
        Top::new(self.definition, version, kind, name)
    }
}

/// The image of a release at `path` of these values.
pub(super) fn image(values: &Values, path: &str, release: &Release) -> Option<Node> {
    if let Some(image) = &release.image {
        return Some(values.made_from(&format!("{path}.image"), image.clone()));
    }
    let version = release.version.as_deref()?;
    // The multi-architecture image of a version runs wherever a single one does.
    let image = format!("{}:{version}-multi", release.repository);
    Some(values.made_from(&format!("{path}.version"), image))
}
