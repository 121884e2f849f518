//! Rules of single built-in kinds: what they refuse beside wrong types.
//!
//! In: an object and the one it replaces. Out: the fields that are wrong. Only rules that a writer of
//! these kinds runs into are here; Pods, for one, are taken as they are.

use serde_json::{Value, json};

use super::builtin::Builtin;
use super::status::Cause;

type Rule = fn(&Value, Option<&Value>, &mut Vec<Cause>);

/// Group and kind, and what holds for it.
const RULES: &[(&str, &str, Rule)] = &[
    ("", "ConfigMap", config_map),
    ("", "Secret", secret),
    ("", "Service", service),
    ("apps", "DaemonSet", workload),
    ("apps", "Deployment", workload),
    ("apps", "ReplicaSet", workload),
    ("apps", "StatefulSet", workload),
    ("batch", "Job", job),
    ("coordination.k8s.io", "Lease", lease),
    ("rbac.authorization.k8s.io", "RoleBinding", binding),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", binding),
];

/// How many bytes the values of a ConfigMap or Secret may have.
const DATA_LIMIT: usize = 1024 * 1024;

/// What is wrong with an object of `row`.
pub(super) fn check(row: &Builtin, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (group, kind, rule) in RULES {
        if *group == row.group && *kind == row.kind {
            rule(object, old, &mut causes);
        }
    }
    causes
}

/// Notes the version that is stored in the status of a definition, as its storage does.
pub(super) fn note_stored_version(definition: &mut Value) {
    if !definition["status"].is_object() {
        let names = json!({"kind": "", "plural": ""});
        definition["status"] = json!({"acceptedNames": names, "conditions": null});
    }
    let versions = definition["spec"]["versions"].as_array();
    let stored = versions
        .into_iter()
        .flatten()
        .find(|version| version["storage"] == true);
    let Some(name) = stored.map(|version| version["name"].clone()) else {
        return;
    };
    let noted = &mut definition["status"]["storedVersions"];
    match noted.as_array_mut() {
        Some(noted) if noted.contains(&name) => {}
        Some(noted) => noted.push(name),
        None => *noted = json!([name]),
    }
}

fn fields(map: &Value) -> impl Iterator<Item = (&String, &Value)> {
    map.as_object().into_iter().flatten()
}

fn immutable(key: &str, object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let place = |object: &Value| {
        key.split('.')
            .fold(object.clone(), |value, key| value[key].clone())
    };
    if old.is_some_and(|old| place(old) != place(object)) {
        causes.push(Cause::invalid(key, &place(object), "field is immutable"));
    }
}

fn config_map(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    for key in ["data", "binaryData"] {
        data(object, key, causes);
    }
    frozen(object, old, &["data", "binaryData"], causes);
}

fn secret(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    data(object, "data", causes);
    immutable("type", object, old, causes);
    frozen(object, old, &["data"], causes);
}

fn data(object: &Value, field: &str, causes: &mut Vec<Cause>) {
    let mut size = 0;
    for (key, value) in fields(&object[field]) {
        size += value.as_str().map_or(0, str::len);
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if key.len() > 253 || key.is_empty() || !key.chars().all(plain) {
            let detail = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
            causes.push(Cause::invalid(
                format!("{field}[{key}]"),
                &json!(key),
                detail,
            ));
        }
    }
    if size > DATA_LIMIT {
        causes.push(Cause::too_long(field, DATA_LIMIT));
    }
}

/// `immutable: true` cannot be taken back, and freezes these fields.
fn frozen(object: &Value, old: Option<&Value>, frozen: &[&str], causes: &mut Vec<Cause>) {
    let Some(old) = old.filter(|old| old["immutable"] == true) else {
        return;
    };
    for field in ["immutable"].iter().chain(frozen) {
        if object[field] != old[field] {
            let detail = "field is immutable when `immutable` is set";
            causes.push(Cause::forbidden(*field, detail));
        }
    }
}

fn service(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let headless = spec["clusterIP"] == "None" || spec["type"] == "ExternalName";
    if !headless && spec["ports"].as_array().is_none_or(Vec::is_empty) {
        causes.push(Cause::required("spec.ports", ""));
    }
    let kept = old.is_some_and(|old| {
        old["spec"]["clusterIP"].is_string() && old["spec"]["type"] == spec["type"]
    });
    if kept {
        immutable("spec.clusterIP", object, old, causes);
    }
}

fn workload(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let wanted = &spec["selector"]["matchLabels"];
    let labels = &spec["template"]["metadata"]["labels"];
    let expressions = &spec["selector"]["matchExpressions"];
    if fields(wanted).next().is_none() && expressions.as_array().is_none_or(Vec::is_empty) {
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        let detail = format!("empty selector is invalid for {kind}");
        causes.push(Cause::invalid("spec.selector", &spec["selector"], &detail));
    } else if fields(wanted).any(|(key, value)| labels.get(key) != Some(value)) {
        let detail = "`selector` does not match template `labels`";
        causes.push(Cause::invalid(
            "spec.template.metadata.labels",
            labels,
            detail,
        ));
    }
    containers(spec, causes);
    immutable("spec.selector", object, old, causes);
}

fn job(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    containers(&object["spec"], causes);
    immutable("spec.template", object, old, causes);
}

fn containers(spec: &Value, causes: &mut Vec<Cause>) {
    let containers = &spec["template"]["spec"]["containers"];
    if containers.as_array().is_none_or(Vec::is_empty) {
        causes.push(Cause::required("spec.template.spec.containers", ""));
    }
}

fn lease(object: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    for key in ["leaseDurationSeconds", "leaseTransitions"] {
        let value = &object["spec"][key];
        let least = if key == "leaseTransitions" { 0 } else { 1 };
        if value.as_i64().is_some_and(|number| number < least) {
            let detail = match least {
                0 => "must be greater than or equal to 0",
                _ => "must be greater than 0",
            };
            causes.push(Cause::invalid(format!("spec.{key}"), value, detail));
        }
    }
}

fn binding(object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if old.is_some_and(|old| old["roleRef"] != object["roleRef"]) {
        let role = &object["roleRef"];
        causes.push(Cause::invalid("roleRef", role, "cannot change roleRef"));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::adapters::sim::api::builtin::BUILTINS;

    fn complaints(kind: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
        let row = BUILTINS.iter().find(|row| row.kind == kind).unwrap();
        let causes = check(row, object, old);
        causes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn frozen_data_stays() {
        let old = json!({"immutable": true, "data": {"a": "b"}});
        let new = json!({"immutable": true, "data": {"a": "c"}});
        assert_eq!(
            complaints("ConfigMap", &new, Some(&old)),
            ["data: Forbidden: field is immutable when `immutable` is set"]
        );
        assert!(complaints("ConfigMap", &old, Some(&old)).is_empty());
        let keyed = json!({"data": {"a b": ""}});
        assert!(complaints("ConfigMap", &keyed, None)[0].starts_with("data[a b]: Invalid value"));
    }

    #[test]
    fn a_selector_matches_its_template_and_stays() {
        let deployment = |selector: &str, label: &str| {
            json!({"spec": {"selector": {"matchLabels": {"app": selector}},
                "template": {"metadata": {"labels": {"app": label}}, "spec": {"containers": [{"name": "c"}]}}}})
        };
        assert!(complaints("Deployment", &deployment("a", "a"), None).is_empty());
        assert_eq!(
            complaints("Deployment", &deployment("a", "b"), None).len(),
            1
        );
        let (old, new) = (deployment("a", "a"), deployment("b", "b"));
        assert_eq!(
            complaints("Deployment", &new, Some(&old)),
            ["spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable"]
        );
    }

    #[test]
    fn roles_of_bindings_and_types_of_secrets_stay() {
        let (old, new) = (
            json!({"roleRef": {"name": "a"}}),
            json!({"roleRef": {"name": "b"}}),
        );
        assert_eq!(complaints("RoleBinding", &new, Some(&old)).len(), 1);
        let (old, new) = (json!({"type": "a"}), json!({"type": "b"}));
        assert_eq!(complaints("Secret", &new, Some(&old)).len(), 1);
    }

    #[test]
    fn stored_versions_are_noted_once() {
        let mut definition = json!({"spec": {"versions": [{"name": "v1", "storage": true}]}});
        note_stored_version(&mut definition);
        note_stored_version(&mut definition);
        assert_eq!(definition["status"]["storedVersions"], json!(["v1"]));
        definition["spec"]["versions"] = json!([{"name": "v2", "storage": true}]);
        note_stored_version(&mut definition);
        assert_eq!(definition["status"]["storedVersions"], json!(["v1", "v2"]));
    }
}
