//! What Go's types leave out when it is zero.
//!
//! In: an object of a built-in kind, as it was sent. Out: the same without the numbers, texts and flags
//! that its Go type does not write when they are 0, empty or false, and without empty maps. Which those
//! are is known by name, for most by the name alone (k8s.io/api: fields with `omitempty` that are no
//! pointers). It does not know whether the values fit.

use serde_json::Value;

/// Fields that every type leaves out.
const EVERYWHERE: &[&str] = &[
    "active",
    "audience",
    "clusterIP",
    "completedIndexes",
    "component",
    "concurrencyPolicy",
    "containerID",
    "currentReplicas",
    "currentRevision",
    "deprecatedCount",
    "description",
    "dnsPolicy",
    "effect",
    "externalName",
    "externalTrafficPolicy",
    "failed",
    "failureThreshold",
    "fullyLabeledReplicas",
    "globalDefault",
    "health",
    "healthCheckNodePort",
    "host",
    "hostIP",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostPort",
    "hostname",
    "imagePullPolicy",
    "initialDelaySeconds",
    "level",
    "loadBalancerIP",
    "medium",
    "minReadySeconds",
    "nodeName",
    "nodePort",
    "nominatedNodeName",
    "note",
    "number",
    "numberAvailable",
    "numberUnavailable",
    "paused",
    "phase",
    "podIP",
    "podManagementPolicy",
    "prefix",
    "priorityClassName",
    "publishNotReadyAddresses",
    "qosClass",
    "readyReplicas",
    "reportingController",
    "revision",
    "schedulerName",
    "scheme",
    "serviceAccount",
    "serviceAccountName",
    "sessionAffinity",
    "stdin",
    "stdinOnce",
    "subPath",
    "subPathExpr",
    "subdomain",
    "succeeded",
    "successThreshold",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "unavailableReplicas",
    "updateRevision",
    "updatedNumberScheduled",
    "updatedReplicas",
    "whenDeleted",
    "whenScaled",
    "workingDir",
];

/// Fields that some types leave out, by the field that holds them.
const WITHIN: &[(&str, &[&str])] = &[
    ("containers", &["image"]),
    ("env", &["value"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["image"]),
    (
        "metadata",
        &[
            "generateName",
            "generation",
            "name",
            "namespace",
            "resourceVersion",
            "selfLink",
            "uid",
        ],
    ),
    ("ports", &["name", "protocol"]),
    ("secretRef", &["name"]),
    ("spec", &["restartPolicy"]),
    // Where they are always written, `blank` puts them back.
    (
        "status",
        &["availableReplicas", "observedGeneration", "replicas"],
    ),
    ("strategy", &["type"]),
    ("subjects", &["apiGroup", "namespace"]),
    ("tolerations", &["key", "operator", "value"]),
    ("updateStrategy", &["type"]),
    ("volumeMounts", &["readOnly"]),
];

/// Maps with free keys, which are left out when there is nothing in them; what is in them stays.
const MAPS: &[&str] = &[
    "annotations",
    "binaryData",
    "data",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "requests",
    "stringData",
];

/// Leaves them out, and returns whether there were any.
pub(super) fn leave_out(kind: &str, object: &mut Value) -> bool {
    within(kind, "", object)
}

fn within(kind: &str, holder: &str, value: &mut Value) -> bool {
    let mut any = false;
    match value {
        Value::Object(fields) => {
            let before = fields.len();
            fields.retain(|name, value| !is_left_out(kind, holder, name, value));
            any = fields.len() < before;
            for (name, value) in fields {
                if !is_map(kind, name) && name != "managedFields" {
                    any |= within(kind, name, value);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                any |= within(kind, holder, item);
            }
        }
        _ => {}
    }
    any
}

/// The selector of a Service is a map of labels, that of others is a struct.
fn is_map(kind: &str, name: &str) -> bool {
    MAPS.contains(&name) || (name == "selector" && kind == "Service")
}

fn is_left_out(kind: &str, holder: &str, name: &str, value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty() && is_map(kind, name),
        Value::Bool(false) => is_scalar(holder, name),
        Value::String(text) => text.is_empty() && is_scalar(holder, name),
        Value::Number(number) => number.as_i64() == Some(0) && is_scalar(holder, name),
        _ => false,
    }
}

fn is_scalar(holder: &str, name: &str) -> bool {
    let held = WITHIN.iter().filter(|(known, _)| *known == holder);
    EVERYWHERE.contains(&name) || held.into_iter().any(|(_, names)| names.contains(&name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn zeros_are_left_out_where_the_type_does() {
        let mut set = json!({
            "metadata": {"labels": {"paused": ""}, "annotations": {}, "generateName": ""},
            "spec": {"replicas": 0, "minReadySeconds": 0, "selector": {}, "template": {"spec": {
                "containers": [{"name": "", "image": "", "env": [{"name": "A", "value": ""}]}],
                "hostNetwork": false, "nodeSelector": {},
            }}},
            "status": {"readyReplicas": 0, "replicas": 1},
        });
        assert!(leave_out("StatefulSet", &mut set));
        assert_eq!(
            set,
            json!({
                "metadata": {"labels": {"paused": ""}},
                "spec": {"replicas": 0, "selector": {}, "template": {"spec": {
                    "containers": [{"name": "", "env": [{"name": "A"}]}],
                }}},
                "status": {"replicas": 1},
            })
        );
        assert!(!leave_out("StatefulSet", &mut set));
        let mut service = json!({"spec": {"selector": {}, "ports": [{"port": 0, "name": ""}]}});
        assert!(leave_out("Service", &mut service));
        assert_eq!(service, json!({"spec": {"ports": [{"port": 0}]}}));
    }
}
