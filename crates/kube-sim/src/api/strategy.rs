//! What a kind makes of its objects on their way in.
//!
//! In: an object as a client sent it, and the one it replaces. Out: the object as it would be stored,
//! or the fields that are wrong. This is where built-in and custom kinds differ; it does not know
//! metadata, managers or storage.

use serde_json::{Map, Value, json};

use super::address::DEFINITIONS;
use super::blank;
use super::builtin::{Builtin, Trait};
use super::custom::Custom;
use super::definition_form;
use super::definition_rules;
use super::embedded;
use super::kinds::{self, Kinship};
use super::metadata;
use super::part::Part;
use super::resources::{Nature, Resource};
use super::rules;
use super::served;
use super::status::Cause;
use super::times;
use super::zeros;
use crate::typed::zero_nulls;
use crate::{Types, judge, judge_stranger};
use kube_schema::{Path, Segment};
use kube_schema::{Violation, ViolationKind, apply_defaults, fill_defaults, object_meta, prune};

/// An object as its type holds it: without unknown fields and with defaults. Also what a strict reader
/// reports about those that are dropped.
///
/// # Errors
/// Says which value is of a wrong type.
pub(super) fn decode(resource: &Resource, object: Value) -> Result<(Value, Vec<String>), String> {
    let (decoded, unknown) = typed(resource, object)?;
    let messages = unknown
        .iter()
        .map(|path| format!("unknown field \"{}\"", plain(path)));
    Ok((decoded, messages.collect()))
}

/// A path as a strict reader writes it, whatever the names in it hold.
fn plain(path: &Path) -> String {
    let mut text = String::new();
    for segment in &path.0 {
        match segment {
            Segment::Index(index) => text.push_str(&format!("[{index}]")),
            Segment::Key(key) if text.is_empty() => text.push_str(key),
            Segment::Key(key) => text.push_str(&format!(".{key}")),
        }
    }
    text
}

/// An object as its type holds it, and where it had unknown fields.
///
/// # Errors
/// Says which value is of a wrong type.
pub(super) fn typed(resource: &Resource, mut object: Value) -> Result<(Value, Vec<Path>), String> {
    let (mut decoded, unknown) = match &resource.nature {
        Nature::Builtin(row) => {
            object["apiVersion"] = json!(resource.api_version());
            object["kind"] = json!(resource.kind);
            zero_nulls(&mut object, Types::built_in(row.group, row.kind));
            times::check(row, &object)?;
            let mut decoded = decode_as(row, &object)?;
            if zeros::leave_out(row.kind, &mut object) {
                decoded = decode_as(row, &object)?;
            }
            let unknown = lost(&object, &decoded, &Path::default());
            blank::without_made_up_selector(&mut decoded, &object);
            // Our types make up some texts that theirs leave out.
            zeros::leave_out(row.kind, &mut decoded);
            match is_definition(resource) {
                true => definition_form::settle(&mut decoded),
                false => blank::drop_empty_lists(&mut decoded, blank(resource)),
            }
            blank::complete(&mut decoded, blank(resource));
            (decoded, unknown)
        }
        Nature::Custom(custom) => {
            let unknown = typed_custom(custom, kinds::kinship(resource, &object), &mut object)?;
            (object, unknown)
        }
    };
    let resets = resource.is_builtin() && decoded["metadata"]["managedFields"] == json!([]);
    metadata::drop_empty(&mut decoded);
    if resets {
        // Of a built-in kind not the same as none: it takes all managers off.
        metadata::of(&mut decoded).insert("managedFields".into(), json!([]));
    }
    Ok((decoded, unknown))
}

fn decode_as(row: &Builtin, object: &Value) -> Result<Value, String> {
    (row.decode)(object).map_err(|error| error.to_string())
}

/// Fits an object that was sent to where custom ones are kept. One that claims another kind
/// is let be until it is checked; in a version that there is not no fields are known.
fn typed_custom(
    custom: &Custom,
    kinship: Kinship,
    object: &mut Value,
) -> Result<Vec<Path>, String> {
    let mut unknown = type_metadata(object)?;
    match kinship {
        Kinship::Same => {
            unknown.extend(prune(&custom.schema, object));
            if custom.embeds {
                unknown.extend(embedded::coerce(&custom.schema, object)?);
            }
            apply_defaults(&custom.schema, object);
        }
        Kinship::NoVersion => {
            let fields = object.as_object_mut().expect("it has metadata");
            fields.retain(|key, _| {
                let known = ["apiVersion", "kind", "metadata"].contains(&key.as_str());
                if !known {
                    unknown.push(Path::default().key(key.as_str()));
                }
                known
            });
        }
        Kinship::Other => {}
    }
    Ok(unknown)
}

/// What came of an apply, as its type holds it: with defaults. Of a custom resource what was emptied
/// or applied as null stays null, for the check to see.
///
/// # Errors
/// Says which value is of a wrong type.
pub(super) fn completed(resource: &Resource, mut object: Value) -> Result<Value, String> {
    match &resource.nature {
        Nature::Builtin(_) => typed(resource, object).map(|(object, _)| object),
        Nature::Custom(custom) => {
            // Its metadata stays as it came out, too; see [`settle`].
            object_meta(&object["metadata"])?;
            // What an open part took in below a part that is not open.
            prune(&custom.schema, &mut object);
            if custom.embeds {
                embedded::coerce(&custom.schema, &mut object)?;
            }
            fill_defaults(&custom.schema, &mut object);
            Ok(object)
        }
    }
}

/// A custom object as it is stored: its metadata without what an apply has emptied, and a status without
/// what an object of another kind has put there. The object that a write ends is answered with
/// and never stored, so it still shows all that.
pub(super) fn settle(resource: &Resource, part: Part, object: &mut Value) {
    let Some(custom) = resource.custom() else {
        return;
    };
    if type_metadata(object).is_ok() {
        metadata::drop_empty(object);
    }
    if part == Part::Status {
        prune(&custom.schema, object);
        apply_defaults(&custom.schema, object);
    }
}

/// Passes the metadata of a custom object through its type. Says where it had unknown fields.
fn type_metadata(object: &mut Value) -> Result<Vec<Path>, String> {
    let (known, unknown) = object_meta(&object["metadata"])?;
    object["metadata"] = known;
    let below = |path: Path| {
        let mut whole = Path::default().key("metadata");
        whole.0.extend(path.0);
        whole
    };
    Ok(unknown.into_iter().map(below).collect())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Where fields of `before` are gone in `after`. What a type spells otherwise (an empty value, a
/// text that became data) is not gone.
fn lost(before: &Value, after: &Value, at: &Path) -> Vec<Path> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => before
            .iter()
            .filter(|(key, value)| {
                // Directives of patches are never known.
                (!is_empty(value) || key.starts_with('$')) && *key != "stringData"
            })
            .flat_map(|(key, value)| match after.get(key) {
                Some(other) => lost(value, other, &at.key(key.as_str())),
                None => vec![at.key(key.as_str())],
            })
            .collect(),
        (Value::Array(before), Value::Array(after)) => before
            .iter()
            .zip(after)
            .enumerate()
            .flat_map(|(index, (before, after))| lost(before, after, &at.index(index)))
            .collect(),
        _ => Vec::new(),
    }
}

/// What a new object holds before anybody sets anything.
pub(super) fn blank(resource: &Resource) -> &'static Value {
    match &resource.nature {
        Nature::Builtin(row) => blank::blank(row.group, row.kind),
        Nature::Custom(_) => blank::blank("", ""),
    }
}

/// Drops and sets what a creation decides.
pub(super) fn prepare_create(resource: &Resource, object: &mut Value) {
    if resource.has(Trait::Status) {
        let status = blank(resource).get("status").cloned();
        set(object, "status", status);
    }
    if resource.has(Trait::Generation) || !resource.is_builtin() {
        metadata::of(object).insert("generation".into(), json!(1));
    }
    if resource.is("", "namespaces") {
        rules::add_namespace_finalizer(object);
        object["status"] = json!({"phase": "Active"});
    }
    if resource.is("", "pods") {
        object["status"]["phase"] = json!("Pending");
    }
    if is_definition(resource) {
        rules::note_stored_version(object);
    }
}

/// The fields that a write of this part leaves as they are, as paths of names: nobody comes to own
/// them by it (`GetResetFields` of each kind's strategy).
pub(super) fn resets(resource: &Resource, part: Part) -> &'static [&'static [&'static str]] {
    match part {
        Part::Main | Part::Finalize if resource.has(Trait::Status) => &[&["status"]],
        Part::Main | Part::Finalize => &[],
        Part::Status if resource.is("apps", "deployments") => &[&["spec"], &["metadata", "labels"]],
        Part::Status if resource.is("", "pods") => &[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ],
        Part::Status if is_definition(resource) => &[&["metadata"], &["spec"]],
        Part::Status => &[&["spec"]],
    }
}

fn is_definition(resource: &Resource) -> bool {
    *resource.collection == *DEFINITIONS
}

/// Keeps the part that the write is not about as it was.
pub(super) fn prepare_update(resource: &Resource, part: Part, object: &mut Value, old: &Value) {
    if part == Part::Status && (is_definition(resource) || !resource.is_builtin()) {
        keep_all_but_status(object, old);
    } else {
        for path in resets(resource, part) {
            restore(object, old, path);
        }
    }
    if is_definition(resource) {
        rules::note_stored_version(object);
    }
    if resource.is("", "services") && part == Part::Main {
        rules::keep_address(object, old);
    }
    if resource.is("", "namespaces") && part == Part::Main {
        // Only the finalize subresource changes these.
        restore(object, old, &["spec", "finalizers"]);
    }
}

/// Also which version the write is based on is the write's own.
fn keep_all_but_status(object: &mut Value, old: &Value) {
    const OWN: &str = "resourceVersion";
    let (Some(new), Some(old)) = (object.as_object_mut(), old.as_object()) else {
        return;
    };
    let status = new.remove("status");
    let mut metadata = new.remove("metadata").unwrap_or_default();
    let old_metadata = old.get("metadata").and_then(Value::as_object);
    let copy = |(key, value): (&String, &Value)| (key.clone(), value.clone());
    let kept = old_metadata.into_iter().flatten();
    let kept = kept.filter(|(key, _)| *key != OWN);
    let mut kept: Map<String, Value> = kept.map(copy).collect();
    let own = metadata.as_object_mut().and_then(|own| own.remove(OWN));
    kept.extend(own.map(|own| (OWN.to_owned(), own)));
    let parts = old
        .iter()
        .filter(|(key, _)| !["metadata", "status"].contains(&key.as_str()));
    // Mostly they are as they were: to compare them costs less than to copy them.
    let part = |(key, old): (&String, &Value)| {
        let same = new.remove(key).filter(|new| new == old);
        (key.clone(), same.unwrap_or_else(|| old.clone()))
    };
    let parts: Map<String, Value> = parts.map(part).collect();
    *new = parts;
    new.insert("metadata".into(), kept.into());
    new.extend(status.map(|status| ("status".to_owned(), status)));
}

/// Puts the value at `path` of `old` in the place of the one in `object`.
fn restore(object: &mut Value, old: &Value, path: &[&str]) {
    let Some((key, parents)) = path.split_last() else {
        return;
    };
    let there = parents.iter().fold(old, |value, key| &value[*key]).get(key);
    let place = parents.iter().fold(object, |value, key| &mut value[*key]);
    set(place, key, there.cloned());
}

fn set(map: &mut Value, key: &str, value: Option<Value>) {
    match (value, map.as_object_mut()) {
        (Some(value), _) => map[key] = value,
        (None, Some(map)) => {
            map.remove(key);
        }
        (None, None) => {}
    }
}

/// Counts a change of what `generation` counts.
pub(super) fn count_generation(resource: &Resource, object: &mut Value, old: &Value) {
    let changed = match &resource.nature {
        Nature::Builtin(row) => {
            let spec = row.has(Trait::Generation) && object["spec"] != old["spec"];
            let annotations = |object: &Value| object["metadata"]["annotations"].clone();
            spec || (row.has(Trait::GenerationOfAnnotations)
                && annotations(object) != annotations(old))
        }
        Nature::Custom(custom) => {
            let counted =
                |key: &&String| *key != "metadata" && !(custom.status && *key == "status");
            let keys = |object: &Value| {
                let keys = object.as_object().into_iter().flat_map(|map| map.keys());
                keys.filter(counted).cloned().collect::<Vec<_>>()
            };
            let (new_keys, old_keys) = (keys(object), keys(old));
            new_keys != old_keys || new_keys.iter().any(|key| object[key] != old[key])
        }
    };
    if changed {
        let generation = old["metadata"]["generation"].as_u64().unwrap_or_default();
        metadata::of(object).insert("generation".into(), json!(generation + 1));
    }
}

/// What a kind has to say of an object.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// Why it is refused.
    pub(super) causes: Vec<Cause>,
    /// Warnings, whether it is refused or not.
    pub(super) warnings: Vec<String>,
    /// Warnings if it is not refused.
    pub(super) advice: Vec<String>,
}

/// What is wrong with an object, its metadata aside.
pub(super) fn check(
    resource: &Resource,
    part: Part,
    object: &Value,
    old: Option<&Value>,
) -> Checked {
    match &resource.nature {
        Nature::Builtin(row) => {
            let mut checked = Checked {
                causes: rules::check(row, part, object, old),
                ..Checked::default()
            };
            if is_definition(resource) {
                checked.causes.extend(definition_rules::check(object, old));
                match served::resources(object) {
                    Ok(added) => checked.warnings = added.warnings,
                    Err(causes) => checked.causes.extend(causes),
                }
                checked
                    .warnings
                    .extend(definition_rules::warnings(object, old));
            }
            if part == Part::Main {
                checked.advice.extend(rules::advice(object, old));
            }
            checked
        }
        Nature::Custom(custom) => {
            let refused = kinds::check_custom(resource, object);
            let verdict = match refused.is_empty() {
                true => judge(
                    &custom.schema,
                    &custom.rules,
                    object,
                    old,
                    part.subresource(),
                ),
                false => judge_stranger(&custom.schema, &custom.rules, object, old),
            };
            let tolerated = verdict.tolerated.iter().map(ToString::to_string);
            let unchecked = verdict.unchecked.iter().map(ToString::to_string);
            let found = verdict.violations.into_iter().map(cause);
            let mut causes: Vec<Cause> = refused.into_iter().chain(found).collect();
            let mut advice = Vec::new();
            if part == Part::Main {
                advice = metadata::finalizer_warnings(object, old);
                if custom.embeds {
                    causes.extend(embedded::check(&custom.schema, object));
                }
            }
            Checked {
                causes,
                warnings: tolerated.chain(unchecked).collect(),
                advice,
            }
        }
    }
}

fn cause(violation: Violation) -> Cause {
    match violation.kind {
        ViolationKind::WrongType { .. } | ViolationKind::WrongFormat => {
            Cause::worded("FieldValueTypeInvalid", violation.field, violation.message)
        }
        _ => Cause::with_message(violation.field, violation.message),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use super::*;
    use crate::api::resources::Registry;

    fn resource(group: &str, plural: &str) -> Arc<Resource> {
        Registry::new().find(group, "v1", plural).unwrap()
    }

    #[test]
    fn unknown_fields_are_dropped_and_reported() {
        let config_maps = resource("", "configmaps");
        let object = json!({"metadata": {"name": "a", "colour": "red"}, "data": {"k": "v"}, "spec": {"x": 1}});
        let (decoded, dropped) = decode(&config_maps, object).unwrap();
        assert_eq!(decoded["data"]["k"], "v");
        assert!(decoded.get("spec").is_none());
        assert_eq!(
            dropped,
            [
                "unknown field \"metadata.colour\"",
                "unknown field \"spec\""
            ]
        );
    }

    #[test]
    fn a_wrong_type_is_reported() {
        let object = json!({"metadata": {"name": "a"}, "data": {"k": 1}});
        let refusal = decode(&resource("", "configmaps"), object);
        assert!(refusal.unwrap_err().contains("expected a string"));
    }

    #[test]
    fn the_generation_of_a_deployment_counts_spec_and_annotations() {
        let deployments = resource("apps", "deployments");
        let old = json!({"metadata": {"generation": 4}, "spec": {"replicas": 1}, "status": {}});
        let after = |change: Value| {
            let mut object = old.clone();
            for (key, value) in change.as_object().unwrap() {
                object[key] = value.clone();
            }
            count_generation(&deployments, &mut object, &old);
            object["metadata"]["generation"].clone()
        };
        assert_eq!(after(json!({"status": {"replicas": 1}})), 4);
        assert_eq!(after(json!({"spec": {"replicas": 2}})), 5);
        let annotated = json!({"metadata": {"generation": 4, "annotations": {"a": "b"}}});
        assert_eq!(after(annotated), 5);
    }

    #[test]
    fn a_write_of_one_part_leaves_the_other() {
        let deployments = resource("apps", "deployments");
        let old = json!({"metadata": {"name": "a", "labels": {"a": "b"}}, "spec": {"replicas": 1}, "status": {"replicas": 1}});
        let new =
            json!({"metadata": {"name": "a"}, "spec": {"replicas": 2}, "status": {"replicas": 2}});
        let mut main = new.clone();
        prepare_update(&deployments, Part::Main, &mut main, &old);
        assert_eq!(main["spec"]["replicas"], 2);
        assert_eq!(main["status"]["replicas"], 1);
        let mut status = new;
        prepare_update(&deployments, Part::Status, &mut status, &old);
        assert_eq!(status["spec"]["replicas"], 1);
        assert_eq!(status["status"]["replicas"], 2);
        assert_eq!(status["metadata"]["labels"]["a"], "b");
    }
}
