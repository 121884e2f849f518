//! What the fields of a fleet's objects were and will be, by the line that sets them.
//!
//! In: an object before and after a change, and the object with the line of each value. Out: [`Changes`]: one
//! entry per changed line of a definition, overlay or manifest, with every field that it reaches, grouped by
//! the clusters that it reaches; the findings U01 to U04 and D14. Secrets are masked here, so that nothing that
//! prints a change can reveal one. It does not know where objects come from, or how changes are printed.

mod field;
mod fields;
mod findings;
mod holders;
mod migration;
mod owners;
mod pools;
mod secret;
mod shown;
mod used;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use super::Consequence;
use super::losses::Unit;
use crate::api::labels;
use crate::api::platform::is_leader;
use crate::model::{Change, Finding, Object, ObjectId};
use crate::schema::strategic::ListKeys;
pub use field::FieldChange;
pub use fields::{differences, is_same};
pub use owners::owns_resources;
pub use shown::{Shown, beside, changed_word};

/// The changed fields of any number of objects, by the line that sets them.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    lines: BTreeMap<Line, Vec<FieldChange>>,
    lists: ListKeys,
    /// Clusters that would lose their last pool.
    last_pools: Vec<Finding>,
    /// Resources of Azure that would have two owners.
    second_owners: Vec<Finding>,
    /// Objects that leave although others use them.
    used: Vec<Finding>,
    /// Objects before changes that take embedded resources from them.
    lessened: Vec<Json>,
    /// The clusters of hand-written objects that do not name theirs.
    clusters: BTreeMap<ObjectId, String>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// The file, as in a [`Span`](crate::model::Span).
    pub path: Arc<str>,
    /// Its number, from 1.
    pub number: u32,
}

/// `path:line`
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.number)
    }
}

/// The changed lines that reach the same clusters.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The clusters, sorted; empty for objects that belong to none.
    pub clusters: Vec<&'a str>,
    /// The lines, in the order of the files.
    pub entries: Vec<Entry<'a>>,
}

/// The name of a group for people: at most three clusters are named.
impl fmt::Display for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.clusters.as_slice() {
            [] => f.write_str("outside clusters"),
            [one] => f.write_str(one),
            [one, two] => write!(f, "{one} and {two}"),
            [one, two, three] => write!(f, "{one}, {two} and {three}"),
            [one, two, rest @ ..] => write!(f, "{one}, {two} and {} more clusters", rest.len()),
        }
    }
}

/// One changed line.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The line.
    pub line: &'a Line,
    /// The most severe of its changes.
    pub change: Change,
    /// Why they are more than changes in place; empty if they are not.
    pub why: BTreeSet<&'static str>,
    /// The values that it sets.
    pub values: Vec<ValueChange<'a>>,
}

/// One old and one new value, and the fields that change like this.
#[derive(Clone, Debug)]
pub struct ValueChange<'a> {
    /// The value before.
    pub old: &'a Shown,
    /// The value after.
    pub new: &'a Shown,
    /// The fields. Never empty.
    pub fields: Vec<&'a FieldChange>,
}

impl Changes {
    /// Nothing changes yet; these objects belong to these clusters and pools.
    #[must_use]
    pub fn among(units: &BTreeMap<ObjectId, Unit>) -> Self {
        let cluster = |(id, unit): (&ObjectId, &Unit)| (id.clone(), unit.root().to_string());
        Self {
            clusters: units.iter().map(cluster).collect(),
            ..Self::default()
        }
    }

    /// Adds the fields of `object` in which `after` differs from `before`. Returns whether there are any.
    pub fn add(&mut self, object: &Object, before: &Json, after: &Json) -> bool {
        let cluster = cluster(object).or_else(|| self.clusters.get(&object.id).cloned());
        let found = fields::changes(object, before, after, cluster.as_ref(), &self.lists);
        let differs = !found.is_empty();
        self.note_lost(&object.id, after, before);
        for change in found {
            let line = Line {
                path: Arc::clone(&change.span.path),
                number: change.span.start.line,
            };
            self.lines.entry(line).or_default().push(change);
        }
        differs
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Every field, by line.
    pub fn fields(&self) -> impl Iterator<Item = &FieldChange> {
        self.lines.values().flatten()
    }

    /// What follows from the changes.
    pub fn consequences(&self) -> impl Iterator<Item = &Consequence> {
        self.fields().filter_map(|field| field.consequence.as_ref())
    }

    /// The changes for people: what reaches most clusters first, what reaches none last.
    #[must_use]
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: BTreeMap<Vec<&str>, Vec<Entry<'_>>> = BTreeMap::new();
        for (line, fields) in &self.lines {
            let clusters = fields.iter().filter_map(|field| field.cluster.as_deref());
            let clusters: BTreeSet<&str> = clusters.collect();
            let entries = groups.entry(clusters.into_iter().collect()).or_default();
            entries.push(entry(line, fields));
        }
        let groups = groups.into_iter();
        let mut groups: Vec<Group<'_>> = groups
            .map(|(clusters, entries)| Group { clusters, entries })
            .collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.clusters.len()));
        groups
    }
}

fn entry<'a>(line: &'a Line, fields: &'a [FieldChange]) -> Entry<'a> {
    let mut values: Vec<ValueChange<'a>> = Vec::new();
    for field in fields {
        let same = |one: &&mut ValueChange<'_>| *one.old == field.old && *one.new == field.new;
        match values.iter_mut().find(same) {
            Some(value) => value.fields.push(field),
            None => values.push(ValueChange {
                old: &field.old,
                new: &field.new,
                fields: vec![field],
            }),
        }
    }
    let consequences = fields.iter().filter_map(|field| field.consequence.as_ref());
    Entry {
        line,
        change: fields
            .iter()
            .map(FieldChange::change)
            .max()
            .unwrap_or(Change::InPlace),
        why: consequences.map(|one| one.why).collect(),
        values,
    }
}

/// The cluster that an object belongs to, as `namespace/name`.
#[must_use]
pub fn cluster(object: &Object) -> Option<String> {
    let id = &object.id;
    let name = match (&object.definition, object.label(labels::CLUSTER_NAME)) {
        (Some(definition), _) => {
            return Some(format!("{}/{}", definition.namespace, definition.name));
        }
        (None, Some(name)) => name,
        (None, None) if is_leader(id) => &id.name,
        (None, None) => return None,
    };
    Some(format!("{}/{name}", id.namespace))
}

#[cfg(test)]
mod tests;
