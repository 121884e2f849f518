//! The end of every write: the server fills in what it decides, checks the whole, and stores it.
//!
//! In: an object that its kind and its managers have had their say on. Out: the object as it is now
//! stored, or the refusal. A dry run goes all the way but for the storing.

use std::sync::Arc;

use serde_json::{Value, json};

use super::address::{Address, definition_address, namespace_address};
use super::blank;
use super::delete;
use super::kinds;
use super::managers::Hand;
use super::metadata;
use super::object::{Parsed, Stored};
use super::options::WriteOptions;
use super::part::Part;
use super::resources::Resource;
use super::rules;
use super::status::{Cause, Refusal};
use super::store::State;
use super::strategy;
use kube_schema::Managed;

/// The largest object that is stored, in bytes (etcd's request limit).
const OBJECT_LIMIT: usize = 1_536 * 1024;

/// Which object is written, which part of it, how and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write<'a> {
    pub(super) resource: &'a Arc<Resource>,
    pub(super) namespace: &'a str,
    /// The name in the URL, empty for creates.
    pub(super) name: &'a str,
    pub(super) part: Part,
    pub(super) options: &'a WriteOptions,
    /// RFC 3339, whole seconds.
    pub(super) now: &'a str,
}

impl Write<'_> {
    /// The hand that writes.
    pub(super) fn hand(&self) -> Hand<'_> {
        Hand {
            resource: self.resource,
            part: self.part,
            manager: &self.options.manager,
            now: self.now,
        }
    }

    /// Where the named object is kept.
    pub(super) fn address(&self) -> Address {
        self.resource.address(self.namespace, self.name)
    }

    /// That the named object is not there.
    pub(super) fn not_found(&self) -> Refusal {
        Refusal::not_found(self.resource, self.name)
    }
}

/// What a write came to.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) object: Stored,
    pub(super) created: bool,
    pub(super) warnings: Vec<String>,
}

/// Checks and stores a new object, which these managers own.
///
/// # Errors
/// The refusal.
pub(super) fn create(
    state: &mut State,
    write: Write<'_>,
    (mut object, managers): (Value, Vec<Managed>),
) -> Result<Written, Refusal> {
    let name = metadata::text(&object, "name").to_owned();
    admit(state, write, &name)?;
    let fields = metadata::of(&mut object);
    fields.insert("uid".into(), json!(state.next_uid()));
    fields.insert("creationTimestamp".into(), json!(write.now));
    // One that is made by a write of its status gets none.
    if write.resource.is("", "services") && write.part == Part::Main {
        rules::give_address(&mut object, &state.next_address());
    }
    let mut causes = Vec::new();
    // The metadata of an object that claims another kind is not validated.
    if kinds::check_custom(write.resource, &object).is_empty() {
        causes = metadata::check(&object, write.resource);
    }
    let checked = strategy::check(write.resource, Part::Main, &object, None);
    causes.extend(checked.causes);
    if !causes.is_empty() {
        let refusal = kinds::invalid(write.resource, &object, &causes);
        return Err(refusal.warned(checked.warnings));
    }
    let warnings: Vec<String> = checked.warnings.into_iter().chain(checked.advice).collect();
    let address = write.resource.address(write.namespace, &name);
    is_new(state, write, &address, &object).map_err(|no| no.warned(warnings.clone()))?;
    let version = metadata::text(&object, "resourceVersion").parse();
    strategy::settle(write.resource, write.part, &mut object);
    let draft = draft(state, write, object, managers)?;
    let object = match write.options.dry_run {
        true => {
            state.skip_uid();
            draft.at(version.unwrap_or_default())
        }
        false => state.put(&address, draft),
    };
    Ok(Written {
        object,
        created: true,
        warnings,
    })
}

/// Whether there is none like it. What is posted has no version, either; the storage does not mind one
/// that is no number.
fn is_new(
    state: &State,
    write: Write<'_>,
    address: &Address,
    object: &Value,
) -> Result<(), Refusal> {
    let (resource, name) = (write.resource, address.name());
    let version: Option<u64> = metadata::text(object, "resourceVersion").parse().ok();
    let is_posted = write.name.is_empty() && !write.options.dry_run;
    if is_posted && version.is_some_and(|version| version > 0) {
        let why = "resourceVersion should not be set on objects to be created";
        return Err(Refusal::internal(why));
    }
    let Some(live) = state.get(address) else {
        return Ok(());
    };
    let refusal = match metadata::text(object, "generateName") {
        "" => Refusal::already_exists(resource, name),
        _ => Refusal::name_is_taken(resource, name),
    };
    Err(match live.is_deleting() {
        true => refusal.opening("object is being deleted: "),
        false => refusal,
    })
}

fn draft(
    state: &State,
    write: Write<'_>,
    mut object: Value,
    managers: Vec<Managed>,
) -> Result<Stored, Refusal> {
    blank::empty_is_null(&mut object, strategy::blank(write.resource));
    let draft = state.managed_draft(write.resource, object, managers);
    match draft.size() > OBJECT_LIMIT {
        true => Err(Refusal::object_too_large()),
        false => Ok(draft),
    }
}

/// Nothing is created in a namespace or for a definition that is not there or is going.
fn admit(state: &State, write: Write<'_>, name: &str) -> Result<(), Refusal> {
    let resource = write.resource;
    if resource.namespaced {
        let Some(namespace) = state.get(&namespace_address(write.namespace)) else {
            let namespaces = state.registry.find("", "v1", "namespaces");
            let namespaces = namespaces.expect("namespaces are in the table");
            return Err(Refusal::not_found(&namespaces, write.namespace));
        };
        if namespace.is_deleting() {
            let why = format!(
                "unable to create new content in namespace {} because it is being terminated",
                write.namespace
            );
            let message = format!("namespace {} is being terminated", write.namespace);
            let cause = Cause::worded("NamespaceTerminating", "metadata.namespace".into(), message);
            return Err(Refusal::forbidden(resource, name, why).with_cause(&cause));
        }
    }
    let definition = state.get(&definition_address(&resource.qualified()));
    match definition {
        Some(definition) if !resource.is_builtin() && definition.is_deleting() => {
            let why = "create not allowed while custom resource definition is terminating";
            Err(Refusal::forbidden(resource, name, why))
        }
        _ => Ok(()),
    }
}

/// Checks and stores an object that takes the place of `old`, and that these managers own.
///
/// # Errors
/// The refusal.
pub(super) fn change(
    state: &mut State,
    write: Write<'_>,
    live: &Parsed,
    (mut object, mut managers): (Value, Vec<Managed>),
) -> Result<Written, Refusal> {
    let old = &live.object;
    // It counts as a change, although nothing keeps it.
    let is_linked = object["metadata"].get("selfLink").is_some();
    metadata::carry_over(&mut object, old);
    strategy::count_generation(write.resource, &mut object, old);
    let mut causes = metadata::check(&object, write.resource);
    causes.extend(metadata::check_update(&object, old));
    let checked = strategy::check(write.resource, write.part, &object, Some(old));
    causes.extend(checked.causes);
    if !causes.is_empty() {
        let refusal = kinds::invalid(write.resource, &object, &causes);
        return Err(refusal.warned(checked.warnings));
    }
    let warnings = checked.warnings.into_iter().chain(checked.advice).collect();
    Managed::sort(&mut managers);
    if !is_linked && is_no_change((&object, &managers), live) {
        managers.clone_from(&live.managers);
    }
    let address = write.address();
    let grace = old["metadata"]["deletionGracePeriodSeconds"].as_i64();
    let is_over = metadata::is_deleting(old) && grace.is_none_or(|seconds| seconds == 0);
    let ends = is_over && !delete::is_held(write.resource, &object);
    if !ends {
        strategy::settle(write.resource, write.part, &mut object);
    }
    let draft = draft(state, write, object, managers)?;
    let version = state.get(&address).map_or(0, |live| live.version);
    let object = match (write.options.dry_run, ends) {
        (true, _) => draft.at(version),
        (false, true) => {
            state.remove(&address);
            draft.at(version)
        }
        (false, false) => state.put(&address, draft),
    };
    Ok(Written {
        object,
        created: false,
        warnings,
    })
}

/// Times of managers alone are no change: with nothing else new, they stay.
fn is_no_change((object, managers): (&Value, &[Managed]), live: &Parsed) -> bool {
    let old = &live.object;
    let is_same = |(new, old): (&Managed, &Managed)| {
        new.is_same_manager(old) && new.api_version == old.api_version && new.fields == old.fields
    };
    !live.managers.is_empty()
        && managers.len() == live.managers.len()
        && same_but(object, old, &["metadata"])
        && same_but(&object["metadata"], &old["metadata"], &["resourceVersion"])
        && managers.iter().zip(&live.managers).all(is_same)
}

/// Whether two maps are equal, these keys aside.
fn same_but(a: &Value, b: &Value, aside: &[&str]) -> bool {
    let fields = |value: &'_ Value| {
        let map = value.as_object().into_iter().flatten();
        map.filter(|(key, _)| !aside.contains(&key.as_str()))
            .count()
    };
    let known = a.as_object().into_iter().flatten();
    fields(a) == fields(b)
        && known
            .filter(|(key, _)| !aside.contains(&key.as_str()))
            .all(|(key, value)| b.get(key) == Some(value))
}
