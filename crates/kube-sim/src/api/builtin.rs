//! The table of resources that are there from the start.
//!
//! One row per resource: its address, its names, what it has beside a spec, and its type, through
//! which objects pass on their way in so that unknown fields fall away and wrong types are seen.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Event, LimitRange, Namespace, Node, PersistentVolumeClaim, Pod, ResourceQuota,
    Secret, Service, ServiceAccount,
};
use k8s_openapi::api::events::v1::Event as NewEvent;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::defaults::Defaults;
use super::names::NameRule;

/// What a resource has or allows beyond the ordinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trait {
    /// It lies in no namespace.
    Cluster,
    /// Its status is a subresource.
    Status,
    /// `metadata.generation` counts changes of its spec.
    Generation,
    /// Changes of its annotations count as well.
    GenerationOfAnnotations,
    /// PUT of an absent object creates it.
    CreateOnPut,
    /// PUT needs the resource version it is based on.
    Conditional,
    /// It cannot be deleted as a collection.
    NoDeleteCollection,
    /// DELETE answers with the object.
    GivesDeleted,
}

/// One resource of the table.
#[derive(Debug)]
pub(super) struct Builtin {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) short_names: &'static [&'static str],
    /// Categories, such as `all`.
    pub(super) categories: &'static [&'static str],
    pub(super) traits: &'static [Trait],
    pub(super) name: NameRule,
    /// Field paths that can be selected by, beside name and namespace.
    pub(super) fields: &'static [&'static str],
    /// Passes an object through its type, which drops unknown fields and fills in defaults.
    pub(super) decode: fn(&Value) -> Result<Value, serde_json::Error>,
}

impl Builtin {
    pub(super) fn has(&self, wanted: Trait) -> bool {
        self.traits.contains(&wanted)
    }

    const fn called(mut self, short_names: &'static [&'static str]) -> Self {
        self.short_names = short_names;
        self
    }

    const fn among(mut self, categories: &'static [&'static str]) -> Self {
        self.categories = categories;
        self
    }

    const fn with(mut self, traits: &'static [Trait]) -> Self {
        self.traits = traits;
        self
    }

    const fn named_by(mut self, rule: NameRule) -> Self {
        self.name = rule;
        self
    }

    const fn selected_by(mut self, fields: &'static [&'static str]) -> Self {
        self.fields = fields;
        self
    }
}

const fn row<K: DeserializeOwned + Serialize + Defaults>(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Builtin {
    Builtin {
        group,
        version,
        kind,
        plural,
        short_names: &[],
        categories: &[],
        traits: &[],
        name: NameRule::Subdomain,
        fields: &[],
        decode: decode::<K>,
    }
}

fn decode<K>(object: &Value) -> Result<Value, serde_json::Error>
where
    K: DeserializeOwned + Serialize + Defaults,
{
    let mut object = K::deserialize(object)?;
    object.fill();
    serde_json::to_value(object)
}

const ADMISSION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const EVENT_FIELDS: &[&str] = &[
    "involvedObject.apiVersion",
    "involvedObject.fieldPath",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.resourceVersion",
    "involvedObject.uid",
    "reason",
    "reportingComponent",
    "type",
];

/// The same by their newer names.
const NEW_EVENT_FIELDS: &[&str] = &[
    "reason",
    "regarding.apiVersion",
    "regarding.fieldPath",
    "regarding.kind",
    "regarding.name",
    "regarding.namespace",
    "regarding.resourceVersion",
    "regarding.uid",
    "reportingController",
    "type",
];

use Trait::{
    Cluster, Conditional, CreateOnPut, Generation, GenerationOfAnnotations, GivesDeleted,
    NoDeleteCollection, Status,
};

/// Every built-in resource, in the order in which they are announced.
pub(super) static BUILTINS: &[Builtin] = &[
    row::<ConfigMap>("", "v1", "ConfigMap", "configmaps").called(&["cm"]),
    row::<Event>("", "v1", "Event", "events")
        .called(&["ev"])
        .with(&[CreateOnPut])
        .selected_by(EVENT_FIELDS),
    row::<LimitRange>("", "v1", "LimitRange", "limitranges")
        .called(&["limits"])
        .with(&[CreateOnPut]),
    row::<Namespace>("", "v1", "Namespace", "namespaces")
        .called(&["ns"])
        .with(&[Cluster, Status, NoDeleteCollection, GivesDeleted])
        .named_by(NameRule::Label)
        .selected_by(&["status.phase"]),
    row::<Node>("", "v1", "Node", "nodes")
        .called(&["no"])
        .with(&[Cluster, Status])
        .selected_by(&["spec.unschedulable"]),
    row::<PersistentVolumeClaim>("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
        .called(&["pvc"])
        .with(&[Status, GivesDeleted]),
    row::<Pod>("", "v1", "Pod", "pods")
        .called(&["po"])
        .among(&["all"])
        .with(&[Status, Generation, GivesDeleted])
        .selected_by(&[
            "spec.hostNetwork",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.nominatedNodeName",
            "status.phase",
            "status.podIP",
        ]),
    row::<ResourceQuota>("", "v1", "ResourceQuota", "resourcequotas")
        .called(&["quota"])
        .with(&[Status, GivesDeleted]),
    row::<Secret>("", "v1", "Secret", "secrets").selected_by(&["type"]),
    row::<ServiceAccount>("", "v1", "ServiceAccount", "serviceaccounts")
        .called(&["sa"])
        .with(&[GivesDeleted]),
    row::<Service>("", "v1", "Service", "services")
        .called(&["svc"])
        .among(&["all"])
        .with(&[Status, CreateOnPut, GivesDeleted])
        .named_by(NameRule::Label1035)
        .selected_by(&["spec.clusterIP", "spec.type"]),
    row::<MutatingWebhookConfiguration>(
        ADMISSION,
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
    )
    .among(&["api-extensions"])
    .with(&[Cluster, Generation, Conditional]),
    row::<ValidatingWebhookConfiguration>(
        ADMISSION,
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
    )
    .among(&["api-extensions"])
    .with(&[Cluster, Generation, Conditional]),
    row::<CustomResourceDefinition>(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    )
    .called(&["crd", "crds"])
    .among(&["api-extensions"])
    .with(&[Cluster, Status, Generation, Conditional]),
    row::<DaemonSet>("apps", "v1", "DaemonSet", "daemonsets")
        .called(&["ds"])
        .among(&["all"])
        .with(&[Status, Generation]),
    row::<Deployment>("apps", "v1", "Deployment", "deployments")
        .called(&["deploy"])
        .among(&["all"])
        .with(&[Status, Generation, GenerationOfAnnotations]),
    row::<ReplicaSet>("apps", "v1", "ReplicaSet", "replicasets")
        .called(&["rs"])
        .among(&["all"])
        .with(&[Status, Generation]),
    row::<StatefulSet>("apps", "v1", "StatefulSet", "statefulsets")
        .called(&["sts"])
        .among(&["all"])
        .with(&[Status, Generation]),
    row::<HorizontalPodAutoscaler>(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    )
    .called(&["hpa"])
    .among(&["all"])
    .with(&[Status]),
    row::<CronJob>("batch", "v1", "CronJob", "cronjobs")
        .called(&["cj"])
        .among(&["all"])
        .with(&[Status, Generation]),
    row::<Job>("batch", "v1", "Job", "jobs")
        .among(&["all"])
        .with(&[Status, Generation])
        .selected_by(&["status.successful"]),
    row::<Lease>("coordination.k8s.io", "v1", "Lease", "leases").with(&[CreateOnPut, Conditional]),
    row::<NewEvent>("events.k8s.io", "v1", "Event", "events")
        .called(&["ev"])
        .with(&[CreateOnPut])
        .selected_by(NEW_EVENT_FIELDS),
    row::<Ingress>("networking.k8s.io", "v1", "Ingress", "ingresses")
        .called(&["ing"])
        .with(&[Status, Generation]),
    row::<IngressClass>("networking.k8s.io", "v1", "IngressClass", "ingressclasses")
        .with(&[Cluster, Generation]),
    row::<NetworkPolicy>(
        "networking.k8s.io",
        "v1",
        "NetworkPolicy",
        "networkpolicies",
    )
    .called(&["netpol"])
    .with(&[Generation]),
    row::<PodDisruptionBudget>(
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
    )
    .called(&["pdb"])
    .with(&[Status, Generation, Conditional]),
    row::<ClusterRoleBinding>(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings")
        .with(&[Cluster, CreateOnPut])
        .named_by(NameRule::PathSegment),
    row::<ClusterRole>(RBAC, "v1", "ClusterRole", "clusterroles")
        .with(&[Cluster, CreateOnPut])
        .named_by(NameRule::PathSegment),
    row::<RoleBinding>(RBAC, "v1", "RoleBinding", "rolebindings")
        .with(&[CreateOnPut])
        .named_by(NameRule::PathSegment),
    row::<Role>(RBAC, "v1", "Role", "roles")
        .with(&[CreateOnPut])
        .named_by(NameRule::PathSegment),
    row::<PriorityClass>(
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
    )
    .called(&["pc"])
    .with(&[Cluster, Generation]),
    row::<StorageClass>("storage.k8s.io", "v1", "StorageClass", "storageclasses")
        .called(&["sc"])
        .with(&[Cluster, GivesDeleted]),
];
