//! What is kept of a live member of the fleet's set, so that an unchanged one costs nothing.
//!
//! In: the live object, what is wanted of it, what was kept of it before. Out: a [`Member`]: who it is,
//! how it fares, and whether it stands as it was applied. managedFields and content are read here and
//! not kept. It does not know: how the object came here, what is done about it.

use std::fmt;

use serde_json::Value as Json;

use crate::api::labels;
use crate::health::{Live, health};
use crate::model::{Action, Health};
use crate::schema::{Element, FieldPath, FieldSet, Managed, Operation};

/// A live member.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion; zero when it is no number. API servers count up (since 1.35 officially).
    pub version: u128,
    /// Its generation.
    pub generation: i64,
    /// How it fares.
    pub health: Health,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Who owns it.
    pub owners: Vec<Owner>,
    /// The Cluster it belongs to, by its label; empty for none.
    pub cluster: String,
    /// What happens to it when its file goes away, as it was last applied.
    pub policy: String,
    /// The sha256 of the payload it was last applied with, as that says.
    pub applied: String,
    /// Whether it stands as it was applied.
    pub drift: DriftState,
    /// Tells the fields we own and their values apart.
    digest: u64,
}

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The owner; of the same namespace, or of none.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Whether it is the controller.
    pub controller: bool,
}

/// How a live object stands to what is wanted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriftState {
    /// As it was applied.
    InSync,
    /// Something else was applied to it, or nothing is wanted of it.
    Outdated,
    /// Somebody changed what we applied.
    Drifted(Drift),
}

/// What somebody changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// The fields, as API servers write them; empty when they cannot be told.
    pub fields: Vec<String>,
    /// Who owns them now.
    pub by: Vec<String>,
}

impl Drift {
    /// The fields that went `missing`, and who of `managers` has them.
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

impl Member {
    /// Reads `live`. `wanted` is what is asked of it, `before` what was known of it.
    #[must_use]
    pub fn read(live: &Json, wanted: Option<&Action>, before: Option<&Self>) -> Self {
        let object = Live(live);
        let applied = object.annotation(labels::APPLIED).to_owned();
        let mut member = Self {
            uid: object.uid().to_owned(),
            version: version(live),
            generation: object.generation(),
            health: health(live),
            deleting: object.is_deleting(),
            owners: owners(object),
            cluster: object.label(labels::CLUSTER_NAME).to_owned(),
            policy: object.annotation(labels::DELETION_POLICY).to_owned(),
            applied,
            drift: DriftState::Outdated,
            digest: 0,
        };
        let Some(Action::Apply {
            payload,
            manager,
            left,
            ..
        }) = wanted
        else {
            return member;
        };
        if payload.hash() != member.applied || member.applied.is_empty() {
            return member;
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
        let missing = || own.missing(&without(payload.json(), left));
        member.digest = own.digest(live, &fields(left));
        let same = |before: &&Self| before.uid == member.uid && before.applied == member.applied;
        let unchanged = before
            .filter(same)
            .filter(|before| before.drift == DriftState::InSync);
        let in_sync = unchanged.map_or_else(
            || missing().is_empty(),
            |before| before.digest == member.digest,
        );
        member.drift = match in_sync {
            true => DriftState::InSync,
            false => DriftState::Drifted(Drift::of(&missing(), &managers)),
        };
        member
    }

    /// The same, as the answer to our own apply: whatever the server or its webhooks made of it is how
    /// it stands.
    #[must_use]
    pub fn answered(live: &Json, wanted: &Action) -> Self {
        let member = Self::read(live, Some(wanted), None);
        Self {
            drift: DriftState::InSync,
            ..member
        }
    }

    /// Asks of it what is `wanted` now.
    pub fn judge(&mut self, wanted: &Action) {
        let Action::Apply { payload, .. } = wanted;
        if payload.hash() != self.applied {
            self.drift = DriftState::Outdated;
        }
    }

    /// Whether `self` is not older than `other`. A new object starts anew.
    #[must_use]
    pub fn is_newer(&self, other: &Self) -> bool {
        self.uid != other.uid || self.version >= other.version
    }

    /// The controller, if it has one.
    #[must_use]
    pub fn controller(&self) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.controller)
    }
}

/// The resourceVersion as a number.
pub(super) fn version(live: &Json) -> u128 {
    let text = Live(live).text(&["metadata", "resourceVersion"]);
    text.parse().unwrap_or_default()
}

fn owners(object: Live<'_>) -> Vec<Owner> {
    let read = |owner: &Json| {
        let owner = Live(owner);
        Owner {
            kind: owner.kind().to_owned(),
            name: owner.text(&["name"]).to_owned(),
            uid: owner.text(&["uid"]).to_owned(),
            controller: owner.flag(&["controller"]),
        }
    };
    let owners = object.list(&["metadata", "ownerReferences"]);
    owners.iter().map(read).collect()
}

/// `payload` without what is left to others.
#[must_use]
pub fn without(mut payload: Json, left: &[String]) -> Json {
    for pointer in left {
        remove(&mut payload, pointer);
    }
    payload
}

/// Takes the value at a JSON pointer out.
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

    use super::*;
    use crate::model::Payload;

    fn wanted(left: &[&str]) -> Action {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "annotations": {labels::APPLIED: "h1"}},
            "data": {"k": "1", "l": "1"},
        });
        Action::Apply {
            payload: Payload::new(&object, "h1", ""),
            manager: "capstan".to_owned(),
            force: false,
            left: left.iter().map(|pointer| (*pointer).to_owned()).collect(),
        }
    }

    /// A live object of which we own some keys of its data, and somebody else the others.
    fn live(data: &Json, own: &[&str], others: &[&str], hash: &str) -> Json {
        let entry = |manager: &str, operation: &str, keys: &[&str], more: Json| {
            let keys = keys.iter().map(|key| (format!("f:{key}"), json!({})));
            let keys: serde_json::Map<String, Json> = keys.collect();
            let mut fields = more;
            fields["f:data"] = keys.into();
            json!({"manager": manager, "operation": operation, "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": fields})
        };
        let ours = json!({"f:metadata": {"f:annotations": {format!("f:{}", labels::APPLIED): {}}}});
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
    fn what_stands_as_applied_is_left_alone_also_after_a_restart() {
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
    fn a_field_that_somebody_took_is_drift_with_its_name_and_theirs() {
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
