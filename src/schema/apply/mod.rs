//! Server-side apply as a function, and what any other write does to ownership.
//!
//! In: the live object, who owns what of it, and a configuration or a new object. Out: the object and
//! who owns what afterwards, or the conflicts. The rules are those of the API server's structured
//! merge: fields that a manager applied before and applies no more go, unless someone else owns them;
//! what another manager owns with another value is a conflict.
//!
//! It does not know other versions of a kind: all managers' fields are read as if written at the
//! version at hand. Nor does it default, prune or validate, or keep
//! `kubectl.kubernetes.io/last-applied-configuration` in step; the caller does what it needs of that.

mod conflict;
mod managed;
mod ownership;

use serde_json::{Map, Value};

pub use conflict::{Conflict, Refusal};
pub use managed::{Managed, Operation};
use ownership::{Owners, never_managed, shed};

use super::order::same;
use super::typed::{check, compare, drop_emptied, merge};
use super::{Element, FieldSet, Types};

/// Where a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// An object whose kind has no status subresource: everything can be written.
    Whole,
    /// An object whose kind has a status subresource: `status` is left as it is.
    Main,
    /// The status subresource: `spec` and `metadata` are left as they are.
    Status,
}

impl Endpoint {
    const fn subresource(self) -> &'static str {
        match self {
            Self::Whole | Self::Main => "",
            Self::Status => "status",
        }
    }

    /// The fields at the root that a write here leaves as they are.
    const fn leaves_alone(self) -> &'static [&'static str] {
        match self {
            Self::Whole => &[],
            Self::Main => &["status"],
            Self::Status => &["metadata", "spec"],
        }
    }

    fn left_alone(self) -> FieldSet {
        let path = |name: &&str| [Element::field(*name)].into_iter().collect();
        self.leaves_alone().iter().map(path).collect()
    }

    /// Undoes in `object` what may not be written here.
    fn restore(self, object: &mut Value, live: &Value) {
        let Some(fields) = object.as_object_mut() else {
            return;
        };
        for name in self.leaves_alone() {
            match live.get(name) {
                Some(value) => fields.insert((*name).into(), value.clone()),
                None => fields.remove(*name),
            };
        }
    }
}

/// Who writes, what, where and when.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// `group/version` of what is written.
    pub api_version: &'a str,
    /// Where it is written to.
    pub endpoint: Endpoint,
    /// Now, RFC 3339 in UTC and whole seconds.
    pub time: &'a str,
}

impl Writer<'_> {
    fn entry(&self, operation: Operation, fields: FieldSet) -> Managed {
        Managed {
            manager: self.manager.into(),
            operation,
            api_version: self.api_version.into(),
            subresource: self.endpoint.subresource().into(),
            fields,
            time: self.time.into(),
        }
    }
}

/// Applies `config` to `live` (none when the object is not there yet). `managers` are the entries of the
/// live object's managedFields; an object without any is first given to `before-first-apply`. With
/// `force`, fields are taken from others where there would be conflicts.
///
/// The object comes back without managedFields; [`Managed::write`] puts the entries in. An apply that
/// changes nothing gives back the live object and keeps the times.
///
/// # Errors
/// Conflicts with other managers, or what keeps `config` from being merged.
pub fn apply(
    live: Option<&Value>,
    managers: &[Managed],
    config: &Value,
    writer: &Writer<'_>,
    force: bool,
    types: Types<'_>,
) -> Result<(Value, Vec<Managed>), Refusal> {
    let faults = check(config, types);
    if !faults.is_empty() {
        return Err(Refusal::Unfit(faults));
    }
    let mut owners = Owners::of(managers, types);
    if managers.is_empty() {
        owners.add_first(live, writer, types);
    }
    let live = without_managed_fields(live);
    let left_alone = writer.endpoint.left_alone();
    let fields = FieldSet::of(config, types).without_subtrees(&left_alone);
    let mut mine = writer.entry(Operation::Apply, fields);
    let last = owners.replace(&mine);
    let merged = merge(&live, config, types);
    let mut object = match &last {
        Some(last) => shed(&merged, &last.fields, &owners.all_fields(), types),
        None => merged.clone(),
    };
    let changes = compare(&live, &object, types).without(&left_alone);
    owners.yield_to(&mine, &changes, force)?;
    mine.fields = mine.fields.difference(&never_managed());
    if same(&live, &object) {
        mine.time = last.map(|last| last.time).unwrap_or_default();
    }
    owners.replace(&mine);
    drop_emptied(&mut object, &merged, types);
    writer.endpoint.restore(&mut object, &live);
    let entries = owners.into_entries();
    let unchanged = same(&live, &object) && same_but_times(&entries, managers);
    Ok((
        object,
        if unchanged {
            managers.to_vec()
        } else {
            entries
        },
    ))
}

/// Whether nothing but times differs; then nothing is written at all.
fn same_but_times(a: &[Managed], b: &[Managed]) -> bool {
    let equal = |a: &Managed, b: &Managed| {
        a.is_same_manager(b) && a.api_version == b.api_version && a.fields == b.fields
    };
    a.len() == b.len() && a.iter().all(|a| b.iter().any(|b| equal(a, b)))
}

/// Who owns what after a write that is not an apply: a create (no `live`), an update, or a patch that
/// made `object` of `live`. The writer owns what it changed, the others lose it, and what is gone is
/// nobody's. Ownership of a live object that nobody has applied yet is not tracked.
#[must_use]
pub fn update(
    live: Option<&Value>,
    object: &Value,
    managers: &[Managed],
    writer: &Writer<'_>,
    types: Types<'_>,
) -> Vec<Managed> {
    if managers.is_empty() && live.is_some() {
        return Vec::new();
    }
    let mut owners = Owners::of(managers, types);
    owners.update(live, object, writer, types);
    owners.cap();
    owners.into_entries()
}

/// The live object as it is compared; an empty one when there is none.
fn without_managed_fields(object: Option<&Value>) -> Value {
    let mut object = object.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

#[cfg(test)]
mod tests;
