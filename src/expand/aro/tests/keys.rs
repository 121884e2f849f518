//! The key of etcd, and the vault that it is in.

use super::*;

#[test]
fn the_older_api_names_the_vault_under_the_key() {
    let kms = "spec.properties.etcd.dataEncryption.customerManaged.kms";
    let of = |version: &str| {
        let objects = expanded(json!({"armAPIVersion": version, "nameSuffix": "a1b2c3"}));
        let hcp = embedded_of(&objects, "HcpOpenShiftCluster").remove(0);
        (hcp.version.clone(), json_at(&hcp, kms))
    };
    let key = "etcd-data-kms-encryption-key";
    assert_eq!(
        of("2024-06-10-preview"),
        (
            "v1api20240610preview".to_owned(),
            json!({"activeKey": {"name": key, "vaultName": "prod-uks-1-kv-a1b2c3"}})
        )
    );
    assert_eq!(
        of("2026-06-30-preview"),
        (
            "v1api20260630preview".to_owned(),
            json!({
                "vaultName": "prod-uks-1-kv-a1b2c3",
                "visibility": "Public",
                "activeKey": {"name": key},
            })
        )
    );
}

#[test]
fn without_an_identity_the_key_version_is_written_and_the_credential_named_everywhere() {
    let objects = expanded(json!({
        "identityRef": null,
        "credentialFrom": "aso-credential",
        "etcd": {"encryption": {"keyVersion": "0123456789abcdef"}},
    }));
    let control_plane = object(&objects, "AROControlPlane");
    assert!(at(control_plane, "spec.identityRef").is_none());
    let key = "spec.properties.etcd.dataEncryption.customerManaged.kms.activeKey.version";
    let hcp = embedded_of(&objects, "HcpOpenShiftCluster").remove(0);
    assert_eq!(json_at(&hcp, key), "0123456789abcdef");
    for (_, resource) in objects.iter().flat_map(embedded::resources) {
        let credential = resource.annotation("serviceoperator.azure.com/credential-from");
        assert_eq!(credential, Some("aso-credential"), "{}", resource.id);
    }
}

#[test]
fn a_vault_that_exists_is_named_by_its_arm_id() {
    let vault = json!({"name": "shared-kv", "resourceGroup": "vaults"});
    let objects = expanded(json!({"etcd": {"encryption": {"vault": vault}}}));
    assert_eq!(embedded_of(&objects, "Vault"), []);
    let hcp = embedded_of(&objects, "HcpOpenShiftCluster").remove(0);
    let name = "spec.properties.etcd.dataEncryption.customerManaged.kms.vaultName";
    assert_eq!(json_at(&hcp, name), "shared-kv");
    let roles = embedded_of(&objects, "RoleAssignment");
    let by_id: Vec<_> = roles
        .iter()
        .map(|role| json_at(role, "spec.owner"))
        .collect();
    let id = "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/vaults/providers/Microsoft.KeyVault/vaults/shared-kv";
    assert_eq!(
        by_id
            .iter()
            .filter(|owner| **owner == json!({"armId": id}))
            .count(),
        1
    );
}

#[test]
fn who_makes_the_key_gets_a_role_on_the_vault() {
    let officer = "11111111-2222-3333-4444-555555555555";
    let encryption = json!({"keyOfficerPrincipalID": officer});
    let objects = expanded(json!({"etcd": {"encryption": encryption}, "nameSuffix": "a1b2c3"}));
    let role = embedded_of(&objects, "RoleAssignment")
        .pop()
        .expect("roles");
    assert_eq!(
        json_at(&role, "spec"),
        json!({
            "owner": {"group": "keyvault.azure.com", "kind": "Vault", "name": "prod-uks-1-kv-a1b2c3"},
            "principalId": officer,
            "principalType": "ServicePrincipal",
            "roleDefinitionReference": {"armId": "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/providers/Microsoft.Authorization/roleDefinitions/14b46e9e-c2b7-41b4-b07b-48a6ebf60603"},
        })
    );
}
