//! The managers of one object, and how fields pass between them.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::conflict::{Conflict, Refusal};
use super::writer::{Endpoint, Writer};
use crate::typed::fields_of;
use crate::typed::{Comparison, compare, covered, reconciled, strip, with_named};
use crate::types::Types;
use kube_schema::{Element, FieldPath, FieldSet, Managed, Operation};

/// The most entries of writers that do not apply; the oldest are put together beyond that.
const MOST_UPDATERS: usize = 10;
/// Who owns what was there before anybody applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// Who owns what writers long ago changed.
const ANCIENT_CHANGES: &str = "ancient-changes";

/// Fields that have no owner.
static NEVER_MANAGED: LazyLock<FieldSet> = LazyLock::new(|| {
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
});

/// Takes out the fields that have no owner.
pub(super) fn drop_never_managed(fields: &mut FieldSet) {
    fields.subtract(&NEVER_MANAGED);
}

/// The managers of an object. No two entries are the same manager's.
pub(super) struct Owners(Vec<Managed>);

impl Owners {
    /// The current managers, their fields seen through today's schema.
    pub(super) fn of(mut managers: Vec<Managed>, types: Types<'_>) -> Self {
        for entry in &mut managers {
            entry.fields = reconciled(std::mem::take(&mut entry.fields), types);
        }
        Self(managers)
    }

    /// Takes the entry out that is the same manager's as `mine`. Returns its place, too.
    pub(super) fn take(&mut self, mine: &Managed) -> Option<(usize, Managed)> {
        let at = self
            .0
            .iter()
            .position(|entry| entry.is_same_manager(mine))?;
        Some((at, self.0.remove(at)))
    }

    /// Puts the entry of a manager in that has none, in the place of the one that was taken out.
    pub(super) fn put(&mut self, at: Option<usize>, mine: Managed) {
        self.0.insert(at.unwrap_or(self.0.len()), mine);
    }

    /// What everybody owns.
    pub(super) fn fields(&self) -> impl Iterator<Item = &FieldSet> {
        self.0.iter().map(|entry| &entry.fields)
    }

    /// Takes what changed or is gone from all.
    ///
    /// # Errors
    /// The conflicts, when fields changed and `force` is not given. Nothing is taken then.
    pub(super) fn yield_to(&mut self, changes: &Comparison, force: bool) -> Result<(), Refusal> {
        let changed = changes.changed();
        let mut conflicts = Vec::new();
        if !force {
            let mut sorted: Vec<&Managed> = self.0.iter().collect();
            sorted.sort_by_key(|entry| rank(entry));
            for entry in sorted {
                conflicts.extend(conflicts_with(entry, &changed));
            }
        }
        if !conflicts.is_empty() {
            return Err(Refusal::Conflicts(conflicts));
        }
        self.lose(&changed, changes);
        Ok(())
    }

    fn lose(&mut self, changed: &FieldSet, changes: &Comparison) {
        for entry in &mut self.0 {
            entry.fields.subtract(changed);
            entry.fields.subtract(&changes.removed);
        }
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
        let mut changed = changes.changed();
        self.lose(&changed, &changes);
        drop_never_managed(&mut changed);
        if changed.is_empty() {
            return;
        }
        let mut mine = writer.entry(Operation::Update, changed);
        let (at, before) = self.take(&mine).unzip();
        if let Some(before) = before {
            mine.fields.add(&before.fields);
        }
        self.put(at, mine);
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
    entry.fields.add(&later.fields);
    entry.time = later.time;
}

/// The entries that an update of `live` to `object` starts from: those of the request when it has
/// any, so that a client can edit or (with `[]` or `[{}]`) drop them, else those of the live
/// object. Entries that cannot be read count as none. A write to a subresource cannot change them.
#[must_use]
pub(crate) fn before_update(
    live: &[Managed],
    object: &Value,
    endpoint: Endpoint<'_>,
) -> Vec<Managed> {
    if !endpoint.subresource.is_empty() {
        return live.to_vec();
    }
    let asked = object.pointer("/metadata/managedFields");
    if asked.is_some_and(|asked| *asked == json!([]) || *asked == json!([{}])) {
        return Vec::new();
    }
    let own = Managed::read(object).ok().filter(|own| !own.is_empty());
    own.unwrap_or_else(|| live.to_vec())
}

/// `merged` without what the applier owned (`last`) and nobody owns now (`owned`, the applier's new
/// fields included). What is only a part of something still owned stays; what is emptied is null.
pub(super) fn shed(merged: Value, last: &FieldSet, owned: &[&FieldSet], types: Types<'_>) -> Value {
    if covered(last, owned, Some(types)) {
        return merged;
    }
    let named = |set: &FieldSet| with_named(set, types);
    let fields = |value: &Value| named(&fields_of(value, types));
    let mut all = FieldSet::new();
    owned.iter().for_each(|set| all.add(set));
    let last = named(last);
    let there = fields(&merged);
    let stripped = strip(&merged, &last, types);
    let mut kept = fields(&stripped);
    kept.add(&named(&all));
    let owned_only = strip(&merged, &there.difference(&kept), types);
    let gone = there.difference(&fields(&owned_only));
    strip(&merged, &gone.intersection(&last), types)
}

/// An object as it is compared.
pub(super) fn without_managed_fields(object: &Value) -> Cow<'_, Value> {
    let key = "managedFields";
    let metadata = object.get("metadata").and_then(Value::as_object);
    if metadata.is_none_or(|metadata| !metadata.contains_key(key)) {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove(key);
    }
    Cow::Owned(object)
}
