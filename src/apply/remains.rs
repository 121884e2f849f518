//! Fields that left what is sent of an object, and that the object still has.
//!
//! In: an object before and after an apply, and who applied it. Out: in words, each field that its manager gave up and that is
//! still there, with the reason. It does not know what was sent.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::drift;
use crate::model::Change;
use crate::plan::consequences;
use kube_schema::{Element, FieldPath, FieldSet, Managed, Operation};

/// The most fields that are named; the others are counted.
const MOST: usize = 5;

/// What `manager` gave up between `before` and `after` and what is still there, in words; empty if that is nothing. The fields
/// at the pointers `left` are given up on purpose.
pub(crate) fn remains(before: &Json, after: &Json, manager: &str, left: &[String]) -> String {
    let (old, new) = (managers(before), managers(after));
    let given_up = own(&old, manager).difference(&own(&new, manager));
    let mut paths = given_up.paths();
    let left: Vec<Vec<Element>> = left.iter().map(|pointer| drift::path(pointer)).collect();
    let is_left = |path: &FieldPath| {
        left.iter()
            .any(|left| !left.is_empty() && path.0.starts_with(left))
    };
    paths.retain(|path| given_up.holds(&path.0) && !is_key(path) && !is_left(path));
    let said = paths.iter().filter_map(|path| {
        let value = path.value_in(after)?;
        let others = new.iter().filter(|entry| !is_own(entry, manager));
        let others = others.filter(|entry| entry.owns(&path.0));
        let others: BTreeSet<&str> = others.map(|entry| entry.manager.as_str()).collect();
        let others: Vec<&str> = others.into_iter().collect();
        Some(match others.as_slice() {
            [] if path.value_in(before) != Some(value) => {
                format!("{path} has the default of the server now")
            }
            [] if is_fixed(before, path) => format!("{path} stays: it is immutable"),
            [] => format!("{path} stays: the server keeps it, as immutable or by default"),
            [one] => format!("{path} stays: {one} owns it, too"),
            several => format!("{path} stays: {} own it, too", several.join(", ")),
        })
    });
    let said: Vec<String> = said.collect();
    let more = match said.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    said[..said.len().min(MOST)].join("; ") + &more
}

fn managers(object: &Json) -> Vec<Managed> {
    Managed::read(object).unwrap_or_default()
}

fn is_own(entry: &Managed, manager: &str) -> bool {
    entry.manager == manager && entry.operation == Operation::Apply && entry.subresource.is_empty()
}

/// All that the manager applied.
fn own(managers: &[Managed], manager: &str) -> FieldSet {
    let mut own = FieldSet::new();
    for entry in managers.iter().filter(|entry| is_own(entry, manager)) {
        own.add(&entry.fields);
    }
    own
}

/// Whether the field tells an item of a list from the others: it goes with the item alone.
fn is_key(path: &FieldPath) -> bool {
    match path.0.as_slice() {
        [.., Element::Key(keys), Element::Field(name)] => keys.iter().any(|(key, _)| key == name),
        _ => false,
    }
}

/// Whether we know that the field cannot be removed.
fn is_fixed(object: &Json, path: &FieldPath) -> bool {
    let Some((Element::Field(last), above)) = path.0.split_last() else {
        return false;
    };
    let mut without = object.clone();
    let mut at = Some(&mut without);
    for element in above {
        at = match element {
            Element::Field(name) => at.and_then(|value| value.get_mut(name)),
            _ => None,
        };
    }
    let removed = at.and_then(Json::as_object_mut);
    let removed = removed.and_then(|map| map.remove(last.as_str()));
    let is_replaced = |one: crate::plan::Consequence| one.change == Change::Replace;
    removed.is_some() && consequences(object, &without).into_iter().any(is_replaced)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(entries: &[(&str, &str, Json)], spec: &Json) -> Json {
        let entry = |(manager, operation, fields): &(&str, &str, Json)| {
            json!({"manager": manager, "operation": operation, "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields}})
        };
        let entries: Vec<Json> = entries.iter().map(entry).collect();
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "managedFields": entries}, "spec": spec})
    }

    fn said(before: (Json, Json), after: (Json, Json), others: &[(&str, &str, Json)]) -> String {
        let all = |own: Json| [&[("capstan", "Apply", own)], others].concat();
        let (before, after) = (
            object(&all(before.0), &before.1),
            object(&all(after.0), &after.1),
        );
        remains(&before, &after, "capstan", &[])
    }

    #[test]
    fn what_is_gone_is_not_mentioned() {
        let before = (json!({"f:a": {}, "f:b": {}}), json!({"a": 1, "b": 1}));
        let after = (json!({"f:a": {}}), json!({"a": 1}));
        assert_eq!(said(before.clone(), after, &[]), "");
        assert_eq!(said(before.clone(), before, &[]), "");
    }

    #[test]
    fn what_stays_has_a_reason() {
        let before = (json!({"f:a": {}, "f:b": {}}), json!({"a": 1, "b": 1}));
        let kept = (json!({"f:a": {}}), json!({"a": 1, "b": 1}));
        assert_eq!(
            said(before.clone(), kept.clone(), &[]),
            ".spec.b stays: the server keeps it, as immutable or by default"
        );
        let default = (json!({"f:a": {}}), json!({"a": 1, "b": 7}));
        assert_eq!(
            said(before.clone(), default, &[]),
            ".spec.b has the default of the server now"
        );
        let one = ("kubectl-edit", "Update", json!({"f:b": {}}));
        assert_eq!(
            said(before.clone(), kept.clone(), std::slice::from_ref(&one)),
            ".spec.b stays: kubectl-edit owns it, too"
        );
        let two = ("flux", "Apply", json!({"f:b": {".": {}, "f:c": {}}}));
        assert_eq!(
            said(before, kept, &[one, two]),
            ".spec.b stays: flux, kubectl-edit own it, too"
        );
    }

    #[test]
    fn items_of_lists_are_named_and_many_fields_are_counted() {
        let port = |more: &Json| {
            let mut port = json!({".": {}, "f:port": {}});
            for (key, value) in more.as_object().into_iter().flatten() {
                port[key] = value.clone();
            }
            json!({"f:ports": {"k:{\"port\":80}": port}})
        };
        let spec = json!({"ports": [{"port": 80, "name": "p"}]});
        let before = (port(&json!({"f:name": {}})), spec.clone());
        let other = ("other", "Apply", port(&json!({"f:name": {}})));
        assert_eq!(
            said(before, (json!({}), spec), &[other]),
            ".spec.ports[port=80].name stays: other owns it, too"
        );
        let fields: Json = (0..9).map(|at| (format!("f:x{at}"), json!({}))).collect();
        let values: Json = (0..9).map(|at| (format!("x{at}"), json!(1))).collect();
        let text = said((fields, values.clone()), (json!({}), values), &[]);
        assert!(text.ends_with("; and 4 more"), "{text}");
        assert_eq!(text.matches(" stays: ").count(), MOST);
    }

    #[test]
    fn a_field_that_we_know_to_be_immutable_is_called_so() {
        let id = |spec: &Json, own: &Json| {
            let mut object = object(&[("capstan", "Apply", own.clone())], spec);
            object["apiVersion"] = json!("redhatopenshift.azure.com/v1api20251223preview");
            object["kind"] = json!("HcpOpenShiftCluster");
            object
        };
        let spec = json!({"azureName": "b"});
        let (before, after) = (
            id(&spec, &json!({"f:azureName": {}})),
            id(&spec, &json!({})),
        );
        assert_eq!(
            remains(&before, &after, "capstan", &[]),
            ".spec.azureName stays: it is immutable"
        );
    }
    #[test]
    fn what_is_left_to_others_is_given_up_on_purpose() {
        let entry = |fields: Json| [("capstan", "Apply", fields)];
        let spec = json!({"a": 1, "b": {"c": 1}});
        let before = object(&entry(json!({"f:a": {}, "f:b": {"f:c": {}}})), &spec);
        let after = object(&entry(json!({})), &spec);
        let left = ["/spec/a".to_owned(), "/spec/b".to_owned()];
        assert_eq!(remains(&before, &after, "capstan", &left), "");
        let one = remains(&before, &after, "capstan", &left[..1]);
        assert!(one.starts_with(".spec.b.c stays: "), "{one}");
    }
}
