//! The events of the watch of a kind.
//!
//! In: an object as an API server sends it. Out: its id, uid and version, and the object once somebody wants it. It does not know
//! who watches.

use std::sync::Arc;

use kube::api::ApiResource;
use kube::{Resource as _, ResourceExt as _};
use serde_json::Value;

use super::super::any_object::UnreadObject;
use super::super::watch::right;
use super::writer::resource;
use crate::model::ObjectId;
use crate::reconcile::world::GroupKind;

/// An event of a watch.
pub(crate) enum WatchEvent {
    /// A list of all objects begins.
    ListStarted,
    /// An object of that list.
    Listed(Seen),
    /// The list is complete: what was not in it does not exist.
    ListEnded,
    /// An object was created or changed.
    Applied(Seen),
    /// The object of this id and uid was deleted.
    Deleted(ObjectId, String),
    /// The cluster does not serve the kind: there are no objects.
    NotServed,
    /// The cluster does not permit the watch; it is started again.
    Denied {
        /// The right that is missing, and where.
        right: String,
        /// The words of the cluster.
        why: String,
    },
    /// The watch failed; it is started again.
    Failed(String),
}

/// An object as a watch shows it. Whoever has its version already need not read it.
pub(crate) struct Seen {
    object: UnreadObject,
    resource: Arc<ApiResource>,
}

impl Seen {
    /// An object of this kind.
    pub(super) fn new(object: UnreadObject, resource: &Arc<ApiResource>) -> Self {
        Self {
            object,
            resource: Arc::clone(resource),
        }
    }

    /// Its id.
    pub(crate) fn id(&self) -> ObjectId {
        let ApiResource { group, kind, .. } = &*self.resource;
        let namespace = self.object.namespace().unwrap_or_default();
        ObjectId::new(
            group.as_str(),
            kind.as_str(),
            namespace,
            self.object.name_any(),
        )
    }

    /// Its uid.
    pub(crate) fn uid(&self) -> &str {
        self.object.meta().uid.as_deref().unwrap_or_default()
    }

    /// Its resource version.
    pub(crate) fn version(&self) -> &str {
        self.object
            .meta()
            .resource_version
            .as_deref()
            .unwrap_or_default()
    }

    /// An object as if it was seen.
    #[cfg(test)]
    pub(super) fn of(kind: &GroupKind, object: &Value) -> Self {
        Self {
            object: serde_json::from_str(&object.to_string()).expect("an object"),
            resource: Arc::new(resource(&kind.group, "v1", &kind.kind)),
        }
    }

    /// The object as JSON. Items of a list of a built-in kind do not say what they are.
    ///
    /// # Errors
    /// When it is nested too deeply, or has a number out of range.
    pub(crate) fn read(&self) -> serde_json::Result<Value> {
        let mut value = self.object.read()?;
        value["apiVersion"] = Value::from(self.resource.api_version.as_str());
        value["kind"] = Value::from(self.resource.kind.as_str());
        Ok(value)
    }
}

/// The right that is missing for a watch that the cluster does not permit, in these namespaces; in all without any.
pub(super) fn missing_right(kind: &GroupKind, namespaces: &[&str]) -> String {
    let GroupKind { group, kind } = kind;
    let names = namespaces.join(", ");
    let place = match (kind.as_str(), namespaces) {
        (_, []) => "in all namespaces".to_owned(),
        ("Namespace", _) => format!("with the names {names}"),
        _ => format!("in the namespaces {names}"),
    };
    right("get, list and watch", &resource(group, "", kind), &place)
}
