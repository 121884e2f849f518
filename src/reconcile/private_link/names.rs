//! The names of what connects a hosted cluster.
//!
//! In: a hosted cluster. Out: names in Kubernetes and in Azure, the same each time. Each carries the cluster, so that two
//! clusters in one namespace, resource group or zone never mean the same thing. It does not know what exists.

use ipnet::{Ipv4Net, Ipv6Net};
use sha2::{Digest as _, Sha256};

use crate::api::azure_private_link_service::INTERNAL_DOMAIN;
use crate::api::kinds::NETWORK;
use crate::health::Live;
use crate::model::{ObjectId, hex};

/// The name of the Service before the router of a private control plane, and of the object that describes its connection.
pub(crate) const ROUTER: &str = "private-router";
/// On a Service: the load balancer has a private address.
pub(super) const INTERNAL: &str = "service.beta.kubernetes.io/azure-load-balancer-internal";
/// On what is made for a HostedCluster in another namespace: `NAMESPACE/NAME` of it.
pub(super) const CLUSTER: &str = "hypershift.openshift.io/cluster";
/// The key of the address in the ConfigMap that Azure Service Operator writes for a Private Endpoint.
pub(super) const ADDRESS_KEY: &str = "privateEndpointIP";

/// Keeps the object until the Private Link Service is gone.
pub(crate) const SERVICE_FINALIZER: &str = "capstan.dev/private-link-service";
/// Keeps the object until the Private Endpoint and the names are gone.
pub(crate) const ENDPOINT_FINALIZER: &str = "capstan.dev/private-link-endpoint";
/// HyperShift's finalizer in place of [`SERVICE_FINALIZER`].
pub(crate) const HYPERSHIFT_SERVICE_FINALIZER: &str = "hypershift.openshift.io/azure-pls-cleanup";
/// HyperShift's finalizer in place of [`ENDPOINT_FINALIZER`].
pub(crate) const HYPERSHIFT_ENDPOINT_FINALIZER: &str =
    "hypershift.openshift.io/azure-private-link-service";

/// HyperShift's finalizer of a HostedControlPlane that has connections.
pub(super) const HYPERSHIFT_PLANE_FINALIZER: &str =
    "hypershift.openshift.io/azure-pls-endpoint-cleanup";
/// The name that HyperShift gives to the Private Endpoint behind the router of any cluster.
const HYPERSHIFT_ENDPOINT: &str = "private-router-pe";
/// The names that HyperShift gives to the links of the zones: of the internal names, and of the external ones.
pub(super) const HYPERSHIFT_LINKS: [&str; 2] = [
    "private-router-vnet-link",
    "private-router-basedomain-vnet-link",
];

/// On the object: the name of its Private Link Service, which a deletion looks for.
pub(super) const SERVICE_NAME: &str = "capstan.dev/private-link-service";
/// On an ASO resource: the hosted cluster that it belongs to, `NAMESPACE/NAME`.
pub(crate) const OWNER: &str = "capstan.dev/hosted-cluster";
/// On a Private Endpoint: the alias of the service that it was made for.
pub(super) const ALIAS: &str = "capstan.dev/private-link-alias";
/// Azure: the tag with the cluster ID of the hosted cluster that a resource belongs to.
pub(super) const OWNER_TAG: &str = "capstan.dev_hosted-cluster";
/// The value of [`OWNER_TAG`] of what clusters share.
pub(super) const SHARED: &str = "shared";
/// Azure: HyperShift's tag with the type of a resource.
pub(super) const TYPE_TAG: &str = "hypershift.openshift.io_resource-type";

/// The version of the network kinds if it is not known which is served.
pub(super) const OLD_VERSION: &str = "v1api20240301";
/// The same for DNS.
pub(super) const OLD_DNS_VERSION: &str = "v1api20240601";

/// The names of a Private Endpoint have at most so many characters, and those of the other resources more.
const LONGEST: usize = 80;

/// `NAME-DIGEST` of a hosted cluster.
pub(super) fn short(cluster: &ObjectId) -> String {
    let path = format!("{}/{}", cluster.namespace, cluster.name);
    format!("{}-{}", cluster.name, digest(&path))
}

/// Eight digits for a text.
pub(super) fn digest(text: &str) -> String {
    hex(&Sha256::digest(text)[..4])
}

/// The Private Link Service of the cluster with this ID.
pub(super) fn service(cluster_id: &str) -> String {
    format!("pls-{cluster_id}")
}

/// The subnet that is made for the addresses of the service of a cluster, as a definition names it. What has another name
/// is nobody's to make or delete.
pub(super) fn nat_subnet(cluster: &ObjectId) -> String {
    format!("{}-{}-pls-nat", cluster.namespace, cluster.name)
}

/// The Private Endpoint of a cluster in Azure. A cluster made again, or one of the same name that another management cluster
/// has, is another one.
pub(super) fn endpoint(cluster: &ObjectId, cluster_id: &str) -> String {
    let path = format!("{}/{}/{cluster_id}", cluster.namespace, cluster.name);
    let end = format!("-{}-pe", digest(&path));
    let name: String = cluster.name.chars().take(LONGEST - end.len()).collect();
    format!("{name}{end}")
}

/// Returns true if HyperShift made the endpoint with this ID. The endpoint keeps its name when others take it over.
pub(super) fn is_hypershift_endpoint(id: &str) -> bool {
    let name = id.rsplit('/').next().unwrap_or_default();
    name.eq_ignore_ascii_case(HYPERSHIFT_ENDPOINT)
}

/// The Secret with the credential of a cluster for the customer's side.
pub(super) fn secret(cluster: &ObjectId) -> String {
    format!("{}-private-link-aso-secret", cluster.name)
}

/// Whether a text is an IPv4 address.
pub(super) fn is_ipv4(text: &str) -> bool {
    format!("{text}/32").parse::<Ipv4Net>().is_ok()
}

/// Whether a text is an IP address.
pub(super) fn is_address(text: &str) -> bool {
    is_ipv4(text) || format!("{text}/128").parse::<Ipv6Net>().is_ok()
}

/// The zone of the internal names of a cluster.
pub(super) fn internal_zone(cluster: &str) -> String {
    format!("{cluster}.{INTERNAL_DOMAIN}")
}

/// Whether a domain is one of internal names.
pub(super) fn is_internal(domain: &str) -> bool {
    let end = domain.strip_suffix(INTERNAL_DOMAIN);
    end.is_some_and(|start| start.is_empty() || start.ends_with('.'))
}

/// Whether this finalizer holds an object.
pub(super) fn is_held_by(live: Live<'_>, finalizer: &str) -> bool {
    let held = live.list(&["metadata", "finalizers"]);
    held.iter().any(|held| held == finalizer)
}

/// A kind of Azure Service Operator.
pub(super) fn aso(kind: &str, namespace: &str, name: &str) -> ObjectId {
    ObjectId::new(NETWORK, kind, namespace, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(namespace: &str, name: &str) -> ObjectId {
        ObjectId::new("", "HostedCluster", namespace, name)
    }

    #[test]
    fn every_name_carries_its_cluster() {
        let (a, b) = (cluster("a", "c"), cluster("b", "c"));
        assert_ne!(short(&a), short(&b));
        assert_ne!(endpoint(&a, "1"), endpoint(&b, "1"));
        assert_ne!(endpoint(&a, "1"), endpoint(&a, "2"));
        assert_eq!(service("1"), "pls-1");
        let long = endpoint(&cluster("a", &"x".repeat(100)), "1");
        assert_eq!(long.len(), LONGEST);
    }
}
