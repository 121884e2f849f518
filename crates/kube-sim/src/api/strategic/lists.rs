//! Which lists of built-in kinds a strategic merge patch merges, and by which key.
//!
//! In: a kind, and where a list is. Out: its key. It does not know the lists themselves.

use kube_schema::{Items, merging_list};

/// The lists of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists<'a> {
    kind: &'a str,
}

impl<'a> Lists<'a> {
    pub(super) const fn of(kind: &'a str) -> Self {
        Self { kind }
    }

    /// Whether the list `name` of the map under `at` merges.
    pub(super) fn merges(self, at: &str, name: &str) -> bool {
        self.items(at, name) != Items::Whole
    }

    /// The key of its items; none for texts and for lists that do not merge.
    pub(super) fn key(self, at: &str, name: &str) -> Option<&'static str> {
        match self.items(at, name) {
            Items::Keys(keys) => keys.first().copied(),
            Items::Whole | Items::Values => None,
        }
    }

    fn items(self, at: &str, name: &str) -> Items {
        merging_list(self.kind, at, name).map_or(Items::Whole, |list| list.patch)
    }
}
