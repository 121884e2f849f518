//! The fields of HyperShift's kinds that are immutable, or that roll the nodes when they change. Data.
//!
//! Source: the rules about `oldSelf` in the CRDs of HyperShift, which a test compares with this, and the descriptions of fields there; for the
//! fields of the proposal, the proposal for private topologies on Azure.

use serde_json::Value as Json;

use super::alike::{exact, topology};
use super::fields::{Absent, Field, NOTHING, Row, fixed, rolling};
use crate::api::platform::HYPERSHIFT;

/// Per kind.
pub(super) const FIELDS: &[Row] = &[
    (HYPERSHIFT, "HostedCluster", HOSTED_CLUSTER),
    (HYPERSHIFT, "NodePool", NODE_POOL),
];

const CREATED: &str = "HyperShift does not allow changes after the cluster is created";
const POOL: &str = "HyperShift does not allow changes after the node pool is created";
const CLUSTER: &str = "changing it updates every node of the cluster";
const NODES: &str = "changing it updates every node of the node pool";
const RELEASE: &str = "an upgrade updates every node of the node pool";

const fn created(at: &'static str, absent: Absent) -> Field {
    Field {
        same: exact,
        ..fixed(at, absent, CREATED)
    }
}

const fn pool(at: &'static str, absent: Absent) -> Field {
    Field {
        same: exact,
        ..fixed(at, absent, POOL)
    }
}

/// An empty text may get a value later.
fn unset_or_same(old: &Json, new: &Json) -> bool {
    *old == "" || old == new
}

/// A field that may be added later.
const fn once(at: &'static str) -> Field {
    created(at, Absent::Chosen)
}

/// A field that may be added later, and is not removed.
const fn kept(at: &'static str) -> Field {
    created(at, Absent::Kept)
}

/// A map that is not removed, and whose fields have rules of their own.
const fn kept_map(at: &'static str) -> Field {
    Field {
        same: any,
        ..fixed(
            at,
            Absent::Kept,
            "HyperShift does not allow it to be removed",
        )
    }
}

const fn any(_: &Json, _: &Json) -> bool {
    true
}

const HOSTED_CLUSTER: &[Field] = &[
    once("/spec/platform/type"),
    once("/spec/services"),
    kept("/spec/clusterID"),
    kept("/spec/infraID"),
    kept_map("/spec/secretEncryption"),
    kept_map("/spec/secretEncryption/kms/azure/kms"),
    kept_map("/spec/operatorConfiguration/clusterNetworkOperator/ovnKubernetesConfig"),
    Field {
        same: unset_or_same,
        ..once("/spec/dns/baseDomain")
    },
    once("/spec/dns/baseDomainPrefix"),
    once("/spec/dns/privateZoneID"),
    once("/spec/dns/publicZoneID"),
    created("/spec/capabilities", Absent::Is("{}")),
    once("/spec/configuration/ingress/domain"),
    created(
        "/spec/controllerAvailabilityPolicy",
        Absent::Is(r#""HighlyAvailable""#),
    ),
    once("/spec/etcd/managementType"),
    created(
        "/spec/etcd/managed/storage/persistentVolume/size",
        Absent::Is(r#""8Gi""#),
    ),
    once("/spec/etcd/managed/storage/persistentVolume/storageClassName"),
    created("/spec/etcd/managed/storage/restoreSnapshotURL", NOTHING),
    once("/spec/fips"),
    created(
        "/spec/issuerURL",
        Absent::Is(r#""https://kubernetes.default.svc""#),
    ),
    once("/spec/networking/allocateNodeCIDRs"),
    once("/spec/networking/apiServer/advertiseAddress"),
    once("/spec/networking/apiServer/port"),
    created(
        "/spec/networking/clusterNetwork",
        Absent::Is(r#"[{"cidr":"10.132.0.0/14"}]"#),
    ),
    once("/spec/networking/machineNetwork"),
    created(
        "/spec/networking/serviceNetwork",
        Absent::Is(r#"[{"cidr":"172.31.0.0/16"}]"#),
    ),
    created("/spec/olmCatalogPlacement", Absent::Is(r#""management""#)),
    once("/spec/operatorConfiguration/clusterNetworkOperator/disableMultiNetwork"),
    once("/spec/operatorConfiguration/clusterNetworkOperator/ovnKubernetesConfig/mtu"),
    once("/spec/operatorConfiguration/clusterNetworkOperator/ovnKubernetesConfig/v4InternalSubnet"),
    once("/spec/operatorConfiguration/clusterNetworkOperator/ovnKubernetesConfig/v6InternalSubnet"),
    once(
        "/spec/operatorConfiguration/clusterNetworkOperator/ovnKubernetesConfig/ipv6/internalJoinSubnet",
    ),
    once(
        "/spec/operatorConfiguration/clusterNetworkOperator/ovnKubernetesConfig/ipv6/internalTransitSwitchSubnet",
    ),
    once("/spec/platform/azure/location"),
    once("/spec/platform/azure/resourceGroup"),
    once("/spec/platform/azure/securityGroupID"),
    once("/spec/platform/azure/subnetID"),
    once("/spec/platform/azure/subscriptionID"),
    once("/spec/platform/azure/vnetID"),
    Field {
        same: topology,
        ..fixed(
            "/spec/platform/azure/topology",
            Absent::Kept,
            "HyperShift does not allow a cluster to become public or stop being public",
        )
    },
    Field {
        same: exact,
        ..fixed(
            "/spec/platform/azure/private/type",
            NOTHING,
            "HyperShift does not allow it to be changed, added or removed after the cluster is created",
        )
    },
    once("/spec/platform/azure/private/privateLink/natSubnetID"),
    once("/spec/platform/azure/private/swift/podNetworkInstance"),
    created(
        "/spec/platform/azure/endpointAccess",
        Absent::Is(r#""Public""#),
    ),
    created("/spec/platform/azure/privateConnectivity", NOTHING),
    once("/spec/platform/kubevirt/baseDomainPassthrough"),
    once("/spec/platform/kubevirt/credentials/infraKubeConfigSecret"),
    once("/spec/platform/kubevirt/credentials/infraNamespace"),
    once("/spec/platform/kubevirt/generateID"),
    created(
        "/spec/platform/kubevirt/storageDriver/type",
        Absent::Is(r#""Default""#),
    ),
    once("/spec/platform/kubevirt/storageDriver/manual"),
    rolling("/spec/pullSecret/name", Absent::Chosen, CLUSTER),
    rolling("/spec/sshKey/name", NOTHING, CLUSTER),
    rolling("/spec/additionalTrustBundle/name", NOTHING, CLUSTER),
    rolling("/spec/imageContentSources", Absent::Is("[]"), CLUSTER),
    rolling("/spec/configuration/proxy", NOTHING, CLUSTER),
    rolling("/spec/configuration/image", NOTHING, CLUSTER),
    rolling("/spec/platform/azure/containerRegistry", NOTHING, CLUSTER),
];

const NODE_POOL: &[Field] = &[
    pool("/spec/clusterName", NOTHING),
    pool("/spec/platform/type", NOTHING),
    pool("/spec/management/upgradeType", Absent::Chosen),
    pool("/spec/arch", Absent::Is(r#""amd64""#)),
    pool("/spec/platform/azure/subnetID", Absent::Chosen),
    rolling("/spec/release/image", Absent::Chosen, RELEASE),
    rolling("/spec/config", Absent::Is("[]"), NODES),
    rolling("/spec/tuningConfig", Absent::Is("[]"), NODES),
    rolling("/spec/platform/kubevirt/compute", Absent::Chosen, NODES),
    rolling("/spec/platform/kubevirt/rootVolume", Absent::Chosen, NODES),
    rolling("/spec/platform/azure/vmSize", Absent::Chosen, NODES),
    rolling("/spec/platform/azure/image", Absent::Chosen, NODES),
    rolling("/spec/platform/azure/osDisk", Absent::Chosen, NODES),
];
