//! A field that changes: where it is, from what to what, and what that means. Data.

use std::fmt;

use super::shown::Shown;
use crate::model::{Change, ObjectId, Path, Span};
use crate::plan::{Consequence, heaviest};

/// A field that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// The object that is applied.
    pub object: ObjectId,
    /// The object, or the resource embedded in it, that has the field.
    pub part: ObjectId,
    /// The cluster that it belongs to, as `namespace/name`; `None` for none.
    pub cluster: Option<String>,
    /// Its path in the object that is applied; that of the list for an element that goes away.
    pub field: Path,
    /// Its path in the part, list elements by their keys; empty for the whole part.
    pub name: String,
    /// The value before.
    pub old: Shown,
    /// The value after.
    pub new: Shown,
    /// What the change means, if it is more than a change in place.
    pub consequence: Option<Consequence>,
    /// The place to edit: where the value is set, or where it was, as near as that is known.
    pub span: Span,
}

impl FieldChange {
    /// Whether it is changed in place, replaces nodes, or cannot be changed.
    #[must_use]
    pub fn change(&self) -> Change {
        heaviest(self.consequence.as_slice())
    }
}

/// `spec.replicas of MachinePool/ns/name`
impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "{}", self.part),
            name => write!(f, "{name} of {}", self.part),
        }
    }
}
