//! What a controller decides about one object: plain data, and the patches it is made of.
//!
//! In: live objects and what is wanted of them. Out: writes, needs and a wake-up for the runtime. It
//! does not know who carries them out.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::world::GroupKind;
use crate::health::Live;
use crate::model::ObjectId;

/// What to do about an object, and when to look at it again.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// In this order; a failed one ends the list.
    pub(crate) writes: Vec<Write>,
    /// What else was looked at; a change of it asks for a new decision. Nothing is written while the
    /// kind of one of them is not synced.
    pub(crate) needs: Vec<Need>,
    /// When to decide again although nothing changed.
    pub(crate) wake: Option<Timestamp>,
}

/// Something a decision depends on besides its own object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// One object, there or not.
    Object(ObjectId),
    /// Every object of a kind in a namespace.
    List(GroupKind, String),
    /// That a kind is synced; a change of its objects triggers nothing.
    Synced(GroupKind),
}

impl Need {
    /// Every object of a kind in a namespace.
    pub(crate) fn list(group: &str, kind: &str, namespace: &str) -> Self {
        Self::List(GroupKind::new(group, kind), namespace.to_owned())
    }

    /// Every object of this one's kind and namespace.
    pub(crate) fn like(id: &ObjectId) -> Self {
        Self::list(&id.group, &id.kind, &id.namespace)
    }

    /// The kind that must be synced to know it.
    pub(crate) fn kind(&self) -> GroupKind {
        match self {
            Self::Object(id) => GroupKind::from(id),
            Self::List(kind, _) | Self::Synced(kind) => kind.clone(),
        }
    }
}

/// One change of the world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
    /// Server-side apply, taking fields from other managers. What the manager applied before and
    /// leaves out now is removed.
    Apply(Value),
    /// The same for the status.
    Status(Value),
    /// Delete this object and no other of its name.
    Delete {
        /// The object.
        id: ObjectId,
        /// A version at which it is served.
        version: String,
        /// Its uid.
        uid: String,
    },
}

impl Outcome {
    /// Adds a write.
    pub(crate) fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    /// Adds a write when there is one.
    pub(crate) fn maybe(&mut self, write: Option<Write>) {
        self.writes.extend(write);
    }

    /// Adds an object that was looked at.
    pub(crate) fn need(&mut self, id: ObjectId) {
        self.needs.push(Need::Object(id));
    }

    /// Looks again at this time, or earlier if asked before.
    pub(crate) fn wake_at(&mut self, time: Timestamp) {
        self.wake = Some(self.wake.map_or(time, |set| set.min(time)));
    }
}

/// A patch of this object and no other of its name: its identity with the uid.
pub(crate) fn patch_of(live: Live<'_>) -> Value {
    json!({
        "apiVersion": live.text(&["apiVersion"]),
        "kind": live.kind(),
        "metadata": {"name": live.name(), "namespace": live.namespace(), "uid": live.uid()},
    })
}

/// Applies `patch` unless the object holds all of it already.
pub(crate) fn apply(live: Live<'_>, patch: Value) -> Option<Write> {
    (!covers(live.0, &patch)).then_some(Write::Apply(patch))
}

/// Gives up everything that the manager applied to the object, its finalizer above all.
pub(crate) fn release(live: Live<'_>) -> Write {
    Write::Apply(patch_of(live))
}

/// Applies a whole status unless it is there already.
pub(crate) fn status(live: Live<'_>, status: Value) -> Option<Write> {
    let same = live.at(&["status"]).is_some_and(|held| *held == status);
    let mut patch = json!({
        "apiVersion": live.text(&["apiVersion"]),
        "kind": live.kind(),
        "metadata": {"name": live.name(), "namespace": live.namespace()},
    });
    patch["status"] = status;
    (!same).then_some(Write::Status(patch))
}

/// The version an object was read at.
pub(crate) fn version<'a>(live: Live<'a>) -> &'a str {
    let api_version = live.text(&["apiVersion"]);
    api_version.rsplit('/').next().unwrap_or_default()
}

/// Deletes the object unless that was asked for.
pub(crate) fn delete(live: Live<'_>) -> Option<Write> {
    (!live.is_deleting()).then(|| Write::Delete {
        id: live.id(),
        version: version(live).to_owned(),
        uid: live.uid().to_owned(),
    })
}

/// Whether `held` has everything that `wanted` has. Lists are equal, but for owner references and
/// finalizers, which several managers write. The version is how one reads, not what is held.
pub(crate) fn covers(held: &Value, wanted: &Value) -> bool {
    let (Value::Object(held), Value::Object(wanted)) = (held, wanted) else {
        return held == wanted;
    };
    wanted.iter().all(|(key, want)| match held.get(key) {
        _ if key == "apiVersion" => true,
        Some(have) if ["ownerReferences", "finalizers"].contains(&key.as_str()) => {
            includes(have, want)
        }
        Some(have) => covers(have, want),
        None => false,
    })
}

/// Whether every entry of one list is in the other.
fn includes(held: &Value, wanted: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let held = list(held);
    let mut wanted = list(wanted).into_iter();
    wanted.all(|want| held.iter().any(|have| covers(have, &want)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_value_covers_what_is_in_it() {
        let held = json!({"apiVersion": "x/v2", "spec": {"a": 1, "b": [1, 2]},
            "metadata": {"finalizers": ["one", "two"], "ownerReferences": [{"uid": "u", "name": "n"}]}});
        let cases = [
            (json!({"apiVersion": "x/v1"}), true),
            (json!({"spec": {"a": 1}}), true),
            (json!({"spec": {"a": 2}}), false),
            (json!({"spec": {"b": [1]}}), false),
            (json!({"spec": {"c": 1}}), false),
            (json!({"metadata": {"finalizers": ["two"]}}), true),
            (json!({"metadata": {"finalizers": ["three"]}}), false),
            (
                json!({"metadata": {"ownerReferences": [{"uid": "u"}]}}),
                true,
            ),
        ];
        for (wanted, expected) in cases {
            assert_eq!(covers(&held, &wanted), expected, "{wanted}");
        }
    }
}
