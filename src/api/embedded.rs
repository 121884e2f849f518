//! The resources embedded in `spec.resources` of AROCluster, AROControlPlane and AROMachinePool.

use crate::api::kinds::{CONTROL_PLANE, INFRASTRUCTURE};
use crate::model::{Node, Object, ObjectId, Path, Value};

/// Whether objects of this kind have embedded resources.
#[must_use]
pub fn carries(id: &ObjectId) -> bool {
    id.is(INFRASTRUCTURE, "AROCluster")
        || id.is(INFRASTRUCTURE, "AROMachinePool")
        || id.is(CONTROL_PLANE, "AROControlPlane")
}

/// The embedded resources of `object` that have an identity, each with its path. They belong to the
/// namespace of that object, whatever they specify (facts/aro-controllers.md §6.4).
#[must_use]
pub fn resources(object: &Object) -> Vec<(Path, Object)> {
    let path = Path::dotted("spec.resources");
    let read = |(index, node): (usize, &Node)| {
        let mut embedded = Object::from_node(node.clone(), &object.id.namespace)?;
        embedded.id.namespace.clone_from(&object.id.namespace);
        embedded.definition.clone_from(&object.definition);
        Some((path.index(index), embedded))
    };
    items(object).iter().enumerate().filter_map(read).collect()
}

/// The ids of the [`resources`] of `object`, each with its version.
pub fn ids(object: &Object) -> impl Iterator<Item = (ObjectId, String)> {
    nodes(object).map(|(id, version, _)| (id, version))
}

/// The same with their contents, which are not copied.
pub fn nodes(object: &Object) -> impl Iterator<Item = (ObjectId, String, &Node)> {
    items(object).iter().filter_map(|node| {
        let (id, version) = ObjectId::read(node, "")?;
        let namespace = object.id.namespace.clone();
        Some((ObjectId { namespace, ..id }, version, node))
    })
}

/// The number of the [`resources`] of all `objects`.
#[must_use]
pub fn count(objects: &[Object]) -> usize {
    objects.iter().map(|object| nodes(object).count()).sum()
}

/// The items of `spec.resources`, with or without an identity.
#[must_use]
pub fn items(object: &Object) -> &[Node] {
    let list = object.node.at(&["spec", "resources"]);
    let list = list.filter(|_| carries(&object.id));
    list.and_then(Node::as_list).unwrap_or_default()
}

/// The same, to change them.
pub fn items_mut(object: &mut Object) -> &mut [Node] {
    let carries = carries(&object.id);
    let list = object.node.lookup_mut(&Path::dotted("spec.resources"));
    match list.filter(|_| carries).map(|list| &mut list.value) {
        Some(Value::List(items)) => items,
        _ => &mut [],
    }
}

/// The role definition with which keys are created in a vault: Key Vault Crypto Officer.
pub const KEY_VAULT_CRYPTO_OFFICER: &str = "14b46e9e-c2b7-41b4-b07b-48a6ebf60603";

/// The field of an HcpOpenShiftCluster with the key that encrypts its data.
pub const KMS: [&str; 6] = [
    "spec",
    "properties",
    "etcd",
    "dataEncryption",
    "customerManaged",
    "kms",
];

/// Fields that a controller sets, so that they may be missing in a tree: kind, path, and whether only
/// an AROControlPlane with an identityRef has them set. Source: facts/aro-controllers.md §3.2 (5, 6) and
/// §3.3 (2). Schema checks and rules take them into account.
const INJECTED: &[(&str, &str, bool)] = &[
    (
        "HcpOpenShiftCluster",
        "spec.properties.etcd.dataEncryption.customerManaged.kms.activeKey.version",
        true,
    ),
    ("HcpOpenShiftClustersExternalAuth", "spec.owner", false),
    ("HcpOpenShiftClustersNodePool", "spec.owner", false),
];

/// Whether a controller sets `path` of a resource of this `kind` that is embedded in `owner`.
#[must_use]
pub fn is_injected(owner: &Object, kind: &str, path: &Path) -> bool {
    let identity = super::aro_control_plane::identity_ref(owner).is_some();
    carries(&owner.id)
        && INJECTED.iter().any(|(of, field, needs_identity)| {
            *of == kind && Path::dotted(field) == *path && (identity || !needs_identity)
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use serde_json::{Value as Json, json};

    use super::*;
    use crate::model::{Origin, Span};

    fn control_plane(spec: &Json) -> Object {
        let document = json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
            "kind": "AROControlPlane",
            "metadata": {"name": "a", "namespace": "clusters"},
            "spec": spec,
        });
        let origin = Origin::new(Span::top(&Arc::from("a.yaml")));
        Object::from_node(Node::from_json(&document, &origin), "").unwrap()
    }

    #[test]
    fn the_key_version_is_filled_in_where_there_is_an_identity() {
        let path = Path::dotted(INJECTED[0].1);
        let with = control_plane(&json!({"identityRef": {"name": "id"}}));
        assert!(is_injected(&with, "HcpOpenShiftCluster", &path));
        assert!(!is_injected(
            &with,
            "HcpOpenShiftCluster",
            &Path::dotted("spec.owner")
        ));
        let without = control_plane(&json!({}));
        assert!(!is_injected(&without, "HcpOpenShiftCluster", &path));
    }

    #[test]
    fn embedded_resources_live_in_the_namespace_of_their_owner() {
        let owner = control_plane(&json!({"resources": [
            {"apiVersion": "x/v1", "kind": "A", "metadata": {"name": "a", "namespace": "other"}},
            {"apiVersion": "x/v1", "kind": "B"},
        ]}));
        let found = resources(&owner);
        let ids: Vec<_> = found
            .iter()
            .map(|(path, object)| (path.to_string(), object.id.to_string()))
            .collect();
        assert_eq!(
            ids,
            [("spec.resources[0]".to_owned(), "A/clusters/a".to_owned())]
        );
        let (id, version) = super::ids(&owner).next().unwrap();
        assert_eq!((id, version.as_str()), (found[0].1.id.clone(), "v1"));
    }
}
