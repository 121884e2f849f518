//! One version of a CustomResourceDefinition.
//!
//! In: what `served` reads from a definition. Out: stored objects as this version shows them, and
//! objects of this version as they are stored.

use std::sync::Arc;

use serde_json::Value;

use crate::cel::RuleTree;
use kube_schema::{Schema, apply_defaults, prune};

/// The definition's part of a resource at one version.
#[derive(Debug)]
pub(super) struct Custom {
    /// What objects of this version may hold.
    pub(super) schema: Arc<Schema>,
    /// The rules of `schema`.
    pub(super) rules: Arc<RuleTree>,
    /// The schema of the version that is stored: the same as `schema` when that is this one.
    pub(super) stored: Arc<Schema>,
    /// The generation of the definition, so that objects written under an older one are known.
    pub(super) edition: u32,
    /// Whether the status is a subresource.
    pub(super) status: bool,
    /// The field paths that objects can be selected by.
    pub(super) selectable: Vec<String>,
    /// Whether there may be whole objects within its objects.
    pub(super) embeds: bool,
    /// The warning to everybody who uses this version.
    pub(super) warning: Option<String>,
    /// Which version is stored.
    pub(super) storage_version: String,
    /// All versions of the definition, `group/version`, served or not.
    pub(super) versions: Vec<String>,
    /// The columns of its table beside the name, as written.
    pub(super) printed: Vec<Value>,
}

impl Custom {
    /// Whether objects written under `edition` need no change to be served.
    pub(super) fn stores_as_it_serves(&self, edition: u32) -> bool {
        self.edition == edition && Arc::ptr_eq(&self.schema, &self.stored)
    }

    /// A stored object as this version shows it: with the defaults of the stored version and
    /// without what this one does not know.
    pub(super) fn present(&self, mut stored: Value) -> Value {
        apply_defaults(&self.stored, &mut stored);
        prune(&self.schema, &mut stored);
        stored
    }

    /// An object of this version as it is stored: the stored version decides what it may hold.
    pub(super) fn to_storage(&self, mut object: Value) -> Value {
        if !Arc::ptr_eq(&self.schema, &self.stored) {
            prune(&self.stored, &mut object);
            apply_defaults(&self.stored, &mut object);
        }
        object
    }
}
