//! What the server fills in on built-in objects.
//!
//! In: a typed object. Out: the same with the defaults that a reader of the object would miss
//! (k8s.io/kubernetes `pkg/apis/*/v1/defaults.go`). Defaults that only a kubelet or a scheduler reads
//! are left out: nothing here runs Pods.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::{
    DaemonSet, Deployment, DeploymentStrategy, ReplicaSet, RollingUpdateDeployment, StatefulSet,
};
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
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

mod pods;

use pods::fill_pod;

/// Fills in what is not set.
pub(super) trait Defaults {
    /// Nothing, for most kinds.
    fn fill(&mut self) {}
}

impl Defaults for CronJob {}
impl Defaults for Event {}
impl Defaults for HorizontalPodAutoscaler {}
impl Defaults for IngressClass {}
impl Defaults for LimitRange {}
impl Defaults for MutatingWebhookConfiguration {}
impl Defaults for NetworkPolicy {}
impl Defaults for PersistentVolumeClaim {}
impl Defaults for PodDisruptionBudget {}
impl Defaults for PriorityClass {}
impl Defaults for ResourceQuota {}
impl Defaults for StorageClass {}
impl Defaults for ValidatingWebhookConfiguration {}
impl Defaults for NewEvent {}
impl Defaults for ServiceAccount {}
impl Defaults for Ingress {}
impl Defaults for Lease {}
impl Defaults for ClusterRole {}
impl Defaults for Role {}

impl Defaults for Namespace {
    fn fill(&mut self) {
        let name = self.metadata.name.clone().unwrap_or_default();
        let labels = self.metadata.labels.get_or_insert_default();
        labels.insert("kubernetes.io/metadata.name".into(), name);
    }
}

impl Defaults for Node {
    fn fill(&mut self) {
        if let Some(status) = &mut self.status
            && status.allocatable.is_none()
        {
            status.allocatable.clone_from(&status.capacity);
        }
    }
}

impl Defaults for ConfigMap {
    fn fill(&mut self) {
        drop_empty(&mut self.data);
        drop_empty(&mut self.binary_data);
    }
}

/// A map that has nothing in it is left out.
fn drop_empty<T>(map: &mut Option<BTreeMap<String, T>>) {
    *map = map.take().filter(|map| !map.is_empty());
}

impl Defaults for Secret {
    fn fill(&mut self) {
        drop_empty(&mut self.data);
        self.type_.get_or_insert_with(|| "Opaque".into());
        for (key, text) in self.string_data.take().unwrap_or_default() {
            let data = self.data.get_or_insert_default();
            data.insert(key, ByteString(text.into_bytes()));
        }
    }
}

impl Defaults for Service {
    fn fill(&mut self) {
        let spec = self.spec.get_or_insert_default();
        let text = |text: &str| text.to_owned();
        spec.type_.get_or_insert_with(|| text("ClusterIP"));
        spec.session_affinity.get_or_insert_with(|| text("None"));
        if spec.type_.as_deref() != Some("ExternalName") {
            spec.internal_traffic_policy
                .get_or_insert_with(|| text("Cluster"));
        }
        for port in spec.ports.iter_mut().flatten() {
            port.protocol.get_or_insert_with(|| text("TCP"));
            port.target_port.get_or_insert(IntOrString::Int(port.port));
        }
    }
}

impl Defaults for Pod {
    fn fill(&mut self) {
        if let Some(spec) = &mut self.spec {
            fill_pod(spec);
        }
    }
}

impl Defaults for Deployment {
    fn fill(&mut self) {
        let Some(spec) = &mut self.spec else { return };
        spec.replicas.get_or_insert(1);
        spec.revision_history_limit.get_or_insert(10);
        spec.progress_deadline_seconds.get_or_insert(600);
        fill_strategy(spec.strategy.get_or_insert_default());
        if let Some(pod) = &mut spec.template.spec {
            fill_pod(pod);
        }
    }
}

fn fill_strategy(strategy: &mut DeploymentStrategy) {
    let kind = strategy.type_.get_or_insert_with(|| "RollingUpdate".into());
    if kind == "RollingUpdate" {
        let rolling: &mut RollingUpdateDeployment = strategy.rolling_update.get_or_insert_default();
        let quarter = || IntOrString::String("25%".into());
        rolling.max_surge.get_or_insert_with(quarter);
        rolling.max_unavailable.get_or_insert_with(quarter);
    }
}

impl Defaults for ReplicaSet {
    fn fill(&mut self) {
        let Some(spec) = &mut self.spec else { return };
        spec.replicas.get_or_insert(1);
        if let Some(pod) = spec.template.as_mut().and_then(|t| t.spec.as_mut()) {
            fill_pod(pod);
        }
    }
}

impl Defaults for StatefulSet {
    fn fill(&mut self) {
        let Some(spec) = &mut self.spec else { return };
        spec.replicas.get_or_insert(1);
        spec.revision_history_limit.get_or_insert(10);
        spec.pod_management_policy
            .get_or_insert_with(|| "OrderedReady".into());
        spec.service_name.get_or_insert_default();
        let retention = spec
            .persistent_volume_claim_retention_policy
            .get_or_insert_default();
        let retain = || "Retain".to_owned();
        retention.when_deleted.get_or_insert_with(retain);
        retention.when_scaled.get_or_insert_with(retain);
        let update = spec.update_strategy.get_or_insert_default();
        if update.type_.get_or_insert_with(|| "RollingUpdate".into()) == "RollingUpdate" {
            let rolling = update.rolling_update.get_or_insert_default();
            rolling.partition.get_or_insert(0);
        }
        if let Some(pod) = &mut spec.template.spec {
            fill_pod(pod);
        }
        if let Some(status) = &mut self.status {
            status.available_replicas.get_or_insert(0);
        }
    }
}

impl Defaults for DaemonSet {
    fn fill(&mut self) {
        let Some(spec) = &mut self.spec else { return };
        spec.revision_history_limit.get_or_insert(10);
        if let Some(pod) = &mut spec.template.spec {
            fill_pod(pod);
        }
    }
}

impl Defaults for Job {
    fn fill(&mut self) {
        let Some(spec) = &mut self.spec else { return };
        spec.parallelism.get_or_insert(1);
        spec.completions.get_or_insert(1);
        spec.backoff_limit.get_or_insert(6);
        spec.suspend.get_or_insert(false);
        spec.completion_mode
            .get_or_insert_with(|| "NonIndexed".into());
        if let Some(pod) = &mut spec.template.spec {
            fill_pod(pod);
        }
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";

impl Defaults for RoleBinding {
    fn fill(&mut self) {
        fill_binding(&mut self.role_ref, self.subjects.as_deref_mut());
    }
}

impl Defaults for ClusterRoleBinding {
    fn fill(&mut self) {
        fill_binding(&mut self.role_ref, self.subjects.as_deref_mut());
    }
}

fn fill_binding(role: &mut RoleRef, subjects: Option<&mut [Subject]>) {
    if role.api_group.is_empty() {
        role.api_group = RBAC.into();
    }
    for subject in subjects.into_iter().flatten() {
        if subject.kind != "ServiceAccount" {
            subject.api_group.get_or_insert_with(|| RBAC.into());
        }
    }
}

impl Defaults for CustomResourceDefinition {
    fn fill(&mut self) {
        let names = &mut self.spec.names;
        if !names.kind.is_empty() {
            let kind = names.kind.clone();
            names.singular.get_or_insert_with(|| kind.to_lowercase());
            names.list_kind.get_or_insert_with(|| format!("{kind}List"));
        }
        self.spec
            .conversion
            .get_or_insert_with(|| CustomResourceConversion {
                strategy: "None".into(),
                ..Default::default()
            });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;

    fn filled<K: Defaults + serde::Serialize + serde::de::DeserializeOwned>(
        object: Value,
    ) -> Value {
        let mut object: K = serde_json::from_value(object).unwrap();
        object.fill();
        serde_json::to_value(object).unwrap()
    }

    #[test]
    fn texts_of_secrets_become_data() {
        let secret = filled::<Secret>(json!({"metadata": {}, "stringData": {"a": "b"}}));
        assert_eq!(secret["data"]["a"], "Yg==");
        assert_eq!(secret["type"], "Opaque");
        assert!(secret.get("stringData").is_none());
    }

    #[test]
    fn a_deployment_has_one_replica_by_default() {
        let image = |image: &str| {
            let spec = json!({"selector": {}, "template": {"spec": {"containers": [{"name": "c", "image": image}]}}});
            filled::<Deployment>(json!({"metadata": {}, "spec": spec}))
        };
        let deployment = image("registry:5000/app");
        assert_eq!(deployment["spec"]["replicas"], 1);
        assert_eq!(
            deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"],
            "25%"
        );
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["imagePullPolicy"], "Always");
        let pinned = image("app:1");
        let container = &pinned["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["imagePullPolicy"], "IfNotPresent");
    }

    #[test]
    fn names_of_definitions_are_derived_from_the_kind() {
        let crd = filled::<CustomResourceDefinition>(json!({"metadata": {}, "spec": {
            "group": "a.b", "scope": "Cluster", "names": {"kind": "Widget", "plural": "widgets"}, "versions": []}}));
        assert_eq!(crd["spec"]["names"]["singular"], "widget");
        assert_eq!(crd["spec"]["names"]["listKind"], "WidgetList");
        assert_eq!(crd["spec"]["conversion"]["strategy"], "None");
    }
}
