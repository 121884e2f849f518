//! The managers of one object, and how fields pass between them.

use serde_json::{Value, json};

use super::conflict::{Conflict, Refusal};
use super::writer::{Endpoint, Writer};
use crate::typed::fields_of;
use crate::typed::{Comparison, compare, reconciled, strip, with_named};
use crate::types::Types;
use kube_schema::{Element, FieldPath, FieldSet, Managed, Operation};

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
    /// The current managers, their fields seen through today's schema.
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
        let mut others: Vec<&Managed> = self.0.iter().collect();
        others.retain(|entry| !entry.is_same_manager(mine));
        others.sort_by_key(|entry| rank(entry));
        for entry in others {
            conflicts.extend(conflicts_with(entry, &changed));
        }
        if !force && !conflicts.is_empty() {
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
        live: &Value,
        object: &Value,
        writer: &Writer<'_>,
        types: Types<'_>,
    ) {
        let live = without_managed_fields(live);
        let object = without_managed_fields(object);
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

    /// Gives all of an object that nobody owns yet to one manager, but for what is there from the start.
    pub(super) fn add_first(
        &mut self,
        blank: &Value,
        live: &Value,
        writer: &Writer<'_>,
        types: Types<'_>,
    ) {
        let first = Writer {
            manager: BEFORE_FIRST_APPLY,
            ..*writer
        };
        self.update(blank, live, &first, types);
    }

    /// Puts the oldest updaters of a version together while there are too many.
    pub(super) fn cap(&mut self) {
        self.0.retain(|entry| !entry.fields.is_empty());
        let is_updater = |entry: &Managed| entry.operation == Operation::Update;
        let (mut old, appliers): (Vec<_>, Vec<_>) = self.0.drain(..).partition(is_updater);
        self.0 = appliers;
        old.sort_by(|a, b| age(a).cmp(&age(b)));
        let mut too_many = old.len().saturating_sub(MOST_UPDATERS);
        let mut kept: Vec<Managed> = Vec::with_capacity(old.len());
        for entry in old {
            let same_version = |known: &Managed| known.api_version == entry.api_version;
            match kept.iter().position(same_version) {
                Some(first) if too_many > 0 => {
                    too_many -= 1;
                    absorb(&mut kept[first], entry);
                }
                _ => kept.push(entry),
            }
        }
        self.0.append(&mut kept);
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

/// Where the API server puts the entry among those of the same time.
fn rank(entry: &Managed) -> impl Ord + '_ {
    let whole_object = entry.subresource.is_empty();
    (
        &entry.manager,
        entry.operation,
        &entry.api_version,
        whole_object,
        &entry.subresource,
    )
}

/// Older entries first; of the same time, the entry that collects the oldest changes.
fn age(entry: &Managed) -> impl Ord + '_ {
    let is_recent = entry.manager != ANCIENT_CHANGES;
    (&entry.time, is_recent, rank(entry))
}

/// Turns `entry` into the entry that collects the oldest changes, with the fields of `later` added.
fn absorb(entry: &mut Managed, later: Managed) {
    entry.manager = ANCIENT_CHANGES.into();
    entry.subresource = String::new();
    entry.fields = entry.fields.union(&later.fields);
    entry.time = later.time;
}

/// The entries that an update of `live` to `object` starts from: those of the request when it has
/// any, so that a client can edit or (with `[]` or `[{}]`) drop them, else those of the live
/// object. Entries that cannot be read count as none. A write to a subresource cannot change them.
#[must_use]
pub(crate) fn before_update(
    live: Option<&Value>,
    object: &Value,
    endpoint: Endpoint<'_>,
) -> Vec<Managed> {
    let live = || live.and_then(|live| Managed::read(live).ok());
    if !endpoint.subresource.is_empty() {
        return live().unwrap_or_default();
    }
    let asked = object.pointer("/metadata/managedFields");
    if asked.is_some_and(|asked| *asked == json!([]) || *asked == json!([{}])) {
        return Vec::new();
    }
    let own = Managed::read(object).ok().filter(|own| !own.is_empty());
    own.or_else(live).unwrap_or_default()
}

/// `merged` without what the applier owned (`last`) and nobody owns now (`owned`, the applier's new
/// fields included). What is only a part of something still owned stays; what is emptied is null.
pub(super) fn shed(merged: Value, last: &FieldSet, owned: &FieldSet, types: Types<'_>) -> Value {
    if last.is_empty() {
        return merged;
    }
    let named = |set: &FieldSet| with_named(set, types);
    let fields = |value: &Value| named(&fields_of(value, types));
    let last = named(last);
    let there = fields(&merged);
    let stripped = strip(&merged, &last, types);
    let kept = fields(&stripped).union(&named(owned));
    let owned_only = strip(&merged, &there.difference(&kept), types);
    let gone = there.difference(&fields(&owned_only));
    strip(&merged, &gone.intersection(&last), types)
}

/// An object as it is compared.
pub(super) fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}
