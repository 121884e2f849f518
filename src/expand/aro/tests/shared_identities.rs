//! What is rendered for clusters that share the identities of a pool.

use serde_json::{Value as Json, json};

use super::{OVER, at, embedded_of, expanded, json_at};
use crate::model::Object;

const POOL: &str = "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/msi-pool-07";

/// The ARM id of an identity of the pool, as Azure writes those.
fn shared_id(name: &str) -> String {
    let group = POOL.replace("resourceGroups", "resourcegroups");
    format!("{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}")
}

/// Who keeps its resource in Azure when its object goes.
fn is_detached(resource: &Object) -> bool {
    let policy = resource.annotation("serviceoperator.azure.com/reconcile-policy");
    policy == Some("detach-on-delete")
}

fn with_shared_identities(mut spec: Json) -> Vec<Object> {
    spec["managedIdentities"] = json!({"mode": "Shared", "resourceGroup": "msi-pool-07"});
    spec["nameSuffix"] = "a1b2c3".into();
    expanded(spec)
}

#[test]
fn shared_identities_are_those_of_the_pool_and_stay() {
    let objects = with_shared_identities(json!({"tags": {"team": "sre"}}));
    let identities = embedded_of(&objects, "UserAssignedIdentity");
    assert_eq!(identities.len(), 13);
    assert!(identities.iter().all(is_detached));
    let names: Vec<(&str, Json)> = identities
        .iter()
        .map(|identity| {
            (
                identity.id.name.as_str(),
                json_at(identity, "spec.azureName"),
            )
        })
        .collect();
    for name in [
        ("prod-uks-1-cp-kms-07", json!("kms")),
        (
            "prod-uks-1-dp-disk-csi-driver-07",
            json!("dp-disk-csi-driver"),
        ),
        ("prod-uks-1-service-managed-identity-07", json!("service")),
    ] {
        assert!(names.contains(&name), "{name:?} in {names:?}");
    }
    let kms = &identities[8];
    assert_eq!(json_at(kms, "spec.owner"), json!({"armId": POOL}));
    assert_eq!(at(kms, "spec.tags"), None);
    assert_eq!(
        &*at(kms, "spec.owner.armId").expect("armId").span().path,
        OVER
    );
    let hcp = embedded_of(&objects, "HcpOpenShiftCluster").remove(0);
    let acts = "spec.properties.platform.operatorsAuthentication.userAssignedIdentities.controlPlaneOperatorsReferences.kms.armId";
    assert_eq!(json_at(&hcp, acts), shared_id("kms"));
}

#[test]
fn roles_on_shared_identities_are_deleted_and_the_others_go_with_the_group() {
    let roles = |spec: Json| embedded_of(&with_shared_identities(spec), "RoleAssignment");
    let (gone, kept): (Vec<Object>, Vec<Object>) =
        roles(json!({})).into_iter().partition(is_detached);
    assert_eq!((gone.len(), kept.len()), (17, 12));
    for role in &kept {
        let owner = json_at(role, "spec.owner.armId");
        let name = owner.as_str().and_then(|id| id.rsplit('/').next());
        assert_eq!(owner, shared_id(name.expect("armId")));
    }
    let kms = gone.iter().find(|role| role.id.name.contains("-kms-"));
    let kms = kms.expect("the role on the vault");
    assert_eq!(
        kms.id.name,
        "prod-uks-1-cp-kms-07-keyvaultcryptouserroleid-keyvault"
    );
    assert_eq!(
        json_at(kms, "spec.principalIdFromConfig.name"),
        "identity-map-prod-uks-1-cp-kms-07"
    );
    let vault = json!({"name": "shared-kv", "resourceGroup": "vaults"});
    let elsewhere = roles(json!({"etcd": {"encryption": {"vault": vault}}}));
    assert_eq!(
        elsewhere.iter().filter(|role| is_detached(role)).count(),
        16
    );
}

#[test]
fn a_pool_without_a_number_is_distinguished_by_the_cluster() {
    let pool = json!({"mode": "Shared", "resourceGroup": "pool"});
    let objects = expanded(json!({"managedIdentities": pool}));
    let identity = embedded_of(&objects, "UserAssignedIdentity").remove(0);
    assert_eq!(identity.id.name, "prod-uks-1-cp-control-plane-prod-uks-1");
}
