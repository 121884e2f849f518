//! What a new object of a built-in kind holds before anybody sets anything.
//!
//! In: a kind. Out: the fields that its Go type writes even when they are empty, as an object. They
//! are there from the start, so that who creates an object does not own them for naming them, and
//! every object shows them. It does not know defaults.

use std::sync::LazyLock;

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
        "Node",
        r#"{"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"architecture":"","bootID":"","containerRuntimeVersion":"","kernelVersion":"","kubeProxyVersion":"","kubeletVersion":"","machineID":"","operatingSystem":"","osImage":"","systemUUID":""}}}"#,
    ),
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
pub(super) fn blank(group: &str, kind: &str) -> &'static Value {
    static READ: LazyLock<Vec<Value>> = LazyLock::new(|| {
        let read = |row: &(&str, &str, &str)| serde_json::from_str(row.2);
        let read = |row| read(row).expect("the table holds JSON");
        BLANKS.iter().map(read).collect()
    });
    static NOTHING: LazyLock<Value> = LazyLock::new(|| json!({}));
    let at = BLANKS
        .iter()
        .position(|row| (row.0, row.1) == (group, kind));
    at.map_or_else(|| &*NOTHING, |at| &READ[at])
}

/// Our types cannot leave out a selector; theirs can.
pub(super) fn without_made_up_selector(decoded: &mut Value, sent: &Value) {
    let Some(spec) = decoded.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if sent["spec"]["selector"].is_null() && spec.get("selector") == Some(&json!({})) {
        spec.remove("selector");
    }
}

/// Leaves out lists with nothing in them, as Go's types do, but those that are always shown.
pub(super) fn drop_empty_lists(value: &mut Value, blank: &Value) {
    let Value::Object(fields) = value else {
        let items = value.as_array_mut().into_iter().flatten();
        return items.for_each(|item| drop_empty_lists(item, &Value::Null));
    };
    // An empty list of managers means something: there are none.
    let stays = |key: &str| key == "managedFields" || blank.get(key).is_some();
    fields.retain(|key, value| stays(key) || *value != json!([]));
    for (key, value) in fields {
        drop_empty_lists(value, &blank[key]);
    }
}

/// Puts in what an object of a built-in kind always has.
pub(super) fn complete(object: &mut Value, blank: &Value) {
    let (Some(fields), Some(blank)) = (object.as_object_mut(), blank.as_object()) else {
        return;
    };
    for (key, value) in blank {
        match fields.get_mut(key) {
            Some(there) => complete(there, value),
            None => {
                fields.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Makes null of the empty lists of a built-in kind that are null when there is nothing to say:
/// storage does not tell them apart.
pub(super) fn empty_is_null(object: &mut Value, blank: &Value) {
    for (key, value) in blank.as_object().into_iter().flatten() {
        match object.get_mut(key) {
            Some(list) if value.is_null() && *list == json!([]) => *list = Value::Null,
            Some(there) => empty_is_null(there, value),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::builtin::BUILTINS;

    #[test]
    fn an_object_shows_what_its_kind_always_has() {
        let events = blank("", "Event");
        let mut event = json!({"source": {"component": "c"}, "series": {"list": []}});
        drop_empty_lists(&mut event, events);
        complete(&mut event, events);
        assert_eq!(event["source"], json!({"component": "c"}));
        assert_eq!(event["eventTime"], Value::Null);
        assert_eq!(event["series"], json!({}));
        let mut role = json!({"rules": []});
        drop_empty_lists(&mut role, blank("rbac.authorization.k8s.io", "Role"));
        assert_eq!(role, json!({"rules": []}));
        empty_is_null(&mut role, blank("rbac.authorization.k8s.io", "Role"));
        assert_eq!(role, json!({"rules": null}));
    }

    #[test]
    fn each_row_is_of_a_kind_and_holds_an_object() {
        for (group, kind, _) in BLANKS {
            let known =
                |row: &&crate::api::builtin::Builtin| (row.group, row.kind) == (*group, *kind);
            assert!(BUILTINS.iter().any(|row| known(&row)), "{group} {kind}");
            assert!(blank(group, kind).is_object());
        }
    }
}
