//! Which fields are immutable, and which replace nodes when they change. Data.
//!
//! Sources: facts/aro-rules.md §1.7, §2.2, §2.3 and §3 (kind U); facts/aro-2026-09-01.md §1.2 (C53) and §2;
//! facts/aro-controllers.md §2 and §7; validation of Kubernetes and Cluster API themselves.

use serde_json::Value as Json;

use super::alike::{exact, location, loose, name, owner};
use crate::api::kinds::{AUTHORIZATION, CAPI, INFRASTRUCTURE, RED_HAT_OPENSHIFT};
use crate::model::Change;

/// What an absent field means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Absent {
    /// This value, as JSON.
    Is(&'static str),
    /// The object's name.
    Name,
    /// Another component chooses a value: adding or removing the field may change nothing.
    Chosen,
    /// The field may be added later, and is not removed.
    Kept,
}

/// When a field matters.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// Always.
    Always,
    /// If Azure does not rotate keys: below API version 2026-06-30, or below OpenShift 4.22.
    KeyIsFixed,
    /// If the object has `immutable: true`.
    Sealed,
}

/// A field that is more than an in-place change.
pub(super) struct Field {
    /// JSON pointer; `*` matches every key.
    pub(super) at: &'static str,
    /// Where older versions of Azure's API have it; empty if in the same place.
    pub(super) older: &'static str,
    pub(super) absent: Absent,
    pub(super) when: When,
    pub(super) change: Change,
    /// The reason, for people.
    pub(super) why: &'static str,
    /// Whether two values mean the same.
    pub(super) same: fn(&Json, &Json) -> bool,
}

pub(super) const fn fixed(at: &'static str, absent: Absent, why: &'static str) -> Field {
    Field {
        at,
        older: "",
        absent,
        when: When::Always,
        change: Change::Replace,
        why,
        same: loose,
    }
}

pub(super) const fn rolling(at: &'static str, absent: Absent, why: &'static str) -> Field {
    Field {
        change: Change::Rolling,
        same: exact,
        ..fixed(at, absent, why)
    }
}

/// A field of a Kubernetes kind, whose values are compared exactly.
const fn plain(at: &'static str, absent: Absent) -> Field {
    Field {
        same: exact,
        ..fixed(at, absent, KUBERNETES)
    }
}

pub(super) const NOTHING: Absent = Absent::Is("null");
/// Azure reads an empty text as none.
const EMPTY: Absent = Absent::Is(r#""""#);
const PUBLIC: Absent = Absent::Is(r#""Public""#);

const ASO: &str = "Azure Service Operator rejects this change once the resource exists in Azure";
const AZURE: &str = "Azure does not allow changes after the resource is created";
const HCP: &str = "Azure does not allow changes after the cluster is created";
const POOL: &str = "Azure does not allow changes after the node pool is created";
const MIRRORS: &str = "changing image mirrors replaces every node of every node pool";
const VERSION: &str = "an upgrade replaces every node of the node pool";
const CLUSTER_API: &str = "the object would refer to another cluster";
const KUBERNETES: &str = "Kubernetes does not allow changes after creation";

/// Of every kind of Azure Service Operator.
pub(super) const EVERY_ASO: &[Field] = &[
    fixed("/spec/azureName", Absent::Name, ASO),
    // Controllers fill it in for embedded resources.
    Field {
        same: owner,
        ..fixed("/spec/owner", Absent::Chosen, ASO)
    },
    Field {
        same: location,
        ..fixed("/spec/location", Absent::Chosen, AZURE)
    },
];

/// The field that a cluster has from its creation on, or never.
pub(super) const INTEGRATION_SUBNET: &str =
    "/spec/properties/platform/vnetIntegrationSubnetReference";

const HCP_CLUSTER: &[Field] = &[
    fixed("/spec/properties/dns/baseDomainPrefix", EMPTY, HCP),
    fixed(
        "/spec/properties/network/networkType",
        Absent::Is(r#""OVNKubernetes""#),
        HCP,
    ),
    fixed(
        "/spec/properties/network/podCidr",
        Absent::Is(r#""10.128.0.0/14""#),
        HCP,
    ),
    fixed(
        "/spec/properties/network/serviceCidr",
        Absent::Is(r#""172.30.0.0/16""#),
        HCP,
    ),
    fixed(
        "/spec/properties/network/machineCidr",
        Absent::Is(r#""10.0.0.0/16""#),
        HCP,
    ),
    fixed("/spec/properties/network/hostPrefix", Absent::Is("23"), HCP),
    fixed("/spec/properties/api/visibility", PUBLIC, HCP),
    fixed("/spec/properties/ingress/type", PUBLIC, HCP),
    fixed(
        "/spec/properties/platform/managedResourceGroup",
        // Required (C21).
        Absent::Chosen,
        HCP,
    ),
    fixed("/spec/properties/platform/subnetReference", NOTHING, HCP),
    fixed(INTEGRATION_SUBNET, NOTHING, HCP),
    fixed(
        "/spec/properties/platform/networkSecurityGroupReference",
        NOTHING,
        HCP,
    ),
    fixed(
        "/spec/properties/platform/outboundType",
        Absent::Is(r#""LoadBalancer""#),
        HCP,
    ),
    fixed(
        "/spec/properties/platform/operatorsAuthentication/userAssignedIdentities/controlPlaneOperatorsReferences/*",
        NOTHING,
        HCP,
    ),
    fixed(
        "/spec/properties/platform/operatorsAuthentication/userAssignedIdentities/dataPlaneOperatorsReferences/*",
        NOTHING,
        HCP,
    ),
    fixed(
        "/spec/properties/platform/operatorsAuthentication/userAssignedIdentities/serviceManagedIdentityReference",
        NOTHING,
        HCP,
    ),
    fixed(
        "/spec/properties/etcd/dataEncryption/keyManagementMode",
        Absent::Chosen,
        HCP,
    ),
    fixed(
        "/spec/properties/etcd/dataEncryption/customerManaged/encryptionType",
        Absent::Is(r#""KMS""#),
        HCP,
    ),
    Field {
        older: "/spec/properties/etcd/dataEncryption/customerManaged/kms/activeKey/vaultName",
        ..fixed(
            "/spec/properties/etcd/dataEncryption/customerManaged/kms/vaultName",
            Absent::Chosen,
            HCP,
        )
    },
    fixed(
        "/spec/properties/etcd/dataEncryption/customerManaged/kms/visibility",
        PUBLIC,
        HCP,
    ),
    fixed(
        "/spec/properties/etcd/dataEncryption/customerManaged/kms/activeKey/name",
        Absent::Chosen,
        HCP,
    ),
    Field {
        when: When::KeyIsFixed,
        ..fixed(
            "/spec/properties/etcd/dataEncryption/customerManaged/kms/activeKey/version",
            // The controller fills it in.
            Absent::Chosen,
            "key rotation needs API version 2026-06-30 or later, and OpenShift 4.22 or later",
        )
    },
    fixed(
        "/spec/properties/clusterImageRegistry/state",
        Absent::Is(r#""Enabled""#),
        HCP,
    ),
    fixed(
        "/spec/properties/cryptoRestrictions",
        Absent::Is(r#""None""#),
        HCP,
    ),
    rolling(
        "/spec/properties/imageDigestMirrors",
        Absent::Is("[]"),
        MIRRORS,
    ),
];

const NODE_POOL: &[Field] = &[
    fixed("/spec/properties/platform/vmSize", NOTHING, POOL),
    fixed(
        "/spec/properties/platform/subnetReference",
        Absent::Chosen,
        POOL,
    ),
    fixed(
        "/spec/properties/platform/enableEncryptionAtHost",
        Absent::Is("false"),
        POOL,
    ),
    fixed("/spec/properties/platform/availabilityZone", EMPTY, POOL),
    fixed(
        "/spec/properties/platform/osDisk/sizeGiB",
        Absent::Is("64"),
        POOL,
    ),
    fixed(
        "/spec/properties/platform/osDisk/diskStorageAccountType",
        Absent::Is(r#""Premium_LRS""#),
        POOL,
    ),
    fixed(
        "/spec/properties/platform/osDisk/encryptionSetReference",
        NOTHING,
        POOL,
    ),
    fixed(
        "/spec/properties/platform/osDisk/diskType",
        Absent::Is(r#""Managed""#),
        POOL,
    ),
    fixed("/spec/properties/autoRepair", Absent::Is("true"), POOL),
    rolling("/spec/properties/version/id", Absent::Chosen, VERSION),
];

const ROLE_ASSIGNMENT: &[Field] = &[
    fixed("/spec/principalId", Absent::Chosen, AZURE),
    Field {
        same: name,
        ..fixed("/spec/principalIdFromConfig", Absent::Chosen, AZURE)
    },
];

const CLUSTER: &[Field] = &[
    Field {
        same: name,
        ..fixed("/spec/controlPlaneRef", Absent::Chosen, CLUSTER_API)
    },
    Field {
        same: name,
        ..fixed("/spec/infrastructureRef", Absent::Chosen, CLUSTER_API)
    },
];

const SELECTOR: &[Field] = &[plain("/spec/selector", Absent::Chosen)];

const STATEFUL_SET: &[Field] = &[
    plain("/spec/selector", Absent::Chosen),
    plain("/spec/serviceName", Absent::Is(r#""""#)),
    plain("/spec/podManagementPolicy", Absent::Is(r#""OrderedReady""#)),
    plain("/spec/volumeClaimTemplates", Absent::Is("[]")),
];

const JOB: &[Field] = &[
    plain("/spec/selector", Absent::Chosen),
    plain("/spec/template", Absent::Chosen),
    plain("/spec/completionMode", Absent::Is(r#""NonIndexed""#)),
];

const CLAIM: &[Field] = &[
    plain("/spec/accessModes", Absent::Chosen),
    plain("/spec/storageClassName", Absent::Chosen),
    plain("/spec/volumeMode", Absent::Is(r#""Filesystem""#)),
    plain("/spec/volumeName", Absent::Chosen),
    plain("/spec/selector", NOTHING),
    plain("/spec/dataSource", NOTHING),
];

const fn sealed(at: &'static str) -> Field {
    Field {
        when: When::Sealed,
        ..plain(at, NOTHING)
    }
}

const CONFIG_MAP: &[Field] = &[sealed("/immutable"), sealed("/data"), sealed("/binaryData")];

const SECRET: &[Field] = &[
    sealed("/immutable"),
    sealed("/data"),
    sealed("/stringData"),
    plain("/type", Absent::Is(r#""Opaque""#)),
];

/// The fields of a group and kind.
pub(super) type Row = (&'static str, &'static str, &'static [Field]);

/// Per group and kind.
pub(super) const FIELDS: &[Row] = &[
    (RED_HAT_OPENSHIFT, "HcpOpenShiftCluster", HCP_CLUSTER),
    (RED_HAT_OPENSHIFT, "HcpOpenShiftClustersNodePool", NODE_POOL),
    (AUTHORIZATION, "RoleAssignment", ROLE_ASSIGNMENT),
    (CAPI, "Cluster", CLUSTER),
    (
        CAPI,
        "MachinePool",
        &[fixed(
            "/spec/clusterName",
            NOTHING,
            "Cluster API rejects this change",
        )],
    ),
    (
        INFRASTRUCTURE,
        "AzureClusterIdentity",
        &[fixed("/spec/type", NOTHING, "the field is immutable")],
    ),
    ("", "ConfigMap", CONFIG_MAP),
    ("", "Secret", SECRET),
    ("", "PersistentVolumeClaim", CLAIM),
    ("", "Service", &[plain("/spec/clusterIP", Absent::Chosen)]),
    ("apps", "Deployment", SELECTOR),
    ("apps", "DaemonSet", SELECTOR),
    ("apps", "ReplicaSet", SELECTOR),
    ("apps", "StatefulSet", STATEFUL_SET),
    ("batch", "Job", JOB),
    (
        "rbac.authorization.k8s.io",
        "RoleBinding",
        &[plain("/roleRef", NOTHING)],
    ),
    (
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        &[plain("/roleRef", NOTHING)],
    ),
];

/// The embedded resources that have nodes: once their parent resource no longer lists them, the
/// controllers delete them. Source: facts/aro-controllers.md §6.
pub(super) const CARRIED: &[&str] = &["HcpOpenShiftCluster", "HcpOpenShiftClustersNodePool"];

/// Why a removed one counts.
pub(super) const GONE: &str =
    "the controllers delete resources that are no longer in spec.resources, and create new ones";
