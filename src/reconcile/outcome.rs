//! What a controller decides about one object: plain data, and the patches it is made of.
//!
//! In: live objects and what is wanted of them. Out: writes, needs and a wake-up for the runtime. It
//! does not know who carries them out.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::parent::{GroupKind, Parent};
use crate::health::Live;
use crate::model::words::message_line;
use crate::model::{
    AsoSecretRequest, CredentialRequest, FrontendRequest, KeyRequest, ObjectId, RejectRequest,
};

/// What to do about an object, and when to look at it again.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// In this order. A failed one ends the list if it is about the object itself, or if the cluster cannot be reached.
    pub(crate) writes: Vec<Write>,
    /// What else was looked at; a change of it asks for a new decision. Nothing is written while the
    /// kind of one of them is not synced.
    pub(crate) needs: Vec<Need>,
    /// When to decide again although nothing changed.
    pub(crate) wake: Option<Timestamp>,
    /// What a person who looks at the object should read.
    pub(crate) events: Vec<Event>,
}

/// Something a decision depends on besides its own object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// One object, there or not.
    Object(ObjectId),
    /// Every object of a kind with this parent.
    Below(Parent),
    /// That a kind is synced; a change of its objects triggers nothing.
    Synced(GroupKind),
    /// The nodes of the workload cluster of a Cluster, which the Secret with its kubeconfig leads to.
    Nodes {
        /// The Cluster.
        cluster: ObjectId,
        /// The Secret.
        kubeconfig: ObjectId,
    },
    /// The version of a key.
    Key(KeyRequest),
    /// Whether a credential works.
    Credential(CredentialRequest),
    /// The frontend of a load balancer, which is looked for again every ten minutes.
    Frontend(FrontendRequest),
    /// The connections that a Private Link Service has left.
    Connections(RejectRequest),
}

impl Need {
    /// Every object of a kind with this parent.
    pub(crate) fn below(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self::Below(Parent::new(group, kind, namespace, name))
    }

    /// The kind that must be synced to know it.
    pub(crate) fn kind(&self) -> Option<GroupKind> {
        match self {
            Self::Object(id) | Self::Nodes { kubeconfig: id, .. } => Some(GroupKind::from(id)),
            Self::Below(parent) => Some(parent.kind.clone()),
            Self::Synced(kind) => Some(kind.clone()),
            Self::Key(_) | Self::Credential(_) | Self::Frontend(_) | Self::Connections(_) => None,
        }
    }
}

/// One change of the world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
    /// Server-side apply as the controller, taking fields from other managers. What the manager applied before and
    /// leaves out now is removed.
    Apply(Value),
    /// The same as another manager.
    ApplyAs(&'static str, Value),
    /// The same for the status.
    Status(Value),
    /// A JSON merge patch of an object at the version it was read at, whoever manages its fields.
    Merge(Value),
    /// Delete this object and no other of its name.
    Delete {
        /// The object.
        id: ObjectId,
        /// A version at which it is served.
        version: String,
        /// Its uid.
        uid: String,
    },
    /// Make sure that a key exists, and read its version.
    EnsureKey(KeyRequest),
    /// Find out whether a credential works.
    CheckCredential(CredentialRequest),
    /// Reject the connections to a Private Link Service.
    RejectConnections(RejectRequest),
    /// Apply a Secret with a credential. The patch lacks its content, which the writer gets.
    CredentialSecret(Box<AsoSecretRequest>, Value),
}

impl Write {
    /// The object that is written.
    pub(crate) fn object(&self) -> Option<ObjectId> {
        match self {
            Self::Apply(patch)
            | Self::ApplyAs(_, patch)
            | Self::Status(patch)
            | Self::Merge(patch)
            | Self::CredentialSecret(_, patch) => Some(Live(patch).id()),
            Self::Delete { id, .. } => Some(id.clone()),
            Self::EnsureKey(_) | Self::CheckCredential(_) | Self::RejectConnections(_) => None,
        }
    }
}

/// A Kubernetes event about an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    /// A reference to the object: its version, kind, namespace, name and uid.
    pub(crate) regarding: Value,
    /// Whether somebody should act on it.
    pub(crate) is_warning: bool,
    /// A CamelCase reason.
    pub(crate) reason: String,
    /// What happened, and what to do.
    pub(crate) message: String,
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

    /// Adds an event about an object.
    pub(crate) fn event(
        &mut self,
        live: Live<'_>,
        is_warning: bool,
        reason: &str,
        message: impl Into<String>,
    ) {
        let regarding = json!({
            "apiVersion": live.text(&["apiVersion"]),
            "kind": live.kind(),
            "namespace": live.namespace(),
            "name": live.name(),
            "uid": live.uid(),
        });
        self.events.push(Event {
            regarding,
            is_warning,
            reason: reason.to_owned(),
            message: message_line(&message.into()),
        });
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

/// Takes a finalizer off the object, whoever put it there.
pub(crate) fn unfinalize(live: Live<'_>, finalizer: &str) -> Option<Write> {
    let held = live.list(&["metadata", "finalizers"]);
    let kept: Vec<&Value> = held.iter().filter(|held| *held != finalizer).collect();
    (kept.len() < held.len()).then(|| without(live, "finalizers", json!(kept)))
}

/// Writes what is left of a list in the metadata, whoever wrote the rest: a tool that moved the object, too.
pub(crate) fn without(live: Live<'_>, list: &str, kept: Value) -> Write {
    let mut patch = patch_of(live);
    patch["metadata"]["resourceVersion"] = json!(live.text(&["metadata", "resourceVersion"]));
    patch["metadata"][list] = kept;
    Write::Merge(patch)
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
    (!live.is_deleting()).then(|| Write::Delete {
        id: live.id(),
        version: live.version().to_owned(),
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
