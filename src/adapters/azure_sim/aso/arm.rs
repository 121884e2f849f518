//! The ARM ids of resources, and numbers that look like Azure's.
//!
//! In: a resource and its owners. Out: ids that depend on nothing else, so that they are the same in
//! every run.

use sha2::{Digest, Sha256};

use super::gate;
use crate::api::kinds::{CONTROL_PLANE, INFRASTRUCTURE};
use crate::api::labels::{CLUSTER_NAME, RESOURCE_ID};
use crate::health::Live;
use crate::model::{ObjectId, hex};
use crate::reconcile::world::World;

/// The subscription of a resource that belongs to no control plane.
const NO_SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000000";

/// The path segments of a kind below its owner.
const TYPES: &[(&str, &str)] = &[
    ("ResourceGroup", "resourceGroups"),
    (
        "VirtualNetwork",
        "providers/Microsoft.Network/virtualNetworks",
    ),
    ("VirtualNetworksSubnet", "subnets"),
    (
        "NetworkSecurityGroup",
        "providers/Microsoft.Network/networkSecurityGroups",
    ),
    (
        "PrivateLinkService",
        "providers/Microsoft.Network/privateLinkServices",
    ),
    (
        "PrivateEndpoint",
        "providers/Microsoft.Network/privateEndpoints",
    ),
    (
        "PrivateDnsZone",
        "providers/Microsoft.Network/privateDnsZones",
    ),
    ("PrivateDnsZonesVirtualNetworkLink", "virtualNetworkLinks"),
    ("PrivateDnsZonesARecord", "A"),
    ("Vault", "providers/Microsoft.KeyVault/vaults"),
    (
        "UserAssignedIdentity",
        "providers/Microsoft.ManagedIdentity/userAssignedIdentities",
    ),
    (
        "RoleAssignment",
        "providers/Microsoft.Authorization/roleAssignments",
    ),
    (
        "HcpOpenShiftCluster",
        "providers/Microsoft.RedHatOpenShift/hcpOpenShiftClusters",
    ),
    ("HcpOpenShiftClustersNodePool", "nodePools"),
    ("HcpOpenShiftClustersExternalAuth", "externalAuths"),
];

/// The ARM id of a resource: the one it has, else below its owner's.
pub(super) fn id(world: World<'_>, live: Live<'_>) -> String {
    let held = live.annotation(RESOURCE_ID);
    if !held.is_empty() {
        return held.to_owned();
    }
    let known = TYPES.iter().find(|(kind, _)| *kind == live.kind());
    let place = known.map_or_else(
        || format!("providers/{}/{}", live.group(), live.kind()),
        |(_, place)| (*place).to_owned(),
    );
    format!("{}/{place}/{}", owner(world, live), azure_name(live))
}

/// The name in Azure. Role assignments have numbers for names.
fn azure_name(live: Live<'_>) -> String {
    match (live.text(&["spec", "azureName"]), live.kind()) {
        ("", "RoleAssignment") => uuid(&[live.namespace(), live.name()]),
        ("", _) => live.name().to_owned(),
        (name, _) => name.to_owned(),
    }
}

/// The ARM id of a resource's owner.
fn owner(world: World<'_>, live: Live<'_>) -> String {
    let named = live.text(&["spec", "owner", "armId"]);
    let owner = gate::owner(live).and_then(|id| world.get(&id).present());
    match (named, owner) {
        ("", Some(owner)) => id(world, owner),
        ("", None) => format!("/subscriptions/{}", subscription(world, live)),
        (named, _) => named.to_owned(),
    }
}

/// The subscription of the control plane that the resource's cluster has. ASO would take it from a
/// credential, whose content is not read here.
fn subscription<'a>(world: World<'a>, live: Live<'_>) -> &'a str {
    let namespace = live.namespace();
    let owners = live.list(&["metadata", "ownerReferences"]).iter().map(Live);
    let mut clusters = owners.filter_map(|owner| {
        let name = owner.text(&["name"]);
        let id = ObjectId::new(INFRASTRUCTURE, owner.kind(), namespace, name);
        world.get(&id).present()
    });
    let cluster = clusters.next().map(|owner| owner.label(CLUSTER_NAME));
    let plane = cluster.and_then(|name| {
        let id = ObjectId::new(CONTROL_PLANE, "AROControlPlane", namespace, name);
        world.get(&id).present()
    });
    let subscription = plane.map_or("", |plane| plane.text(&["spec", "subscriptionID"]));
    if subscription.is_empty() {
        NO_SUBSCRIPTION
    } else {
        subscription
    }
}

/// A number in the form of a UUID, from words.
pub(super) fn uuid(words: &[&str]) -> String {
    let digest = Sha256::digest(words.join("\n").as_bytes());
    let parts = [0..4, 4..6, 6..8, 8..10, 10..16];
    parts.map(|part| hex(&digest[part])).join("-")
}
