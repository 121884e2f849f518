//! Rules of single built-in kinds: what they refuse beside wrong types.
//!
//! In: an object and the one it replaces. Out: the fields that are wrong (k8s.io/kubernetes
//! `pkg/apis/*/validation`). Only rules that a writer of these kinds runs into are here; Pods, for
//! one, are taken as they are.

mod access;
mod data;
mod events;
mod namespaces;
mod pods;
mod services;
mod shared;
mod workloads;

use serde_json::{Value, json};

use super::builtin::Builtin;
use super::part::Part;
use super::status::Cause;
use shared::natural;

pub(super) use namespaces::{
    add_finalizer as add_namespace_finalizer, finalizers as namespace_finalizers,
    set_finalizers as set_namespace_finalizers,
};
pub(super) use pods::advice;
pub(super) use services::{give_address, keep_address};

type Rule = fn(&Value, Option<&Value>, &mut Vec<Cause>);

/// Group and kind, which part of it, and what holds for that.
const RULES: &[(&str, &str, Part, Rule)] = &[
    ("", "ConfigMap", Part::Main, data::config_map),
    ("", "Event", Part::Main, events::check_core),
    ("", "Namespace", Part::Status, namespaces::check_status),
    (
        "",
        "Namespace",
        Part::Finalize,
        namespaces::check_finalizers,
    ),
    ("", "Secret", Part::Main, data::secret),
    ("", "Service", Part::Main, services::service),
    ("apps", "DaemonSet", Part::Main, workloads::selecting),
    ("apps", "Deployment", Part::Main, workloads::selecting),
    ("apps", "ReplicaSet", Part::Main, workloads::selecting),
    ("apps", "StatefulSet", Part::Main, workloads::stateful_set),
    ("batch", "Job", Part::Main, workloads::job),
    ("coordination.k8s.io", "Lease", Part::Main, lease),
    ("events.k8s.io", "Event", Part::Main, events::check_new),
    (
        "rbac.authorization.k8s.io",
        "Role",
        Part::Main,
        access::role,
    ),
    (
        "rbac.authorization.k8s.io",
        "ClusterRole",
        Part::Main,
        access::cluster_role,
    ),
    (
        "rbac.authorization.k8s.io",
        "RoleBinding",
        Part::Main,
        access::binding,
    ),
    (
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        Part::Main,
        access::binding,
    ),
];

/// What is wrong with the written part of an object of `row`.
pub(super) fn check(row: &Builtin, part: Part, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (group, kind, of, rule) in RULES {
        if *group == row.group && *kind == row.kind && *of == part {
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

fn lease(object: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let seconds = &spec["leaseDurationSeconds"];
    if seconds.as_i64().is_some_and(|number| number < 1) {
        let detail = "must be greater than 0";
        causes.push(Cause::invalid("spec.leaseDurationSeconds", seconds, detail));
    }
    natural("spec.leaseTransitions", &spec["leaseTransitions"], causes);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::api::builtin::BUILTINS;

    fn complaints(kind: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
        let row = BUILTINS.iter().find(|row| row.kind == kind).unwrap();
        let causes = check(row, Part::Main, object, old);
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
                "template": {"metadata": {"labels": {"app": label}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
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
