//! `RoleAssignment`: what each identity may do. Its owner is the scope of the role.
//!
//! With shared identities, a role on a resource in the cluster's resource group is deleted with that
//! group, and a role on any other resource is deleted with the cluster.

use super::blueprint::Blueprint;
use super::roles::{self, Assignment, KEY_VAULT_CRYPTO_OFFICER, Role, Scope};
use super::write::{detached, embedded, reference};
use super::{network_security_group, user_assigned_identity, vault, virtual_networks_subnet};
use crate::api::kinds::{AUTHORIZATION, NETWORK};
use crate::expand::node::node;
use crate::model::Node;

const KIND: &str = "RoleAssignment";

/// Those of the operators, and that of who makes the key when the definition names it.
pub(super) fn resources(b: &Blueprint) -> Vec<Node> {
    let integrated = b.spec().arm_api_version.has_integration_subnet();
    let assignments = roles::assignments(integrated).into_iter();
    let of_operators = assignments.map(|assignment| resource(b, &assignment));
    of_operators.chain(key_officer(b)).collect()
}

fn resource(b: &Blueprint, assignment: &Assignment) -> Node {
    let Assignment {
        principal,
        role,
        scope,
    } = assignment;
    let identity = b.names.identity(principal);
    let spec = node!(b.origin(), {
        "owner": owner(b, *scope),
        "principalIdFromConfig": {
            "name": b.names.identity_map(principal),
            "key": "principalId",
        },
        "principalType": "ServicePrincipal",
        "roleDefinitionReference": {"armId": definition(b, role)},
    });
    let name = format!("{identity}-{}-{}", role.word, scope.word());
    assigned(b, *scope, &name, spec)
}

fn assigned(b: &Blueprint, scope: Scope, name: &str, spec: Node) -> Node {
    let shared = b.spec().managed_identities.pool().is_some();
    let stays = match scope {
        Scope::Identity(_) => true,
        Scope::Vault => b.spec().etcd.encryption.vault.is_some(),
        _ => false,
    };
    let frame = if shared && !stays { detached } else { embedded };
    frame(b, [AUTHORIZATION, KIND, name], spec)
}

fn key_officer(b: &Blueprint) -> Option<Node> {
    let principal = b.value("etcd.encryption.keyOfficerPrincipalID")?;
    let (role, scope) = (&KEY_VAULT_CRYPTO_OFFICER, Scope::Vault);
    let spec = node!(b.origin(), {
        "owner": owner(b, scope),
        "principalId": principal,
        "principalType": "ServicePrincipal",
        "roleDefinitionReference": {"armId": definition(b, role)},
    });
    let name = format!("{}-{}-{}", b.names.key_officer(), role.word, scope.word());
    Some(assigned(b, scope, &name, spec))
}

fn definition(b: &Blueprint, role: &Role) -> Node {
    b.in_subscription(&format!(
        "providers/Microsoft.Authorization/roleDefinitions/{}",
        role.guid
    ))
}

fn owner(b: &Blueprint, scope: Scope) -> Node {
    match scope {
        Scope::Network => reference(b, NETWORK, "VirtualNetwork", &b.names.network),
        Scope::Subnet => virtual_networks_subnet::reference(b, &b.names.subnet),
        Scope::IntegrationSubnet => {
            virtual_networks_subnet::reference(b, &b.names.integration_subnet)
        }
        Scope::SecurityGroup => network_security_group::reference(b),
        Scope::Vault => vault::scope(b),
        Scope::Identity(identity) => user_assigned_identity::scope(b, identity),
    }
}
