//! How the lists and maps of built-in kinds merge, and which maps have free keys.
//!
//! The facts are those of the typed schema that Kubernetes 1.34 publishes for apply configurations.
//! Only what differs from the rule is listed. The rule: a map is a struct whose members merge one
//! by one, a list is one value, anything else is a scalar.

use serde_json::Value;

use kube_schema::{Items, Published, published};

use super::shape::Shape::{self, Atomic, Closed, Keyed, Map, Plain, Set, Struct, Text, Untyped};

/// The kinds we know, by group and kind.
const KINDS: &[(&str, &str, &Shape)] = &[
    ("", "ConfigMap", &CONFIG_MAP),
    ("", "Secret", &SECRET),
    ("", "Service", &SERVICE),
    ("", "ServiceAccount", &SERVICE_ACCOUNT),
    ("", "Pod", &POD),
    ("", "PodTemplate", &POD_TEMPLATE),
    ("", "Namespace", &NAMESPACE),
    ("", "Node", &NODE),
    ("", "Event", &EVENT),
    ("", "PersistentVolume", &PERSISTENT_VOLUME),
    ("", "PersistentVolumeClaim", &PERSISTENT_VOLUME_CLAIM),
    ("", "ReplicationController", &REPLICATION_CONTROLLER),
    ("", "ResourceQuota", &RESOURCE_QUOTA),
    ("", "LimitRange", &LIMIT_RANGE),
    ("", "Endpoints", &ENDPOINTS),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        &CUSTOM_RESOURCE_DEFINITION,
    ),
    ("apps", "Deployment", &DEPLOYMENT),
    ("apps", "ReplicaSet", &REPLICA_SET),
    ("apps", "StatefulSet", &STATEFUL_SET),
    ("apps", "DaemonSet", &DAEMON_SET),
    ("apps", "ControllerRevision", &CONTROLLER_REVISION),
    ("batch", "Job", &JOB),
    ("batch", "CronJob", &CRON_JOB),
    ("networking.k8s.io", "Ingress", &INGRESS),
    ("networking.k8s.io", "IngressClass", &INGRESS_CLASS),
    ("networking.k8s.io", "NetworkPolicy", &NETWORK_POLICY),
    ("rbac.authorization.k8s.io", "Role", &ROLE),
    ("rbac.authorization.k8s.io", "ClusterRole", &CLUSTER_ROLE),
    ("rbac.authorization.k8s.io", "RoleBinding", &ROLE_BINDING),
    (
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        &CLUSTER_ROLE_BINDING,
    ),
    ("policy", "PodDisruptionBudget", &POD_DISRUPTION_BUDGET),
    ("autoscaling", "HorizontalPodAutoscaler", &HPA),
    ("coordination.k8s.io", "Lease", &LEASE),
    ("discovery.k8s.io", "EndpointSlice", &ENDPOINT_SLICE),
    ("storage.k8s.io", "StorageClass", &STORAGE_CLASS),
    ("storage.k8s.io", "CSIDriver", &CSI_DRIVER),
    ("storage.k8s.io", "VolumeAttachment", &VOLUME_ATTACHMENT),
    ("scheduling.k8s.io", "PriorityClass", &PRIORITY_CLASS),
    ("events.k8s.io", "Event", &NEW_EVENT),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        &VALIDATING_WEBHOOK_CONFIGURATION,
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        &MUTATING_WEBHOOK_CONFIGURATION,
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        &VALIDATING_ADMISSION_POLICY,
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        &VALIDATING_ADMISSION_POLICY_BINDING,
    ),
];

/// What a key field holds where an item leaves it out.
pub(super) fn key_default(name: &str) -> Value {
    match name {
        "protocol" => "TCP".into(),
        "port" | "containerPort" => 0.into(),
        _ => "".into(),
    }
}

/// The shape of a list of `map` with items of the shape `item`. What identifies them is in the table of
/// such lists that the API server publishes; a list that is not there does not compile.
const fn list(map: &Published, name: &str, item: &'static Shape) -> Shape {
    let known = map.field(name);
    match known.expect("the published table has it").apply {
        Items::Keys(keys) => Keyed(keys, item),
        Items::Values => Set,
        Items::Whole => Plain,
    }
}

/// The shape of a whole object of this kind.
pub(super) fn find(group: &str, kind: &str) -> Option<&'static Shape> {
    KINDS
        .iter()
        .find(|row| (row.0, row.1) == (group, kind))
        .map(|row| row.2)
}

/// A map with free keys and plain values.
const MAP: Shape = Map(&Plain);
/// A map with free keys and strings.
const TEXTS: Shape = Map(&Text);

/// `metadata` of every object.
pub(super) static OBJECT_META: Shape = Closed(&[
    ("annotations", &TEXTS),
    ("creationTimestamp", &Plain),
    ("deletionGracePeriodSeconds", &Plain),
    ("deletionTimestamp", &Plain),
    (
        "finalizers",
        &list(&published::META_V1_OBJECT_META, "finalizers", &Text),
    ),
    ("generateName", &Text),
    ("generation", &Plain),
    ("labels", &TEXTS),
    ("managedFields", &Plain),
    ("name", &Text),
    ("namespace", &Text),
    (
        "ownerReferences",
        &list(&published::META_V1_OBJECT_META, "ownerReferences", &Atomic),
    ),
    ("resourceVersion", &Text),
    ("selfLink", &Text),
    ("uid", &Text),
]);
static CONFIG_MAP: Shape = Struct(&[
    ("binaryData", &TEXTS),
    ("data", &TEXTS),
    ("metadata", &OBJECT_META),
]);
static SECRET: Shape = Struct(&[
    ("data", &TEXTS),
    ("metadata", &OBJECT_META),
    ("stringData", &TEXTS),
]);
static SERVICE_SPEC: Shape = Struct(&[
    (
        "ports",
        &list(&published::CORE_V1_SERVICE_SPEC, "ports", &Plain),
    ),
    ("selector", &Atomic),
]);
static SERVICE_STATUS: Shape = Struct(&[(
    "conditions",
    &list(&published::CORE_V1_SERVICE_STATUS, "conditions", &Plain),
)]);
static SERVICE: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &SERVICE_SPEC),
    ("status", &SERVICE_STATUS),
]);
static SERVICE_ACCOUNT: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    (
        "secrets",
        &list(&published::CORE_V1_SERVICE_ACCOUNT, "secrets", &Atomic),
    ),
]);
static NODE_AFFINITY: Shape =
    Struct(&[("requiredDuringSchedulingIgnoredDuringExecution", &Atomic)]);
static AFFINITY: Shape = Struct(&[("nodeAffinity", &NODE_AFFINITY)]);
static ENV_VAR_SOURCE: Shape = Struct(&[
    ("configMapKeyRef", &Atomic),
    ("fieldRef", &Atomic),
    ("fileKeyRef", &Atomic),
    ("resourceFieldRef", &Atomic),
    ("secretKeyRef", &Atomic),
]);
static ENV_VAR: Shape = Struct(&[("valueFrom", &ENV_VAR_SOURCE)]);
static RESOURCE_REQUIREMENTS: Shape = Struct(&[
    (
        "claims",
        &list(&published::CORE_V1_RESOURCE_REQUIREMENTS, "claims", &Plain),
    ),
    ("limits", &MAP),
    ("requests", &MAP),
]);
static CONTAINER: Shape = Struct(&[
    ("env", &list(&published::CORE_V1_CONTAINER, "env", &ENV_VAR)),
    (
        "ports",
        &list(&published::CORE_V1_CONTAINER, "ports", &Plain),
    ),
    ("resources", &RESOURCE_REQUIREMENTS),
    (
        "volumeDevices",
        &list(&published::CORE_V1_CONTAINER, "volumeDevices", &Plain),
    ),
    (
        "volumeMounts",
        &list(&published::CORE_V1_CONTAINER, "volumeMounts", &Plain),
    ),
]);
static EPHEMERAL_CONTAINER: Shape = Struct(&[
    (
        "env",
        &list(&published::CORE_V1_EPHEMERAL_CONTAINER, "env", &ENV_VAR),
    ),
    (
        "ports",
        &list(&published::CORE_V1_EPHEMERAL_CONTAINER, "ports", &Plain),
    ),
    ("resources", &RESOURCE_REQUIREMENTS),
    (
        "volumeDevices",
        &list(
            &published::CORE_V1_EPHEMERAL_CONTAINER,
            "volumeDevices",
            &Plain,
        ),
    ),
    (
        "volumeMounts",
        &list(
            &published::CORE_V1_EPHEMERAL_CONTAINER,
            "volumeMounts",
            &Plain,
        ),
    ),
]);
static TOPOLOGY_SPREAD_CONSTRAINT: Shape = Struct(&[("labelSelector", &Atomic)]);
static CEPH_FS_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static CINDER_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static CSI_VOLUME_SOURCE: Shape = Struct(&[
    ("nodePublishSecretRef", &Atomic),
    ("volumeAttributes", &MAP),
]);
static VOLUME_RESOURCE_REQUIREMENTS: Shape = Struct(&[("limits", &MAP), ("requests", &MAP)]);
static PERSISTENT_VOLUME_CLAIM_SPEC: Shape = Struct(&[
    ("dataSource", &Atomic),
    ("resources", &VOLUME_RESOURCE_REQUIREMENTS),
    ("selector", &Atomic),
]);
static PERSISTENT_VOLUME_CLAIM_TEMPLATE: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &PERSISTENT_VOLUME_CLAIM_SPEC),
]);
static EPHEMERAL_VOLUME_SOURCE: Shape =
    Struct(&[("volumeClaimTemplate", &PERSISTENT_VOLUME_CLAIM_TEMPLATE)]);
static FLEX_VOLUME_SOURCE: Shape = Struct(&[("options", &MAP), ("secretRef", &Atomic)]);
static ISCSI_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static RBD_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static SCALE_IO_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static STORAGE_OS_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static VOLUME: Shape = Struct(&[
    ("cephfs", &CEPH_FS_VOLUME_SOURCE),
    ("cinder", &CINDER_VOLUME_SOURCE),
    ("csi", &CSI_VOLUME_SOURCE),
    ("ephemeral", &EPHEMERAL_VOLUME_SOURCE),
    ("flexVolume", &FLEX_VOLUME_SOURCE),
    ("iscsi", &ISCSI_VOLUME_SOURCE),
    ("rbd", &RBD_VOLUME_SOURCE),
    ("scaleIO", &SCALE_IO_VOLUME_SOURCE),
    ("storageos", &STORAGE_OS_VOLUME_SOURCE),
]);
static POD_SPEC: Shape = Struct(&[
    ("affinity", &AFFINITY),
    (
        "containers",
        &list(&published::CORE_V1_POD_SPEC, "containers", &CONTAINER),
    ),
    (
        "ephemeralContainers",
        &list(
            &published::CORE_V1_POD_SPEC,
            "ephemeralContainers",
            &EPHEMERAL_CONTAINER,
        ),
    ),
    (
        "hostAliases",
        &list(&published::CORE_V1_POD_SPEC, "hostAliases", &Plain),
    ),
    (
        "imagePullSecrets",
        &list(&published::CORE_V1_POD_SPEC, "imagePullSecrets", &Atomic),
    ),
    (
        "initContainers",
        &list(&published::CORE_V1_POD_SPEC, "initContainers", &CONTAINER),
    ),
    ("nodeSelector", &Atomic),
    ("overhead", &MAP),
    (
        "resourceClaims",
        &list(&published::CORE_V1_POD_SPEC, "resourceClaims", &Plain),
    ),
    ("resources", &RESOURCE_REQUIREMENTS),
    (
        "schedulingGates",
        &list(&published::CORE_V1_POD_SPEC, "schedulingGates", &Plain),
    ),
    (
        "topologySpreadConstraints",
        &list(
            &published::CORE_V1_POD_SPEC,
            "topologySpreadConstraints",
            &TOPOLOGY_SPREAD_CONSTRAINT,
        ),
    ),
    (
        "volumes",
        &list(&published::CORE_V1_POD_SPEC, "volumes", &VOLUME),
    ),
]);
static POD_STATUS: Shape = Struct(&[
    (
        "conditions",
        &list(&published::CORE_V1_POD_STATUS, "conditions", &Plain),
    ),
    (
        "podIPs",
        &list(&published::CORE_V1_POD_STATUS, "podIPs", &Plain),
    ),
    (
        "resourceClaimStatuses",
        &list(
            &published::CORE_V1_POD_STATUS,
            "resourceClaimStatuses",
            &Plain,
        ),
    ),
]);
static POD: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &POD_SPEC),
    ("status", &POD_STATUS),
]);
static POD_TEMPLATE_SPEC: Shape = Struct(&[("metadata", &OBJECT_META), ("spec", &POD_SPEC)]);
static POD_TEMPLATE: Shape =
    Struct(&[("metadata", &OBJECT_META), ("template", &POD_TEMPLATE_SPEC)]);
static NAMESPACE_STATUS: Shape = Struct(&[(
    "conditions",
    &list(&published::CORE_V1_NAMESPACE_STATUS, "conditions", &Plain),
)]);
static NAMESPACE: Shape = Struct(&[("metadata", &OBJECT_META), ("status", &NAMESPACE_STATUS)]);
static NODE_SPEC: Shape = Struct(&[(
    "podCIDRs",
    &list(&published::CORE_V1_NODE_SPEC, "podCIDRs", &Text),
)]);
static NODE_STATUS: Shape = Struct(&[
    (
        "addresses",
        &list(&published::CORE_V1_NODE_STATUS, "addresses", &Plain),
    ),
    ("allocatable", &MAP),
    ("capacity", &MAP),
    (
        "conditions",
        &list(&published::CORE_V1_NODE_STATUS, "conditions", &Plain),
    ),
]);
static NODE: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &NODE_SPEC),
    ("status", &NODE_STATUS),
]);
static EVENT: Shape = Struct(&[
    ("involvedObject", &Atomic),
    ("metadata", &OBJECT_META),
    ("related", &Atomic),
]);
static CEPH_FS_PERSISTENT_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static CINDER_PERSISTENT_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static CSI_PERSISTENT_VOLUME_SOURCE: Shape = Struct(&[
    ("controllerExpandSecretRef", &Atomic),
    ("controllerPublishSecretRef", &Atomic),
    ("nodeExpandSecretRef", &Atomic),
    ("nodePublishSecretRef", &Atomic),
    ("nodeStageSecretRef", &Atomic),
    ("volumeAttributes", &MAP),
]);
static FLEX_PERSISTENT_VOLUME_SOURCE: Shape = Struct(&[("options", &MAP), ("secretRef", &Atomic)]);
static ISCSI_PERSISTENT_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static VOLUME_NODE_AFFINITY: Shape = Struct(&[("required", &Atomic)]);
static RBD_PERSISTENT_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static SCALE_IO_PERSISTENT_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static STORAGE_OS_PERSISTENT_VOLUME_SOURCE: Shape = Struct(&[("secretRef", &Atomic)]);
static PERSISTENT_VOLUME_SPEC: Shape = Struct(&[
    ("capacity", &MAP),
    ("cephfs", &CEPH_FS_PERSISTENT_VOLUME_SOURCE),
    ("cinder", &CINDER_PERSISTENT_VOLUME_SOURCE),
    ("csi", &CSI_PERSISTENT_VOLUME_SOURCE),
    ("flexVolume", &FLEX_PERSISTENT_VOLUME_SOURCE),
    ("iscsi", &ISCSI_PERSISTENT_VOLUME_SOURCE),
    ("nodeAffinity", &VOLUME_NODE_AFFINITY),
    ("rbd", &RBD_PERSISTENT_VOLUME_SOURCE),
    ("scaleIO", &SCALE_IO_PERSISTENT_VOLUME_SOURCE),
    ("storageos", &STORAGE_OS_PERSISTENT_VOLUME_SOURCE),
]);
static PERSISTENT_VOLUME: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &PERSISTENT_VOLUME_SPEC),
]);
static PERSISTENT_VOLUME_CLAIM_STATUS: Shape = Struct(&[
    ("allocatedResourceStatuses", &MAP),
    ("allocatedResources", &MAP),
    ("capacity", &MAP),
    (
        "conditions",
        &list(
            &published::CORE_V1_PERSISTENT_VOLUME_CLAIM_STATUS,
            "conditions",
            &Plain,
        ),
    ),
]);
static PERSISTENT_VOLUME_CLAIM: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &PERSISTENT_VOLUME_CLAIM_SPEC),
    ("status", &PERSISTENT_VOLUME_CLAIM_STATUS),
]);
static REPLICATION_CONTROLLER_SPEC: Shape =
    Struct(&[("selector", &Atomic), ("template", &POD_TEMPLATE_SPEC)]);
static REPLICATION_CONTROLLER_STATUS: Shape = Struct(&[(
    "conditions",
    &list(
        &published::CORE_V1_REPLICATION_CONTROLLER_STATUS,
        "conditions",
        &Plain,
    ),
)]);
static REPLICATION_CONTROLLER: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &REPLICATION_CONTROLLER_SPEC),
    ("status", &REPLICATION_CONTROLLER_STATUS),
]);
static RESOURCE_QUOTA_SPEC: Shape = Struct(&[("hard", &MAP), ("scopeSelector", &Atomic)]);
static RESOURCE_QUOTA_STATUS: Shape = Struct(&[("hard", &MAP), ("used", &MAP)]);
static RESOURCE_QUOTA: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &RESOURCE_QUOTA_SPEC),
    ("status", &RESOURCE_QUOTA_STATUS),
]);
static LIMIT_RANGE: Shape = Struct(&[("metadata", &OBJECT_META)]);
static ENDPOINTS: Shape = Struct(&[("metadata", &OBJECT_META)]);
static DEPLOYMENT_SPEC: Shape = Struct(&[("selector", &Atomic), ("template", &POD_TEMPLATE_SPEC)]);
static DEPLOYMENT_STATUS: Shape = Struct(&[(
    "conditions",
    &list(&published::APPS_V1_DEPLOYMENT_STATUS, "conditions", &Plain),
)]);
static DEPLOYMENT: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &DEPLOYMENT_SPEC),
    ("status", &DEPLOYMENT_STATUS),
]);
static REPLICA_SET_SPEC: Shape = Struct(&[("selector", &Atomic), ("template", &POD_TEMPLATE_SPEC)]);
static REPLICA_SET_STATUS: Shape = Struct(&[(
    "conditions",
    &list(&published::APPS_V1_REPLICA_SET_STATUS, "conditions", &Plain),
)]);
static REPLICA_SET: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &REPLICA_SET_SPEC),
    ("status", &REPLICA_SET_STATUS),
]);
static STATEFUL_SET_SPEC: Shape =
    Struct(&[("selector", &Atomic), ("template", &POD_TEMPLATE_SPEC)]);
static STATEFUL_SET_STATUS: Shape = Struct(&[(
    "conditions",
    &list(
        &published::APPS_V1_STATEFUL_SET_STATUS,
        "conditions",
        &Plain,
    ),
)]);
static STATEFUL_SET: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &STATEFUL_SET_SPEC),
    ("status", &STATEFUL_SET_STATUS),
]);
static DAEMON_SET_SPEC: Shape = Struct(&[("selector", &Atomic), ("template", &POD_TEMPLATE_SPEC)]);
static DAEMON_SET_STATUS: Shape = Struct(&[(
    "conditions",
    &list(&published::APPS_V1_DAEMON_SET_STATUS, "conditions", &Plain),
)]);
static DAEMON_SET: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &DAEMON_SET_SPEC),
    ("status", &DAEMON_SET_STATUS),
]);
static CONTROLLER_REVISION: Shape = Struct(&[("data", &Untyped), ("metadata", &OBJECT_META)]);
static JOB_SPEC: Shape = Struct(&[("selector", &Atomic), ("template", &POD_TEMPLATE_SPEC)]);
static UNCOUNTED_TERMINATED_PODS: Shape = Struct(&[
    (
        "failed",
        &list(
            &published::BATCH_V1_UNCOUNTED_TERMINATED_PODS,
            "failed",
            &Text,
        ),
    ),
    (
        "succeeded",
        &list(
            &published::BATCH_V1_UNCOUNTED_TERMINATED_PODS,
            "succeeded",
            &Text,
        ),
    ),
]);
static JOB_STATUS: Shape = Struct(&[("uncountedTerminatedPods", &UNCOUNTED_TERMINATED_PODS)]);
static JOB: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &JOB_SPEC),
    ("status", &JOB_STATUS),
]);
static JOB_TEMPLATE_SPEC: Shape = Struct(&[("metadata", &OBJECT_META), ("spec", &JOB_SPEC)]);
static CRON_JOB_SPEC: Shape = Struct(&[("jobTemplate", &JOB_TEMPLATE_SPEC)]);
static CRON_JOB: Shape = Struct(&[("metadata", &OBJECT_META), ("spec", &CRON_JOB_SPEC)]);
static INGRESS_SERVICE_BACKEND: Shape = Struct(&[("port", &Atomic)]);
static INGRESS_BACKEND: Shape =
    Struct(&[("resource", &Atomic), ("service", &INGRESS_SERVICE_BACKEND)]);
static INGRESS_SPEC: Shape = Struct(&[("defaultBackend", &INGRESS_BACKEND)]);
static INGRESS: Shape = Struct(&[("metadata", &OBJECT_META), ("spec", &INGRESS_SPEC)]);
static INGRESS_CLASS: Shape = Struct(&[("metadata", &OBJECT_META)]);
static NETWORK_POLICY_SPEC: Shape = Struct(&[("podSelector", &Atomic)]);
static NETWORK_POLICY: Shape =
    Struct(&[("metadata", &OBJECT_META), ("spec", &NETWORK_POLICY_SPEC)]);
static ROLE: Shape = Struct(&[("metadata", &OBJECT_META)]);
static CLUSTER_ROLE: Shape = Struct(&[("metadata", &OBJECT_META)]);
static ROLE_BINDING: Shape = Struct(&[("metadata", &OBJECT_META), ("roleRef", &Atomic)]);
static CLUSTER_ROLE_BINDING: Shape = Struct(&[("metadata", &OBJECT_META), ("roleRef", &Atomic)]);
static POD_DISRUPTION_BUDGET_SPEC: Shape = Struct(&[("selector", &Atomic)]);
static POD_DISRUPTION_BUDGET_STATUS: Shape = Struct(&[
    (
        "conditions",
        &list(
            &published::POLICY_V1_POD_DISRUPTION_BUDGET_STATUS,
            "conditions",
            &Plain,
        ),
    ),
    ("disruptedPods", &MAP),
]);
static POD_DISRUPTION_BUDGET: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &POD_DISRUPTION_BUDGET_SPEC),
    ("status", &POD_DISRUPTION_BUDGET_STATUS),
]);
static HPA_STATUS: Shape = Struct(&[(
    "conditions",
    &list(
        &published::AUTOSCALING_V2_HORIZONTAL_POD_AUTOSCALER_STATUS,
        "conditions",
        &Plain,
    ),
)]);
static HPA: Shape = Struct(&[("metadata", &OBJECT_META), ("status", &HPA_STATUS)]);
static LEASE: Shape = Struct(&[("metadata", &OBJECT_META)]);
static ENDPOINT_SLICE: Shape = Struct(&[("metadata", &OBJECT_META)]);
static STORAGE_CLASS: Shape = Struct(&[("metadata", &OBJECT_META), ("parameters", &MAP)]);
static CSI_DRIVER_SPEC: Shape = Struct(&[(
    "volumeLifecycleModes",
    &list(
        &published::STORAGE_V1_CSI_DRIVER_SPEC,
        "volumeLifecycleModes",
        &Text,
    ),
)]);
static CSI_DRIVER: Shape = Struct(&[("metadata", &OBJECT_META), ("spec", &CSI_DRIVER_SPEC)]);
static VOLUME_ATTACHMENT_SOURCE: Shape = Struct(&[("inlineVolumeSpec", &PERSISTENT_VOLUME_SPEC)]);
static VOLUME_ATTACHMENT_SPEC: Shape = Struct(&[("source", &VOLUME_ATTACHMENT_SOURCE)]);
static VOLUME_ATTACHMENT_STATUS: Shape = Struct(&[("attachmentMetadata", &MAP)]);
static VOLUME_ATTACHMENT: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &VOLUME_ATTACHMENT_SPEC),
    ("status", &VOLUME_ATTACHMENT_STATUS),
]);
static PRIORITY_CLASS: Shape = Struct(&[("metadata", &OBJECT_META)]);
static NEW_EVENT: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("regarding", &Atomic),
    ("related", &Atomic),
]);
static VALIDATING_WEBHOOK: Shape = Struct(&[
    (
        "matchConditions",
        &list(
            &published::ADMISSIONREGISTRATION_V1_VALIDATING_WEBHOOK,
            "matchConditions",
            &Plain,
        ),
    ),
    ("namespaceSelector", &Atomic),
    ("objectSelector", &Atomic),
]);
static VALIDATING_WEBHOOK_CONFIGURATION: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    (
        "webhooks",
        &list(
            &published::ADMISSIONREGISTRATION_V1_VALIDATING_WEBHOOK_CONFIGURATION,
            "webhooks",
            &VALIDATING_WEBHOOK,
        ),
    ),
]);
static MUTATING_WEBHOOK: Shape = Struct(&[
    (
        "matchConditions",
        &list(
            &published::ADMISSIONREGISTRATION_V1_MUTATING_WEBHOOK,
            "matchConditions",
            &Plain,
        ),
    ),
    ("namespaceSelector", &Atomic),
    ("objectSelector", &Atomic),
]);
static MUTATING_WEBHOOK_CONFIGURATION: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    (
        "webhooks",
        &list(
            &published::ADMISSIONREGISTRATION_V1_MUTATING_WEBHOOK_CONFIGURATION,
            "webhooks",
            &MUTATING_WEBHOOK,
        ),
    ),
]);
static VALIDATING_ADMISSION_POLICY_SPEC: Shape = Struct(&[
    (
        "matchConditions",
        &list(
            &published::ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY_SPEC,
            "matchConditions",
            &Plain,
        ),
    ),
    ("matchConstraints", &Atomic),
    ("paramKind", &Atomic),
    (
        "variables",
        &list(
            &published::ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY_SPEC,
            "variables",
            &Atomic,
        ),
    ),
]);
static VALIDATING_ADMISSION_POLICY_STATUS: Shape = Struct(&[(
    "conditions",
    &list(
        &published::ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY_STATUS,
        "conditions",
        &Plain,
    ),
)]);
static VALIDATING_ADMISSION_POLICY: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &VALIDATING_ADMISSION_POLICY_SPEC),
    ("status", &VALIDATING_ADMISSION_POLICY_STATUS),
]);
static VALIDATING_ADMISSION_POLICY_BINDING_SPEC: Shape = Struct(&[
    ("matchResources", &Atomic),
    ("paramRef", &Atomic),
    (
        "validationActions",
        &list(
            &published::ADMISSIONREGISTRATION_V1_VALIDATING_ADMISSION_POLICY_BINDING_SPEC,
            "validationActions",
            &Text,
        ),
    ),
]);
static VALIDATING_ADMISSION_POLICY_BINDING: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("spec", &VALIDATING_ADMISSION_POLICY_BINDING_SPEC),
]);
static CUSTOM_RESOURCE_DEFINITION_STATUS: Shape = Struct(&[(
    "conditions",
    &list(
        &published::APIEXTENSIONS_V1_CUSTOM_RESOURCE_DEFINITION_STATUS,
        "conditions",
        &Plain,
    ),
)]);
static CUSTOM_RESOURCE_DEFINITION: Shape = Struct(&[
    ("metadata", &OBJECT_META),
    ("status", &CUSTOM_RESOURCE_DEFINITION_STATUS),
]);
