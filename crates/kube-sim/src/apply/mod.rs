//! Server-side apply as a function, and what any other write does to ownership.
//!
//! In: the live object, who owns what of it, and a configuration or a new object. Out: the object and
//! who owns what afterwards, or the conflicts. The rules are those of the API server's structured
//! merge: fields that a manager applied before and applies no more go, unless someone else owns them;
//! what another manager owns with another value is a conflict.
//!
//! It does not know other versions of a kind: all managers' fields are read as if written at the
//! version at hand. Nor does it default, prune or validate, or undo what may not be written at an
//! endpoint; the caller does what it needs of that.

mod conflict;
mod last_applied;
mod ownership;
mod writer;

use serde_json::{Map, Value};

pub(crate) use conflict::{Conflict, Refusal};
pub(crate) use ownership::before_update;
use ownership::{Owners, drop_never_managed, shed, without_managed_fields};
pub(crate) use writer::{Endpoint, Writer};

use crate::typed::fields_of;
use crate::typed::{check, check_stored, compare, merge};
use crate::types::Types;
use kube_schema::order::same;
use kube_schema::{FieldSet, Managed, Operation};

/// What a configuration is applied to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    /// The object as it is; none when it is not there yet.
    pub live: Option<&'a Value>,
    /// What an object of the kind holds from the start.
    pub blank: &'a Value,
}

/// Applies `config` to an object with these `managers`, the entries of its managedFields. An object that has no managers yet is first given to `before-first-apply`. With
/// `force`, fields are taken from others where there would be conflicts.
///
/// The object comes back without managedFields; [`Managed::write`] puts the entries in. A map or list
/// that was emptied but belongs to someone is null: the API server refuses that where null is not
/// allowed. An apply that changes nothing gives back the live object and keeps the times.
///
/// # Errors
/// Conflicts with other managers, or what keeps `config` from being merged.
pub(crate) fn apply(
    ground: Ground<'_>,
    managers: Vec<Managed>,
    config: &Value,
    writer: &Writer<'_>,
    force: bool,
    types: Types<'_>,
) -> Result<(Value, Vec<Managed>), Refusal> {
    fits(config, types)?;
    let live = ground.live.map(without_managed_fields);
    let step = Step {
        ground: Ground {
            live: live.as_deref(),
            ..ground
        },
        config,
        writer,
        types,
    };
    if writer.manager != last_applied::KUBECTL {
        return step.run(managers, force);
    }
    let (mut object, entries) = match step.run(managers.clone(), force) {
        Err(Refusal::Conflicts(conflicts)) => {
            let left = match &live {
                Some(live) => last_applied::without_allowed(conflicts, live, writer, types),
                None => conflicts,
            };
            if !left.is_empty() {
                return Err(Refusal::Conflicts(left));
            }
            step.run(managers, true)
        }
        done => done,
    }?;
    last_applied::keep_in_step(&mut object, config);
    Ok((object, entries))
}

/// Whether `config` can be merged with anything at all.
///
/// # Errors
/// Says what keeps it from that.
pub(crate) fn fits(config: &Value, types: Types<'_>) -> Result<(), Refusal> {
    match check(config, types) {
        faults if faults.is_empty() => Ok(()),
        faults => Err(Refusal::Unfit(faults)),
    }
}

/// Whether the fields of a stored `object` can have owners at all: its kind may have changed since.
///
/// # Errors
/// Says what keeps it from that.
pub(crate) fn fits_stored(object: &Value, types: Types<'_>) -> Result<(), Refusal> {
    match check_stored(object, types) {
        faults if faults.is_empty() => Ok(()),
        faults => Err(Refusal::Unfit(faults)),
    }
}

/// An apply whose configuration can be merged.
struct Step<'a> {
    /// Its object is without managedFields.
    ground: Ground<'a>,
    config: &'a Value,
    writer: &'a Writer<'a>,
    types: Types<'a>,
}

impl Step<'_> {
    fn run(&self, managers: Vec<Managed>, force: bool) -> Result<(Value, Vec<Managed>), Refusal> {
        let types = self.types;
        let ground = self.ground;
        let unmanaged = managers.is_empty();
        let mut owners = Owners::of(managers, types);
        if let (Some(live), true) = (ground.live, unmanaged) {
            owners.add_first(ground.blank, live, self.writer, types);
        }
        let nothing = Value::Object(Map::new());
        let live = ground.live.unwrap_or(&nothing);
        let left_alone = self.writer.endpoint.left_alone();
        let mut fields = fields_of(self.config, types);
        fields.cut(&left_alone);
        let mut mine = self.writer.entry(Operation::Apply, fields);
        let (at, last) = owners.take(&mine).unzip();
        let merged = merge(live, self.config, types);
        let object = match &last {
            Some(last) => {
                let owned: Vec<&FieldSet> = owners.fields().chain([&mine.fields]).collect();
                shed(merged, &last.fields, &owned, types)
            }
            None => merged,
        };
        let changes = compare(live, &object, types).without(&left_alone);
        owners.yield_to(&changes, force)?;
        drop_never_managed(&mut mine.fields);
        if same(live, &object) {
            mine.time = last.map(|last| last.time).unwrap_or_default();
        }
        owners.put(at, mine);
        Ok((object, owners.into_entries()))
    }
}

/// Who owns what of a new object that was not applied: the writer owns all that differs from `blank`,
/// what an object of the kind holds from the start. `managers` are the entries that came with it. Nobody
/// owns anything of an object that cannot be compared, as when its part that is not written is broken.
#[must_use]
pub(crate) fn create(
    blank: &Value,
    object: &Value,
    managers: Vec<Managed>,
    writer: &Writer<'_>,
    types: Types<'_>,
) -> Vec<Managed> {
    if [blank, object]
        .iter()
        .any(|it| fits_stored(it, types).is_err())
    {
        return Vec::new();
    }
    let mut owners = Owners::of(managers, types);
    owners.update(blank, object, writer, types);
    owners.cap();
    owners.into_entries()
}

/// Who owns what after a write that is not an apply: an update, or a patch that made `object` of
/// `live`. The writer owns what it changed, the others lose it, and what is gone is nobody's.
/// Ownership of a live object that nobody has applied yet is not tracked, and ends where one of the
/// two cannot be compared, as when the kind has changed.
#[must_use]
pub(crate) fn update(
    live: &Value,
    object: &Value,
    managers: Vec<Managed>,
    writer: &Writer<'_>,
    types: Types<'_>,
) -> Vec<Managed> {
    match managers.as_slice() {
        [] => Vec::new(),
        _ => create(live, object, managers, writer, types),
    }
}

#[cfg(test)]
mod tests;
