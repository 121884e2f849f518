//! The resources that controllers create from applied objects, by kind.
//!
//! In: their ids. Out: which kinds to watch for them, and which of those the cluster does not serve
//! yet. It does not know: how a kind is looked up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{EmbeddedId, ObjectId};

/// Group, version and kind.
pub(crate) type Kind = (String, String, String);

/// Resources by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Embedded {
    ids: BTreeSet<Arc<ObjectId>>,
    /// One object per kind, to ask with.
    kinds: BTreeMap<Kind, Arc<ObjectId>>,
    missing: BTreeSet<Kind>,
    /// Kinds about which the cluster did not answer, and how often in a row.
    failures: BTreeMap<Kind, u32>,
}

impl Embedded {
    /// `resources` with their versions.
    pub(crate) fn new(resources: &[EmbeddedId]) -> Self {
        let mut embedded = Self::default();
        for (id, version) in resources {
            let kind = (id.group.clone(), version.to_string(), id.kind.clone());
            embedded.kinds.entry(kind).or_insert_with(|| Arc::clone(id));
            embedded.ids.insert(Arc::clone(id));
        }
        embedded
    }

    /// Whether `id` is one of them.
    pub(crate) fn contains(&self, id: &ObjectId) -> bool {
        self.ids.contains(id)
    }

    /// The kinds, each with one object of it.
    pub(crate) fn kinds(&self) -> Vec<(Kind, ObjectId)> {
        let kinds = self.kinds.iter();
        kinds
            .map(|(kind, id)| (kind.clone(), ObjectId::clone(id)))
            .collect()
    }

    /// The resources of one kind.
    pub(crate) fn of(&self, (group, _, kind): &Kind) -> Vec<ObjectId> {
        let of = self.ids.iter().filter(|id| id.is(group, kind));
        of.map(|id| ObjectId::clone(id)).collect()
    }

    /// Whether there are resources of the kind.
    pub(crate) fn has(&self, kind: &Kind) -> bool {
        self.kinds.contains_key(kind)
    }

    /// Counts how often the cluster did not answer about `kind`.
    pub(crate) fn failed(&mut self, kind: &Kind) -> u32 {
        let failures = self.failures.entry(kind.clone()).or_insert(0);
        *failures = failures.saturating_add(1);
        *failures
    }

    /// Notes whether the cluster serves `kind`; `true` if that is new.
    pub(crate) fn served(&mut self, kind: &Kind, served: bool) -> bool {
        if served {
            self.missing.remove(kind)
        } else {
            self.missing.insert(kind.clone())
        }
    }

    /// The kinds of `group` that were not served when they were last asked for.
    pub(crate) fn missing(&self, group: &str) -> Vec<(Kind, ObjectId)> {
        let missing = self.missing.iter().filter(|kind| kind.0 == group);
        missing
            .filter_map(|kind| Some((kind.clone(), ObjectId::clone(self.kinds.get(kind)?))))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_missing_until_it_is_served() {
        let id = |name| ObjectId::new("g", "K", "ns", name);
        let resources = ["a", "b"].map(|name| (id(name).into(), "v1".into()));
        let mut embedded = Embedded::new(&resources);
        let [(kind, example)] = embedded.kinds().try_into().expect("one kind");
        assert_eq!(example, id("a"));
        assert_eq!(embedded.of(&kind), [id("a"), id("b")]);
        assert!(embedded.contains(&id("b")) && !embedded.contains(&id("c")));

        assert!(embedded.served(&kind, false), "that is new");
        assert!(!embedded.served(&kind, false), "and now it is not");
        assert_eq!(embedded.missing("other"), []);
        assert_eq!(embedded.missing("g"), [(kind.clone(), example)]);
        assert!(embedded.served(&kind, true));
        assert_eq!(embedded.missing("g"), []);
    }
}
