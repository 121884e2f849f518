//! The objects that make an API server ask the webhook, and the rights that the webhook needs.
//!
//! In: where it is installed. Out: plain objects. The CA is not among them: the webhook adds it to its own
//! configuration. It does not know: who applies them.

use serde_json::{Value as Json, json};

use crate::api::fleet::FailurePolicy;
use crate::api::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE, RED_HAT_OPENSHIFT};
use crate::api::labels::{MANAGED_BY, MANAGED_BY_VALUE};

/// The name of the ValidatingWebhookConfiguration.
pub const CONFIGURATION: &str = "capstan-admission";
/// The name of the webhook in it.
pub const WEBHOOK: &str = "admission.capstan.dev";
/// The name of the Service.
pub const SERVICE: &str = "capstan-admission";
/// The name of the ServiceAccount, the Deployment and the roles.
pub const SERVICE_ACCOUNT: &str = "capstan-admission";
/// The name of the Secret with the certificates.
pub const SECRET: &str = "capstan-admission-certificates";
/// Where reviews arrive.
pub const PATH: &str = "/validate";
/// The port of the process.
pub const TARGET_PORT: u16 = 9443;

/// How long the API server waits: `capstan admission` answers by then in any case.
const TIMEOUT_SECONDS: u8 = 5;
const APP: &str = "app.kubernetes.io/name";

/// Where and how the webhook is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The namespace of everything that has one.
    pub namespace: String,
    /// The image with the program.
    pub image: String,
    /// How many processes serve it.
    pub replicas: u16,
    /// What happens to a change if it cannot be checked, once the webhook answers.
    pub failure_policy: FailurePolicy,
    /// Users whose changes are not checked.
    pub exempt: Vec<String>,
}

/// The objects, in the order to apply them.
#[must_use]
pub fn manifests(installation: &Installation) -> Vec<Json> {
    vec![
        installation.service_account(),
        installation.secret(),
        cluster_role(),
        installation.cluster_role_binding(),
        installation.role(),
        installation.role_binding(),
        installation.service(),
        installation.deployment(),
        installation.disruption_budget(),
        installation.configuration(),
    ]
}

fn cluster_role() -> Json {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": SERVICE_ACCOUNT, "labels": labels()},
        "rules": [
            {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["validatingwebhookconfigurations"],
                "resourceNames": [CONFIGURATION], "verbs": ["get", "patch"]},
            {"apiGroups": [INFRASTRUCTURE], "resources": ["aroclusters", "azureclusteridentities"], "verbs": ["get"]},
            {"apiGroups": [INFRASTRUCTURE], "resources": ["aromachinepools"], "verbs": ["list"]},
            {"apiGroups": [CONTROL_PLANE], "resources": ["arocontrolplanes"], "verbs": ["get"]},
            {"apiGroups": [CAPI], "resources": ["clusters"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
        ],
    })
}

fn labels() -> Json {
    json!({APP: SERVICE_ACCOUNT, MANAGED_BY: MANAGED_BY_VALUE})
}

/// A part of the configuration: which requests are sent.
fn rule(group: &str, resources: &[&str], operations: &[&str]) -> Json {
    json!({"apiGroups": [group], "apiVersions": ["*"], "operations": operations, "resources": resources,
        "scope": "Namespaced"})
}

impl Installation {
    fn metadata(&self) -> Json {
        json!({"name": SERVICE_ACCOUNT, "namespace": self.namespace, "labels": labels()})
    }

    fn service_account(&self) -> Json {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.metadata()})
    }

    /// Empty: the webhook fills it. It exists from the beginning so that no right to create Secrets is needed.
    fn secret(&self) -> Json {
        let metadata = json!({"name": SECRET, "namespace": self.namespace, "labels": labels()});
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"})
    }

    fn subjects(&self) -> Json {
        json!([{"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": self.namespace}])
    }

    fn cluster_role_binding(&self) -> Json {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": SERVICE_ACCOUNT, "labels": labels()},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": SERVICE_ACCOUNT},
            "subjects": self.subjects(),
        })
    }

    fn role(&self) -> Json {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": self.metadata(),
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": [SECRET],
                "verbs": ["get", "update"]}],
        })
    }

    fn role_binding(&self) -> Json {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": self.metadata(),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": SERVICE_ACCOUNT},
            "subjects": self.subjects(),
        })
    }

    fn service(&self) -> Json {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": SERVICE, "namespace": self.namespace, "labels": labels()},
            "spec": {
                "selector": {APP: SERVICE_ACCOUNT},
                "ports": [{"name": "https", "port": 443, "targetPort": "https"}],
            },
        })
    }

    fn deployment(&self) -> Json {
        let selector = json!({"matchLabels": {APP: SERVICE_ACCOUNT}});
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": self.metadata(),
            "spec": {
                "replicas": self.replicas, "selector": selector,
                "template": {
                    "metadata": {"labels": labels()},
                    "spec": {
                        "serviceAccountName": SERVICE_ACCOUNT,
                        "securityContext": {"runAsNonRoot": true,
                            "seccompProfile": {"type": "RuntimeDefault"}},
                        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 100, "podAffinityTerm": {
                                "topologyKey": "kubernetes.io/hostname", "labelSelector": selector}},
                        ]}},
                        "containers": [self.container()],
                    },
                },
            },
        })
    }

    fn container(&self) -> Json {
        let probe = |path: &str| json!({"httpGet": {"path": path, "port": "https", "scheme": "HTTPS"}, "periodSeconds": 5});
        json!({
            "name": "admission", "image": self.image,
            "args": ["admission", format!("--address=:{TARGET_PORT}"),
                format!("--failure-policy={}", word(self.failure_policy))],
            "env": [{"name": "CAPSTAN_NAMESPACE", "value": self.namespace}],
            "ports": [{"name": "https", "containerPort": TARGET_PORT}],
            "livenessProbe": probe("/healthz"), "readinessProbe": probe("/readyz"),
            "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}},
            "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]}},
        })
    }

    fn disruption_budget(&self) -> Json {
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": self.metadata(),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {APP: SERVICE_ACCOUNT}}},
        })
    }

    fn configuration(&self) -> Json {
        let changes = ["CREATE", "UPDATE"];
        let service =
            json!({"name": SERVICE, "namespace": self.namespace, "path": PATH, "port": 443});
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": CONFIGURATION, "labels": labels()},
            "webhooks": [{
                "name": WEBHOOK,
                "clientConfig": {"service": service},
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                // Nobody answers yet. The webhook raises it to its setting once it can.
                "failurePolicy": word(FailurePolicy::Ignore),
                "matchPolicy": "Equivalent",
                "timeoutSeconds": TIMEOUT_SECONDS,
                "rules": [
                    rule(INFRASTRUCTURE, &["aroclusters", "azureclusteridentities"], &changes),
                    rule(INFRASTRUCTURE, &["aromachinepools"], &["CREATE", "UPDATE", "DELETE"]),
                    rule(CONTROL_PLANE, &["arocontrolplanes"], &changes),
                    rule(RED_HAT_OPENSHIFT, &["hcpopenshiftclusters", "hcpopenshiftclustersnodepools",
                        "hcpopenshiftclustersexternalauths"], &changes),
                ],
                "matchConditions": self.match_conditions(),
            }],
        })
    }

    /// What spares the API server a call that could refuse nothing.
    fn match_conditions(&self) -> Json {
        let exempt: Vec<String> = self.exempt.iter().map(|user| format!("{user:?}")).collect();
        let exempt = exempt.join(", ");
        let mut conditions = vec![
            json!({"name": "is-not-being-deleted",
                "expression": "request.operation == 'DELETE' || !has(object.metadata.deletionTimestamp)"}),
            json!({"name": "changes-the-spec",
                "expression": "request.operation != 'UPDATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"}),
        ];
        if !exempt.is_empty() {
            conditions.push(json!({"name": "is-not-exempt",
                "expression": format!("!(request.userInfo.username in [{exempt}])")}));
        }
        Json::from(conditions)
    }
}

/// As Kubernetes spells it.
const fn word(policy: FailurePolicy) -> &'static str {
    match policy {
        FailurePolicy::Fail => "Fail",
        FailurePolicy::Ignore => "Ignore",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_webhook_asks_for_exactly_what_it_judges() {
        let installation = Installation {
            namespace: "n".to_owned(),
            image: "i".to_owned(),
            replicas: 2,
            failure_policy: FailurePolicy::Fail,
            exempt: vec!["system:serviceaccount:n:capstan".to_owned()],
        };
        let all = manifests(&installation);
        let webhook = &all[all.len() - 1]["webhooks"][0];
        assert_eq!(webhook["failurePolicy"], "Ignore", "nobody answers yet");
        let deployment = all.iter().find(|object| object["kind"] == "Deployment");
        let arguments = deployment
            .map(|object| object["spec"]["template"]["spec"]["containers"][0]["args"].to_string());
        assert!(arguments.is_some_and(|all| all.contains("--failure-policy=Fail")));
        assert_eq!(webhook["clientConfig"].get("caBundle"), None);
        let deleted: Vec<&Json> = webhook["rules"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|rule| {
                let operations = rule["operations"].as_array();
                operations.is_some_and(|operations| operations.contains(&"DELETE".into()))
            })
            .collect();
        assert_eq!(deleted.len(), 1);
        assert_eq!(deleted[0]["resources"], json!(["aromachinepools"]));
        let conditions = webhook["matchConditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        assert_eq!(
            conditions[2]["expression"],
            r#"!(request.userInfo.username in ["system:serviceaccount:n:capstan"])"#
        );
    }
}
