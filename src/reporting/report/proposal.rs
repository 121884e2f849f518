//! A revision that may be applied later, as its check needs it.
//!
//! In: what was kept of its objects. Out: the same, each with its id. It does not know what it is compared with.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::compile::Digest;
use crate::model::{Object, ObjectId};
use crate::plan::{Kept, Proposed};

/// A revision that may be applied later.
#[derive(Clone, Copy)]
pub(crate) struct Proposal<'a> {
    pub(crate) digest: &'a Digest<Proposed>,
    /// Its objects in some namespaces. Few proposals need any.
    pub(crate) objects: &'a dyn Fn(&BTreeSet<&str>) -> Vec<Object>,
}

/// An object of such a revision.
pub(super) struct Member<'a> {
    pub(super) id: &'a Arc<ObjectId>,
    pub(super) kept: &'a Kept,
    /// The object, if it is there already and would change.
    pub(super) object: Option<&'a Object>,
}

impl<'a> Proposal<'a> {
    /// The objects, in the order of the files; none if they have errors.
    pub(super) fn members(&self) -> impl Iterator<Item = Member<'a>> + use<'a> {
        let members = self.digest.with_ids();
        members.map(|(id, proposed)| Member {
            id,
            kept: &proposed.kept,
            object: proposed.object.as_deref(),
        })
    }
}
