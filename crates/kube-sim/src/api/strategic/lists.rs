//! Which lists of built-in kinds a strategic merge patch merges, and by which key.
//!
//! In: an object, then one field after the other. Out: the keys of the lists below. It does not know the
//! lists themselves.

use kube_schema::{Items, Published, published};
use serde_json::Value;

/// The lists of one map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists(Option<&'static Published>);

impl Lists {
    /// Those of a whole object; of a kind that is not published, those of its metadata.
    pub(super) fn of(object: &Value) -> Self {
        let [version, kind] =
            ["apiVersion", "kind"].map(|field| object[field].as_str().unwrap_or_default());
        Self(Published::of(version, kind).or(Some(&published::OBJECT)))
    }

    /// Those of the map under `name`, or of the items of the list there.
    pub(super) fn below(self, name: &str) -> Self {
        Self(self.0.and_then(|map| map.below(name)))
    }

    /// Whether the list `name` merges.
    pub(super) fn merges(self, name: &str) -> bool {
        self.items(name) != Items::Whole
    }

    /// The key of its items; none for texts and for lists that do not merge.
    pub(super) fn key(self, name: &str) -> Option<&'static str> {
        match self.items(name) {
            Items::Keys(keys) => keys.first().copied(),
            Items::Whole | Items::Values => None,
        }
    }

    fn items(self, name: &str) -> Items {
        let field = self.0.and_then(|map| map.field(name));
        field.map_or(Items::Whole, |list| list.patch)
    }
}
