//! The resources that AROCluster, AROControlPlane and AROMachinePool carry in `spec.resources`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::kinds::{CONTROL_PLANE, INFRASTRUCTURE};
use crate::model::{Object, ObjectId, Path};

/// Whether objects of this id carry embedded resources.
#[must_use]
pub fn carries(id: &ObjectId) -> bool {
    id.is(INFRASTRUCTURE, "AROCluster")
        || id.is(INFRASTRUCTURE, "AROMachinePool")
        || id.is(CONTROL_PLANE, "AROControlPlane")
}

/// The embedded resources of `object` that have an identity, each with its path. They live in the
/// namespace of the object that carries them, whatever they say (facts/aro-controllers.md §6.4).
#[must_use]
pub fn resources(object: &Object) -> Vec<(Path, Object)> {
    if !carries(&object.id) {
        return Vec::new();
    }
    let path = Path::dotted("spec.resources");
    let items = object
        .node
        .lookup(&path)
        .and_then(|list| list.as_list())
        .unwrap_or_default();
    let read = |(index, node): (usize, &crate::model::Node)| {
        let mut embedded = Object::from_node(node.clone(), &object.id.namespace)?;
        embedded.id.namespace.clone_from(&object.id.namespace);
        embedded.definition.clone_from(&object.definition);
        Some((path.index(index), embedded))
    };
    items.iter().enumerate().filter_map(read).collect()
}

/// What the carrying object's status says of one embedded resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceStatus {
    /// Which resource.
    pub resource: StatusResource,
    /// Whether its condition `Ready` holds for its newest generation.
    pub ready: bool,
}

/// Names an embedded resource in a status.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct StatusResource {
    /// API group.
    pub group: String,
    /// Version without the group.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

/// An Azure operation under way. Part of the shape; nothing writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LongRunningOperation {
    /// Kind of operation.
    #[serde(rename = "type")]
    pub kind: String,
    /// The Azure service.
    pub service_name: String,
    /// The Azure resource.
    pub name: String,
    /// Its resource group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_group: Option<String>,
    /// Where to ask for its progress, encoded.
    pub data: String,
}
