//! `AROControlPlane`: the hosted control plane and its external authentication.

use super::blueprint::Blueprint;
use super::write::top;
use super::{hcp_open_shift_cluster, hcp_open_shift_clusters_external_auth};
use crate::api::cluster_definition::AzureEnvironment;
use crate::api::kinds::CONTROL_PLANE;
use crate::expand::node::node;
use crate::model::{Node, Object};

pub(super) fn object(b: &Blueprint) -> Object {
    let elsewhere = b.spec().azure_environment != AzureEnvironment::AzurePublicCloud;
    let spec = node!(b.origin(), {
        "subscriptionID": b.value("subscriptionID"),
        "azureEnvironment": b.value("azureEnvironment").filter(|_| elsewhere),
        "identityRef": identity_ref(b),
        "resources": [
            hcp_open_shift_cluster::resource(b),
            hcp_open_shift_clusters_external_auth::resource(b),
        ],
    });
    top(b, CONTROL_PLANE, "AROControlPlane", &b.names.cluster)
        .in_cluster()
        .spec(spec)
}

fn identity_ref(b: &Blueprint) -> Option<Node> {
    let name = b.value("identityRef.name")?;
    let namespace = b.value("identityRef.namespace");
    Some(node!(b.origin(), {
        "kind": "AzureClusterIdentity",
        "name": name,
        "namespace": namespace.unwrap_or_else(|| b.text(b.namespace())),
    }))
}
