//! What every file of this module reads: a definition's values, and the names derived from it.

use super::identities::{Identity, Plane};
use super::names::Names;
use crate::api::cluster_definition::{ClusterDefinition, ClusterDefinitionSpec, NodePool};
use crate::expand::node::node;
use crate::expand::values::Values;
use crate::model::{Node, Origin, Value};

/// One cluster, about to be written.
pub(super) struct Blueprint<'a> {
    pub(super) definition: &'a ClusterDefinition,
    spec: &'a ClusterDefinitionSpec,
    pub(super) values: Values,
    pub(super) names: Names,
    pub(super) pools: Vec<Pool<'a>>,
}

/// One node pool, about to be written.
pub(super) struct Pool<'a> {
    pub(super) spec: &'a NodePool,
    pub(super) values: Values,
    /// What its objects are called.
    pub(super) name: String,
}

impl<'a> Blueprint<'a> {
    pub(super) fn of(definition: &'a ClusterDefinition, spec: &'a ClusterDefinitionSpec) -> Self {
        let (values, names) = (Values::of(definition), Names::of(&definition.id, spec));
        let pools = spec.node_pools.iter().zip(values.items("nodePools"));
        let pool = |(spec, values): (&'a NodePool, Values)| Pool {
            spec,
            values,
            name: names.pool(spec),
        };
        Self {
            pools: pools.map(pool).collect(),
            definition,
            spec,
            values,
            names,
        }
    }

    pub(super) fn spec(&self) -> &'a ClusterDefinitionSpec {
        self.spec
    }

    pub(super) fn namespace(&self) -> &'a str {
        &self.definition.id.namespace
    }

    /// Where constants and defaults come from.
    pub(super) fn origin(&self) -> &Origin {
        self.values.origin()
    }

    /// The value at `path` of the definition's spec.
    pub(super) fn value(&self, path: &'static str) -> Option<Node> {
        self.values.get(path)
    }

    /// `made`, with the value of the definition at `path` merged onto it.
    pub(super) fn with(&self, made: Node, path: &str) -> Node {
        self.values.onto(made, path)
    }

    /// A text of our own.
    pub(super) fn text(&self, text: impl Into<String>) -> Node {
        Node::new(Value::String(text.into().into()), self.origin())
    }

    /// A path below the subscription, as ARM writes ids.
    pub(super) fn in_subscription(&self, path: &str) -> Node {
        let subscription = &self.spec().subscription_id;
        let id = format!("/subscriptions/{subscription}/{path}");
        self.values.made_from("subscriptionID", id)
    }

    /// A path below the resource group that holds shared identities; none where the cluster has its
    /// own.
    pub(super) fn in_pool(&self, groups: &str, path: &str) -> Option<Node> {
        let pool = self.spec().managed_identities.pool()?;
        let subscription = &self.spec().subscription_id;
        let id = format!("/subscriptions/{subscription}/{groups}/{pool}{path}");
        Some(self.values.made_from("managedIdentities.resourceGroup", id))
    }

    /// The ARM id of an identity. Azure writes `resourcegroups` in the ids of identities.
    pub(super) fn identity_id(&self, identity: &Identity) -> Node {
        let path =
            |name| format!("/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}");
        let shared = self.in_pool("resourcegroups", &path(identity.in_pool()));
        shared.unwrap_or_else(|| {
            let group = &self.names.resource_group;
            let path = path(self.names.identity(identity));
            self.in_subscription(&format!("resourcegroups/{group}{path}"))
        })
    }

    /// What the operators of a plane act as: references by operator.
    pub(super) fn operators(&self, plane: Plane) -> std::collections::BTreeMap<&'static str, Node> {
        super::identities::of(plane)
            .map(|identity| {
                let reference = node!(self.origin(), {"armId": self.identity_id(identity)});
                (identity.operator, reference)
            })
            .collect()
    }
}

impl Pool<'_> {
    /// The value at `path` of the pool.
    pub(super) fn value(&self, path: &'static str) -> Option<Node> {
        self.values.get(path)
    }

    /// `made`, with the value of the pool at `path` merged onto it.
    pub(super) fn with(&self, made: Node, path: &str) -> Node {
        self.values.onto(made, path)
    }

    /// Its name in Azure, which is unique only within the cluster.
    pub(super) fn azure_name(&self) -> Option<Node> {
        self.value("azureName").or_else(|| self.value("name"))
    }

    /// How many nodes it has; `None` when that moves with the load.
    pub(super) fn replicas(&self) -> Option<Node> {
        let replicas = self.spec.fixed_replicas()?;
        let written = self.value("replicas");
        Some(written.unwrap_or_else(|| Node::new(Value::Int(replicas), self.values.origin())))
    }
}
