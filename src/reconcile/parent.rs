//! What objects have in common: their kind, their parent, their owners.
//!
//! In: an object. Out: what it is indexed by. It does not know which other objects there are.

use serde_json::Value;

use super::private_link::found_by::{is_private_platform, zone_keys};
use crate::api::aro_control_plane::identity_namespace;
use crate::api::azure_private_link_service::KIND;
use crate::api::kinds::{AGENT_INSTALL, CAPI, CONTROL_PLANE, INFRASTRUCTURE, is_aso};
use crate::api::labels::CLUSTER_NAME;
use crate::api::platform::HYPERSHIFT;
use crate::health::Live;
use crate::model::ObjectId;

/// The kinds that may name an AzureClusterIdentity.
const USERS: [(&str, &str); 2] = [
    (CONTROL_PLANE, "AROControlPlane"),
    (INFRASTRUCTURE, "AROCluster"),
];

/// A kind of a group, at whatever version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupKind {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
}

impl GroupKind {
    /// The kind `kind` of `group`.
    pub(crate) fn new(group: &str, kind: &str) -> Self {
        let (group, kind) = (group.to_owned(), kind.to_owned());
        Self { group, kind }
    }
}

impl From<&ObjectId> for GroupKind {
    fn from(id: &ObjectId) -> Self {
        Self::new(&id.group, &id.kind)
    }
}

/// What objects of one kind have in common: the Cluster of those of Cluster API and its providers, and the owner in Azure
/// of ASO resources, by its name in Kubernetes; the HostedCluster of those of HyperShift, and of Agents their namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Parent {
    /// The kind of the objects.
    pub(crate) kind: GroupKind,
    /// Their namespace.
    pub(crate) namespace: String,
    /// The name of the Cluster, of the owner in Azure, or of the namespace.
    pub(crate) name: String,
}

impl Parent {
    /// The parent `name` of the objects of a kind in a namespace.
    pub(crate) fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            kind: GroupKind::new(group, kind),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The users of an AzureClusterIdentity, of whatever namespace: its AROControlPlanes, and its AROClusters. No Cluster has
    /// such a name.
    pub(crate) fn users(namespace: &str, name: &str) -> [Self; 2] {
        USERS.map(|kind| Self::user(kind, namespace, name))
    }

    fn user((group, kind): (&str, &str), namespace: &str, name: &str) -> Self {
        Self::new(group, kind, namespace, &format!("identity/{name}"))
    }

    /// The connections of private clusters that need one DNS zone, of whatever namespace.
    pub(crate) fn zone(live: Live<'_>, zone: &str) -> Self {
        Self::new(live.group(), live.kind(), "", &format!("zone/{zone}"))
    }

    /// The Deployments that have HyperShift connect private clusters on Azure.
    pub(crate) fn private_platforms() -> Self {
        Self::new("apps", "Deployment", "", "private-platform/Azure")
    }

    /// All that an object is found by: its parent, the identity that it uses, and the DNS zones that it needs.
    pub(crate) fn all(live: Live<'_>) -> impl Iterator<Item = Self> {
        let is_connection = live.group() == HYPERSHIFT && live.kind() == KIND;
        let zones = is_connection.then(|| zone_keys(live)).into_iter().flatten();
        let zones = zones.map(move |zone| Self::zone(live, &zone));
        let is_platform = live.group() == "apps" && is_private_platform(live);
        let platform = is_platform.then(Self::private_platforms);
        let others = zones.chain(platform);
        Self::of(live)
            .into_iter()
            .chain(Self::used(live))
            .chain(others)
    }

    fn used(live: Live<'_>) -> Option<Self> {
        let reference = live.at(&["spec", "identityRef"]).map(Live)?;
        let name = reference.text(&["name"]);
        let named = Some(reference.text(&["namespace"]));
        let namespace = identity_namespace(named, live.namespace());
        let kind = (live.group(), live.kind());
        (USERS.contains(&kind) && !name.is_empty()).then(|| Self::user(kind, namespace, name))
    }

    /// The parent of an object, if it has one.
    pub(crate) fn of(live: Live<'_>) -> Option<Self> {
        let name = match live.group() {
            CAPI | INFRASTRUCTURE | CONTROL_PLANE => match live.text(&["spec", "clusterName"]) {
                "" => live.label(CLUSTER_NAME),
                name => name,
            },
            HYPERSHIFT => live.text(&["spec", "clusterName"]),
            AGENT_INSTALL => live.namespace(),
            group if is_aso(group) => live.text(&["spec", "owner", "name"]),
            _ => "",
        };
        let parent = || Self::new(live.group(), live.kind(), live.namespace(), name);
        (!name.is_empty()).then(parent)
    }
}

/// The uids of an object's owners.
pub(crate) fn owner_uids(live: Live<'_>) -> impl Iterator<Item = &str> {
    let references: &[Value] = live.list(&["metadata", "ownerReferences"]);
    references.iter().map(|owner| Live(owner).text(&["uid"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_parent_is_a_cluster_an_owner_in_azure_or_a_namespace() {
        let cases = [
            (
                json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "spec": {"clusterName": "c"}}),
                Some("c"),
            ),
            (
                json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROMachinePool", "metadata": {"labels": {CLUSTER_NAME: "c"}}}),
                Some("c"),
            ),
            (
                json!({"apiVersion": "redhatopenshift.azure.com/v1", "kind": "HcpOpenShiftClustersNodePool", "spec": {"owner": {"name": "c"}}}),
                Some("c"),
            ),
            (
                json!({"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "spec": {"clusterName": "c"}}),
                Some("c"),
            ),
            (
                json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent", "metadata": {"namespace": "lab"}}),
                Some("lab"),
            ),
            (
                json!({"apiVersion": "resources.azure.com/v1", "kind": "ResourceGroup", "spec": {}}),
                None,
            ),
            (
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"labels": {CLUSTER_NAME: "c"}}}),
                None,
            ),
        ];
        for (object, name) in cases {
            let parent = Parent::of(Live(&object));
            assert_eq!(
                parent.as_ref().map(|parent| parent.name.as_str()),
                name,
                "{object}"
            );
        }
    }
}
