//! `UserAssignedIdentity`: one for each operator, with its ids in a ConfigMap for the role
//! assignments to read. Shared ones exist already: they are found by their names, and stay when the
//! cluster is deleted.

use super::blueprint::Blueprint;
use super::identities::{IDENTITIES, Identity};
use super::write::{detached, embedded};
use crate::api::kinds::MANAGED_IDENTITY;
use crate::expand::node::node;
use crate::model::Node;

const KIND: &str = "UserAssignedIdentity";

pub(super) fn resources(b: &Blueprint) -> Vec<Node> {
    let resource = |identity| resource(b, identity);
    IDENTITIES.iter().map(resource).collect()
}

fn resource(b: &Blueprint, identity: &Identity) -> Node {
    let map = b.names.identity_map(identity);
    let pool = b.in_pool("resourceGroups", "");
    let shared = pool.is_some();
    let owner = match pool {
        Some(id) => node!(b.origin(), {"armId": id}),
        None => node!(b.origin(), {"name": &b.names.resource_group}),
    };
    let spec = node!(b.origin(), {
        "azureName": shared.then(|| pool_name(b, identity)),
        "location": b.value("location"),
        "owner": owner,
        "operatorSpec": {
            "configMaps": {
                "principalId": {"name": &map, "key": "principalId"},
                "clientId": {"name": &map, "key": "clientId"},
            },
        },
        "tags": b.value("tags").filter(|_| !shared),
    });
    let frame = if shared { detached } else { embedded };
    frame(
        b,
        [MANAGED_IDENTITY, KIND, &b.names.identity(identity)],
        spec,
    )
}

/// What a shared identity is called in Azure; the line that names the pool is the one to edit.
fn pool_name(b: &Blueprint, identity: &Identity) -> Node {
    let name = identity.in_pool();
    b.values.made_from("managedIdentities.resourceGroup", name)
}

/// An identity as the scope of a role.
pub(super) fn scope(b: &Blueprint, identity: &Identity) -> Node {
    match b.spec().managed_identities.pool() {
        Some(_) => node!(b.origin(), {"armId": b.identity_id(identity)}),
        None => super::write::reference(b, MANAGED_IDENTITY, KIND, &b.names.identity(identity)),
    }
}
