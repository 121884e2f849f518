//! A set of fields beside a value, without types: the set itself shows which lists are maps.
//!
//! In: what a manager owns, and a value that was applied or is live. Out: whether all of the value is
//! owned, and a digest of what is owned of it. It does not know what a kind allows.

use std::hash::{BuildHasher as _, Hash as _, Hasher};
use std::sync::LazyLock;

use foldhash::quality::RandomState;
use serde_json::Value;

use super::{Element, FieldPath, FieldSet};

/// Of digests, which only one process compares: nobody can look for two values with the same one.
static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// What no manager owns: the API server keeps it out of managedFields.
const UNOWNED: [&[&str]; 11] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "clusterName"],
    &["metadata", "creationTimestamp"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "resourceVersion"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
];

/// What a server drops from an object where it has an address of its own. Whether it has is seen by what is owned.
const APART: &str = "status";

impl FieldSet {
    /// The fields of an `applied` object that are not in the set: what its manager lost to others
    /// since it applied it. Nulls own nothing, nor does a status that is not taken with the object.
    #[must_use]
    pub fn missing(&self, applied: &Value) -> Vec<FieldPath> {
        let mut missing = Vec::new();
        uncovered(self, applied, &mut Vec::new(), &mut missing);
        missing
    }

    /// Whether the field at `path` is owned as a whole, or a part of one that is: not only things in it.
    #[must_use]
    pub fn holds(&self, path: &[Element]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        let below = self.branch(first);
        below.is_some_and(|below| below.is_empty() || below.holds(rest))
    }

    /// Tells apart what the fields of the set are in `live`, those at or below `apart` left out. Equal
    /// for equal values and sets within one process.
    #[must_use]
    pub fn digest(&self, live: &Value, apart: &Self) -> u64 {
        let mut hasher = SEED.build_hasher();
        digest(self, Some(live), apart, &mut hasher);
        hasher.finish()
    }
}

impl FieldPath {
    /// The value there in `object`; `None` if it has none.
    #[must_use]
    pub fn value_in<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        let mut path = self.0.iter();
        path.try_fold(object, |value, element| found(element, value))
    }

    /// Removes the value there from `object`, if it has one. What is around it stays, even if it is empty then.
    pub fn remove_from(&self, object: &mut Value) {
        let Some((last, above)) = self.0.split_last() else {
            return;
        };
        let mut around = above.iter();
        let around = around.try_fold(object, |value, element| found_mut(element, value));
        match (last, around) {
            (Element::Field(name), Some(Value::Object(members))) => {
                members.remove(name.as_str());
            }
            (element, Some(Value::Array(items))) => {
                let mut all = items.iter().enumerate();
                let at = all.position(|(index, item)| leads_to(element, index, item));
                at.map(|at| items.remove(at));
            }
            _ => {}
        }
    }
}

fn found_mut<'a>(element: &Element, value: &'a mut Value) -> Option<&'a mut Value> {
    match (element, value) {
        (Element::Field(name), Value::Object(members)) => members.get_mut(name.as_str()),
        (element, Value::Array(items)) => {
            let mut items = items.iter_mut().enumerate();
            let item = items.find(|(index, item)| leads_to(element, *index, item));
            item.map(|(_, item)| item)
        }
        _ => None,
    }
}

fn uncovered(set: &FieldSet, value: &Value, at: &mut Vec<Element>, missing: &mut Vec<FieldPath>) {
    let mut step = |element: Element, value: &Value| {
        at.push(element);
        let branch = set.branch(&at[at.len() - 1]);
        let is_apart =
            branch.is_none() && matches!(&at[..], [Element::Field(name)] if name == APART);
        if !is_unowned(at) && !is_apart {
            match branch {
                // Nothing of it is left: then all that is in it is named.
                None if value.as_object().is_some_and(|members| !members.is_empty()) => {
                    uncovered(&FieldSet::new(), value, at, missing);
                }
                None => missing.push(at.iter().cloned().collect()),
                // A field without others below it is owned as a whole.
                Some(below) if below.is_empty() => {}
                Some(below) => uncovered(below, value, at, missing),
            }
        }
        at.pop();
    };
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, member)| !member.is_null());
            members.for_each(|(name, member)| step(Element::field(name.as_str()), member));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let own = set.branches().map(|(element, ..)| element);
                let own = own
                    .into_iter()
                    .find(|element| leads_to(element, index, item));
                let element = own.cloned();
                step(
                    element.unwrap_or_else(|| Element::Value(item.clone())),
                    item,
                );
            }
        }
        _ => {}
    }
}

fn is_unowned(at: &[Element]) -> bool {
    let named = |names: &&[&str]| {
        let same = |(element, name): (&Element, &&str)| matches!(element, Element::Field(own) if own == name);
        names.len() == at.len() && at.iter().zip(names.iter()).all(same)
    };
    UNOWNED.iter().any(named)
}

/// Whether `element` is the way to `item` of a list. A key field that the item leaves out was filled
/// in by a default.
fn leads_to(element: &Element, index: usize, item: &Value) -> bool {
    match element {
        Element::Key(keys) => {
            let same =
                |(name, value): &(String, Value)| item.get(name).is_none_or(|own| own == value);
            item.is_object() && keys.iter().all(same)
        }
        Element::Value(value) => value == item,
        Element::Index(at) => usize::try_from(*at) == Ok(index),
        Element::Field(_) => false,
    }
}

fn digest(set: &FieldSet, value: Option<&Value>, apart: &FieldSet, hasher: &mut impl Hasher) {
    for (element, member, below) in set.branches() {
        if apart.has(element) {
            continue;
        }
        hash_element(element, hasher);
        member.hash(hasher);
        let found = value.and_then(|value| found(element, value));
        if below.is_empty() {
            hash_value(found, hasher);
        } else {
            let none = FieldSet::new();
            digest(below, found, apart.below(element).unwrap_or(&none), hasher);
        }
        // The end of what is below.
        0_u8.hash(hasher);
    }
}

fn hash_element(element: &Element, hasher: &mut impl Hasher) {
    match element {
        Element::Field(name) => name.hash(hasher),
        other => other.print().hash(hasher),
    }
}

/// Tells values apart as their JSON does.
fn hash_value(value: Option<&Value>, hasher: &mut impl Hasher) {
    value.map(std::mem::discriminant).hash(hasher);
    match value {
        None | Some(Value::Null) => {}
        Some(Value::Bool(flag)) => flag.hash(hasher),
        Some(Value::Number(number)) => number.hash(hasher),
        Some(Value::String(text)) => text.hash(hasher),
        Some(Value::Array(items)) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash_value(Some(item), hasher));
        }
        Some(Value::Object(members)) => {
            members.len().hash(hasher);
            for (name, member) in members {
                name.hash(hasher);
                hash_value(Some(member), hasher);
            }
        }
    }
}

fn found<'a>(element: &Element, value: &'a Value) -> Option<&'a Value> {
    match (element, value) {
        (Element::Field(name), Value::Object(members)) => members.get(name),
        (element, Value::Array(items)) => {
            let mut items = items.iter().enumerate();
            let item = items.find(|(index, item)| leads_to(element, *index, item));
            item.map(|(_, item)| item)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_removed_with_nothing_around_it() {
        let whole = json!({"a": {"b": 1}, "list": [{"name": "x", "v": 1}, {"name": "y", "v": 2}], "set": ["p", "q"]});
        let key = || Element::key(vec![("name".to_owned(), json!("y"))]);
        let cases = [
            (
                vec![Element::field("a"), Element::field("b")],
                json!({"a": {}}),
            ),
            (
                vec![Element::field("list"), key()],
                json!({"list": [{"name": "x", "v": 1}]}),
            ),
            (
                vec![Element::field("list"), key(), Element::field("v")],
                json!({"list": [{"name": "x", "v": 1}, {"name": "y"}]}),
            ),
            (
                vec![Element::field("set"), Element::Value(json!("p"))],
                json!({"set": ["q"]}),
            ),
            (vec![Element::field("none"), Element::field("b")], json!({})),
        ];
        for (path, changed) in cases {
            let path: FieldPath = path.into_iter().collect();
            let mut expected = whole.clone();
            for (field, value) in changed.as_object().unwrap() {
                expected[field] = value.clone();
            }
            let mut object = whole.clone();
            path.remove_from(&mut object);
            assert_eq!(object, expected, "{path}");
        }
    }

    fn set() -> FieldSet {
        FieldSet::from_json(&json!({
            "f:metadata": {"f:labels": {"f:l": {}}},
            "f:spec": {
                "f:whole": {},
                "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:name": {}}},
                "f:words": {"v:\"a\"": {}},
            },
        }))
        .unwrap()
    }

    fn applied() -> Value {
        json!({
            "apiVersion": "v1", "kind": "X",
            "metadata": {"name": "n", "namespace": "ns", "labels": {"l": "1"}},
            "spec": {"whole": {"x": [1]}, "ports": [{"port": 80, "name": "p"}], "words": ["a"], "none": null},
        })
    }

    fn missing(applied: &Value) -> Vec<String> {
        let missing = set().missing(applied);
        missing.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_owned_is_covered_whatever_the_default_of_a_key() {
        assert_eq!(missing(&applied()), [] as [&str; 0]);
    }

    #[test]
    fn what_was_lost_is_named() {
        let mut more = applied();
        more["spec"]["replicas"] = json!(3);
        more["spec"]["ports"][0]["nodePort"] = json!(1);
        more["spec"]["words"] = json!(["a", "b"]);
        more["metadata"]["annotations"] = json!({"a": "1"});
        let lost = [
            ".metadata.annotations.a",
            ".spec.ports[port=80,protocol=\"TCP\"].nodePort",
            ".spec.replicas",
            ".spec.words[=\"b\"]",
        ];
        assert_eq!(missing(&more), lost);
    }

    #[test]
    fn what_a_server_keeps_out_of_managed_fields_is_not_lost() {
        let mut exported = applied();
        exported["status"] = json!({"phase": "Active", "conditions": []});
        exported["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        exported["metadata"]["generation"] = json!(3);
        exported["metadata"]["selfLink"] = json!("/api/v1/x");
        assert_eq!(missing(&exported), [] as [&str; 0]);
        // A kind whose status is written with the object.
        let own = FieldSet::from_json(&json!({"f:status": {"f:phase": {}}})).unwrap();
        let status = json!({"status": {"phase": "Active", "other": 1}});
        let lost = own.missing(&status);
        assert_eq!(lost.len(), 1);
        assert_eq!(lost[0].to_string(), ".status.other");
    }

    #[test]
    fn a_list_is_held_as_a_whole_or_only_its_items_are() {
        let path = |names: &[&str]| {
            names
                .iter()
                .map(|name| Element::field(*name))
                .collect::<Vec<_>>()
        };
        assert!(set().holds(&path(&["spec", "whole"])));
        assert!(set().holds(&path(&["spec", "whole", "x"])));
        assert!(!set().holds(&path(&["spec", "ports"])));
        assert!(!set().holds(&path(&["spec", "none"])));
        let port = FieldPath(vec![
            Element::field("spec"),
            Element::field("ports"),
            Element::key(vec![("port".to_owned(), json!(80))]),
            Element::field("name"),
        ]);
        assert_eq!(port.value_in(&applied()), Some(&json!("p")));
        assert_eq!(port.value_in(&json!({"spec": {"ports": []}})), None);
    }

    #[test]
    fn a_digest_tells_values_and_sets_apart_and_leaves_out_what_it_is_told_to() {
        let digest = |live: &Value, apart: &FieldSet| set().digest(live, apart);
        let (none, live) = (FieldSet::new(), applied());
        let mut other = live.clone();
        other["spec"]["others"] = json!(1);
        assert_eq!(
            digest(&live, &none),
            digest(&other, &none),
            "it is not owned"
        );
        other["spec"]["whole"]["x"] = json!([2]);
        assert_ne!(digest(&live, &none), digest(&other, &none));
        let apart = FieldSet::from_json(&json!({"f:spec": {"f:whole": {}}})).unwrap();
        assert_eq!(digest(&live, &apart), digest(&other, &apart));
        other["spec"]["ports"][0]["name"] = json!("q");
        assert_ne!(digest(&live, &apart), digest(&other, &apart));
        let fewer = FieldSet::from_json(&json!({"f:metadata": {"f:labels": {"f:l": {}}}})).unwrap();
        assert_ne!(fewer.digest(&live, &none), digest(&live, &none));
    }
}
