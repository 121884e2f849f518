//! The fields of a kind with lists that merge.
//!
//! In: what the table in [`published`](super::published) says of each. Out: what is below a field. It does not know
//! the kinds.

use Items::Whole;

/// How the items of a list are identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Items {
    /// They are not: the list is one value.
    Whole,
    /// By their own value; no two are equal.
    Values,
    /// By these fields.
    Keys(&'static [&'static str]),
}

/// A map of Kubernetes' own kinds with lists that merge, in it or below.
#[derive(Debug)]
pub struct Published {
    fields: &'static [PublishedField],
    /// What is below every key, where keys are free.
    values: Option<&'static Self>,
}

/// A field that is a list that merges, or that has such lists below.
#[derive(Debug)]
pub struct PublishedField {
    name: &'static str,
    /// The map, or the maps that are the items of the list.
    map: Option<&'static Published>,
    /// What a strategic merge patch identifies its items by.
    pub patch: Items,
    /// What server-side apply identifies its items by.
    pub apply: Items,
}

impl Published {
    /// The field `name`; none for a field without such lists.
    #[must_use]
    pub const fn field(&self, name: &str) -> Option<&'static PublishedField> {
        let mut at = 0;
        while at < self.fields.len() {
            if is(self.fields[at].name, name) {
                return Some(&self.fields[at]);
            }
            at += 1;
        }
        None
    }

    /// The map under the key `name`, or the items of the list there.
    #[must_use]
    pub fn below(&self, name: &str) -> Option<&'static Self> {
        self.field(name).map_or(self.values, |field| field.map)
    }

    /// Its fields that are such lists, or have them below.
    #[must_use]
    pub const fn fields(&self) -> &'static [PublishedField] {
        self.fields
    }

    /// The maps directly below.
    pub fn maps(&self) -> impl Iterator<Item = &'static Self> {
        let fields = self.fields.iter().filter_map(|field| field.map);
        fields.chain(self.values)
    }

    pub(super) const fn with(fields: &'static [PublishedField]) -> Self {
        let values = None;
        Self { fields, values }
    }

    pub(super) const fn map_of(values: &'static Self) -> Self {
        let values = Some(values);
        Self {
            fields: &[],
            values,
        }
    }
}

impl PublishedField {
    pub(super) const fn of(self, map: &'static Published) -> Self {
        let map = Some(map);
        Self { map, ..self }
    }

    pub(super) const fn merges(self, patch: Items, apply: Items) -> Self {
        Self {
            patch,
            apply,
            ..self
        }
    }
}

pub(super) const fn field(name: &'static str) -> PublishedField {
    PublishedField {
        name,
        map: None,
        patch: Whole,
        apply: Whole,
    }
}

/// Whether two texts are equal, at compile time, too.
const fn is(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
