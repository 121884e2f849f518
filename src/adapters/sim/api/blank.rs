//! What a new object of a built-in kind holds before anybody said anything.
//!
//! In: a kind. Out: the fields that its Go type writes even when they are empty, as an object. They
//! are there from the start, so that who creates an object does not own them for naming them. It does
//! not know defaults.

use serde_json::{Value, json};

/// Group, kind, and the object as JSON (k8s.io/api: fields without `omitempty`, and structs).
const BLANKS: &[(&str, &str, &str)] = &[
    (
        "",
        "Event",
        r#"{"eventTime":null,"firstTimestamp":null,"involvedObject":{},"lastTimestamp":null,"reportingComponent":"","reportingInstance":"","source":{}}"#,
    ),
    ("", "LimitRange", r#"{"spec":{"limits":null}}"#),
    ("", "Namespace", r#"{"spec":{},"status":{}}"#),
    (
        "",
        "PersistentVolumeClaim",
        r#"{"spec":{"resources":{}},"status":{}}"#,
    ),
    ("", "Pod", r#"{"spec":{"containers":null},"status":{}}"#),
    ("", "ResourceQuota", r#"{"spec":{},"status":{}}"#),
    ("", "Service", r#"{"spec":{},"status":{"loadBalancer":{}}}"#),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        r#"{"spec":{"group":"","names":{"kind":"","plural":""},"scope":"","versions":null}}"#,
    ),
    (
        "apps",
        "DaemonSet",
        r#"{"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"updateStrategy":{}},"status":{"currentNumberScheduled":0,"desiredNumberScheduled":0,"numberMisscheduled":0,"numberReady":0}}"#,
    ),
    (
        "apps",
        "Deployment",
        r#"{"spec":{"selector":null,"strategy":{},"template":{"metadata":{},"spec":{"containers":null}}},"status":{}}"#,
    ),
    (
        "apps",
        "ReplicaSet",
        r#"{"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}}},"status":{"replicas":0}}"#,
    ),
    (
        "apps",
        "StatefulSet",
        r#"{"spec":{"selector":null,"serviceName":"","template":{"metadata":{},"spec":{"containers":null}},"updateStrategy":{}},"status":{"availableReplicas":0,"replicas":0}}"#,
    ),
    (
        "autoscaling",
        "HorizontalPodAutoscaler",
        r#"{"spec":{"maxReplicas":0,"scaleTargetRef":{"kind":"","name":""}},"status":{"currentMetrics":null,"desiredReplicas":0}}"#,
    ),
    (
        "batch",
        "CronJob",
        r#"{"spec":{"jobTemplate":{"metadata":{},"spec":{"template":{"metadata":{},"spec":{"containers":null}}}},"schedule":""},"status":{}}"#,
    ),
    (
        "batch",
        "Job",
        r#"{"spec":{"template":{"metadata":{},"spec":{"containers":null}}},"status":{}}"#,
    ),
    ("coordination.k8s.io", "Lease", r#"{"spec":{}}"#),
    (
        "events.k8s.io",
        "Event",
        r#"{"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null,"deprecatedSource":{},"eventTime":null,"regarding":{}}"#,
    ),
    (
        "networking.k8s.io",
        "Ingress",
        r#"{"spec":{},"status":{"loadBalancer":{}}}"#,
    ),
    ("networking.k8s.io", "IngressClass", r#"{"spec":{}}"#),
    (
        "networking.k8s.io",
        "NetworkPolicy",
        r#"{"spec":{"podSelector":{}}}"#,
    ),
    (
        "policy",
        "PodDisruptionBudget",
        r#"{"spec":{},"status":{"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0}}"#,
    ),
    (
        "rbac.authorization.k8s.io",
        "ClusterRole",
        r#"{"rules":null}"#,
    ),
    (
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        r#"{"roleRef":{"apiGroup":"","kind":"","name":""}}"#,
    ),
    ("rbac.authorization.k8s.io", "Role", r#"{"rules":null}"#),
    (
        "rbac.authorization.k8s.io",
        "RoleBinding",
        r#"{"roleRef":{"apiGroup":"","kind":"","name":""}}"#,
    ),
    ("scheduling.k8s.io", "PriorityClass", r#"{"value":0}"#),
    ("storage.k8s.io", "StorageClass", r#"{"provisioner":""}"#),
];

/// The object; without fields for kinds that write none.
pub(super) fn blank(group: &str, kind: &str) -> Value {
    let found = BLANKS.iter().find(|row| (row.0, row.1) == (group, kind));
    found.map_or_else(
        || json!({}),
        |(_, _, text)| serde_json::from_str(text).expect("the table holds JSON"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::sim::api::builtin::BUILTINS;

    #[test]
    fn each_row_is_of_a_kind_and_holds_an_object() {
        for (group, kind, _) in BLANKS {
            let known = |row: &&crate::adapters::sim::api::builtin::Builtin| {
                (row.group, row.kind) == (*group, *kind)
            };
            assert!(BUILTINS.iter().any(|row| known(&row)), "{group} {kind}");
            assert!(blank(group, kind).is_object());
        }
    }
}
