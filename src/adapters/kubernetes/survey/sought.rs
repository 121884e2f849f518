//! An object that somebody looks for.
//!
//! In: the parts of its name that are given. Out: the objects and the kinds that may be meant. It does not know what the
//! cluster has.

use std::collections::BTreeSet;

use crate::api::kinds::KINDS;
use crate::model::ObjectId;

/// An object as people name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sought<'a> {
    /// The kind, in upper or lower case.
    pub kind: &'a str,
    /// The API group, if it is given.
    pub group: Option<&'a str>,
    /// The namespace, if it is given.
    pub namespace: Option<&'a str>,
    /// The name.
    pub name: &'a str,
}

impl Sought<'_> {
    /// Returns true if this object may be meant.
    #[must_use]
    pub fn is(&self, id: &ObjectId) -> bool {
        let is_in = |namespace| namespace == id.namespace;
        self.is_kind(&id.group, &id.kind)
            && id.name == self.name
            && self.namespace.is_none_or(is_in)
    }

    fn is_kind(&self, group: &str, kind: &str) -> bool {
        kind.eq_ignore_ascii_case(self.kind) && self.group.is_none_or(|given| given == group)
    }

    /// The kinds that may be meant: those that Capstan knows.
    pub(super) fn kinds(&self) -> BTreeSet<(String, String)> {
        let known = KINDS
            .iter()
            .filter(|known| self.is_kind(known.group, known.kind));
        known
            .map(|known| (known.group.to_owned(), known.kind.to_owned()))
            .collect()
    }
}
