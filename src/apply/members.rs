//! Which objects a revision has, in few bytes: a parent must stay far below the 1 MiB of an object.
//!
//! In: the ids of objects. Out: a line for each kind and namespace, with the names. It does not know: where
//! they are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::model::ObjectId;

/// How long the text may be: an API server accepts ConfigMaps of 1 MiB.
const LIMIT: usize = 512 << 10;

/// The objects of a revision, as many as fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members(String);

impl Members {
    /// These objects. Those that do not fit are left out.
    pub fn of<'a>(ids: impl Iterator<Item = &'a ObjectId>) -> Self {
        let mut places: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
        for id in ids {
            let place = (&*id.kind, &*id.group, &*id.namespace);
            places.entry(place).or_default().insert(&id.name);
        }
        let mut text = String::new();
        for ((kind, group, namespace), names) in places {
            let place = format!("{kind}.{group}/{namespace}:");
            let mut left = LIMIT.saturating_sub(text.len() + place.len() + 1);
            let fits = |name: &&str| {
                let rest = left.checked_sub(1 + name.len());
                left = rest.unwrap_or_default();
                rest.is_some()
            };
            let names: Vec<&str> = names.into_iter().take_while(fits).collect();
            if !names.is_empty() {
                let _ = writeln!(text, "{place} {}", names.join(" "));
            }
        }
        Self(text)
    }

    /// The objects of a text that [`Self::text`] returned.
    #[must_use]
    pub fn read(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text to keep; empty if it is not known which objects there are.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The objects; empty if it is not known which there are.
    #[must_use]
    pub fn ids(&self) -> BTreeSet<ObjectId> {
        let line = |line: &str| {
            let (place, names) = line.split_once(": ")?;
            let (kind, namespace) = place.split_once('/')?;
            let (kind, group) = kind.split_once('.')?;
            let ids = names.split(' ').filter(|name| !name.is_empty());
            let ids = ids.map(|name| ObjectId::new(group, kind, namespace, name));
            Some(ids.collect::<Vec<_>>())
        };
        self.0.lines().filter_map(line).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again() {
        let ids = [
            ObjectId::new("", "ConfigMap", "a", "x.y"),
            ObjectId::new("", "ConfigMap", "a", "z"),
            ObjectId::new("", "Namespace", "", "a"),
            ObjectId::new("cluster.x-k8s.io", "Cluster", "a", "z"),
        ];
        let members = Members::of(ids.iter());
        assert_eq!(
            members.text(),
            "Cluster.cluster.x-k8s.io/a: z\nConfigMap./a: x.y z\nNamespace./: a\n"
        );
        let read = Members::read(members.text());
        assert_eq!(read.ids(), ids.into_iter().collect());
    }

    #[test]
    fn as_many_objects_are_kept_as_fit() {
        let long = "x".repeat(250);
        let id = |at: usize| ObjectId::new("", "ConfigMap", "a", format!("{long}{at:04}"));
        let ids: BTreeSet<ObjectId> = (0..3000).map(id).collect();
        let members = Members::of(ids.iter());
        let length = members.text().len();
        assert!(length <= LIMIT && length > LIMIT - 300, "{length}");
        let kept = members.ids();
        assert!(kept.len() > 2000 && kept.is_subset(&ids), "{}", kept.len());
        assert!(Members::default().ids().is_empty());
    }
}
