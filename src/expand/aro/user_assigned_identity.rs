//! `UserAssignedIdentity`: one for each operator, with its ids in a ConfigMap for the role
//! assignments to read.

use super::blueprint::Blueprint;
use super::identities::{IDENTITIES, Identity};
use super::write::embedded;
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
    let spec = node!(b.origin(), {
        "location": b.value("location"),
        "owner": {"name": &b.names.resource_group},
        "operatorSpec": {
            "configMaps": {
                "principalId": {"name": &map, "key": "principalId"},
                "clientId": {"name": &map, "key": "clientId"},
            },
        },
        "tags": b.value("tags"),
    });
    embedded(b, MANAGED_IDENTITY, KIND, &b.names.identity(identity), spec)
}

pub(super) fn reference(b: &Blueprint, identity: &Identity) -> Node {
    super::write::reference(b, MANAGED_IDENTITY, KIND, &b.names.identity(identity))
}
