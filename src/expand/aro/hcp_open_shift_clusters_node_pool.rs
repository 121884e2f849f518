//! `HcpOpenShiftClustersNodePool`: worker nodes.

use super::blueprint::{Blueprint, Pool};
use super::virtual_networks_subnet;
use super::write::embedded;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::expand::node::node;
use crate::model::{Key, Node, Value};

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
            "availabilityZone": pool.value("availabilityZone"),
            "subnetReference": subnet(b, pool),
            "osDisk": disk(b, pool),
        },
        "labels": pool.value("labels").map(|labels| listed(b, &labels)),
        "taints": pool.value("taints"),
        "nodeDrainTimeoutMinutes": pool.value("nodeDrainTimeoutMinutes"),
        "autoRepair": pool.value("autoRepair"),
        "autoScaling": pool.value("autoscaling"),
        "replicas": pool.replicas(),
    })
}

fn subnet(b: &Blueprint, pool: &Pool) -> Node {
    match pool.value("subnetID") {
        Some(id) => node!(b.origin(), {"armId": id}),
        None => virtual_networks_subnet::reference(b, &b.names.subnet),
    }
}

fn disk(b: &Blueprint, pool: &Pool) -> Option<Node> {
    let encryption_set = pool.value("diskEncryptionSetID");
    let is_given = encryption_set.is_some() || pool.value("osDisk").is_some();
    is_given.then(|| {
        node!(b.origin(), {
            "sizeGiB": pool.value("osDisk.sizeGiB"),
            "diskStorageAccountType": pool.value("osDisk.storageAccountType"),
            "encryptionSetReference": encryption_set.map(|id| node!(b.origin(), {"armId": id})),
        })
    })
}

/// Labels as Azure writes them, a list of keys and values. A key keeps its own line.
fn listed(b: &Blueprint, labels: &Node) -> Node {
    let entries = labels.as_map().into_iter().flat_map(|map| map.iter());
    let label = |(key, value): (&Key, &Node)| {
        let name = Node::new(Value::String(key.name.clone()), &key.origin);
        node!(b.origin(), {"key": name, "value": value.clone()})
    };
    Node::new(Value::List(entries.map(label).collect()), &labels.origin)
}
