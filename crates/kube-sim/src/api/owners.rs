//! Rules for `metadata.ownerReferences`.
//!
//! In: the references of an object. Out: each owner once, and the fields that are wrong (k8s.io/apimachinery
//! `api/validation`). It does not know whether the owners are there.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::status::Cause;

const FIELD: &str = "metadata.ownerReferences";

/// What is wrong with owner references.
pub(super) fn check(owners: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut controller: Option<String> = None;
    let list = owners.as_array().map_or(&[][..], Vec::as_slice);
    for owner in list {
        let text = |key: &str| owner[key].as_str().unwrap_or_default();
        check_texts(owner, &mut causes);
        if text("apiVersion") == "v1" && text("kind") == "Event" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(wrong(&shown(owner), detail));
        }
        if owner["controller"] == true {
            let name = format!("{}/{}", text("kind"), text("name"));
            if let Some(first) = &controller {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                );
                let all: Vec<String> = list.iter().map(shown).collect();
                causes.push(wrong(&format!("[{}]", all.join(",")), &detail));
            }
            controller.get_or_insert(name);
        }
    }
    causes
}

/// Every reference is complete.
fn check_texts(owner: &Value, causes: &mut Vec<Cause>) {
    for key in ["apiVersion", "kind", "name", "uid"] {
        let value = owner[key].as_str().unwrap_or_default();
        let (bad, detail) = match key {
            "apiVersion" => (value.matches('/').count() > 1, "version must not be empty"),
            _ => (false, "must not be empty"),
        };
        if bad || value.is_empty() {
            causes.push(Cause::invalid(
                format!("{FIELD}.{key}"),
                &json!(value),
                detail,
            ));
        }
    }
}

fn wrong(shown: &str, detail: &str) -> Cause {
    let message = format!("Invalid value: {shown}: {detail}");
    Cause::worded("FieldValueInvalid", FIELD.into(), message)
}

/// A reference with its fields in the order in which a real server shows them.
fn shown(owner: &Value) -> String {
    const FIELDS: [&str; 6] = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let shown = |key: &str| Some(format!("\"{key}\":{}", owner.get(key)?));
    let fields: Vec<String> = FIELDS.into_iter().filter_map(shown).collect();
    format!("{{{}}}", fields.join(","))
}

/// When references are looked through for doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dedup {
    /// As they were sent.
    Sent,
    /// After a patch.
    Patched,
}

/// Leaves of references with one uid the first. Warns of the uids that there were more of.
pub(super) fn dedup(object: &mut Value, when: Dedup) -> Vec<String> {
    let owners = object.pointer_mut("/metadata/ownerReferences");
    let Some(owners) = owners.and_then(Value::as_array_mut) else {
        return Vec::new();
    };
    let (mut seen, mut double) = (BTreeSet::new(), BTreeSet::new());
    owners.retain(|owner| {
        let uid = owner["uid"].as_str().unwrap_or_default().to_owned();
        let new = seen.insert(uid.clone());
        if !new {
            double.insert(uid);
        }
        new
    });
    if double.is_empty() {
        return Vec::new();
    }
    let uids = double.into_iter().collect::<Vec<_>>().join(", ");
    let when = match when {
        Dedup::Sent => "",
        Dedup::Patched => " after mutating admission happens",
    };
    vec![format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_named_in_full() {
        let owner = json!({"apiVersion": "a/b/c", "kind": "A", "name": "", "uid": "u"});
        let causes = check(&json!([owner]));
        let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "metadata.ownerReferences.apiVersion",
                "metadata.ownerReferences.name"
            ]
        );
    }

    #[test]
    fn one_owner_is_the_controller() {
        let owner = |name: &str| json!({"uid": "u", "name": name, "kind": "A", "apiVersion": "v1", "controller": true});
        assert!(check(&json!([owner("a")])).is_empty());
        let causes = check(&json!([owner("a"), owner("b")]));
        let message = &causes[0].message;
        assert!(message.starts_with(r#"Invalid value: [{"apiVersion":"v1","kind":"A","name":"a","uid":"u","controller":true},"#));
        assert!(message.ends_with("references for A/a and A/b"));
    }
}
