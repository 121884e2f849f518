//! Constants of Azure Service Operator (ASO): its condition, its reasons, and how it classifies Azure's
//! error codes. Source: facts/aro-rules.md §1.3 and §1.5.
//!
//! In: nothing. Out: constants, and the severity of a reason. It does not know how to react to any of
//! them.

use crate::api::kinds::{
    KEYVAULT, MANAGED_IDENTITY, NETWORK, RED_HAT_OPENSHIFT, RESOURCES, is_aso,
};
use crate::model::{Node, ObjectId};

/// The keys of a Secret with a credential that say how it proves itself. The first that is there counts.
pub const PROOFS: [&str; 4] = [
    "AZURE_CLIENT_SECRET",
    "AZURE_CLIENT_CERTIFICATE",
    "AZURE_CLIENT_CERTIFICATE_PASSWORD",
    "AUTH_MODE",
];

/// The only condition type.
pub const READY: &str = "Ready";

/// Severity of a condition that only reports progress.
pub const INFO: &str = "Info";
/// Severity of a failure that ASO retries.
pub const WARNING: &str = "Warning";
/// Severity of a failure that ASO does not retry until the spec changes.
pub const ERROR: &str = "Error";

/// Azure has the resource as requested.
pub const SUCCEEDED: &str = "Succeeded";
/// ASO is working on it.
pub const RECONCILING: &str = "Reconciling";
/// ASO is deleting it in Azure.
pub const DELETING: &str = "Deleting";
/// The owner does not exist or is not ready.
pub const WAITING_FOR_OWNER: &str = "WaitingForOwner";
/// A referenced object does not exist or is not ready.
pub const REFERENCE_NOT_FOUND: &str = "ReferenceNotFound";
/// A Secret, or its key, does not exist.
pub const SECRET_NOT_FOUND: &str = "SecretNotFound";
/// A ConfigMap, or its key, does not exist.
pub const CONFIG_MAP_NOT_FOUND: &str = "ConfigMapNotFound";
/// The resource should already exist in Azure and does not.
pub const AZURE_RESOURCE_NOT_FOUND: &str = "AzureResourceNotFound";
/// ASO is waiting.
pub const RECONCILIATION_POSTPONED: &str = "ReconciliationPostponed";
/// An extension of ASO is waiting, for example until a deletion in Azure has finished.
pub const RECONCILIATION_BLOCKED: &str = "ReconciliationBlocked";
/// Azure rejected one field.
pub const INVALID_REQUEST_CONTENT: &str = "InvalidRequestContent";
/// Azure rejected several fields; ASO retries forever although only a change can help.
pub const MULTIPLE_ERRORS_OCCURRED: &str = "MultipleErrorsOccurred";

/// Part of the message of a rejected update after an ARO HCP cluster failed to provision; only deleting
/// the cluster helps.
pub const IN_STATE_ERROR: &str = "is in state 'error', can't update";

/// Part of what ARO HCP answers to the deletion of the only node pool of a cluster that stays: the pool goes with the
/// cluster.
pub const LAST_NODE_POOL: &str = "The last node pool can not be deleted from a cluster";

/// A failure that has no reason of its own, such as a deletion that Azure refuses.
pub const FAILED: &str = "Failed";

/// Reasons that mean: something else is missing.
pub const WAITING: &[&str] = &[
    WAITING_FOR_OWNER,
    REFERENCE_NOT_FOUND,
    SECRET_NOT_FOUND,
    CONFIG_MAP_NOT_FOUND,
    AZURE_RESOURCE_NOT_FOUND,
    RECONCILIATION_POSTPONED,
    RECONCILIATION_BLOCKED,
];

/// Reasons after which ASO stops until the spec changes: its own, and Azure's codes that it treats as fatal.
const FATAL: &[&str] = &[
    "ReconciliationFailedPermanently",
    "SubscriptionMismatch",
    INVALID_REQUEST_CONTENT,
    "InvalidResourceType",
    "InvalidTemplate",
    "InvalidValuesForRequestParameters",
    "LocationRequired",
    "MissingRequiredParameter",
    "PropertyChangeNotAllowed",
    "PasswordTooLong",
    "K8sVersionNotSupported",
];

/// The prefix of a family of fatal codes.
const FATAL_PREFIX: &str = "PrivateIPAddress";

/// The severity ASO gives a failure with this reason: [`ERROR`] for fatal ones, [`WARNING`] for retried and
/// unknown ones.
#[must_use]
pub fn severity(reason: &str) -> &'static str {
    match FATAL.contains(&reason) || reason.starts_with(FATAL_PREFIX) {
        true => ERROR,
        false => WARNING,
    }
}

/// The group and kind of the owner in `owner: {name}` of an ASO kind (facts/aro-rules.md §1.2).
#[must_use]
pub fn owner_kind(group: &str, kind: &str) -> Option<(&'static str, &'static str)> {
    match (group, kind) {
        (NETWORK, "VirtualNetworksSubnet" | "VirtualNetworksVirtualNetworkPeering") => {
            Some((NETWORK, "VirtualNetwork"))
        }
        (NETWORK, "PrivateEndpointsPrivateDnsZoneGroup") => Some((NETWORK, "PrivateEndpoint")),
        (NETWORK, kind) if kind.starts_with("PrivateDnsZones") => Some((NETWORK, "PrivateDnsZone")),
        (NETWORK, "NetworkSecurityGroupsSecurityRule") => Some((NETWORK, "NetworkSecurityGroup")),
        (NETWORK, "RouteTablesRoute") => Some((NETWORK, "RouteTable")),
        (
            RED_HAT_OPENSHIFT,
            "HcpOpenShiftClustersNodePool" | "HcpOpenShiftClustersExternalAuth",
        ) => Some((RED_HAT_OPENSHIFT, "HcpOpenShiftCluster")),
        (MANAGED_IDENTITY, "FederatedIdentityCredential") => {
            Some((MANAGED_IDENTITY, "UserAssignedIdentity"))
        }
        (NETWORK | KEYVAULT | MANAGED_IDENTITY | RED_HAT_OPENSHIFT, _) => {
            Some((RESOURCES, "ResourceGroup"))
        }
        _ => None,
    }
}

/// Whether resources of an ASO kind have tags.
#[must_use]
pub fn has_tags(group: &str, kind: &str) -> bool {
    match group {
        RESOURCES => kind == "ResourceGroup",
        NETWORK => [
            "VirtualNetwork",
            "NetworkSecurityGroup",
            "LoadBalancer",
            "NatGateway",
            "BastionHost",
            "PrivateEndpoint",
            "PrivateLinkService",
            "PrivateDnsZone",
            "PrivateDnsZonesVirtualNetworkLink",
        ]
        .contains(&kind),
        KEYVAULT => kind == "Vault",
        MANAGED_IDENTITY => kind == "UserAssignedIdentity",
        RED_HAT_OPENSHIFT => {
            ["HcpOpenShiftCluster", "HcpOpenShiftClustersNodePool"].contains(&kind)
        }
        _ => false,
    }
}

/// The name in Azure of an object of an ASO kind: `azureName`, or else its own name. ASO chooses the names of
/// role assignments.
#[must_use]
pub fn azure_name<'a>(id: &'a ObjectId, object: &'a Node) -> Option<&'a str> {
    let given = object.text(&["spec", "azureName"]);
    let named = is_aso(&id.group) && id.kind != "RoleAssignment";
    given
        .filter(|_| is_aso(&id.group))
        .or(named.then_some(&*id.name))
}

/// The Azure resource provider of an ASO kind, and the last part of its resource type
/// (facts/aro-rules.md §1.1).
#[must_use]
pub fn azure_type(group: &str, kind: &str) -> Option<(&'static str, &'static str)> {
    const TYPES: &[(&str, &str, &str, &str)] = &[
        (
            NETWORK,
            "VirtualNetwork",
            "Microsoft.Network",
            "virtualNetworks",
        ),
        (
            NETWORK,
            "VirtualNetworksSubnet",
            "Microsoft.Network",
            "subnets",
        ),
        (
            NETWORK,
            "NetworkSecurityGroup",
            "Microsoft.Network",
            "networkSecurityGroups",
        ),
        (
            NETWORK,
            "PrivateEndpoint",
            "Microsoft.Network",
            "privateEndpoints",
        ),
        (KEYVAULT, "Vault", "Microsoft.KeyVault", "vaults"),
        (
            MANAGED_IDENTITY,
            "UserAssignedIdentity",
            "Microsoft.ManagedIdentity",
            "userAssignedIdentities",
        ),
        (
            RED_HAT_OPENSHIFT,
            "HcpOpenShiftCluster",
            "Microsoft.RedHatOpenShift",
            "hcpOpenShiftClusters",
        ),
        (
            RED_HAT_OPENSHIFT,
            "HcpOpenShiftClustersNodePool",
            "Microsoft.RedHatOpenShift",
            "nodePools",
        ),
        (
            RED_HAT_OPENSHIFT,
            "HcpOpenShiftClustersExternalAuth",
            "Microsoft.RedHatOpenShift",
            "externalAuths",
        ),
        (
            "compute.azure.com",
            "DiskEncryptionSet",
            "Microsoft.Compute",
            "diskEncryptionSets",
        ),
    ];
    let row = TYPES.iter().find(|row| (row.0, row.1) == (group, kind));
    row.map(|row| (row.2, row.3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_follows_the_class_of_the_code() {
        let cases = [
            ("InvalidRequestContent", ERROR),
            ("PrivateIPAddressInUse", ERROR),
            ("SubscriptionMismatch", ERROR),
            ("AuthorizationFailed", WARNING),
            ("SkuNotAvailable", WARNING),
            ("MultipleErrorsOccurred", WARNING),
            ("SomethingNew", WARNING),
        ];
        for (reason, expected) in cases {
            assert_eq!(severity(reason), expected, "{reason}");
        }
    }
}
