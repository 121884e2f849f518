//! `HcpOpenShiftClustersNodePool`: worker nodes.

use super::blueprint::{Blueprint, Pool};
use super::virtual_networks_subnet;
use super::write::embedded;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::expand::node::node;
use crate::model::Node;

const KIND: &str = "HcpOpenShiftClustersNodePool";

pub(super) fn resource(b: &Blueprint, pool: &Pool) -> Node {
    let spec = node!(b.origin(), {
        "azureName": pool.azure_name(),
        "location": b.value("location"),
        "owner": {"name": &b.names.cluster},
        "properties": pool.with(properties(b, pool), "properties"),
        "tags": b.value("tags"),
    });
    embedded(b, [RED_HAT_OPENSHIFT, KIND, &pool.name], spec)
}

/// Replicas beside autoscaling are written as they were asked for: the rules refuse them.
fn properties(b: &Blueprint, pool: &Pool) -> Node {
    node!(b.origin(), {
        "version": {
            "id": pool.value("version"),
            "channelGroup": b.value("version.channelGroup"),
        },
        "platform": {
            "vmSize": pool.value("vmSize"),
            "subnetReference": virtual_networks_subnet::reference(b, &b.names.subnet),
            "osDisk": pool.value("osDisk").map(|_| node!(b.origin(), {
                "sizeGiB": pool.value("osDisk.sizeGiB"),
                "diskStorageAccountType": pool.value("osDisk.storageAccountType"),
            })),
        },
        "autoRepair": true,
        "autoScaling": pool.value("autoscaling"),
        "replicas": pool.replicas(),
    })
}
