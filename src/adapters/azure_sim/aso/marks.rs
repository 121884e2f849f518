//! What ASO writes into the metadata of a resource: its finalizer, the owner, the ARM id, and the
//! operation that Azure is at.
//!
//! In: a resource. Out: one write of all marks together, since they are one manager's.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::api::labels::{ASO_FINALIZER, RESOURCE_ID};
use crate::health::Live;
use crate::reconcile::outcome::{Write, covers, patch_of};

/// Where ASO keeps what it needs to go on with an operation after a restart.
const POLLER: &str = "serviceoperator.azure.com/poller-resume-token";
/// The newest generation that Azure was asked for.
const ASKED: &str = "serviceoperator.azure.com/latest-reconciled-generation";
/// An operation that deletes.
const DELETE: &str = "delete";

/// A long operation in Azure: what it is about, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// The generation it brings about, or [`DELETE`].
    about: String,
    /// When it began.
    pub(super) start: Timestamp,
}

impl Operation {
    /// The operation a resource is in, or was in last.
    pub(super) fn of(live: Live<'_>) -> Option<Self> {
        let (about, start) = live.annotation(POLLER).split_once('/')?;
        let start = start.parse().ok()?;
        let about = about.to_owned();
        Some(Self { about, start })
    }

    /// A new operation towards the resource's present spec, or its deletion.
    pub(super) fn starting(live: Live<'_>, start: Timestamp) -> Self {
        let about = aim(live);
        Self { about, start }
    }

    /// Whether it is about what the resource wants now.
    pub(super) fn is_about(&self, live: Live<'_>) -> bool {
        self.about == aim(live)
    }
}

/// Whether Azure was asked for the resource's present spec.
pub(super) fn was_asked(live: Live<'_>) -> bool {
    live.annotation(ASKED) == live.generation().to_string()
}

fn aim(live: Live<'_>) -> String {
    match live.is_deleting() {
        true => DELETE.to_owned(),
        false => live.generation().to_string(),
    }
}

/// The marks a resource is to have.
pub(super) struct Marks<'a> {
    live: Live<'a>,
    owners: Vec<Value>,
    id: String,
    asked: String,
    operation: Option<Operation>,
}

impl<'a> Marks<'a> {
    /// The finalizer, and the ARM id and the generation that Azure was asked for, if it has them.
    pub(super) fn of(live: Live<'a>) -> Self {
        Self {
            live,
            owners: Vec::new(),
            id: live.annotation(RESOURCE_ID).to_owned(),
            asked: live.annotation(ASKED).to_owned(),
            operation: None,
        }
    }

    /// With an owner, so that it is deleted with its owner.
    pub(super) fn owned_by(mut self, owner: Option<Value>) -> Self {
        self.owners.extend(owner);
        self
    }

    /// With the owners it has that are ASO's.
    pub(super) fn kept_owners(mut self) -> Self {
        let owners = self.live.list(&["metadata", "ownerReferences"]).iter();
        let ours = owners.filter(|owner| !Live(owner).flag(&["controller"]));
        self.owners = ours.cloned().collect();
        self
    }

    /// With an ARM id.
    pub(super) fn id(mut self, id: String) -> Self {
        self.id = id;
        self
    }

    /// With an operation. One that does not delete asks for the present spec.
    pub(super) fn operation(mut self, operation: Operation) -> Self {
        if operation.about != DELETE {
            self.asked.clone_from(&operation.about);
        }
        self.operation = Some(operation);
        self
    }

    /// The write, unless the resource has these marks. An operation stays when it is over, unlike ASO's, so that its end
    /// takes no write of its own: the condition shows that it is over.
    pub(super) fn write(self) -> Option<Write> {
        let mut annotations = Map::new();
        if !self.id.is_empty() {
            annotations.insert(RESOURCE_ID.to_owned(), json!(self.id));
        }
        if !self.asked.is_empty() {
            annotations.insert(ASKED.to_owned(), json!(self.asked));
        }
        if let Some(operation) = &self.operation {
            let text = format!("{}/{}", operation.about, operation.start);
            annotations.insert(POLLER.to_owned(), json!(text));
        }
        let mut patch = patch_of(self.live);
        patch["metadata"]["finalizers"] = json!([ASO_FINALIZER]);
        // The server keeps no empty map: with one the marks would never be held.
        if !annotations.is_empty() {
            patch["metadata"]["annotations"] = Value::Object(annotations);
        }
        if !self.owners.is_empty() {
            patch["metadata"]["ownerReferences"] = Value::Array(self.owners);
        }
        let held = covers(self.live.0, &patch);
        (!held).then_some(Write::Apply(patch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_that_the_server_holds_are_not_written_again() {
        let mut object = json!({"apiVersion": "x/v1", "kind": "Vault",
            "metadata": {"name": "v", "namespace": "ns", "uid": "u", "generation": 1}});
        assert!(Marks::of(Live(&object)).write().is_some());
        // As it is kept: without empty maps.
        object["metadata"]["finalizers"] = json!([ASO_FINALIZER]);
        assert_eq!(Marks::of(Live(&object)).write(), None);
        let operation = Operation::starting(Live(&object), Timestamp::UNIX_EPOCH);
        let marked = Marks::of(Live(&object)).operation(operation);
        assert!(marked.write().is_some());
        object["metadata"]["annotations"] = json!({POLLER: "1/1970-01-01T00:00:00Z", ASKED: "1"});
        assert!(was_asked(Live(&object)));
        assert_eq!(Marks::of(Live(&object)).write(), None);
    }
}
