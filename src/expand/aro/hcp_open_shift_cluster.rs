//! `HcpOpenShiftCluster`: the hosted control plane.

use super::blueprint::Blueprint;
use super::identities::{self, Plane, SERVICE};
use super::write::embedded;
use super::{network_security_group, vault, virtual_networks_subnet};
use crate::api::arm_version::ArmVersion;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::expand::node::node;
use crate::model::Node;

pub(super) fn resource(b: &Blueprint) -> Node {
    let spec = node!(b.origin(), {
        "azureName": &b.names.cluster,
        "location": b.value("location"),
        "owner": {"name": &b.names.resource_group},
        "operatorSpec": {
            "secrets": {
                "adminCredentials": {"name": &b.names.kubeconfig, "key": "value"},
            },
        },
        "identity": {
            "type": "UserAssigned",
            "userAssignedIdentities": assigned(b),
        },
        "properties": b.with(properties(b), "properties"),
        "tags": b.value("tags"),
    });
    embedded(
        b,
        [RED_HAT_OPENSHIFT, "HcpOpenShiftCluster", &b.names.cluster],
        spec,
    )
}

/// The identities that Azure itself uses: those of the nodes' operators are not among them.
fn assigned(b: &Blueprint) -> Vec<Node> {
    let azures = identities::of(Plane::Control).chain([&SERVICE]);
    azures
        .map(|identity| node!(b.origin(), {"reference": {"armId": b.identity_id(identity)}}))
        .collect()
}

fn properties(b: &Blueprint) -> Node {
    node!(b.origin(), {
        "version": {
            "id": b.value("version.id"),
            "channelGroup": b.value("version.channelGroup"),
        },
        "api": {
            "visibility": b.value("api.visibility"),
            "authorizedCidrs": b.value("api.authorizedCIDRs"),
        },
        "network": {
            "networkType": "OVNKubernetes",
            "machineCidr": b.value("network.machineCIDR"),
            "podCidr": b.value("network.podCIDR"),
            "serviceCidr": b.value("network.serviceCIDR"),
            "hostPrefix": b.value("network.hostPrefix"),
        },
        "platform": platform(b),
        "etcd": {
            "dataEncryption": {
                "keyManagementMode": "CustomerManaged",
                "customerManaged": {"encryptionType": "KMS", "kms": kms(b)},
            },
        },
        "clusterImageRegistry": {"state": b.value("clusterImageRegistry.state")},
        "dns": b.value("dnsBaseDomainPrefix").map(|prefix| node!(b.origin(), {"baseDomainPrefix": prefix})),
        "imageDigestMirrors": b.value("imageDigestMirrors"),
        "autoscaling": b.value("clusterAutoscaling"),
        "nodeDrainTimeoutMinutes": b.value("nodeDrainTimeoutMinutes"),
        "cryptoRestrictions": explicit(b, "None"),
        "ingress": explicit(b, "Public").map(|kind| node!(b.origin(), {"type": kind})),
    })
}

/// A default that the templates of cluster-api-installer write from 2026-09-01 on (facts/aro-2026-09-01.md
/// §1.4). Both fields exist since 2026-06-30; what is generated for that version stays as it was.
fn explicit(b: &Blueprint, default: &'static str) -> Option<Node> {
    let is_written = b.spec().arm_api_version >= ArmVersion::V20260901;
    is_written.then(|| b.text(default))
}

/// The managed resource group is always named: without a name, Azure generates a new one at every write
/// and then refuses the change.
fn platform(b: &Blueprint) -> Node {
    let subnet = |name| virtual_networks_subnet::reference(b, name);
    let integrated = b.spec().arm_api_version.has_integration_subnet();
    let integration = integrated.then(|| subnet(&b.names.integration_subnet));
    node!(b.origin(), {
        "managedResourceGroup": &b.names.managed_resource_group,
        "outboundType": "LoadBalancer",
        "networkSecurityGroupReference": network_security_group::reference(b),
        "subnetReference": subnet(&b.names.subnet),
        "vnetIntegrationSubnetReference": integration,
        "operatorsAuthentication": {
            "userAssignedIdentities": {
                "controlPlaneOperatorsReferences": b.operators(Plane::Control),
                "dataPlaneOperatorsReferences": b.operators(Plane::Data),
                "serviceManagedIdentityReference": {"armId": b.identity_id(&SERVICE)},
            },
        },
    })
}

/// The key. A version that is not specified is filled in by the controller, which needs an identity.
fn kms(b: &Blueprint) -> Node {
    let beside = b.spec().arm_api_version.names_vault_beside_key();
    let (vault_beside, vault_under) = match beside {
        true => (Some(vault::name(b)), None),
        false => (None, Some(vault::name(b))),
    };
    let visibility = b
        .value("etcd.encryption.vaultVisibility")
        .filter(|_| beside);
    node!(b.origin(), {
        "vaultName": vault_beside,
        "visibility": visibility,
        "activeKey": {
            "name": b.value("etcd.encryption.keyName"),
            "vaultName": vault_under,
            "version": b.value("etcd.encryption.keyVersion"),
        },
    })
}
