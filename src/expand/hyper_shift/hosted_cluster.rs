//! `HostedCluster`: the control plane, and all that the node pools share.

use super::azure;
use super::blueprint::{Blueprint, image};
use crate::api::cluster_definition::{EndpointAccess, Infrastructure};
use crate::api::labels::{DELETION_POLICY, LINK_CREDENTIAL, LINK_IDENTITY, NAT_SUBNET_RANGE};
use crate::expand::node::node;
use crate::model::{Node, Object};

/// Annotations with the requests of a container of the control plane, `<deployment>.<container>`, as HyperShift reads them.
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
        )
        .annotation(LINK_IDENTITY, azure::link_identity(b))
        .annotation(LINK_CREDENTIAL, b.value("hyperShift.azure.credentialFrom"));
    for name in REQUESTS {
        top = top.annotation(name, requests.clone());
    }
    top.spec(b.values.onto(spec, "hyperShift.properties"))
}

/// The way to each service of the control plane. Private Link leads to the router alone, so an API server that is private has a route,
/// as has one with a name of its own.
fn services(b: &Blueprint) -> Node {
    let azure = b.spec.azure.as_ref();
    let is_public = azure.is_none_or(|azure| azure.endpoint_access == EndpointAccess::Public);
    let domain = azure.and_then(|azure| azure.external_dns_domain.as_deref());
    let api = if is_public && domain.is_none() {
        "LoadBalancer"
    } else {
        "Route"
    };
    let route = |prefix: &str| {
        let name = format!("{prefix}-{}.{}", b.name(), domain?);
        let hostname = b
            .values
            .made_from("hyperShift.azure.externalDNSDomain", name);
        Some(node!(b.origin(), {"hostname": hostname}))
    };
    let of_public = |prefix| is_public.then(|| route(prefix)).flatten();
    let service = |name: &'static str, published: &'static str, route: Option<Node>| {
        node!(b.origin(), {
            "service": name,
            "servicePublishingStrategy": {"type": published, "route": route},
        })
    };
    node!(
        b.origin(),
        [
            service("APIServer", api, route("api")),
            service("OAuthServer", "Route", route("oauth")),
            service("Konnectivity", "Route", of_public("konnectivity")),
            service("Ignition", "Route", of_public("ignition")),
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

/// The requests of the API server and of etcd, each.
fn requests(b: &Blueprint) -> Option<Node> {
    let asked = b.spec.control_plane.as_ref()?;
    let parts = [("cpu", &asked.cpu), ("memory", &asked.memory)];
    let parts = parts
        .into_iter()
        .filter_map(|(name, amount)| Some(format!("{name}={}", amount.as_ref()?)));
    let text = parts.collect::<Vec<_>>().join(",");
    (!text.is_empty()).then(|| b.values.made_from("hyperShift.controlPlane", text))
}
