//! Who owns which field: the bridge to the `schema` room's server-side apply.
//!
//! In: objects with their `managedFields`, who writes, and where. Out: the objects with the
//! `managedFields` that the write leaves behind, or why an apply is refused.

use serde_json::Value;

use super::builtin::Trait;
use super::metadata;
use super::resources::{Nature, Resource};
use super::status::{Cause, Refusal};
use super::strategy::{self, Part};
use crate::schema::{self, Endpoint, Managed, Types, Writer};

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
    fn endpoint(&self) -> Endpoint {
        match self.part {
            Part::Status => Endpoint::Status,
            Part::Main if self.resource.has(Trait::Status) => Endpoint::Main,
            Part::Main => Endpoint::Whole,
        }
    }

    fn types(&self) -> Types<'_> {
        match &self.resource.nature {
            Nature::Builtin(row) => Types::built_in(row.group, row.kind),
            Nature::Custom(custom) => Types::of_schema(&custom.schema),
        }
    }
}

/// `object`, as somebody sent it, with the managers that it has after replacing `live`. Managers that
/// the object itself names count, so that a client can edit them.
pub(super) fn updated(hand: Hand<'_>, live: Option<&Value>, mut object: Value) -> Value {
    let kept = Managed::before_update(live, &object, hand.endpoint());
    let api_version = hand.resource.api_version();
    let writer = Writer {
        manager: hand.manager,
        api_version: &api_version,
        endpoint: hand.endpoint(),
        time: hand.now,
    };
    let managers = schema::update(live, &object, &kept, &writer, hand.types());
    Managed::write(&managers, &mut object);
    object
}

/// What an apply of `config` makes of `live`, managers included.
///
/// # Errors
/// 409 for conflicts with other managers, 400 or 500 for a configuration that cannot be applied.
pub(super) fn applied(
    hand: Hand<'_>,
    live: Option<&Value>,
    config: &Value,
    force: bool,
) -> Result<Value, Refusal> {
    let managed = &config["metadata"]["managedFields"];
    if managed.as_array().is_some_and(|list| !list.is_empty()) {
        return Err(Refusal::bad_request("metadata.managedFields must be nil"));
    }
    check_declared(hand, config)?;
    let managers = live.map(|live| Managed::read(live).unwrap_or_default());
    let api_version = hand.resource.api_version();
    let writer = Writer {
        manager: hand.manager,
        api_version: &api_version,
        endpoint: hand.endpoint(),
        time: hand.now,
    };
    let done = schema::apply(
        live,
        &managers.unwrap_or_default(),
        config,
        &writer,
        force,
        hand.types(),
    );
    let (object, managers) = done.map_err(|refusal| refused(hand.resource, config, &refusal))?;
    let (mut object, _) = strategy::typed(hand.resource, object).map_err(Refusal::bad_request)?;
    Managed::write(&managers, &mut object);
    Ok(object)
}

/// A built-in type refuses to apply fields that it does not have.
fn check_declared(hand: Hand<'_>, config: &Value) -> Result<(), Refusal> {
    if !hand.resource.is_builtin() {
        return Ok(());
    }
    let faults: Vec<String> = match strategy::typed(hand.resource, config.clone()) {
        Ok((_, unknown)) => unknown
            .iter()
            .map(|path| format!(".{path}: field not declared in schema"))
            .collect(),
        Err(fault) => vec![fault],
    };
    match faults.is_empty() {
        true => Ok(()),
        false => Err(unfit(
            hand.resource,
            config,
            &schema::Refusal::Unfit(faults),
        )),
    }
}

fn refused(resource: &Resource, config: &Value, refusal: &schema::Refusal) -> Refusal {
    let schema::Refusal::Conflicts(conflicts) = refusal else {
        return unfit(resource, config, refusal);
    };
    let cause = |conflict: &schema::Conflict| {
        Cause::worded(
            "FieldManagerConflict",
            conflict.path.to_string(),
            format!("conflict with {}", conflict.named),
        )
    };
    let causes: Vec<Cause> = conflicts.iter().map(cause).collect();
    Refusal::apply_conflict(refusal.to_string(), &causes)
}

fn unfit(resource: &Resource, config: &Value, refusal: &schema::Refusal) -> Refusal {
    Refusal::internal(format!(
        "failed to create typed patch object ({}/{}; {}, Kind={}): {refusal}",
        metadata::text(config, "namespace"),
        metadata::text(config, "name"),
        resource.api_version(),
        resource.kind,
    ))
}
