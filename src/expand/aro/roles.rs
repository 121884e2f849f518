//! Who may do what where: the role assignments of a cluster.
//!
//! Source: facts/aro-controllers.md §7 and facts/aro-rules.md §4.1. The names of roles and their
//! GUIDs are Azure's built-in role definitions.

use super::identities::{self, Identity, Plane};
use crate::api::embedded;

/// One of Azure's built-in roles.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Role {
    /// What names of role assignments call it.
    pub(super) word: &'static str,
    /// Its role definition.
    pub(super) guid: &'static str,
}

/// What a role is given on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Network,
    Subnet,
    IntegrationSubnet,
    SecurityGroup,
    Vault,
    Identity(&'static Identity),
}

impl Scope {
    /// What names of role assignments call it.
    pub(super) fn word(self) -> String {
        match self {
            Self::Network => "vnet".to_owned(),
            Self::Subnet => "subnet".to_owned(),
            Self::IntegrationSubnet => "intsubnet".to_owned(),
            Self::SecurityGroup => "nsg".to_owned(),
            Self::Vault => "keyvault".to_owned(),
            Self::Identity(identity) => identity.word(),
        }
    }
}

/// A role of an identity on a scope.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) principal: &'static Identity,
    pub(super) role: &'static Role,
    pub(super) scope: Scope,
}

const fn role(word: &'static str, guid: &'static str) -> Role {
    Role { word, guid }
}

const CLUSTER_API_PROVIDER: Role = role(
    "hcpclusterapiproviderroleid",
    "88366f10-ed47-4cc0-9fab-c8a06148393e",
);
const CONTROL_PLANE_OPERATOR: Role = role(
    "hcpcontrolplaneoperatorroleid",
    "fc0c873f-45e9-4d0d-a7d1-585aab30c6ed",
);
const CLOUD_CONTROLLER_MANAGER: Role = role(
    "cloudcontrollermanagerroleid",
    "a1f96423-95ce-4224-ab27-4e3dc72facd4",
);
const INGRESS_OPERATOR: Role = role(
    "ingressoperatorroleid",
    "0336e1d3-7a87-462b-b6db-342b63f7802c",
);
const FILE_STORAGE_OPERATOR: Role = role(
    "filestorageoperatorroleid",
    "0d7aedc0-15fd-4a67-a412-efad370c947e",
);
const NETWORK_OPERATOR: Role = role(
    "networkoperatorroleid",
    "be7a6435-15ae-4171-8f30-4a343eff9e8f",
);
const KEY_VAULT_CRYPTO_USER: Role = role(
    "keyvaultcryptouserroleid",
    "12338af0-0e69-4776-bea7-57ae8d297424",
);
const SERVICE_MANAGED_IDENTITY: Role = role(
    "hcpservicemanagedidentityroleid",
    "c0ff367d-66d8-445e-917c-583feb0ef0d4",
);
const READER: Role = role("readerroleid", "acdd72a7-3385-48ef-bd42-f606fba81ae7");
const FEDERATED_CREDENTIALS: Role = role(
    "federatedcredentialsroleid",
    "ef318e2a-8334-4a05-9e4a-295a196c6a6e",
);
/// For who makes the key, when the definition names that principal.
pub(super) const KEY_VAULT_CRYPTO_OFFICER: Role = role(
    "keyvaultcryptoofficerroleid",
    embedded::KEY_VAULT_CRYPTO_OFFICER,
);

/// What every operator may do, and the service on the network. The disk and image registry operators
/// need nothing: Azure gives them their roles in the resource group that it manages.
const NETWORK_ROLES: &[(&Identity, &Role, &[Scope])] = &[
    (
        &identities::CLUSTER_API,
        &CLUSTER_API_PROVIDER,
        &[Scope::Subnet],
    ),
    (
        &identities::CONTROL_PLANE,
        &CONTROL_PLANE_OPERATOR,
        &[Scope::Network, Scope::SecurityGroup],
    ),
    (
        &identities::CLOUD_CONTROLLER_MANAGER,
        &CLOUD_CONTROLLER_MANAGER,
        &[Scope::Subnet, Scope::SecurityGroup],
    ),
    (&identities::INGRESS, &INGRESS_OPERATOR, &[Scope::Subnet]),
    (
        &identities::FILE_CSI,
        &FILE_STORAGE_OPERATOR,
        &[Scope::Subnet, Scope::SecurityGroup],
    ),
    (
        &identities::DATA_FILE_CSI,
        &FILE_STORAGE_OPERATOR,
        &[Scope::Subnet, Scope::SecurityGroup],
    ),
    (
        &identities::CLOUD_NETWORK_CONFIG,
        &NETWORK_OPERATOR,
        &[Scope::Subnet, Scope::Network],
    ),
    (&identities::KMS, &KEY_VAULT_CRYPTO_USER, &[Scope::Vault]),
    (
        &identities::SERVICE,
        &SERVICE_MANAGED_IDENTITY,
        &[
            Scope::Network,
            Scope::Subnet,
            Scope::IntegrationSubnet,
            Scope::SecurityGroup,
        ],
    ),
];

/// Every role assignment of a cluster, in the order they are made; the integration subnet's only
/// where there is one.
pub(super) fn assignments(integration_subnet: bool) -> Vec<Assignment> {
    let on_network = NETWORK_ROLES.iter().flat_map(|(principal, role, scopes)| {
        scopes.iter().map(|scope| Assignment {
            principal,
            role,
            scope: *scope,
        })
    });
    on_network
        .filter(|assignment| integration_subnet || assignment.scope != Scope::IntegrationSubnet)
        .chain(on_identities(Plane::Control, &READER))
        .chain(on_identities(Plane::Data, &FEDERATED_CREDENTIALS))
        .collect()
}

/// What the service may do with the identities of a plane.
fn on_identities(plane: Plane, role: &'static Role) -> impl Iterator<Item = Assignment> {
    identities::of(plane).map(move |identity| Assignment {
        principal: &identities::SERVICE,
        role,
        scope: Scope::Identity(identity),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_29_and_28_without_the_integration_subnet() {
        assert_eq!(assignments(true).len(), 29);
        assert_eq!(assignments(false).len(), 28);
    }

    #[test]
    fn no_assignment_is_made_twice() {
        let all = assignments(true);
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{one:?}");
        }
    }
}
