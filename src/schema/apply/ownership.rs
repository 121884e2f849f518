//! The managers of one object, and how fields pass between them.

use serde_json::Value;

use super::conflict::{Conflict, Refusal};
use super::managed::{Managed, Operation};
use super::{Writer, without_managed_fields};
use crate::schema::typed::{Comparison, compare, reconciled, strip, with_named};
use crate::schema::{Element, FieldPath, FieldSet, Types};

/// The most entries of writers that do not apply; the oldest are put together beyond that.
const MOST_UPDATERS: usize = 10;
/// Who owns what was there before anybody applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// Who owns what writers long ago changed.
const ANCIENT_CHANGES: &str = "ancient-changes";

/// Fields that have no owner.
pub(super) fn never_managed() -> FieldSet {
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let path = |names: &[&str]| -> FieldPath { names.iter().map(|n| Element::field(*n)).collect() };
    [&["apiVersion"][..], &["kind"], &["metadata"]]
        .into_iter()
        .map(path)
        .chain(metadata.iter().map(|name| path(&["metadata", name])))
        .collect()
}

/// The managers of an object. No two entries are the same manager's.
pub(super) struct Owners(Vec<Managed>);

impl Owners {
    /// The managers as they stand, their fields seen through today's schema.
    pub(super) fn of(managers: &[Managed], types: Types<'_>) -> Self {
        let read = |entry: &Managed| Managed {
            fields: reconciled(&entry.fields, types),
            ..entry.clone()
        };
        Self(managers.iter().map(read).collect())
    }

    /// Puts `mine` in. Returns the entry it takes the place of.
    pub(super) fn replace(&mut self, mine: &Managed) -> Option<Managed> {
        let slot = self.0.iter_mut().find(|entry| entry.is_same_manager(mine));
        match slot {
            Some(slot) => Some(std::mem::replace(slot, mine.clone())),
            None => {
                self.0.push(mine.clone());
                None
            }
        }
    }

    /// Every field that somebody owns.
    pub(super) fn all_fields(&self) -> FieldSet {
        self.0
            .iter()
            .fold(FieldSet::new(), |all, entry| all.union(&entry.fields))
    }

    /// Takes from all but `mine` what changed or is gone.
    ///
    /// # Errors
    /// The conflicts, when fields of others changed and `force` is not given. Nothing is taken then.
    pub(super) fn yield_to(
        &mut self,
        mine: &Managed,
        changes: &Comparison,
        force: bool,
    ) -> Result<(), Refusal> {
        let changed = changes.modified.union(&changes.added);
        let mut conflicts = Vec::new();
        for entry in self.0.iter().filter(|entry| !entry.is_same_manager(mine)) {
            conflicts.extend(conflicts_with(entry, &changed));
        }
        if !force && !conflicts.is_empty() {
            conflicts.sort_by(|a, b| a.named.cmp(&b.named));
            return Err(Refusal::Conflicts(conflicts));
        }
        for entry in self.0.iter_mut().filter(|e| !e.is_same_manager(mine)) {
            let left = entry.fields.difference(&changed);
            entry.fields = left.difference(&changes.removed);
        }
        Ok(())
    }

    /// The effect of a write that made `object` of `live`.
    pub(super) fn update(
        &mut self,
        live: Option<&Value>,
        object: &Value,
        writer: &Writer<'_>,
        types: Types<'_>,
    ) {
        let live = without_managed_fields(live);
        let object = without_managed_fields(Some(object));
        let changes = compare(&live, &object, types).without(&writer.endpoint.left_alone());
        let changed = changes.modified.union(&changes.added);
        for entry in &mut self.0 {
            let left = entry.fields.difference(&changed);
            entry.fields = left.difference(&changes.removed);
        }
        let changed = changed.difference(&never_managed());
        if changed.is_empty() {
            return;
        }
        let mut mine = writer.entry(Operation::Update, changed);
        if let Some(before) = self.0.iter().find(|entry| entry.is_same_manager(&mine)) {
            mine.fields = mine.fields.union(&before.fields);
        }
        self.replace(&mine);
    }

    /// Gives all of an object that nobody owns yet to one manager.
    pub(super) fn add_first(
        &mut self,
        live: Option<&Value>,
        writer: &Writer<'_>,
        types: Types<'_>,
    ) {
        let Some(live) = live else { return };
        let first = Writer {
            manager: BEFORE_FIRST_APPLY,
            ..*writer
        };
        self.update(None, live, &first, types);
    }

    /// Puts the oldest updaters of a version together while there are too many.
    pub(super) fn cap(&mut self) {
        self.0.retain(|entry| !entry.fields.is_empty());
        self.0.sort_by(|a, b| {
            (&a.time, &a.manager, &a.api_version).cmp(&(&b.time, &b.manager, &b.api_version))
        });
        while self.updaters() > MOST_UPDATERS {
            let Some((first, second)) = self.oldest_pair() else {
                return;
            };
            let older = self.0[first].fields.clone();
            let bucket = &mut self.0[second];
            bucket.manager = ANCIENT_CHANGES.into();
            bucket.subresource = String::new();
            bucket.fields = bucket.fields.union(&older);
            self.0.remove(first);
        }
    }

    fn updaters(&self) -> usize {
        let updaters = self.0.iter().filter(|e| e.operation == Operation::Update);
        updaters.count()
    }

    /// The oldest updater that shares its version with an older one, after that one.
    fn oldest_pair(&self) -> Option<(usize, usize)> {
        let updater = |at: &usize| self.0[*at].operation == Operation::Update;
        (0..self.0.len()).filter(updater).find_map(|second| {
            let version = &self.0[second].api_version;
            let first = (0..second)
                .filter(updater)
                .find(|first| self.0[*first].api_version == *version)?;
            Some((first, second))
        })
    }

    /// The entries of those that own anything.
    pub(super) fn into_entries(mut self) -> Vec<Managed> {
        self.0.retain(|entry| !entry.fields.is_empty());
        self.0
    }
}

fn conflicts_with(entry: &Managed, changed: &FieldSet) -> Vec<Conflict> {
    let conflict = |path| Conflict {
        manager: entry.manager.clone(),
        named: entry.to_string(),
        path,
    };
    let paths = entry.fields.intersection(changed).paths();
    paths.into_iter().map(conflict).collect()
}

/// `merged` without what the applier owned (`last`) and nobody owns now (`owned`, the applier's new
/// fields included). What is only a part of something still owned stays; what is emptied is null.
pub(super) fn shed(merged: &Value, last: &FieldSet, owned: &FieldSet, types: Types<'_>) -> Value {
    if last.is_empty() {
        return merged.clone();
    }
    let named = |set: &FieldSet| with_named(set, types);
    let fields = |value: &Value| named(&FieldSet::of(value, types));
    let last = named(last);
    let there = fields(merged);
    let stripped = strip(merged, &last, types);
    let kept = fields(&stripped).union(&named(owned));
    let owned_only = strip(merged, &there.difference(&kept), types);
    let gone = there.difference(&fields(&owned_only));
    strip(merged, &gone.intersection(&last), types)
}
