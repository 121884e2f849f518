//! Words of Azure Service Operator (ASO): its one condition, the reasons it gives, and how it takes
//! Azure's error codes. Source: facts/aro-rules.md §1.3 and §1.5.
//!
//! In: nothing. Out: constants, and the class of a reason. It does not know what anybody does about
//! them.

use crate::api::kinds::{KEYVAULT, MANAGED_IDENTITY, NETWORK, RED_HAT_OPENSHIFT, RESOURCES};

/// The only condition type.
pub const READY: &str = "Ready";

/// Severity of a condition that only says what is going on.
pub const INFO: &str = "Info";
/// Severity of a failure that ASO retries.
pub const WARNING: &str = "Warning";
/// Severity of a failure that ASO does not retry before the spec changes.
pub const ERROR: &str = "Error";

/// Azure has what was asked for.
pub const SUCCEEDED: &str = "Succeeded";
/// ASO works on it.
pub const RECONCILING: &str = "Reconciling";
/// ASO deletes it in Azure.
pub const DELETING: &str = "Deleting";
/// The owner is absent or not ready.
pub const WAITING_FOR_OWNER: &str = "WaitingForOwner";
/// An object named by a reference is absent or not ready.
pub const REFERENCE_NOT_FOUND: &str = "ReferenceNotFound";
/// A Secret, or its key, is absent.
pub const SECRET_NOT_FOUND: &str = "SecretNotFound";
/// A ConfigMap, or its key, is absent.
pub const CONFIG_MAP_NOT_FOUND: &str = "ConfigMapNotFound";
/// The resource that should be there already is not.
pub const AZURE_RESOURCE_NOT_FOUND: &str = "AzureResourceNotFound";
/// ASO holds back for now.
pub const RECONCILIATION_POSTPONED: &str = "ReconciliationPostponed";
/// An extension of ASO holds it back, for example while Azure still deletes.
pub const RECONCILIATION_BLOCKED: &str = "ReconciliationBlocked";
/// Azure refused one field.
pub const INVALID_REQUEST_CONTENT: &str = "InvalidRequestContent";
/// Azure refused several fields; ASO retries it for ever although only a change can help.
pub const MULTIPLE_ERRORS_OCCURRED: &str = "MultipleErrorsOccurred";

/// What the message of a refused update says once an ARO HCP cluster failed to come up; nothing but
/// deleting it helps.
pub const IN_STATE_ERROR: &str = "is in state 'error', can't update";

/// Reasons that say: something else is missing.
pub const WAITING: &[&str] = &[
    WAITING_FOR_OWNER,
    REFERENCE_NOT_FOUND,
    SECRET_NOT_FOUND,
    CONFIG_MAP_NOT_FOUND,
    AZURE_RESOURCE_NOT_FOUND,
    RECONCILIATION_POSTPONED,
    RECONCILIATION_BLOCKED,
];

/// Reasons that stop ASO until the spec changes: its own, and Azure's codes that it takes as fatal.
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

/// How each code of this family begins.
const FATAL_PREFIX: &str = "PrivateIPAddress";

/// The severity ASO gives a failure with this reason: [`ERROR`] for fatal ones, [`WARNING`] for
/// those it retries and those it does not know.
#[must_use]
pub fn severity(reason: &str) -> &'static str {
    match FATAL.contains(&reason) || reason.starts_with(FATAL_PREFIX) {
        true => ERROR,
        false => WARNING,
    }
}

/// The group and kind that `owner: {name}` means for an ASO kind (facts/aro-rules.md §1.2).
#[must_use]
pub fn owner_kind(group: &str, kind: &str) -> Option<(&'static str, &'static str)> {
    match (group, kind) {
        (NETWORK, "VirtualNetworksSubnet" | "VirtualNetworksVirtualNetworkPeering") => {
            Some((NETWORK, "VirtualNetwork"))
        }
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

/// The provider of an ASO kind in Azure, and its type there, of what it is inside its parent
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
