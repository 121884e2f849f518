//! The names of everything a definition becomes, in Kubernetes and in Azure. The one table:
//!
//! | kind | Kubernetes | Azure, when it differs | Azure's limit |
//! |---|---|---|---|
//! | Cluster, AROCluster, AROControlPlane, HcpOpenShiftCluster | `C` | | 54 |
//! | ResourceGroup | `C-resgroup` | | 90 |
//! | the resource group Azure manages | | `capz_node_C_C-resgroup_rg` | 90 |
//! | VirtualNetwork | `P-vnet-S` | | 64 |
//! | NetworkSecurityGroup | `P-nsg-S` | | 80 |
//! | VirtualNetworksSubnet | `P-vnet-S-P-subnet-S` | `P-subnet-S` | 80 |
//! | VirtualNetworksSubnet (integration) | `P-vnet-S-P-integration-subnet-S` | `P-integration-subnet-S` | 80 |
//! | Vault | `P-kv-S` | | 24 |
//! | UserAssignedIdentity | `C-cp-<operator>-S`, `C-dp-<operator>-S`, `C-service-managed-identity-S` | | 128 |
//! | UserAssignedIdentity (Shared) | as above with `Q` for `S` | `<operator>`, `dp-<operator>`, `service` | 128 |
//! | ConfigMap of an identity | `identity-map-<identity>` | | |
//! | RoleAssignment | `<identity>-<role>-<scope>` | chosen by ASO | |
//! | HcpOpenShiftClustersExternalAuth | `C-ea` | | 15 |
//! | MachinePool, AROMachinePool, HcpOpenShiftClustersNodePool | `C-<pool>` | `P-<pool>` | 15 |
//! | Secret with the kubeconfig | `C-kubeconfig` | | |
//!
//! `C` is the definition's name, `P` is `C` cut to 14 characters, `S` the suffix; a `-` at the end of
//! a cut is cut too; `Q` are the digits at the end of the resource group's name that holds the shared
//! identities, else `P`: role assignments cannot change their principal, so another pool is another
//! name. Nothing is cut any further: what is too long is a finding (X01).
//! Source: facts/aro-controllers.md §7 and facts/aro-rules.md §1.7.

use sha2::{Digest, Sha256};

use super::identities::Identity;
use crate::api::cluster_definition::{ClusterDefinition, NodePool};
use crate::model::{Finding, Path, message};

/// The maximum length of the cluster's name in names that must be short.
const PREFIX: usize = 14;

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
    prefix: String,
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
    pub(super) fn of(definition: &ClusterDefinition) -> Self {
        let name = &definition.id.name;
        let (prefix, suffix) = (prefix(name), suffix(definition));
        let pool = definition.spec.managed_identities.pool();
        let identities = pool.map(|pool| pool_suffix(pool).unwrap_or(&prefix));
        let network = format!("{prefix}-vnet-{suffix}");
        let in_network = |azure: String| Named {
            kubernetes: format!("{network}-{azure}"),
            azure,
        };
        let resource_group = format!("{name}-resgroup");
        Self {
            cluster: name.clone(),
            managed_resource_group: format!("capz_node_{name}_{resource_group}_rg"),
            resource_group,
            security_group: format!("{prefix}-nsg-{suffix}"),
            subnet: in_network(format!("{prefix}-subnet-{suffix}")),
            integration_subnet: in_network(format!("{prefix}-integration-subnet-{suffix}")),
            vault: format!("{prefix}-kv-{suffix}"),
            external_auth: format!("{name}-ea"),
            kubeconfig: format!("{name}-kubeconfig"),
            identities: identities.unwrap_or(&suffix).to_owned(),
            network,
            prefix,
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

    pub(super) fn pool(&self, pool: &NodePool) -> Named {
        Named {
            kubernetes: format!("{}-{}", self.cluster, pool.name),
            azure: format!("{}-{}", self.prefix, pool.name),
        }
    }
}

/// The cluster's name, cut.
fn prefix(name: &str) -> String {
    let cut: String = name.chars().take(PREFIX).collect();
    cut.trim_end_matches('-').to_owned()
}

/// The digits at the end of a resource group's name.
fn pool_suffix(group: &str) -> Option<&str> {
    let name = group.trim_end_matches(|c: char| c.is_ascii_digit());
    Some(&group[name.len()..]).filter(|digits| !digits.is_empty())
}

/// The suffix that makes Azure names unique: given, or a digest of what names the cluster.
fn suffix(definition: &ClusterDefinition) -> String {
    if let Some(given) = &definition.spec.name_suffix {
        return given.clone();
    }
    let (id, subscription) = (&definition.id, &definition.spec.subscription_id);
    let whole = format!("{subscription}/{}/{}", id.namespace, id.name).to_lowercase();
    let digest = Sha256::digest(whole.as_bytes());
    digest[..3]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A finding for each name that Azure would refuse for its length.
pub(super) fn too_long(definition: &ClusterDefinition, names: &Names) -> Vec<Finding> {
    let auth = definition.spec.external_auth.as_ref();
    let mut made = vec![
        ("cluster", &names.cluster, 54, 1),
        ("resource group", &names.resource_group, 90, 1),
        (
            "managed resource group",
            &names.managed_resource_group,
            90,
            2,
        ),
    ];
    made.extend(auth.map(|_| ("external auth", &names.external_auth, 15, 1)));
    let long = made
        .into_iter()
        .filter(|(_, name, limit, _)| name.len() > *limit);
    let of_cluster = long.map(|(what, name, limit, times)| {
        let fixed = name.len() - times * definition.id.name.len();
        let help = format!(
            "shorten metadata.name to at most {} characters",
            (limit - fixed) / times
        );
        finding(
            definition,
            &Path::dotted("metadata.name"),
            what,
            name,
            limit,
        )
        .help(help)
    });
    let pools = definition.spec.node_pools.iter().enumerate();
    let of_pools = pools.filter_map(|(at, pool)| pool_too_long(definition, names, at, pool));
    of_cluster.chain(of_pools).collect()
}

fn pool_too_long(
    definition: &ClusterDefinition,
    names: &Names,
    at: usize,
    pool: &NodePool,
) -> Option<Finding> {
    const LIMIT: usize = 15;
    let name = names.pool(pool).azure;
    let limit = LIMIT.saturating_sub(names.prefix.len() + 1);
    let cluster = LIMIT.saturating_sub(pool.name.len() + 1);
    let shorten_pool = format!("shorten the pool's name to at most {limit} characters");
    let shorten_cluster = format!("shorten metadata.name to at most {cluster} characters");
    let help = match (limit, cluster) {
        (0, _) => shorten_cluster,
        (_, 0..3) => shorten_pool,
        _ => format!("{shorten_pool}, or {shorten_cluster}"),
    };
    let field = Path::dotted("spec.nodePools").index(at).key("name");
    (name.len() > LIMIT).then(|| finding(definition, &field, "node pool", &name, LIMIT).help(help))
}

fn finding(
    definition: &ClusterDefinition,
    field: &Path,
    what: &str,
    name: &str,
    limit: usize,
) -> Finding {
    let length = name.len();
    let message = message!(
        "the Azure name of the {what} is too long: `{name}` has {length} characters, more than {limit}",
        what,
        name
    );
    Finding::error("X01", message)
        .at(definition.node.nearest(field).span())
        .field(field)
        .of(&definition.id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::definition;
    use super::*;

    fn names(name: &str) -> (Names, Vec<String>) {
        let definition = definition(json!({"metadata": {"name": name}}));
        let names = Names::of(&definition);
        let found = too_long(&definition, &names);
        (names, found.into_iter().filter_map(|f| f.help).collect())
    }

    #[test]
    fn a_dash_at_the_end_of_a_cut_is_cut_too() {
        let (names, _) = names("production-uk-south");
        assert_eq!(names.prefix, "production-uk");
        assert_eq!(names.vault, format!("production-uk-kv-{}", names.suffix));
    }

    #[test]
    fn the_suffix_is_the_digest_of_what_names_the_cluster() {
        // printf 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/clusters/prod-uks-1 | sha256sum
        assert_eq!(names("prod-uks-1").0.suffix, "1ac7ad");
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
    fn the_longest_vault_name_has_azures_24_characters() {
        assert_eq!(names("a-name-of-thirty-three-characters").0.vault.len(), 24);
    }

    #[test]
    fn too_long_names_say_how_long_they_may_be() {
        let help = |name: &str| names(name).1;
        assert_eq!(help("prod-uks-1"), Vec::<String>::new());
        assert_eq!(
            help("prod-uksouth-1"),
            ["shorten metadata.name to at most 11 characters"]
        );
        assert_eq!(
            help("a-name-of-thirty-four-characters-x"),
            [
                "shorten metadata.name to at most 33 characters",
                "shorten metadata.name to at most 11 characters"
            ]
        );
    }

    #[test]
    fn an_external_auth_makes_names_shorter() {
        let definition = definition(json!({
            "metadata": {"name": "prod-uks-1234"},
            "spec": {"externalAuth": {"clientID": "x"}, "nodePools": [
                {"$patch": "replace"},
                {"name": "a", "version": "4.20.17", "vmSize": "Standard_D4s_v3"}
            ]},
        }));
        let names = Names::of(&definition);
        assert_eq!(names.external_auth, "prod-uks-1234-ea");
        let found = too_long(&definition, &names);
        assert!(found[0].message.contains("external auth"), "{found:?}");
        assert_eq!(
            found[0].help.as_deref(),
            Some("shorten metadata.name to at most 12 characters")
        );
    }
}
