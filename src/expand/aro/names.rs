//! The names of everything a definition becomes, in Kubernetes and in Azure. The one table:
//!
//! | kind | Kubernetes | Azure, when it differs | Azure's limit |
//! |---|---|---|---|
//! | Cluster, AROCluster, AROControlPlane, HcpOpenShiftCluster | `C` | | 54 |
//! | ResourceGroup | `C-resgroup` | | 90 |
//! | the resource group Azure manages | | `capz_node_C_C-resgroup_rg`, or `capz_node_C_rg` if that is too long | 90 |
//! | VirtualNetwork | `P-vnet-S` | | 64 |
//! | NetworkSecurityGroup | `P-nsg-S` | | 80 |
//! | VirtualNetworksSubnet | `P-vnet-S-P-subnet-S` | `P-subnet-S` | 80 |
//! | VirtualNetworksSubnet (integration) | `P-vnet-S-P-integration-subnet-S` | `P-integration-subnet-S` | 80 |
//! | Vault | `P-kv-S` | | 24 |
//! | UserAssignedIdentity | `C-cp-<operator>-S`, `C-dp-<operator>-S`, `C-service-managed-identity-S` | | 128 |
//! | UserAssignedIdentity (Shared) | as above with `Q` for `S` | `<operator>`, `dp-<operator>`, `service` | 128 |
//! | ConfigMap of an identity | `identity-map-<identity>` | | |
//! | RoleAssignment | `<identity>-<role>-<scope>` | chosen by ASO | |
//! | HcpOpenShiftClustersExternalAuth | `C-ea` | `externalAuth.azureName`, `ea` by default | 15 |
//! | MachinePool, AROMachinePool, HcpOpenShiftClustersNodePool | `C-<pool>` | the pool's `azureName`, `<pool>` by default | 15 |
//! | Secret with the kubeconfig | `C-kubeconfig` | | |
//!
//! `C` is the definition's name, `P` is `C` cut to 14 characters, `S` the suffix; a `-` at the end of
//! a cut is cut too; `Q` are the digits at the end of the resource group's name that holds the shared
//! identities, else `P`: role assignments cannot change their principal, so another pool is another
//! name. Nothing is cut any further: with at most 54 characters for `C`, which the schema asks for, all
//! of it fits. The names in Azure of node pools and external auths are unique only within their
//! cluster, so they are short and do not contain `C`; the rules N01 and E01 check them.
//! Source: facts/aro-controllers.md §7 and facts/aro-rules.md §1.7.

use sha2::{Digest, Sha256};

use super::identities::Identity;
use crate::api::cluster_definition::{ClusterDefinitionSpec, NodePool};
use crate::model::{ObjectId, hex};

/// The maximum length of the cluster's name in names that must be short.
const PREFIX: usize = 14;

/// The maximum length of a resource group's name.
const RESOURCE_GROUP: usize = 90;

/// The names of one cluster.
pub(super) struct Names {
    pub(super) cluster: String,
    pub(super) resource_group: String,
    pub(super) managed_resource_group: String,
    pub(super) network: String,
    pub(super) security_group: String,
    pub(super) subnet: Named,
    pub(super) integration_subnet: Named,
    pub(super) vault: String,
    pub(super) external_auth: String,
    pub(super) kubeconfig: String,
    suffix: String,
    /// The end of the names of identities.
    identities: String,
}

/// A name that differs between Kubernetes and Azure.
pub(super) struct Named {
    pub(super) kubernetes: String,
    pub(super) azure: String,
}

impl Names {
    pub(super) fn of(id: &ObjectId, spec: &ClusterDefinitionSpec) -> Self {
        let name = &id.name;
        let (prefix, suffix) = (prefix(name), suffix(id, spec));
        let pool = spec.managed_identities.pool();
        let identities = pool.map(|pool| pool_suffix(pool).unwrap_or(&prefix));
        let network = format!("{prefix}-vnet-{suffix}");
        let in_network = |azure: String| Named {
            kubernetes: format!("{network}-{azure}"),
            azure,
        };
        let resource_group = format!("{name}-resgroup");
        Self {
            cluster: name.clone(),
            managed_resource_group: managed(name, &resource_group),
            resource_group,
            security_group: format!("{prefix}-nsg-{suffix}"),
            subnet: in_network(format!("{prefix}-subnet-{suffix}")),
            integration_subnet: in_network(format!("{prefix}-integration-subnet-{suffix}")),
            vault: format!("{prefix}-kv-{suffix}"),
            external_auth: format!("{name}-ea"),
            kubeconfig: format!("{name}-kubeconfig"),
            identities: identities.unwrap_or(&suffix).to_owned(),
            network,
            suffix,
        }
    }

    pub(super) fn identity(&self, identity: &Identity) -> String {
        format!("{}-{}-{}", self.cluster, identity.stem(), self.identities)
    }

    /// The ConfigMap that an identity's ids are written to.
    pub(super) fn identity_map(&self, identity: &Identity) -> String {
        format!("identity-map-{}", self.identity(identity))
    }

    /// The principal that makes the key, as names of role assignments have it.
    pub(super) fn key_officer(&self) -> String {
        format!("{}-key-officer-{}", self.cluster, self.suffix)
    }

    pub(super) fn pool(&self, pool: &NodePool) -> String {
        format!("{}-{}", self.cluster, pool.name)
    }
}

/// The cluster's name, cut.
fn prefix(name: &str) -> String {
    let cut: String = name.chars().take(PREFIX).collect();
    cut.trim_end_matches('-').to_owned()
}

/// The resource group that Azure creates for the cluster's machines.
fn managed(name: &str, resource_group: &str) -> String {
    let long = format!("capz_node_{name}_{resource_group}_rg");
    match long.len() <= RESOURCE_GROUP {
        true => long,
        false => format!("capz_node_{name}_rg"),
    }
}

/// The digits at the end of a resource group's name.
fn pool_suffix(group: &str) -> Option<&str> {
    let name = group.trim_end_matches(|c: char| c.is_ascii_digit());
    group.strip_prefix(name).filter(|digits| !digits.is_empty())
}

/// The suffix that makes Azure names unique: given, or a digest of what names the cluster.
fn suffix(id: &ObjectId, spec: &ClusterDefinitionSpec) -> String {
    if let Some(given) = &spec.name_suffix {
        return given.clone();
    }
    let subscription = &spec.subscription_id;
    let whole = format!("{subscription}/{}/{}", id.namespace, id.name).to_lowercase();
    let digest = Sha256::digest(whole.as_bytes());
    hex(&digest[..3])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use serde_json::json;

    use super::super::tests::definition;
    use super::*;
    use crate::api::cluster_definition::{ClusterDefinition, Spec};

    fn aro(definition: &ClusterDefinition) -> &ClusterDefinitionSpec {
        match &definition.spec {
            Spec::Aro(spec) => spec,
            Spec::HyperShift(_) => panic!("it is one of ARO"),
        }
    }

    fn names(name: &str) -> Names {
        let definition = definition(json!({"metadata": {"name": name}}));
        Names::of(&definition.id, aro(&definition))
    }

    fn suffix(definition: &ClusterDefinition) -> String {
        super::suffix(&definition.id, aro(definition))
    }

    #[test]
    fn a_dash_at_the_end_of_a_cut_is_cut_too() {
        let names = names("production-uk-south");
        assert_eq!(names.vault, format!("production-uk-kv-{}", names.suffix));
    }

    #[test]
    fn the_suffix_is_the_digest_of_what_names_the_cluster() {
        // printf 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/clusters/prod-uks-1 | sha256sum
        assert_eq!(names("prod-uks-1").suffix, "1ac7ad");
        let given = definition(json!({"spec": {"nameSuffix": "a1b2c3"}}));
        assert_eq!(suffix(&given), "a1b2c3");
    }

    #[test]
    fn the_letter_case_of_a_subscription_does_not_rename_anything() {
        let upper = definition(json!({
            "spec": {"subscriptionID": "3F0C7D3E-52A4-4B6B-9A51-2F1F0D9C7A10"}
        }));
        assert_eq!(suffix(&upper), suffix(&definition(json!({}))));
    }

    #[test]
    fn the_longest_name_of_a_cluster_gives_names_that_azure_takes() {
        let name = format!("a{}", "b".repeat(53));
        let names = names(&name);
        let identity = |identity| names.identity(identity).len();
        let longest = super::super::identities::IDENTITIES
            .iter()
            .map(identity)
            .max();
        for (length, limit) in [
            (names.cluster.len(), 54),
            (names.resource_group.len(), 90),
            (names.managed_resource_group.len(), 90),
            (names.network.len(), 64),
            (names.security_group.len(), 80),
            (names.subnet.azure.len(), 80),
            (names.integration_subnet.azure.len(), 80),
            (names.vault.len(), 24),
            (longest.unwrap_or_default(), 128),
        ] {
            assert!(length <= limit, "{length} of {limit}");
        }
    }

    #[test]
    fn the_managed_resource_group_keeps_its_name_as_long_as_it_fits() {
        let group = |length| names(&"a".repeat(length)).managed_resource_group;
        assert_eq!(group(33).len(), 89);
        let name = "a".repeat(34);
        assert_eq!(group(34), format!("capz_node_{name}_rg"));
    }
}
