//! The parts of a hosted cluster that only one on Azure has: the network, the identities, and the private connection in either shape of the API
//! (HyperShift's CRDs; the proposal for private topologies).

use std::collections::HashSet;

use super::blueprint::Blueprint;
use crate::api::cluster_definition::{
    ApiShape, Azure, EndpointAccess, PrivateConnectivity, WorkloadIdentity,
};
use crate::expand::node::node;
use crate::model::{Node, Value};

/// `spec.platform.azure` of the HostedCluster.
pub(super) fn platform(b: &Blueprint, azure: &Azure) -> Node {
    let connection = azure.private_connectivity.as_ref();
    let access = || b.value("hyperShift.azure.endpointAccess");
    let (landed, proposal) = match azure.api_shape {
        ApiShape::Landed => (access(), None),
        ApiShape::Proposal => (None, access()),
    };
    let (private, connectivity) = match azure.api_shape {
        ApiShape::Landed => (connection.map(|it| private(b, azure, it)), None),
        ApiShape::Proposal => (None, connection.map(|it| connectivity(b, azure, it))),
    };
    node!(b.origin(), {
        "location": b.value("hyperShift.azure.location"),
        "subscriptionID": b.value("hyperShift.azure.subscriptionID"),
        "tenantID": b.value("hyperShift.azure.tenantID"),
        "cloud": b.value("hyperShift.azure.azureEnvironment"),
        "resourceGroup": b.value("hyperShift.azure.resourceGroup"),
        "vnetID": b.value("hyperShift.azure.vnetID"),
        "subnetID": b.value("hyperShift.azure.subnetID"),
        "securityGroupID": b.value("hyperShift.azure.securityGroupID"),
        "azureAuthenticationConfig": {
            "azureAuthenticationConfigType": "WorkloadIdentities",
            "workloadIdentities": identities(b, azure),
        },
        "topology": landed,
        "private": private,
        "endpointAccess": proposal,
        "privateConnectivity": connectivity,
    })
}

/// The landed shape has no identity for the controller of Private Link Services: that one is the management cluster's own.
fn identities(b: &Blueprint, azure: &Azure) -> Node {
    let all = b.value("hyperShift.azure.workloadIdentities");
    let mut all = all.unwrap_or_else(|| node!(b.origin(), {}));
    if let (ApiShape::Landed, Value::Map(map)) = (azure.api_shape, &mut all.value) {
        map.remove("privateLinkService");
    }
    all
}

fn private(b: &Blueprint, azure: &Azure, connection: &PrivateConnectivity) -> Node {
    let others = others(azure, connection);
    let others = (!others.is_empty()).then(|| subscriptions(b, others));
    node!(b.origin(), {
        "type": "PrivateLink",
        "privateLink": {
            "natSubnetID": nat_subnet(b, connection),
            "additionalAllowedSubscriptions": others,
        },
    })
}

fn connectivity(b: &Blueprint, azure: &Azure, connection: &PrivateConnectivity) -> Node {
    let own = azure.subscription_id.clone();
    let all = [own].into_iter().chain(others(azure, connection)).collect();
    node!(b.origin(), {
        "natSubnetID": nat_subnet(b, connection),
        "allowedSubscriptions": subscriptions(b, all),
    })
}

/// The allowed subscriptions other than the cluster's own, each once.
fn others(azure: &Azure, connection: &PrivateConnectivity) -> Vec<String> {
    let mut seen = HashSet::from([azure.subscription_id.to_lowercase()]);
    let mut others = connection.allowed_subscriptions.clone();
    others.retain(|id| seen.insert(id.to_lowercase()));
    others
}

fn subscriptions(b: &Blueprint, ids: Vec<String>) -> Node {
    let path = "hyperShift.azure.privateConnectivity.allowedSubscriptions";
    let made = |id: String| b.values.made_from(path, id);
    let ids = ids.into_iter().map(made).collect();
    Node::new(Value::List(ids), b.origin())
}

/// The subnet for the addresses of the Private Link Service: an existing one, or the name of the new one.
fn nat_subnet(b: &Blueprint, connection: &PrivateConnectivity) -> Option<Node> {
    let existing = b.value("hyperShift.azure.privateConnectivity.natSubnetID");
    existing.or_else(|| {
        let vnet = &connection.nat_subnet.as_ref()?.vnet;
        let id = &b.definition.id;
        let subnet = format!("{vnet}/subnets/{}-{}-pls-nat", id.namespace, id.name);
        let path = "hyperShift.azure.privateConnectivity.natSubnet.vnet";
        Some(b.values.made_from(path, subnet))
    })
}

/// The identity for the Private Endpoint and the DNS zones, `NAMESPACE/NAME`.
pub(super) fn link_identity(b: &Blueprint) -> Option<Node> {
    let identity = b.spec.azure.as_ref()?.identity_ref.as_ref()?;
    let namespace = identity.namespace.as_ref();
    let namespace = namespace.unwrap_or(&b.definition.id.namespace);
    let text = format!("{namespace}/{}", identity.name);
    Some(
        b.values
            .made_from("hyperShift.azure.identityRef.name", text),
    )
}

/// The identities that a private connection needs, as fields of `workloadIdentities`, each with the one that is given.
pub(super) fn needed(azure: &Azure) -> Vec<(&'static str, Option<&WorkloadIdentity>)> {
    let identities = &azure.workload_identities;
    let operator = (
        "controlPlaneOperator",
        identities.control_plane_operator.as_ref(),
    );
    let service = (
        "privateLinkService",
        identities.private_link_service.as_ref(),
    );
    match (azure.endpoint_access, azure.api_shape) {
        (EndpointAccess::Public, _) => Vec::new(),
        (_, ApiShape::Landed) => vec![operator],
        (_, ApiShape::Proposal) => vec![operator, service],
    }
}
