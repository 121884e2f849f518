//! A small cluster in manifests, for tests: four infrastructure resources, one node pool, external
//! authentication.

#![allow(clippy::needless_pass_by_value)]

use serde_json::{Value, json};

use crate::api::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE};

/// The namespace of all of it.
pub(super) const NAMESPACE: &str = "clusters";

fn reference(group: &str, kind: &str, name: &str) -> Value {
    json!({"apiGroup": group, "kind": kind, "name": name})
}

fn embedded(api: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// The infrastructure resources, the role assignment last.
pub(super) fn infrastructure() -> Value {
    let owner = json!({"name": "rg"});
    let config = json!({"principalId": {"name": "map", "key": "principalId"}});
    let scope = json!({"group": "keyvault.azure.com", "kind": "Vault", "name": "vault"});
    json!([
        embedded(
            "resources.azure.com/v1api20200601",
            "ResourceGroup",
            "rg",
            json!({"location": "uksouth"})
        ),
        embedded(
            "keyvault.azure.com/v1api20230701",
            "Vault",
            "vault",
            json!({"azureName": "kv1", "location": "uksouth", "owner": owner})
        ),
        embedded(
            "managedidentity.azure.com/v1api20230131",
            "UserAssignedIdentity",
            "kms",
            json!({"location": "uksouth", "owner": owner, "operatorSpec": {"configMaps": config}})
        ),
        embedded(
            "authorization.azure.com/v1api20220401",
            "RoleAssignment",
            "kms-vault",
            json!({"owner": scope, "principalIdFromConfig": {"name": "map", "key": "principalId"}})
        ),
    ])
}

fn control_plane() -> Value {
    let kms = json!({"vaultName": "kv1", "visibility": "Public", "activeKey": {"name": "etcd"}});
    let properties = json!({"version": {"id": "4.20"},
        "etcd": {"dataEncryption": {"customerManaged": {"kms": kms}}}});
    let hcp = json!({"owner": {"name": "rg"}, "location": "uksouth", "properties": properties});
    json!([
        embedded(
            "redhatopenshift.azure.com/v1api20251223preview",
            "HcpOpenShiftCluster",
            "c",
            hcp
        ),
        embedded(
            "redhatopenshift.azure.com/v1api20251223preview",
            "HcpOpenShiftClustersExternalAuth",
            "ea",
            json!({})
        ),
    ])
}

fn node_pool() -> Value {
    let spec = json!({"location": "uksouth", "properties": {"autoScaling": {"min": 2, "max": 5}}});
    json!([embedded(
        "redhatopenshift.azure.com/v1api20251223preview",
        "HcpOpenShiftClustersNodePool",
        "c-mp1",
        spec
    )])
}

/// Everything a person would apply, and the identity it refers to.
pub(super) fn small_cluster() -> Vec<Value> {
    let at = |group: &str, kind: &str, name: &str, spec: Value| {
        let mut object = embedded(&format!("{group}/v1beta2"), kind, name, spec);
        object["metadata"]["namespace"] = json!(NAMESPACE);
        object
    };
    let plane = json!({
        "subscriptionID": "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10",
        "identityRef": {"name": "identity"},
        "resources": control_plane(),
    });
    let cluster = json!({
        "infrastructureRef": reference(INFRASTRUCTURE, "AROCluster", "c"),
        "controlPlaneRef": reference(CONTROL_PLANE, "AROControlPlane", "c"),
    });
    let template = json!({"spec": {
        "clusterName": "c",
        "bootstrap": {"dataSecretName": "c-kubeconfig"},
        "infrastructureRef": reference(INFRASTRUCTURE, "AROMachinePool", "c-mp1"),
    }});
    let pool = json!({"clusterName": "c", "replicas": 3, "template": template});
    let mut identity = at(
        INFRASTRUCTURE,
        "AzureClusterIdentity",
        "identity",
        json!({"type": "WorkloadIdentity", "clientID": "client", "tenantID": "tenant", "allowedNamespaces": {}}),
    );
    identity["apiVersion"] = json!("infrastructure.cluster.x-k8s.io/v1beta1");
    vec![
        identity,
        at(
            INFRASTRUCTURE,
            "AROCluster",
            "c",
            json!({"resources": infrastructure()}),
        ),
        at(CONTROL_PLANE, "AROControlPlane", "c", plane),
        at(
            INFRASTRUCTURE,
            "AROMachinePool",
            "c-mp1",
            json!({"resources": node_pool()}),
        ),
        at(CAPI, "Cluster", "c", cluster),
        at(CAPI, "MachinePool", "c-mp1", pool),
    ]
}
