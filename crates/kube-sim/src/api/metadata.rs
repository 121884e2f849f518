//! Rules for `metadata`, the same for every kind.
//!
//! In: an object on its way in, and the object it replaces. Out: the object with what the server
//! decides (k8s.io/apiserver `registry/rest`), and the fields that are wrong (k8s.io/apimachinery
//! `api/validation`). It does not know what else is in objects.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::names::{self, NameRule};
use super::owners;
use super::resources::Resource;
use super::status::{Cause, Refusal};

/// How many bytes the annotations of an object may have.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// The finalizer of a deletion that waits for dependents.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of a deletion that releases dependents.
pub(super) const ORPHAN: &str = "orphan";

/// The finalizer of a namespace, in its spec.
pub(super) const KUBERNETES: &str = "kubernetes";

/// What is wrong with a finalizer that could be anybody's.
pub(super) const UNQUALIFIED: &str =
    "name is neither a standard finalizer name nor is it fully qualified";

/// The metadata of an object, made if it has none.
pub(super) fn of(object: &mut Value) -> &mut Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["metadata"].as_object_mut().expect("just made sure")
}

/// The text at a key of the metadata, empty if there is none.
pub(super) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"][key].as_str().unwrap_or_default()
}

/// The finalizers.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    let list = object["metadata"]["finalizers"].as_array();
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Sets the finalizers; none leaves no empty list behind.
pub(super) fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    match finalizers {
        [] => of(object).remove("finalizers"),
        some => of(object).insert("finalizers".into(), json!(some)),
    };
}

/// Takes a finalizer off.
pub(super) fn remove_finalizer(object: &mut Value, finalizer: &str) {
    let kept: Vec<String> = finalizers(object)
        .into_iter()
        .filter(|one| *one != finalizer)
        .map(ToOwned::to_owned)
        .collect();
    set_finalizers(object, &kept);
}

/// Takes the entries of the managers out.
pub(super) fn take_managers(object: &mut Value) -> Option<Value> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    metadata.remove("managedFields")
}

/// Drops empty lists and maps: an object without labels has no labels.
pub(super) fn drop_empty(object: &mut Value) {
    of(object).retain(|_, value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    });
}

/// Whether the deletion of the object has been asked for.
pub(super) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Drops the fields of a new object that only the server sets.
pub(super) fn wipe(object: &mut Value) {
    for key in [
        "creationTimestamp",
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        of(object).remove(key);
    }
}

/// Puts the object into the namespace of the request.
///
/// # Errors
/// 400 when it names another one.
pub(super) fn place(
    object: &mut Value,
    resource: &Resource,
    namespace: &str,
) -> Result<(), Refusal> {
    if !resource.namespaced {
        of(object).remove("namespace");
        return Ok(());
    }
    let sent = text(object, "namespace");
    if !sent.is_empty() && sent != namespace {
        return Err(Refusal::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    of(object).insert("namespace".into(), json!(namespace));
    Ok(())
}

/// Checks that the object is the one that the URL names.
///
/// # Errors
/// 400 when it is not.
pub(super) fn check_name(object: &Value, name: &str) -> Result<(), Refusal> {
    match text(object, "name") {
        "" => Err(Refusal::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        sent if sent == name => Ok(()),
        sent => Err(Refusal::bad_request(format!(
            "the name of the object ({sent}) does not match the name on the URL ({name})"
        ))),
    }
}

/// Takes over what an update cannot change; other values of these are invalid and seen by
/// [`check_update`].
pub(super) fn carry_over(object: &mut Value, old: &Value) {
    let old = &old["metadata"];
    let metadata = of(object);
    // Links of old; nothing keeps them.
    metadata.remove("selfLink");
    for key in ["generation", "creationTimestamp"] {
        match old.get(key) {
            Some(value) => metadata.insert(key.into(), value.clone()),
            None => metadata.remove(key),
        };
    }
    if metadata
        .get("uid")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        metadata.insert("uid".into(), old["uid"].clone());
    }
    if old["deletionTimestamp"].is_string() {
        metadata.insert("deletionTimestamp".into(), old["deletionTimestamp"].clone());
    }
    if !metadata.contains_key("deletionGracePeriodSeconds")
        && old["deletionGracePeriodSeconds"].is_number()
    {
        let seconds = old["deletionGracePeriodSeconds"].clone();
        metadata.insert("deletionGracePeriodSeconds".into(), seconds);
    }
}

/// What is wrong with the metadata of an object.
pub(super) fn check(object: &Value, resource: &Resource) -> Vec<Cause> {
    let mut causes = Vec::new();
    let rule = resource.name_rule();
    let prefix = text(object, "generateName");
    if !prefix.is_empty() {
        push(
            &mut causes,
            "generateName",
            prefix,
            rule.prefix_complaints(prefix),
        );
    }
    match text(object, "name") {
        "" => causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        )),
        name => push(&mut causes, "name", name, rule.complaints(name)),
    }
    if resource.namespaced {
        let namespace = text(object, "namespace");
        push(&mut causes, "namespace", namespace, names::label(namespace));
    }
    check_rest(object, &mut causes);
    // Built-in kinds take no names without a domain, but for their own.
    if resource.is_builtin() && resource.group != "apiextensions.k8s.io" {
        check_domains(object, &mut causes);
    }
    causes
}

/// What is wrong with the metadata of an object within another, which need not have a name.
pub(super) fn check_embedded(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for key in ["generateName", "name"] {
        let name = text(object, key);
        push(
            &mut causes,
            key,
            name,
            NameRule::PathSegment.complaints(name),
        );
    }
    let namespace = text(object, "namespace");
    if !namespace.is_empty() {
        push(&mut causes, "namespace", namespace, names::label(namespace));
    }
    check_rest(object, &mut causes);
    causes
}

/// What is the same whatever the object is called.
fn check_rest(object: &Value, causes: &mut Vec<Cause>) {
    let metadata = &object["metadata"];
    check_marks("metadata", metadata, causes);
    causes.extend(owners::check(&metadata["ownerReferences"]));
    check_finalizers(object, causes);
}

fn push(causes: &mut Vec<Cause>, key: &str, value: &str, complaints: Vec<String>) {
    tell(causes, &format!("metadata.{key}"), value, complaints);
}

fn tell(causes: &mut Vec<Cause>, field: &str, value: &str, complaints: Vec<String>) {
    for complaint in complaints {
        causes.push(Cause::invalid(field, &json!(value), &complaint));
    }
}

fn entries(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    let map = map.as_object().into_iter().flatten();
    map.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// What is wrong with the labels at `field`.
pub(super) fn check_labels(field: &str, labels: &Value, causes: &mut Vec<Cause>) {
    for (key, value) in entries(labels) {
        tell(causes, field, key, names::qualified(key));
        tell(causes, field, value, names::label_value(value));
    }
}

/// What is wrong with the labels and annotations of `metadata`, which is reported at `field`.
pub(super) fn check_marks(field: &str, metadata: &Value, causes: &mut Vec<Cause>) {
    check_labels(&format!("{field}.labels"), &metadata["labels"], causes);
    let annotations = format!("{field}.annotations");
    let mut size = 0;
    for (key, value) in entries(&metadata["annotations"]) {
        tell(
            causes,
            &annotations,
            key,
            names::qualified(&key.to_lowercase()),
        );
        size += key.len() + value.len();
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause::too_long(annotations, ANNOTATIONS_LIMIT));
    }
}

fn check_finalizers(object: &Value, causes: &mut Vec<Cause>) {
    let finalizers = finalizers(object);
    for finalizer in &finalizers {
        push(causes, "finalizers", finalizer, names::qualified(finalizer));
    }
    if finalizers.contains(&ORPHAN) && finalizers.contains(&FOREGROUND) {
        let detail = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        causes.push(Cause::invalid(
            "metadata.finalizers",
            &json!(finalizers),
            &detail,
        ));
    }
}

fn check_domains(object: &Value, causes: &mut Vec<Cause>) {
    for (at, finalizer) in finalizers(object).iter().enumerate() {
        if is_unqualified(finalizer) {
            let field = format!("metadata.finalizers[{at}]");
            causes.push(Cause::invalid(field, &json!(finalizer), UNQUALIFIED));
        }
    }
}

/// Whether a finalizer is neither Kubernetes' own nor has a domain.
pub(super) fn is_unqualified(finalizer: &str) -> bool {
    !finalizer.contains('/') && ![ORPHAN, FOREGROUND, KUBERNETES].contains(&finalizer)
}

/// Warnings about finalizers that `old` did not have and that could be anybody's.
pub(super) fn finalizer_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let known = old.map(finalizers).unwrap_or_default();
    let new: BTreeSet<&str> = finalizers(object).into_iter().collect();
    let warn = |finalizer: &str| {
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
        )
    };
    new.into_iter()
        .filter(|finalizer| !known.contains(finalizer) && is_unqualified(finalizer))
        .map(warn)
        .collect()
}

/// What is wrong with the metadata of an object in the light of the one it replaces.
pub(super) fn check_update(object: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if is_deleting(old) {
        let known = finalizers(old);
        let mut added = finalizers(object);
        added.retain(|finalizer| !known.contains(finalizer));
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let added: Vec<String> = added.iter().map(|name| format!("{name:?}")).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &detail));
        }
    }
    for key in [
        "name",
        "namespace",
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let (new, old) = (&object["metadata"][key], &old["metadata"][key]);
        if new != old {
            let field = format!("metadata.{key}");
            causes.push(Cause::invalid(field, new, "field is immutable"));
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]
    use std::sync::Arc;

    use super::*;
    use crate::api::resources::Registry;

    fn config_maps() -> Arc<Resource> {
        Registry::new().find("", "v1", "configmaps").unwrap()
    }

    fn complaints(metadata: Value) -> Vec<String> {
        let mut object = json!({"metadata": {"name": "a", "namespace": "b"}});
        for (key, value) in metadata.as_object().unwrap() {
            object["metadata"][key] = value.clone();
        }
        let causes = check(&object, &config_maps());
        causes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_object_is_placed_where_the_request_asks() {
        let mut object = json!({"metadata": {"name": "a"}});
        place(&mut object, &config_maps(), "b").unwrap();
        assert_eq!(text(&object, "namespace"), "b");
        assert_eq!(
            place(&mut object, &config_maps(), "c").unwrap_err().code,
            400
        );
        assert_eq!(
            check_name(&object, "x").unwrap_err().message,
            "the name of the object (a) does not match the name on the URL (x)"
        );
    }

    #[test]
    fn every_part_of_metadata_is_checked() {
        assert!(complaints(json!({})).is_empty());
        assert!(
            complaints(json!({"name": "A"}))[0]
                .starts_with("metadata.name: Invalid value: \"A\": ")
        );
        assert!(complaints(json!({"labels": {"a": "-"}}))[0].starts_with("metadata.labels: "));
        assert!(
            complaints(json!({"annotations": {"a b": ""}}))[0]
                .starts_with("metadata.annotations: ")
        );
        let long = "x".repeat(ANNOTATIONS_LIMIT);
        assert_eq!(
            complaints(json!({"annotations": {"a": long}})),
            ["metadata.annotations: Too long: may not be more than 262144 bytes"]
        );
        assert_eq!(
            complaints(json!({"finalizers": [ORPHAN, FOREGROUND]})).len(),
            1
        );
        let owner =
            json!({"apiVersion": "v1", "kind": "A", "name": "a", "uid": "", "controller": true});
        assert_eq!(
            complaints(json!({"ownerReferences": [owner]})),
            ["metadata.ownerReferences.uid: Invalid value: \"\": must not be empty"]
        );
    }

    #[test]
    fn what_cannot_change_is_carried_over_or_refused() {
        let old = json!({"metadata": {"name": "a", "uid": "u", "generation": 2,
            "deletionTimestamp": "t", "deletionGracePeriodSeconds": 0, "finalizers": ["x/y"]}});
        let mut object = json!({"metadata": {"name": "a", "generation": 9, "finalizers": ["x/z"]}});
        carry_over(&mut object, &old);
        assert_eq!(object["metadata"]["generation"], 2);
        assert_eq!(object["metadata"]["deletionTimestamp"], "t");
        let causes = check_update(&object, &old);
        assert_eq!(
            causes[0].to_string(),
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"x/z\"}"
        );
        object["metadata"]["uid"] = json!("other");
        assert_eq!(check_update(&object, &old)[1].field, "metadata.uid");
    }
}
