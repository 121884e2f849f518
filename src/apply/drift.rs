//! Whether a live object still is as it was applied, and what others changed.
//!
//! In: the live object, what is wanted of it, what was known of it before. Out: a [`DriftState`]. It does
//! not know: what is done about it.

use std::fmt;

use serde_json::Value as Json;

use crate::model::Action;
use kube_schema::{Element, FieldPath, FieldSet, Managed, Operation};

/// Whether a live object matches what we applied to it. This is the only definition of drift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriftState {
    /// It is as it was applied.
    InSync,
    /// Something else was applied to it, or the plan does not have it.
    Outdated,
    /// Others changed what we applied.
    Drifted(Drift),
}

/// What others changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// The fields, as API servers write them; empty when they cannot be determined.
    pub fields: Vec<String>,
    /// Who owns them now.
    pub by: Vec<String>,
}

impl DriftState {
    /// The state of `live`, to which the payload with the hash `applied` was applied, and a digest of the
    /// fields we own and their values. `wanted` is what is asked of it, `known` the digest of when it was
    /// in sync with the same payload.
    ///
    /// It is in sync when that digest did not change: how the server stores our values is not drift. If
    /// no digest is known, after a restart, it is in sync if we own every field that we would apply.
    pub(super) fn of(
        live: &Json,
        applied: &str,
        wanted: Option<&Action>,
        known: Option<u64>,
    ) -> (Self, u64) {
        let Some(Action {
            payload,
            manager,
            left,
            ..
        }) = wanted
        else {
            return (Self::Outdated, 0);
        };
        if payload.hash() != applied || applied.is_empty() {
            return (Self::Outdated, 0);
        }
        let managers = Managed::read(live).unwrap_or_default();
        let ours = |entry: &&Managed| {
            entry.manager == *manager
                && entry.operation == Operation::Apply
                && entry.subresource.is_empty()
                && payload.api_version() == entry.api_version
        };
        let nothing = FieldSet::new();
        let own = managers
            .iter()
            .find(ours)
            .map_or(&nothing, |entry| &entry.fields);
        let missing = || {
            let sent = without(payload.json(), left);
            let mut missing = own.missing(&sent);
            missing.retain(|path| !is_nothing(path, &sent, &managers));
            missing
        };
        let digest = own.digest(live, &fields(left));
        let in_sync = known.map_or_else(|| missing().is_empty(), |known| known == digest);
        let state = match in_sync {
            true => Self::InSync,
            false => Self::Drifted(Drift::of(&missing(), &managers)),
        };
        (state, digest)
    }

    /// Whether applying takes fields back by force from their current owner, because they were
    /// ours. `was_applied` states that for an object whose annotation was overwritten.
    #[must_use]
    pub const fn takes_back(&self, was_applied: bool) -> bool {
        was_applied || matches!(self, Self::Drifted(_))
    }

    /// What to repair on an applied object, in words; `None` if there is nothing.
    #[must_use]
    pub fn to_repair(&self) -> Option<String> {
        match self {
            Self::InSync => None,
            Self::Outdated => Some(Drift::default().to_string()),
            Self::Drifted(drift) => Some(drift.to_string()),
        }
    }
}

/// Whether an empty list was sent there that owns nothing: its items have owners of their own, and there are none. A list
/// that another manager holds as a whole was taken from us.
fn is_nothing(path: &FieldPath, sent: &Json, managers: &[Managed]) -> bool {
    let is_empty = |value: &Json| value.as_array().is_some_and(Vec::is_empty);
    path.value_in(sent).is_some_and(is_empty)
        && !managers.iter().any(|entry| entry.fields.holds(&path.0))
}

impl Drift {
    /// The `missing` fields, and which of the `managers` own them now.
    fn of(missing: &[FieldPath], managers: &[Managed]) -> Self {
        let has = |entry: &&Managed| missing.iter().any(|path| entry.owns(&path.0));
        Self {
            fields: missing.iter().map(ToString::to_string).collect(),
            by: managers
                .iter()
                .filter(has)
                .map(|entry| entry.manager.clone())
                .collect(),
        }
    }
}

/// `.spec.replicas was changed by kubectl-edit`
impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fields.as_slice() {
            [] => f.write_str("what was applied was changed")?,
            [field] => write!(f, "{field} was changed")?,
            [first, rest @ ..] => write!(f, "{first} and {} more were changed", rest.len())?,
        }
        match self.by.is_empty() {
            true => Ok(()),
            false => write!(f, " by {}", self.by.join(", ")),
        }
    }
}

/// `payload` without the fields that are left to others.
#[must_use]
pub fn without(mut payload: Json, left: &[String]) -> Json {
    for pointer in left {
        remove(&mut payload, pointer);
    }
    payload
}

/// Removes the value at a JSON pointer.
fn remove(value: &mut Json, pointer: &str) {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return;
    };
    let last = unescaped(last);
    match value.pointer_mut(parent) {
        Some(Json::Object(members)) => drop(members.remove(&last)),
        Some(Json::Array(items)) => {
            if let Some(at) = last.parse().ok().filter(|at| *at < items.len()) {
                items.remove(at);
            }
        }
        _ => {}
    }
}

/// The fields at JSON pointers. A pointer into a list means the whole list: others may order it
/// otherwise.
fn fields(pointers: &[String]) -> FieldSet {
    let mut set = FieldSet::new();
    for pointer in pointers {
        set.insert(&path(pointer));
    }
    set
}

pub(super) fn path(pointer: &str) -> Vec<Element> {
    let steps = pointer.split('/').skip(1).map(unescaped);
    let steps = steps.take_while(|step| step.parse::<usize>().is_err());
    steps.map(Element::field).collect()
}

pub(super) fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Member;
    use super::*;
    use crate::api::labels;
    use crate::model::Payload;

    fn wanted(left: &[&str]) -> Action {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "annotations": {labels::APPLIED: "h1"}},
            "data": {"k": "1", "l": "1"},
        });
        Action {
            payload: Payload::new(&object, "h1", ""),
            manager: "capstan".to_owned(),
            force: false,
            left: left.iter().map(|pointer| (*pointer).to_owned()).collect(),
        }
    }

    /// A live object of whose data we own some keys and other managers the rest.
    fn live(data: &Json, own: &[&str], others: &[&str], hash: &str) -> Json {
        let entry = |manager: &str, operation: &str, keys: &[&str], more: Json| {
            let keys = keys.iter().map(|key| (format!("f:{key}"), json!({})));
            let keys: serde_json::Map<String, Json> = keys.collect();
            let mut fields = more;
            fields["f:data"] = keys.into();
            json!({"manager": manager, "operation": operation, "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": fields})
        };
        let ours = json!({"f:metadata": {"f:annotations": {format!("f:{}", labels::APPLIED): {}},
            "f:labels": {format!("f:{}", labels::PART_OF): {}}}});
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "7", "annotations": {labels::APPLIED: hash},
                "managedFields": [entry("capstan", "Apply", own, ours), entry("kubectl-edit", "Update", others, json!({}))]},
            "data": data,
        })
    }

    fn drift_state(live: &Json, left: &[&str], before: Option<&Member>) -> DriftState {
        Member::read(live, Some(&wanted(left)), before).drift
    }

    #[test]
    fn an_unchanged_object_is_left_alone_even_after_a_restart() {
        let data = json!({"k": "1", "l": "1"});
        let live = live(&data, &["k", "l"], &[], "h1");
        assert_eq!(drift_state(&live, &[], None), DriftState::InSync);
        let member = Member::read(&live, Some(&wanted(&[])), None);
        assert_eq!(drift_state(&live, &[], Some(&member)), DriftState::InSync);
    }

    #[test]
    fn another_payload_is_to_be_applied() {
        let live = live(&json!({}), &[], &[], "h0");
        assert_eq!(drift_state(&live, &[], None), DriftState::Outdated);
        assert_eq!(Member::read(&live, None, None).drift, DriftState::Outdated);
    }

    #[test]
    fn a_field_with_a_new_owner_is_drift_and_both_are_named() {
        let live = live(&json!({"k": "1", "l": "2"}), &["k"], &["l"], "h1");
        let drift = Drift {
            fields: vec![".data.l".to_owned()],
            by: vec!["kubectl-edit".to_owned()],
        };
        assert_eq!(drift_state(&live, &[], None), DriftState::Drifted(drift));
        assert_eq!(
            drift_state(&live, &["/data/l"], None),
            DriftState::InSync,
            "it is left to them"
        );
    }

    #[test]
    fn an_empty_list_that_owns_nothing_is_as_it_was_sent() {
        let sent = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "a", "labels": {labels::PART_OF: "set"}},
            "secrets": [], "spec": {"volumes": [], "replicas": 0}, "status": {},
        });
        let wanted = Action {
            payload: Payload::new(&sent, "h1", ""),
            manager: "capstan".to_owned(),
            force: false,
            left: Vec::new(),
        };
        let live = |others: &Json| {
            let entry = |manager: &str, fields: &Json| {
                json!({"manager": manager, "operation": "Apply", "apiVersion": "v1",
                    "fieldsType": "FieldsV1", "fieldsV1": fields})
            };
            let label = json!({format!("f:{}", labels::PART_OF): {}});
            let own = json!({"f:metadata": {"f:labels": label}, "f:spec": {"f:replicas": {}}});
            json!({"apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {"name": "a", "labels": {labels::PART_OF: "set"}, "annotations": {labels::APPLIED: "h1"},
                    "managedFields": [entry("capstan", &own), entry("other", others)]},
                "spec": {"replicas": 0}})
        };
        let state = |others: &Json| Member::read(&live(others), Some(&wanted), None).drift;
        assert_eq!(state(&json!({})), DriftState::InSync);
        // Another manager added an item, which is its own.
        let item = json!({"f:secrets": {"k:{\"name\":\"x\"}": {".": {}, "f:name": {}}}});
        assert_eq!(state(&item), DriftState::InSync);
        // Another manager holds the list.
        let drift = Drift {
            fields: vec![".secrets".to_owned()],
            by: vec!["other".to_owned()],
        };
        let whole = state(&json!({"f:secrets": {}}));
        assert_eq!(whole, DriftState::Drifted(drift));
    }

    #[test]
    fn what_the_server_made_of_our_values_is_no_drift_but_a_later_change_is() {
        let answer = live(&json!({"k": "one", "l": "1"}), &["k", "l"], &[], "h1");
        let member = Member::answered(&answer, &wanted(&[]));
        assert_eq!(member.drift, DriftState::InSync);
        assert_eq!(drift_state(&answer, &[], Some(&member)), DriftState::InSync);
        let later = live(&json!({"k": "two", "l": "1"}), &["k", "l"], &[], "h1");
        let drifted = DriftState::Drifted(Drift::default());
        assert_eq!(drift_state(&later, &[], Some(&member)), drifted);
        assert_eq!(
            drift_state(
                &later,
                &["/data/k"],
                Some(&Member::answered(&answer, &wanted(&["/data/k"])))
            ),
            DriftState::InSync
        );
    }
}
