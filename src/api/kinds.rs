//! Every kind that the program knows by name, with its group, plural and versions.

use super::capi::V1BETA1;
use crate::model::{Object, ObjectId, Value};

/// Cluster API.
pub const CAPI: &str = "cluster.x-k8s.io";
/// The infrastructure half of the ARO provider.
pub const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
/// The control plane half of the ARO provider.
pub const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
/// The kinds of the ARO provider that its controllers reconcile.
pub const ARO: [(&str, &str); 3] = [
    (INFRASTRUCTURE, "AROCluster"),
    (CONTROL_PLANE, "AROControlPlane"),
    (INFRASTRUCTURE, "AROMachinePool"),
];
/// ASO: Azure resource groups.
pub const RESOURCES: &str = "resources.azure.com";
/// ASO: networks, subnets, security groups.
pub const NETWORK: &str = "network.azure.com";
/// ASO: vaults.
pub const KEYVAULT: &str = "keyvault.azure.com";
/// ASO: user-assigned identities.
pub const MANAGED_IDENTITY: &str = "managedidentity.azure.com";
/// ASO: role assignments.
pub const AUTHORIZATION: &str = "authorization.azure.com";
/// ASO: ARO HCP clusters, node pools and external auths.
pub const RED_HAT_OPENSHIFT: &str = "redhatopenshift.azure.com";
/// The hub: machines that are registered for clusters.
pub const AGENT_INSTALL: &str = "agent-install.openshift.io";
/// Our own kinds.
pub const CAPSTAN: &str = "capstan.dev";

/// A kind, its plural and the versions it has been served at, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// API group.
    pub group: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Plural, as in URLs.
    pub plural: &'static str,
    /// Versions without the group, oldest first; the newest is the one to use.
    pub versions: &'static [&'static str],
}

const ENDPOINTS: &[&str] = &["v1api20220701", "v1api20240301", "v20250301"];

/// The kinds of ASO that connect private hosted clusters.
pub const PRIVATE_LINK: &[Kind] = &[
    kind(
        NETWORK,
        "PrivateLinkService",
        "privatelinkservices",
        ENDPOINTS,
    ),
    kind(NETWORK, "PrivateEndpoint", "privateendpoints", ENDPOINTS),
    kind(
        NETWORK,
        "PrivateDnsZone",
        "privatednszones",
        &["v1api20180901", "v1api20240601"],
    ),
    kind(
        NETWORK,
        "PrivateDnsZonesVirtualNetworkLink",
        "privatednszonesvirtualnetworklinks",
        &["v1api20200601", "v1api20240601"],
    ),
    kind(
        NETWORK,
        "PrivateDnsZonesARecord",
        "privatednszonesarecords",
        &["v1api20200601", "v1api20240601"],
    ),
];

const fn kind(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    versions: &'static [&'static str],
) -> Kind {
    Kind {
        group,
        kind,
        plural,
        versions,
    }
}

const HCP: &[&str] = &[
    "v1api20240610preview",
    "v1api20251223preview",
    "v1api20260630preview",
    // The spelling of interim builds.
    "v1api20260901preview",
    "v20260901preview",
];
const NETWORKS: &[&str] = &["v1api20201101", "v1api20240301", "v20250301"];

/// The custom resources of Cluster API, the ARO provider and ASO. All are namespaced.
/// Source: facts/aro-controllers.md §1, facts/aro-rules.md §1.1, facts/aro-2026-09-01.md §1.3.
pub const KINDS: &[Kind] = &[
    kind(CAPI, "Cluster", "clusters", &[V1BETA1, "v1beta2"]),
    kind(CAPI, "MachinePool", "machinepools", &[V1BETA1, "v1beta2"]),
    kind(INFRASTRUCTURE, "AROCluster", "aroclusters", &["v1beta2"]),
    kind(
        INFRASTRUCTURE,
        "AROMachinePool",
        "aromachinepools",
        &["v1beta2"],
    ),
    kind(
        INFRASTRUCTURE,
        "AzureClusterIdentity",
        "azureclusteridentities",
        &["v1beta1"],
    ),
    kind(
        CONTROL_PLANE,
        "AROControlPlane",
        "arocontrolplanes",
        &["v1beta2"],
    ),
    kind(
        RESOURCES,
        "ResourceGroup",
        "resourcegroups",
        &["v1api20200601"],
    ),
    kind(NETWORK, "VirtualNetwork", "virtualnetworks", NETWORKS),
    kind(
        NETWORK,
        "VirtualNetworksSubnet",
        "virtualnetworkssubnets",
        NETWORKS,
    ),
    kind(
        NETWORK,
        "NetworkSecurityGroup",
        "networksecuritygroups",
        NETWORKS,
    ),
    kind(
        KEYVAULT,
        "Vault",
        "vaults",
        &["v1api20210401preview", "v1api20230701"],
    ),
    kind(
        MANAGED_IDENTITY,
        "UserAssignedIdentity",
        "userassignedidentities",
        &["v1api20230131"],
    ),
    kind(
        AUTHORIZATION,
        "RoleAssignment",
        "roleassignments",
        &["v1api20200801preview", "v1api20220401"],
    ),
    kind(
        RED_HAT_OPENSHIFT,
        "HcpOpenShiftCluster",
        "hcpopenshiftclusters",
        HCP,
    ),
    kind(
        RED_HAT_OPENSHIFT,
        "HcpOpenShiftClustersNodePool",
        "hcpopenshiftclustersnodepools",
        HCP,
    ),
    kind(
        RED_HAT_OPENSHIFT,
        "HcpOpenShiftClustersExternalAuth",
        "hcpopenshiftclustersexternalauths",
        HCP,
    ),
];

/// The kind `kind` of `group`, if it is known.
#[must_use]
pub fn find(group: &str, kind: &str) -> Option<&'static Kind> {
    let mut all = KINDS.iter().chain(PRIVATE_LINK);
    all.find(|known| known.group == group && known.kind == kind)
}

/// Whether `group` is one of Azure Service Operator's.
#[must_use]
pub fn is_aso(group: &str) -> bool {
    group.ends_with(".azure.com")
}

/// Cluster-scoped kinds of Kubernetes itself.
const CLUSTER_SCOPED: &[(&str, &str)] = &[
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("networking.k8s.io", "IngressClass"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "StorageClass"),
];

/// Whether the kind is cluster-scoped, as far as is known without a cluster.
#[must_use]
pub fn is_cluster_scoped(id: &ObjectId) -> bool {
    CLUSTER_SCOPED
        .iter()
        .any(|(group, kind)| id.is(group, kind))
}

/// Namespaced kinds of Kubernetes itself, and of Azure Service Operator that are only known by name here, by group.
const NAMESPACED: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "ConfigMap",
            "Endpoints",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    (
        "apps",
        &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
    ),
    ("autoscaling", &["HorizontalPodAutoscaler"]),
    ("batch", &["CronJob", "Job"]),
    (MANAGED_IDENTITY, &["FederatedIdentityCredential"]),
    (
        NETWORK,
        &[
            "PrivateDnsZone",
            "PrivateDnsZonesARecord",
            "PrivateDnsZonesVirtualNetworkLink",
            "PrivateEndpoint",
            "PrivateLinkService",
        ],
    ),
    ("coordination.k8s.io", &["Lease"]),
    ("discovery.k8s.io", &["EndpointSlice"]),
    ("networking.k8s.io", &["Ingress", "NetworkPolicy"]),
    ("policy", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", &["Role", "RoleBinding"]),
];

/// Whether the kind is known to be namespaced, without a cluster. All kinds of ASO are.
#[must_use]
pub fn is_namespaced(id: &ObjectId) -> bool {
    let mut known = NAMESPACED.iter();
    let known = known.any(|(group, kinds)| id.group == *group && kinds.contains(&id.kind.as_str()));
    known || is_aso(&id.group) || find(&id.group, &id.kind).is_some()
}

/// The kinds that are known, with their groups.
fn known() -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    let ours = KINDS.iter().map(|known| (known.group, known.kind));
    let namespaced = NAMESPACED.iter();
    let namespaced = namespaced.flat_map(|(group, kinds)| kinds.iter().map(|kind| (*group, *kind)));
    ours.chain(CLUSTER_SCOPED.iter().copied()).chain(namespaced)
}

/// The known kind that differs from `kind` by one letter or by upper and lower case, if it is not known itself.
fn one_letter_off(
    kind: &str,
    mut known: impl Iterator<Item = &'static str> + Clone,
) -> Option<&'static str> {
    let is_near = |known: &&str| {
        strsim::damerau_levenshtein(&kind.to_lowercase(), &known.to_lowercase()) <= 1
    };
    match known.clone().any(|known| known == kind) {
        true => None,
        false => known.find(is_near),
    }
}

/// The right group and kind, if one is known and the other is misspelt. More than one letter of difference is not taken for a
/// mistake: AWSCluster differs from AROCluster by two.
#[must_use]
pub fn meant<'a>(group: &'a str, kind: &'a str) -> Option<(&'a str, &'a str)> {
    let of_group = known().filter(|(known, _)| *known == group);
    if of_group.clone().next().is_some() {
        let right = one_letter_off(kind, of_group.map(|(_, kind)| kind))?;
        return Some((group, right));
    }
    let of_kind = known().filter(|(_, known)| *known == kind);
    let groups = of_kind.map(|(group, _)| group);
    let right = one_letter_off(group, groups.filter(|group| group.contains('.')))?;
    Some((right, kind))
}

/// The known kind of any group that is probably meant by a misspelt one.
#[must_use]
pub fn similar(kind: &str) -> Option<&'static str> {
    one_letter_off(kind, known().map(|(_, kind)| kind))
}

/// Returns true if the control plane fills the `rules` of this ClusterRole from others (Kubernetes' documentation of RBAC):
/// whatever else writes them only takes rights away for a moment.
#[must_use]
pub fn is_aggregated(object: &Object) -> bool {
    let is_role = object.id.is("rbac.authorization.k8s.io", "ClusterRole");
    let rule = object.node.get("aggregationRule");
    is_role && rule.is_some_and(|rule| rule.value != Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::arm_version::ArmVersion;

    #[test]
    fn every_version_of_azures_api_is_known_and_the_newest_is_last() {
        for kind in KINDS.iter().filter(|kind| kind.group == RED_HAT_OPENSHIFT) {
            let known = |version: &&ArmVersion| kind.versions.contains(&version.aso());
            assert!(ArmVersion::ALL.iter().all(|version| known(&version)));
            let newest = ArmVersion::ALL.last().map(|version| version.aso());
            assert_eq!(kind.versions.last().copied(), newest, "{}", kind.kind);
        }
    }

    #[test]
    fn a_group_with_one_wrong_letter_is_known() {
        for (group, kind, expected) in [
            ("networks.azure.com", "VirtualNetwork", Some(NETWORK)),
            ("networks.azure.com", "Vault", None),
            ("app", "Deployment", None),
            ("networking.k8s.io", "Ingress", None),
        ] {
            let expected = expected.map(|right| (right, kind));
            assert_eq!(meant(group, kind), expected, "{group}/{kind}");
        }
    }

    #[test]
    fn a_kind_with_one_wrong_letter_is_known() {
        for (group, kind, expected) in [
            ("", "Namespce", Some("Namespace")),
            ("", "namespace", Some("Namespace")),
            ("", "Secrets", Some("Secret")),
            ("", "Secret", None),
            ("apps", "Secrets", None),
            (INFRASTRUCTURE, "AROClutser", Some("AROCluster")),
            (INFRASTRUCTURE, "AWSCluster", None),
            (INFRASTRUCTURE, "AzureCluster", None),
        ] {
            let expected = expected.map(|right| (group, right));
            assert_eq!(meant(group, kind), expected, "{group}/{kind}");
        }
        assert_eq!(similar("AROMachinePol"), Some("AROMachinePool"));
        assert_eq!(similar("ARO.*"), None);
    }
}
