//! What every component has: an account with its rights, and a Deployment that runs as any user with a read-only root, as
//! OpenShift's `restricted-v2` wants it.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::rights::RBAC;
use crate::api::labels::{MANAGED_BY, MANAGED_BY_VALUE};

/// The port of health, readiness and metrics.
pub const PROBED_PORT: u16 = 8080;
pub(super) const APP: &str = "app.kubernetes.io/name";
/// The directory of the mirrors of repositories. A pod that is replaced fetches them again.
const CACHE: &str = "/var/cache/capstan";

/// A component of Capstan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The name of its objects.
    pub name: &'static str,
    /// The namespace of everything that has one.
    pub namespace: String,
    /// The image with the program.
    pub image: String,
}

/// The pods of a component.
pub(super) struct Pods {
    pub(super) arguments: Vec<String>,
    pub(super) replicas: u16,
    /// Their requests and limits.
    pub(super) resources: Json,
}

impl Component {
    fn labels(&self) -> Json {
        json!({APP: self.name, MANAGED_BY: MANAGED_BY_VALUE})
    }

    fn metadata(&self) -> Json {
        json!({"name": self.name, "namespace": self.namespace, "labels": self.labels()})
    }

    /// The name of what has no namespace: an installation in another namespace has its own.
    fn cluster_name(&self) -> String {
        format!("{}:{}", self.name, self.namespace)
    }

    fn cluster_metadata(&self) -> Json {
        json!({"name": self.cluster_name(), "labels": self.labels()})
    }

    /// The Namespace and the account.
    pub(super) fn account(&self) -> Vec<Json> {
        let namespace = json!({"name": self.namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}});
        vec![
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.metadata()}),
        ]
    }

    /// A ClusterRole with these rules, a Role in the namespace with the others, and what binds them to the account.
    pub(super) fn roles(&self, wide: &[Json], near: &[Json]) -> Vec<Json> {
        let account = (self.namespace.as_str(), self.name);
        vec![
            role("ClusterRole", &self.cluster_metadata(), wide),
            binding("ClusterRole", &self.cluster_metadata(), account),
            role("Role", &self.metadata(), near),
            binding("Role", &self.metadata(), account),
        ]
    }

    /// A Role in each of these namespaces with the rules, and what binds it to the account.
    pub(super) fn roles_in(&self, namespaces: &BTreeSet<String>, rules: &[Json]) -> Vec<Json> {
        let account = (self.namespace.as_str(), self.name);
        let roles = namespaces.iter().flat_map(|namespace| {
            // An installation in another namespace may have rights there, too.
            let name = self.cluster_name();
            let metadata = json!({"name": name, "namespace": namespace, "labels": self.labels()});
            [
                role("Role", &metadata, rules),
                binding("Role", &metadata, account),
            ]
        });
        roles.collect()
    }

    /// The Service of the port of its pods, the Deployment, and a budget for its disruptions where it has several pods.
    pub(super) fn deployment(&self, pods: &Pods) -> Vec<Json> {
        let selector = json!({"matchLabels": {APP: self.name}});
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": self.metadata(),
            "spec": {
                "replicas": pods.replicas, "selector": selector,
                "template": {
                    "metadata": {"labels": self.labels()},
                    "spec": {
                        "serviceAccountName": self.name,
                        "terminationGracePeriodSeconds": 60,
                        // The user is the image's, or the one that OpenShift gives to the namespace.
                        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 100, "podAffinityTerm": {
                                "topologyKey": "kubernetes.io/hostname", "labelSelector": selector}},
                        ]}},
                        "containers": [self.container(pods)],
                        "volumes": [{"name": "cache", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}],
                    },
                },
            },
        });
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": self.metadata(),
            "spec": {"maxUnavailable": 1, "selector": selector},
        });
        let budget = (pods.replicas > 1).then_some(budget);
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": self.metadata(),
            "spec": {"selector": {APP: self.name}, "ports": [{"name": "http", "port": PROBED_PORT, "targetPort": "http"}]},
        });
        [service, deployment].into_iter().chain(budget).collect()
    }

    fn container(&self, pods: &Pods) -> Json {
        let serve = format!("--serve=:{PROBED_PORT}");
        let arguments: Vec<&String> = pods.arguments.iter().chain([&serve]).collect();
        let probe =
            |path: &str| json!({"httpGet": {"path": path, "port": "http"}, "periodSeconds": 10});
        json!({
            "name": self.name, "image": self.image, "args": arguments,
            "ports": [{"name": "http", "containerPort": PROBED_PORT}],
            "livenessProbe": probe("/healthz"), "readinessProbe": probe("/readyz"),
            "env": [
                {"name": "CAPSTAN_NAMESPACE", "value": self.namespace},
                {"name": "CAPSTAN_CACHE", "value": CACHE},
                {"name": "HOME", "value": CACHE},
            ],
            "resources": pods.resources,
            "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [{"name": "cache", "mountPath": CACHE}, {"name": "tmp", "mountPath": "/tmp"}],
        })
    }
}

/// A Role or a ClusterRole.
pub(super) fn role(kind: &str, metadata: &Json, rules: &[Json]) -> Json {
    json!({"apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": metadata, "rules": rules})
}

/// The binding of the role of the same name to an account, which has a namespace and a name.
pub(super) fn binding(kind: &str, metadata: &Json, (namespace, name): (&str, &str)) -> Json {
    json!({"apiVersion": format!("{RBAC}/v1"), "kind": format!("{kind}Binding"), "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]})
}
