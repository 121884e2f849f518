//! An ARO HCP cluster: Cluster API's objects, the ARO objects, and the Azure resources in them.
//!
//! One file per kind, each of which reads like the YAML it makes; `names`, `identities` and `roles`
//! are the tables (DESIGN §4, facts/aro-controllers.md §7). Fields that only a controller knows are
//! not written.

mod aro_cluster;
mod aro_control_plane;
mod aro_machine_pool;
mod blueprint;
mod cluster;
mod hcp_open_shift_cluster;
mod hcp_open_shift_clusters_external_auth;
mod hcp_open_shift_clusters_node_pool;
mod identities;
mod machine_pool;
mod names;
mod network_security_group;
mod resource_group;
mod role_assignment;
mod roles;
mod user_assigned_identity;
mod vault;
mod virtual_network;
mod virtual_networks_subnet;
mod write;

#[cfg(test)]
mod tests;

use blueprint::Blueprint;

use crate::api::cluster_definition::{
    ClusterDefinition, ClusterDefinitionSpec, IdentityMode, Phase, Visibility,
};
use crate::model::{Finding, Object};

/// The cluster's objects in apply order, and what is wrong with what was asked for.
pub(super) fn expand(
    definition: &ClusterDefinition,
    spec: &ClusterDefinitionSpec,
) -> (Vec<Object>, Vec<Finding>) {
    let blueprint = Blueprint::of(definition, spec);
    let refused = refusals(&blueprint);
    if !refused.is_empty() {
        return (Vec::new(), refused);
    }
    (objects(&blueprint), Vec::new())
}

/// In the order they are applied: Cluster API sets owner references only once the Cluster is there.
fn objects(b: &Blueprint) -> Vec<Object> {
    if b.spec().phase == Phase::Infrastructure {
        return vec![aro_cluster::object(b), cluster::object(b)];
    }
    let mut objects = vec![aro_cluster::object(b), aro_control_plane::object(b)];
    objects.extend(b.pools.iter().map(|pool| aro_machine_pool::object(b, pool)));
    objects.push(cluster::object(b));
    objects.extend(b.pools.iter().map(|pool| machine_pool::object(b, pool)));
    objects
}

/// What was asked for and cannot be made.
fn refusals(b: &Blueprint) -> Vec<Finding> {
    let spec = b.spec();
    let identities = &spec.managed_identities;
    let shared = identities.mode == IdentityMode::Shared;
    let pool = (shared != identities.resource_group.is_some()).then(|| {
        b.values
            .refused(
                "managedIdentities",
                "managedIdentities has a resourceGroup with mode Shared, and only then",
            )
            .help("write {mode: Shared, resourceGroup: ...}, or leave both out: the cluster then has identities of its own")
    });
    let private = spec.etcd.encryption.vault_visibility == Visibility::Private;
    let vault = (private && !spec.arm_api_version.names_vault_beside_key()).then(|| {
        let arm = spec.arm_api_version.arm();
        b.values
            .refused(
                "etcd.encryption.vaultVisibility",
                &format!("ARM version {arm} cannot reach a private vault"),
            )
            .help("use armAPIVersion: 2025-12-23-preview or later")
    });
    let refused = pool.into_iter().chain(vault);
    refused
        .map(|finding| finding.of(&b.definition.id))
        .collect()
}
