//! K03 and K04: who may reach a vault, and what gives them the right to.

use std::cell::OnceCell;

use super::kept::{Kept, kept};
use crate::api::kinds;
use crate::model::{Finding, Severity, Value, message};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::cluster::roles::Assignments;

/// K03: the service can reach a vault through its public endpoint. A vault with a firewall may let it in.
pub(super) fn public_vaults_can_be_reached(world: &World<'_>) -> Vec<Finding> {
    let public = kept(world).filter(|one| one.visibility().text() == Some("Public"));
    let fault = |one: Kept<'_>| {
        let (cluster, properties) = (one.cluster, one.vault?.field("spec.properties"));
        let access = properties.key("publicNetworkAccess");
        let firewall = properties.key("networkAcls").key("defaultAction");
        let help = "set the visibility of the key to Private (vaultVisibility in a definition), or open the vault";
        if is(&access, "Disabled") {
            let message = message!(
                "{cluster} reads its key through the public endpoint of this vault, which is disabled",
                cluster = cluster.id
            );
            return Some(access.finding("K03", message).help(help));
        }
        let message = message!(
            "{cluster} reads its key through the public endpoint of this vault, whose firewall denies access by default",
            cluster = cluster.id
        );
        let finding = || Finding {
            severity: Severity::Warning,
            ..firewall.finding("K03", message).help(help)
        };
        is(&firewall, "Deny").then(finding)
    };
    public.filter_map(fault).collect()
}

fn is(field: &Field<'_>, word: &str) -> bool {
    field
        .text()
        .is_some_and(|text| text.eq_ignore_ascii_case(word))
}

/// K04: a vault accepts roles if the operator that uses the key has only a role.
pub(super) fn vaults_accept_roles(world: &World<'_>) -> Vec<Finding> {
    let assignments = OnceCell::new();
    let fault = |one: Kept<'_>| {
        let vault = one.vault.filter(|vault| ignores_roles(vault))?;
        let assignments = assignments.get_or_init(|| Assignments::of(world));
        let field = vault.field("spec.properties.enableRbacAuthorization");
        let message = message!(
            "{cluster} gets its right to use the key from a RoleAssignment, but this vault ignores roles",
            cluster = one.cluster.id
        );
        let help = "set `enableRbacAuthorization: true`; without it, only the access policies of the vault count";
        let by_role = assignments.give_the_key_to(world, one.cluster, vault);
        by_role.then(|| field.finding("K04", message).help(help))
    };
    kept(world).filter_map(fault).collect()
}

/// Whether a vault ignores roles and has no access policies either. Without a value, the known versions ignore roles;
/// a later version may have another default.
fn ignores_roles(vault: &Resource<'_>) -> bool {
    let properties = vault.field("spec.properties");
    let field = properties.key("enableRbacAuthorization");
    let ignores = match field.node.map(|node| &node.value) {
        Some(Value::Bool(accepts)) => !accepts,
        None | Some(Value::Null) => {
            let known = kinds::find(&vault.id.group, &vault.id.kind);
            known.is_some_and(|kind| kind.versions.contains(&&*vault.version))
        }
        Some(_) => false,
    };
    ignores && properties.key("accessPolicies").items().next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of_fleet;

    /// A cluster and its vault with these properties, and maybe a role on it.
    fn fleet(visibility: &str, vault: &str, on: &str) -> String {
        let role = |on: &str| {
            format!(
                "---\n{{apiVersion: authorization.azure.com/v1api20220401, kind: RoleAssignment, metadata: {{name: r}}, spec: {{owner: {on}, principalId: p, roleDefinitionReference: {{armId: /x/12338af0-0e69-4776-bea7-57ae8d297424}}}}}}\n"
            )
        };
        let role = if on.is_empty() {
            String::new()
        } else {
            role(on)
        };
        format!(
            "{{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {{name: c}}, spec: {{properties: {{etcd: {{dataEncryption: {{customerManaged: {{kms: {{vaultName: My-Vault, visibility: {visibility}, activeKey: {{name: k}}}}}}}}}}, platform: {{operatorsAuthentication: {{userAssignedIdentities: {{controlPlaneOperatorsReferences: {{kms: {{armId: /subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/kms}}}}}}}}}}}}}}}}\n---\n{{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {{name: v}}, spec: {{azureName: my-vault, owner: {{armId: /subscriptions/s/resourceGroups/g}}, properties: {{{vault}}}}}}}\n{role}"
        )
    }

    #[test]
    fn a_public_vault_is_open() {
        for (visibility, vault, expected) in [
            ("Public", "publicNetworkAccess: Enabled", 0),
            ("Public", "publicNetworkAccess: disabled", 1),
            ("Private", "publicNetworkAccess: Disabled", 0),
            ("Public", "networkAcls: {defaultAction: Deny}", 1),
            ("Public", "networkAcls: {defaultAction: Allow}", 0),
            (
                "Public",
                "publicNetworkAccess: Disabled, networkAcls: {defaultAction: Deny}",
                1,
            ),
        ] {
            let found =
                findings_of_fleet(public_vaults_can_be_reached, &fleet(visibility, vault, ""));
            assert_eq!(found.len(), expected, "{visibility} {vault}: {found:?}");
        }
    }

    #[test]
    fn a_role_needs_a_vault_that_accepts_roles() {
        let on = "{group: keyvault.azure.com, kind: Vault, name: v}";
        let elsewhere = "{armId: /subscriptions/s/resourceGroups/other}";
        for (vault, on, expected) in [
            ("enableRbacAuthorization: true", on, 0),
            ("enableRbacAuthorization: false", on, 1),
            ("sku: {}", on, 1),
            ("enableRbacAuthorization: false", "", 0),
            ("enableRbacAuthorization: false", elsewhere, 0),
            ("accessPolicies: [{objectId: kms}]", on, 0),
        ] {
            let found = findings_of_fleet(vaults_accept_roles, &fleet("Public", vault, on));
            assert_eq!(found.len(), expected, "{vault} {on}: {found:?}");
        }
        let later = fleet("Public", "sku: {}", on).replace("v1api20230701", "v20260201");
        assert_eq!(findings_of_fleet(vaults_accept_roles, &later), [""; 0]);
    }
}
