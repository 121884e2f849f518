//! What every component has: an account with its rights, and a Deployment that runs as any user with a read-only root, as
//! OpenShift's `restricted-v2` wants it.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::rights::RBAC;
use crate::api::labels::{MANAGED_BY, MANAGED_BY_VALUE};
use crate::model::hex;

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
#[derive(Default)]
pub(super) struct Pods {
    pub(super) arguments: Vec<String>,
    pub(super) replicas: u16,
    /// Their requests and limits.
    pub(super) resources: Json,
    /// The port of their API, if they serve one besides health, readiness and metrics.
    pub(super) api: Option<u16>,
    /// A file that they read at the start.
    pub(super) file: Option<ConfigFile>,
}

/// A file in the ConfigMap of a component.
pub(super) struct ConfigFile {
    pub(super) name: &'static str,
    pub(super) content: String,
}

/// The directory of the ConfigMap in a pod.
const CONFIG: &str = "/etc/capstan";
/// On pods: the digest of their ConfigMap. Pods of another one take their place when it changes.
const CONFIG_DIGEST: &str = "capstan.dev/config-digest";

impl ConfigFile {
    /// Its path in a pod.
    pub(super) fn path(&self) -> String {
        format!("{CONFIG}/{}", self.name)
    }

    fn digest(&self) -> String {
        hex(&Sha256::digest(&self.content)[..8])
    }
}

impl Pods {
    /// The ports that they serve, each with its name.
    fn ports(&self) -> Vec<(&'static str, u16)> {
        let api = self.api.map(|port| ("api", port));
        std::iter::once(("http", PROBED_PORT)).chain(api).collect()
    }
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

    /// The Service of the ports of its pods, the ConfigMap with their file, the Deployment, and a budget for its disruptions where it
    /// has several pods.
    pub(super) fn deployment(&self, pods: &Pods) -> Vec<Json> {
        let selector = json!({"matchLabels": {APP: self.name}});
        let mut deployment = json!({
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
        let ports = pods.ports();
        let ports = ports
            .iter()
            .map(|(name, port)| json!({"name": name, "port": port, "targetPort": name}));
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": self.metadata(),
            "spec": {"selector": {APP: self.name}, "ports": ports.collect::<Vec<_>>()},
        });
        let config = pods.file.as_ref().map(|file| {
            self.mount(&mut deployment["spec"]["template"], file);
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": self.metadata(), "data": {file.name: file.content}})
        });
        let config = config.into_iter();
        std::iter::once(service)
            .chain(config)
            .chain([deployment])
            .chain(budget)
            .collect()
    }

    /// Mounts the ConfigMap with the file into pods.
    fn mount(&self, template: &mut Json, file: &ConfigFile) {
        template["metadata"]["annotations"][CONFIG_DIGEST] = file.digest().into();
        let pod = &mut template["spec"];
        let volume = json!({"name": "config", "configMap": {"name": self.name}});
        let mount = json!({"name": "config", "mountPath": CONFIG, "readOnly": true});
        let lists = [("/volumes", volume), ("/containers/0/volumeMounts", mount)];
        for (pointer, entry) in lists {
            let list = pod.pointer_mut(pointer).and_then(Json::as_array_mut);
            list.into_iter().for_each(|list| list.push(entry.clone()));
        }
    }

    fn container(&self, pods: &Pods) -> Json {
        let serve = format!("--serve=:{PROBED_PORT}");
        let arguments: Vec<&String> = pods.arguments.iter().chain([&serve]).collect();
        let ports = pods.ports();
        let ports = ports
            .iter()
            .map(|(name, port)| json!({"name": name, "containerPort": port}));
        let probe =
            |path: &str| json!({"httpGet": {"path": path, "port": "http"}, "periodSeconds": 10});
        json!({
            "name": self.name, "image": self.image, "args": arguments,
            "ports": ports.collect::<Vec<_>>(),
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
