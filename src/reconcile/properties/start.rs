//! How a cluster begins: what a person applies, with Cluster API's owner references.

use serde_json::json;

use super::super::bench::{Bench, HCP_API, hosted, infrastructure, object};
use super::super::links::owned_by;
use crate::api::kinds::{CAPI, INFRASTRUCTURE};
use crate::health::Live;

pub(super) const HCP: &str = "HcpOpenShiftCluster";
pub(super) const NODE_POOL: &str = "HcpOpenShiftClustersNodePool";
pub(super) const IDENTITY: &str = "UserAssignedIdentity";
pub(super) const EXTERNAL_AUTH: &str = "HcpOpenShiftClustersExternalAuth";
/// How it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) is_direct: bool,
    pub(super) has_identity: bool,
    pub(super) has_default: bool,
    pub(super) scales: bool,
    /// Whether the list of the AROMachinePool has more than a node pool.
    pub(super) has_more: bool,
    /// How often everything has succeeded.
    pub(super) age: usize,
}

/// The objects that a person applies, and Cluster API's owner references.
pub(super) fn begin(start: Start) -> Bench {
    let mut bench = Bench::new();
    let held = json!(["cluster-api"]);
    bench.edit("Cluster", "c", |one| {
        one["metadata"]["finalizers"] = held.clone();
    });
    let cluster = bench.live("Cluster", "c");
    let spec = json!({"clusterName": "c", "replicas": 3});
    let mut pool = object(&format!("{CAPI}/v1beta2"), "MachinePool", "c", spec);
    pool["metadata"]["ownerReferences"] = json!([owned_by(Live(&cluster), false)]);
    pool["metadata"]["finalizers"] = held;
    bench.put(pool);
    let pool = bench.live("MachinePool", "c");
    let scaling = start.scales.then(|| json!({"min": 1, "max": 3}));
    let spec = json!({"azureName": "np1", "properties": {"autoScaling": scaling}});
    let mut resources = vec![object(HCP_API, NODE_POOL, "c-np1", spec)];
    if start.has_more {
        let spec = json!({"location": "uksouth", "owner": {"name": "rg"}});
        let api = "managedidentity.azure.com/v1api20230131";
        resources.push(object(api, IDENTITY, "c-np1", spec));
    }
    let spec = json!({"resources": resources});
    let api = format!("{INFRASTRUCTURE}/v1beta2");
    let mut machines = object(&api, "AROMachinePool", "c", spec);
    machines["metadata"]["ownerReferences"] = json!([owned_by(Live(&pool), true)]);
    machines["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "c"});
    bench.put(machines);
    let role = json!({"owner": {"group": "keyvault.azure.com", "kind": "Vault", "name": "vault"}});
    let role = object(
        "authorization.azure.com/v1api20220401",
        "RoleAssignment",
        "role",
        role,
    );
    bench.edit("AROCluster", "c", |network| {
        network["spec"]["resources"] = infrastructure();
        let list = network["spec"]["resources"].as_array_mut();
        list.expect("a list").push(role);
    });
    if start.has_identity {
        let secret = json!({"name": "password"});
        let spec = json!({"type": "ServicePrincipal", "clientID": "c", "tenantID": "t", "allowedNamespaces": {},
            "clientSecret": secret});
        let api = format!("{INFRASTRUCTURE}/v1beta1");
        bench.put(object(&api, "AzureClusterIdentity", "id", spec));
        bench.put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": secret}));
        let kms = json!({"vaultName": "kv", "visibility": "Public", "activeKey": {"name": "etcd"}});
        bench.edit("AROControlPlane", "c", |plane| {
            plane["spec"]["identityRef"] = json!({"name": "id"});
            plane["spec"]["resources"] = hosted(&kms);
        });
    }
    bench
}
