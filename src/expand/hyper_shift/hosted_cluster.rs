//! `HostedCluster`: the control plane, and all that the node pools share.

use super::azure;
use super::blueprint::{Blueprint, image};
use crate::api::cluster_definition::{EndpointAccess, Infrastructure};
use crate::api::labels::{DELETION_POLICY, NAT_SUBNET_RANGE};
use crate::expand::node::node;
use crate::model::{Node, Object};

/// Annotations with the requests of a container of the control plane, `<deployment>.<container>` (facts/service-provider.md §2.1).
const REQUESTS: [&str; 2] = [
    "resource-request-override.hypershift.openshift.io/kube-apiserver.kube-apiserver",
    "resource-request-override.hypershift.openshift.io/etcd.etcd",
];

pub(super) fn object(b: &Blueprint) -> Object {
    let azure = b.spec.azure.as_ref();
    let spec = node!(b.origin(), {
        "release": {"image": image(&b.values, "hyperShift.release", &b.spec.release)},
        "pullSecret": {"name": b.value("hyperShift.pullSecretRef.name")},
        "sshKey": b.spec.ssh_key_ref.as_ref().map(|_| {
            node!(b.origin(), {"name": b.value("hyperShift.sshKeyRef.name")})
        }),
        "dns": {"baseDomain": b.value("hyperShift.baseDomain")},
        "issuerURL": b.value("hyperShift.azure.issuerURL"),
        "serviceAccountSigningKey": azure.map(|_| {
            let name = b.value("hyperShift.azure.serviceAccountSigningKeyRef.name");
            node!(b.origin(), {"name": name})
        }),
        "networking": {
            "networkType": "OVNKubernetes",
            "clusterNetwork": [{"cidr": "10.132.0.0/14"}],
            "serviceNetwork": [{"cidr": "172.31.0.0/16"}],
        },
        "etcd": {
            "managementType": "Managed",
            "managed": {
                "storage": {"type": "PersistentVolume", "persistentVolume": {"size": "8Gi"}},
            },
        },
        "services": services(b),
        "platform": platform(b),
    });
    let requests = requests(b);
    let mut top = b
        .top("HostedCluster", b.name())
        .annotation(DELETION_POLICY, b.value("deletionPolicy"))
        .annotation(
            NAT_SUBNET_RANGE,
            b.value("hyperShift.azure.privateConnectivity.natSubnet.cidr"),
        );
    for name in REQUESTS {
        top = top.annotation(name, requests.clone());
    }
    top.spec(b.values.onto(spec, "hyperShift.properties"))
}

/// How each service of the control plane is reached. Private Link leads to the router alone, so an API server that is private has a route.
fn services(b: &Blueprint) -> Node {
    let access = b.spec.azure.as_ref().map(|azure| azure.endpoint_access);
    let api = match access {
        None | Some(EndpointAccess::Public) => "LoadBalancer",
        Some(EndpointAccess::PublicAndPrivate | EndpointAccess::Private) => "Route",
    };
    let service = |name: &'static str, published: &'static str| {
        node!(b.origin(), {
            "service": name,
            "servicePublishingStrategy": {"type": published},
        })
    };
    node!(
        b.origin(),
        [
            service("APIServer", api),
            service("OAuthServer", "Route"),
            service("Konnectivity", "Route"),
            service("Ignition", "Route"),
        ]
    )
}

fn platform(b: &Blueprint) -> Node {
    let infrastructure = b.spec.infrastructure;
    let (azure, kubevirt, agent) = match infrastructure {
        Infrastructure::Azure => (
            b.spec.azure.as_ref().map(|azure| azure::platform(b, azure)),
            None,
            None,
        ),
        Infrastructure::KubeVirt => (None, Some(kubevirt(b)), None),
        Infrastructure::Agent => {
            let namespace = b.value("hyperShift.agent.namespace");
            (
                None,
                None,
                Some(node!(b.origin(), {"agentNamespace": namespace})),
            )
        }
    };
    node!(b.origin(), {
        "type": b.value("hyperShift.infrastructure"),
        "azure": azure,
        "kubevirt": kubevirt,
        "agent": agent,
    })
}

fn kubevirt(b: &Blueprint) -> Node {
    let credentials = b.spec.kube_virt.as_ref().map(|_| {
        node!(b.origin(), {
            "infraKubeConfigSecret": {
                "name": b.value("hyperShift.kubeVirt.kubeconfigSecretRef.name"),
                "key": "kubeconfig",
            },
            "infraNamespace": b.value("hyperShift.kubeVirt.namespace"),
        })
    });
    node!(b.origin(), {"credentials": credentials})
}

/// What the API server and etcd request, each.
fn requests(b: &Blueprint) -> Option<Node> {
    let asked = b.spec.control_plane.as_ref()?;
    let parts = [("cpu", &asked.cpu), ("memory", &asked.memory)];
    let parts = parts
        .into_iter()
        .filter_map(|(name, amount)| Some(format!("{name}={}", amount.as_ref()?)));
    let text = parts.collect::<Vec<_>>().join(",");
    (!text.is_empty()).then(|| b.values.made_from("hyperShift.controlPlane", text))
}
