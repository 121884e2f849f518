//! What an actor decides about one object: plain data.
//!
//! In: nothing. Out: the words in which the pure decisions speak to the engine.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::world::World;
use crate::health::Live;
use crate::model::ObjectId;

/// A player: one field manager, the objects it looks after, and its decision about one of them.
pub(crate) struct Actor {
    /// The field manager of its writes.
    pub(crate) manager: &'static str,
    /// Whether it looks after an object of this kind.
    pub(crate) plays: fn(&ObjectId) -> bool,
    /// What to do now. Calls nothing and reads no clock.
    pub(crate) decide: Decide,
}

/// A pure decision about one live object.
pub(crate) type Decide = Box<dyn Fn(&World, Live<'_>, Timestamp) -> Outcome + Send>;

/// What to do about an object, and when to look at it again.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// In this order; a failed one ends the list.
    pub(crate) writes: Vec<Write>,
    /// What else was looked at; a change of it asks for a new decision.
    pub(crate) needs: Vec<Need>,
    /// When to decide again although nothing changed.
    pub(crate) wake: Option<Timestamp>,
}

/// Something a decision looked at besides its own object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// One object, there or not.
    Object(ObjectId),
    /// Every object of a kind in a namespace.
    Every {
        /// API group.
        group: String,
        /// Kind.
        kind: String,
        /// Namespace.
        namespace: String,
    },
}

impl Need {
    /// Every object of a kind in a namespace.
    pub(crate) fn every(group: &str, kind: &str, namespace: &str) -> Self {
        let (group, kind, namespace) = (group.into(), kind.into(), namespace.into());
        Self::Every {
            group,
            kind,
            namespace,
        }
    }

    /// Every object of this one's kind and namespace.
    pub(crate) fn like(id: &ObjectId) -> Self {
        Self::every(&id.group, &id.kind, &id.namespace)
    }
}

/// One change of the world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
    /// Server-side apply, taking fields from other managers. What the manager applied before and
    /// leaves out now goes away.
    Apply(Value),
    /// The same for the status.
    Status(Value),
    /// Delete the object with this uid.
    Delete(ObjectId, String),
}

impl Outcome {
    /// Nothing to do.
    pub(crate) fn rest() -> Self {
        Self::default()
    }

    /// Adds a write.
    pub(crate) fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    /// Adds a write when there is one.
    pub(crate) fn maybe(&mut self, write: Option<Write>) {
        self.writes.extend(write);
    }

    /// Remembers an object that was looked at.
    pub(crate) fn need(&mut self, id: ObjectId) {
        self.needs.push(Need::Object(id));
    }

    /// Looks again at this time, or earlier if asked before.
    pub(crate) fn wake_at(&mut self, time: Timestamp) {
        self.wake = Some(self.wake.map_or(time, |set| set.min(time)));
    }
}

/// A patch of this object and no other of its name: its identity with the uid.
pub(crate) fn same(live: Live<'_>) -> Value {
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

/// Lets go of all that a manager wrote on the object, its finalizer above all.
pub(crate) fn release(live: Live<'_>) -> Write {
    Write::Apply(same(live))
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

/// Deletes the object unless that was asked for.
pub(crate) fn delete(live: Live<'_>) -> Option<Write> {
    (!live.is_deleting()).then(|| Write::Delete(live.id(), live.uid().to_owned()))
}

/// Whether `held` has everything that `wanted` has. Lists are equal, but for owner references and
/// finalizers, which many write. The version is how one reads, not what is held.
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
