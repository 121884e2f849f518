//! Who owns which field: the bridge to server-side apply.
//!
//! In: objects with their managers, who writes, and where. Out: the objects without `managedFields` and the managers that
//! the write leaves behind, or why an apply is refused.

use std::borrow::Cow;

use serde_json::Value;

use super::builtin::BUILTINS;
use super::metadata;
use super::object::Parsed;
use super::part::Part;
use super::resources::{Nature, Resource, api_version};
use super::status::{Cause, Refusal};
use super::strategy;
use crate::apply::{Endpoint, Ground, Writer, before_update, fits_stored};
use crate::types::Types;
use kube_schema::Managed;

/// The field manager of what controllers write.
pub(super) const CONTROLLERS: &str = "kube-controller-manager";

/// Who writes, where and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hand<'a> {
    pub(super) resource: &'a Resource,
    pub(super) part: Part,
    pub(super) manager: &'a str,
    /// RFC 3339, whole seconds.
    pub(super) now: &'a str,
}

impl Hand<'_> {
    fn endpoint(&self) -> Endpoint<'static> {
        Endpoint {
            subresource: self.part.subresource(),
            resets: strategy::resets(self.resource, self.part),
        }
    }

    fn types(&self) -> Types<'_> {
        match &self.resource.nature {
            Nature::Builtin(row) => Types::built_in(row.group, row.kind),
            Nature::Custom(custom) => Types::of_schema(&custom.schema),
        }
    }

    fn writer<'a>(&'a self, api_version: &'a str) -> Writer<'a> {
        Writer {
            manager: match self.manager {
                "" => "unknown",
                named => named,
            },
            api_version,
            endpoint: self.endpoint(),
            time: self.now,
        }
    }
}

/// `object` and the managers that it has after replacing `live`, or as a new one. Managers that the
/// object itself names count, so that a client can edit them; an empty list or entry drops them all.
pub(super) fn updated(
    hand: Hand<'_>,
    live: Option<&Parsed>,
    mut object: Value,
) -> (Value, Vec<Managed>) {
    let known = live.map_or(&[][..], |live| &live.managers);
    let before = before_update(known, &object, hand.endpoint());
    let tracked = !before.is_empty();
    let api_version = hand.resource.api_version();
    let writer = hand.writer(&api_version);
    let types = hand.types();
    // It is compared without them, and what the client sent of them was read.
    metadata::take_managers(&mut object);
    let managers = match (of_known_versions(hand.resource, before), live) {
        // Entries that are forgotten are entries still.
        (Ok(before), Some(live)) if tracked && before.is_empty() => {
            crate::create(&live.object, &object, before, &writer, types)
        }
        (Ok(before), Some(live)) => crate::update(&live.object, &object, before, &writer, types),
        (Ok(before), None) => {
            let blank = strategy::blank(hand.resource);
            crate::create(blank, &object, before, &writer, types)
        }
        // What cannot be seen through takes everybody off.
        (Err(_), _) => Vec::new(),
    };
    (object, managers)
}

/// `object` without managers: an object that claims another kind has no type for them.
pub(super) fn without(mut object: Value) -> (Value, Vec<Managed>) {
    metadata::take_managers(&mut object);
    (object, Vec::new())
}

/// What an apply of `config` makes of `live`, and who manages it then.
///
/// # Errors
/// 409 for conflicts with other managers, 400 or 500 for a configuration that cannot be applied.
pub(super) fn applied(
    hand: Hand<'_>,
    live: Option<&Parsed>,
    config: &Value,
    force: bool,
) -> Result<(Value, Vec<Managed>), Refusal> {
    if config
        .pointer("/metadata/managedFields")
        .is_some_and(|m| !m.is_null())
    {
        return Err(Refusal::bad_request("metadata.managedFields must be nil"));
    }
    let (resource, types) = (hand.resource, hand.types());
    crate::fits(config, types).map_err(|why| unfit(resource, "patch", config, &why))?;
    check_declared(hand, config)?;
    if let Some(Parsed { object, .. }) = live {
        fits_stored(object, types).map_err(|why| unfit(resource, "live", object, &why))?;
    }
    let managers = live.map_or_else(Vec::new, |live| live.managers.clone());
    let managers = of_known_versions(resource, managers).map_err(|version| {
        Refusal::internal(format!(
            "request to convert CR to an invalid group/version: {version}"
        ))
    })?;
    let api_version = hand.resource.api_version();
    let writer = hand.writer(&api_version);
    let live = live.map(|live| written(hand, &live.object));
    let ground = Ground {
        live: live.as_deref(),
        blank: strategy::blank(resource),
    };
    let done = crate::apply(ground, managers, config, &writer, force, types);
    let (object, managers) = done.map_err(|why| refused(resource, config, &why))?;
    let object = strategy::completed(resource, object).map_err(Refusal::bad_request)?;
    Ok((object, managers))
}

/// The part of a stored object that a write can change. A write of a custom object's status ignores the spec, which is
/// often large; [`strategy::prepare_update`] restores it.
fn written<'a>(hand: Hand<'_>, object: &'a Value) -> Cow<'a, Value> {
    match object.as_object() {
        Some(fields) if hand.part == Part::Status && !hand.resource.is_builtin() => {
            let kept = fields.iter().filter(|(key, _)| *key != "spec");
            let kept = kept.map(|(key, value)| (key.clone(), value.clone()));
            Cow::Owned(kept.collect())
        }
        _ => Cow::Borrowed(object),
    }
}

/// The entries of versions that the kind has; of a built-in kind others are forgotten.
///
/// # Errors
/// A version that the definition of a custom kind does not have: nothing is known of its entries.
fn of_known_versions(
    resource: &Resource,
    mut managers: Vec<Managed>,
) -> Result<Vec<Managed>, String> {
    match &resource.nature {
        Nature::Builtin(row) => {
            let own = resource.api_version();
            let is_known = |version: &str| {
                if version == own {
                    return true;
                }
                let same_kind = BUILTINS
                    .iter()
                    .filter(|known| (known.group, known.kind) == (row.group, row.kind));
                let mut versions = same_kind.map(|known| api_version(known.group, known.version));
                versions.any(|known| known == version)
            };
            managers.retain(|entry| is_known(&entry.api_version));
            Ok(managers)
        }
        Nature::Custom(custom) => {
            let stranger = |entry: &&Managed| !custom.versions.contains(&entry.api_version);
            match managers.iter().find(stranger) {
                Some(entry) => Err(entry.api_version.clone()),
                None => Ok(managers),
            }
        }
    }
}

/// A built-in type refuses to apply fields that it does not have.
fn check_declared(hand: Hand<'_>, config: &Value) -> Result<(), Refusal> {
    if !hand.resource.is_builtin() {
        return Ok(());
    }
    let faults: Vec<String> = match strategy::typed(hand.resource, config.clone()) {
        Ok((_, unknown)) => unknown
            .iter()
            .map(|path| {
                format!(
                    "{}: field not declared in schema",
                    hand.types().name(config, path)
                )
            })
            .collect(),
        Err(fault) => vec![fault],
    };
    match faults.is_empty() {
        true => Ok(()),
        false => Err(unfit(
            hand.resource,
            "patch",
            config,
            &crate::Refusal::Unfit(faults),
        )),
    }
}

fn refused(resource: &Resource, config: &Value, refusal: &crate::Refusal) -> Refusal {
    let crate::Refusal::Conflicts(conflicts) = refusal else {
        return unfit(resource, "patch", config, refusal);
    };
    let cause = |conflict: &crate::Conflict| {
        Cause::worded(
            "FieldManagerConflict",
            conflict.path.to_string(),
            format!("conflict with {}", conflict.named),
        )
    };
    let causes: Vec<Cause> = conflicts.iter().map(cause).collect();
    Refusal::apply_conflict(refusal.to_string(), &causes)
}

fn unfit(resource: &Resource, which: &str, object: &Value, why: &crate::Refusal) -> Refusal {
    Refusal::internal(format!(
        "failed to create typed {which} object ({}/{}; {}/{}, Kind={}): {why}",
        metadata::text(object, "namespace"),
        metadata::text(object, "name"),
        resource.group,
        resource.version,
        resource.kind,
    ))
}
