//! `NodePool`: a group of identical nodes.

use super::blueprint::{Blueprint, Pool, image};
use crate::api::cluster_definition::Infrastructure;
use crate::expand::node::node;
use crate::model::{Node, Object};

/// The label of agents with the name of their InfraEnv.
pub(super) const INFRA_ENV: &str = "infraenvs.agent-install.openshift.io";

pub(super) fn object(b: &Blueprint, pool: &Pool) -> Object {
    let release = pool
        .spec
        .release
        .as_ref()
        .and_then(|release| image(&pool.values, "release", release));
    let release = release.or_else(|| image(&b.values, "hyperShift.release", &b.spec.release));
    let scaling = pool.spec.autoscaling.as_ref().map(|_| {
        node!(b.origin(), {
            "min": pool.values.get("autoscaling.min"),
            "max": pool.values.get("autoscaling.max"),
        })
    });
    let replicas = pool
        .spec
        .fixed_replicas()
        .and_then(|replicas| b.or(pool.values.get("replicas"), replicas));
    let spec = node!(b.origin(), {
        "clusterName": b.name().to_owned(),
        "release": {"image": release},
        "replicas": replicas,
        "autoScaling": scaling,
        "management": {"upgradeType": upgrade_type(b.spec.infrastructure)},
        "nodeLabels": pool.values.get("labels"),
        "taints": pool.values.get("taints"),
        "platform": platform(b, pool),
    });
    b.top("NodePool", &pool.name)
        .spec(pool.values.onto(spec, "properties"))
}

/// A cloud replaces virtual machines at once; others may have no room for one more.
const fn upgrade_type(infrastructure: Infrastructure) -> &'static str {
    match infrastructure {
        Infrastructure::Azure => "Replace",
        Infrastructure::KubeVirt | Infrastructure::Agent => "InPlace",
    }
}

fn platform(b: &Blueprint, pool: &Pool) -> Node {
    let (azure, kubevirt, agent) = match b.spec.infrastructure {
        Infrastructure::Azure => (Some(azure(b, pool)), None, None),
        Infrastructure::KubeVirt => (None, Some(kubevirt(b, pool)), None),
        Infrastructure::Agent => (None, None, Some(agent(b, pool))),
    };
    node!(b.origin(), {
        "type": b.value("hyperShift.infrastructure"),
        "azure": azure,
        "kubevirt": kubevirt,
        "agent": agent,
    })
}

/// Everything is written: the CRD's defaults of parts apply only if the whole is absent.
fn kubevirt(b: &Blueprint, pool: &Pool) -> Node {
    let asked = pool.spec.kube_virt.clone().unwrap_or_default();
    let value = |path| pool.values.get(path);
    let volume = &asked.root_volume;
    node!(b.origin(), {
        "compute": {
            "cores": b.or(value("kubeVirt.cores"), asked.cores),
            "memory": b.or(value("kubeVirt.memory"), asked.memory.to_string()),
        },
        "rootVolume": {
            "type": "Persistent",
            "persistent": {
                "size": b.or(value("kubeVirt.rootVolume.size"), volume.size.to_string()),
                "storageClass": value("kubeVirt.rootVolume.storageClass"),
            },
        },
    })
}

fn agent(b: &Blueprint, pool: &Pool) -> Node {
    let mut labels = pool.values.get("agent.labels");
    if let Some(name) = pool.values.get("agent.infraEnv") {
        let own = node!(b.origin(), {INFRA_ENV: name});
        labels = Some(pool.values.onto(own, "agent.labels"));
    }
    let selector = labels.map(|labels| node!(b.origin(), {"matchLabels": labels}));
    node!(b.origin(), {"agentLabelSelector": selector})
}

fn azure(b: &Blueprint, pool: &Pool) -> Node {
    let value = |path| pool.values.get(path);
    node!(b.origin(), {
        "vmSize": value("azure.vmSize"),
        "subnetID": value("azure.subnetID").or_else(|| b.value("hyperShift.azure.subnetID")),
        "availabilityZone": value("azure.availabilityZone"),
        "image": azure_image(b, pool),
        "osDisk": {
            "sizeGiB": value("azure.osDisk.sizeGiB"),
            "diskStorageAccountType": value("azure.osDisk.storageAccountType"),
            "encryptionSetID": value("azure.osDisk.encryptionSetID"),
        },
    })
}

/// The image of the nodes: without a choice, HyperShift takes the marketplace's image of the release.
fn azure_image(b: &Blueprint, pool: &Pool) -> Node {
    let marketplace = pool.values.get("azure.image.marketplace");
    let image = pool.values.get("azure.image.imageID");
    let kind = match image {
        Some(_) => "ImageID",
        None => "AzureMarketplace",
    };
    node!(b.origin(), {"type": kind, "imageID": image, "azureMarketplace": marketplace})
}
