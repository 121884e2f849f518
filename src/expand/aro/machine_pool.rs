//! `MachinePool`: Cluster API's side of a node pool.

use super::blueprint::{Blueprint, Pool};
use super::write::top;
use crate::api::kinds::{CAPI, INFRASTRUCTURE};
use crate::expand::node::node;
use crate::model::Object;

/// Under autoscaling the number of replicas is the autoscaler's. The bootstrap secret is never read;
/// Cluster API only wants it named.
pub(super) fn object(b: &Blueprint, pool: &Pool) -> Object {
    let name = &pool.name;
    let replicas = match pool.spec.autoscaling {
        Some(_) => None,
        None => pool.replicas(),
    };
    let spec = node!(b.origin(), {
        "clusterName": &b.names.cluster,
        "replicas": replicas,
        "template": {
            "spec": {
                "clusterName": &b.names.cluster,
                "bootstrap": {"dataSecretName": &b.names.kubeconfig},
                "infrastructureRef": {
                    "apiGroup": INFRASTRUCTURE,
                    "kind": "AROMachinePool",
                    "name": name,
                },
            },
        },
    });
    top(b, CAPI, "MachinePool", name).in_cluster().spec(spec)
}
