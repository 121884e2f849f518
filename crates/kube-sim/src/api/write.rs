//! Creates, updates and patches.
//!
//! In: what a client sent, and the state. Out: the object as it is now stored, or the refusal. One
//! path for all: make the new object from what was sent, let its kind and its managers have their
//! say, check it, store it. It does not know HTTP, nor what else the change sets off.

use serde_json::{Value, json};

use super::builtin::Trait;
use super::commit::{self, Write, Written};
use super::document::Document;
use super::kinds;
use super::managers;
use super::metadata;
use super::object::{Parsed, Stored};
use super::owners::{self, Dedup};
use super::part::Part;
use super::patch;
use super::query;
use super::resources::Resource;
use super::status::{Cause, Refusal};
use super::store::State;
use super::strategic;
use super::strategy;
use super::strict;
use kube_schema::Managed;

/// The ways to patch.
#[derive(Clone, Debug)]
pub(super) enum Patch {
    /// Server-side apply.
    Apply(Document),
    /// JSON merge patch.
    Merge(Document),
    /// Strategic merge patch.
    Strategic(Document),
    /// JSON patch.
    Json(Document),
}

/// POST.
///
/// # Errors
/// The refusal.
pub(super) fn create(
    state: &mut State,
    write: Write<'_>,
    sent: Document,
) -> Result<Written, Refusal> {
    let (mut object, warnings) = strict::decode(write, sent, false)?;
    with_warnings(warnings, || {
        kinds::check_version(write.resource, &object)?;
        metadata::place(&mut object, write.resource, write.namespace)?;
        with_warnings(owners::dedup(&mut object, Dedup::Sent), || {
            generate_name(state, write, &mut object);
            insert(state, write, object)
        })
    })
}

/// Goes on, and adds `warnings` to the outcome.
fn with_warnings(
    warnings: Vec<String>,
    go_on: impl FnOnce() -> Result<Written, Refusal>,
) -> Result<Written, Refusal> {
    match go_on() {
        Ok(mut written) => {
            written.warnings.splice(..0, warnings);
            Ok(written)
        }
        Err(refusal) => Err(refusal.warned(warnings)),
    }
}

fn generate_name(state: &mut State, write: Write<'_>, object: &mut Value) {
    let prefix = metadata::text(object, "generateName").to_owned();
    if prefix.is_empty() || !metadata::text(object, "name").is_empty() {
        return;
    }
    // Names are cut so that they still fit where a label has to fit.
    let prefix: String = prefix.chars().take(58).collect();
    loop {
        let name = format!("{prefix}{}", state.next_suffix());
        let address = write.resource.address(write.namespace, &name);
        if state.get(&address).is_none() {
            metadata::of(object).insert("name".into(), json!(name));
            return;
        }
    }
}

/// Stores a new object that somebody sent as a whole.
fn insert(state: &mut State, write: Write<'_>, mut object: Value) -> Result<Written, Refusal> {
    metadata::wipe(&mut object);
    let (mut object, managers) = managed(write, None, object);
    strategy::prepare_create(write.resource, &mut object);
    commit::create(state, write, (object, managers))
}

/// The object, and the managers that the write leaves behind.
fn managed(write: Write<'_>, old: Option<&Parsed>, object: Value) -> (Value, Vec<Managed>) {
    match kinds::check_custom(write.resource, &object).is_empty() {
        true => managers::updated(write.hand(), old, object),
        false => managers::without(object),
    }
}

/// PUT.
///
/// # Errors
/// The refusal.
pub(super) fn update(
    state: &mut State,
    write: Write<'_>,
    sent: Document,
) -> Result<Written, Refusal> {
    let (mut object, warnings) = strict::decode(write, sent, false)?;
    with_warnings(warnings, || {
        kinds::check_version(write.resource, &object)?;
        metadata::place(&mut object, write.resource, write.namespace)?;
        metadata::check_name(&object, write.name)?;
        with_warnings(owners::dedup(&mut object, Dedup::Sent), || {
            put(state, write, object)
        })
    })
}

fn put(state: &mut State, write: Write<'_>, object: Value) -> Result<Written, Refusal> {
    let uid = metadata::text(&object, "uid").to_owned();
    let Some(live) = state.get(&write.address()).cloned() else {
        let creates = write.resource.has(Trait::CreateOnPut);
        return match (creates, uid.is_empty()) {
            (false, _) => Err(write.not_found()),
            (true, true) => insert(state, write, object),
            (true, false) => Err(uid_conflict(write, &uid, "")),
        };
    };
    if !uid.is_empty() && uid != live.uid() {
        return Err(uid_conflict(write, &uid, live.uid()));
    }
    let old = live.parsed(write.resource);
    let (object, managers) = managed(write, Some(&old), object);
    replace(state, write, (&live, &old), (object, managers))
}

fn uid_conflict(write: Write<'_>, wanted: &str, found: &str) -> Refusal {
    let (address, dry_run) = (write.address(), write.options.dry_run);
    Refusal::precondition(write.resource, &address, "UID", (wanted, found), dry_run)
}

/// PATCH.
///
/// # Errors
/// The refusal.
pub(super) fn patch(state: &mut State, write: Write<'_>, patch: Patch) -> Result<Written, Refusal> {
    if let Patch::Apply(config) = patch {
        return apply(state, write, &config);
    }
    let live = state.get(&write.address()).cloned();
    let live = live.ok_or_else(|| write.not_found())?;
    let old = live.parsed(write.resource);
    let mut object = old.whole();
    let repeated = match patch {
        Patch::Json(operations) => {
            patch::operate(&mut object, &operations.value)?;
            operations.repeated.opening("json patch ")
        }
        Patch::Strategic(changes) => {
            strategic::merge(&mut object, changes.value)?;
            changes.repeated
        }
        Patch::Merge(changes) | Patch::Apply(changes) => {
            patch::merge(&mut object, changes.value);
            changes.repeated
        }
    };
    kinds::check_patched(write.resource, &object)?;
    let value = object;
    let (mut object, warnings) = strict::decode(write, Document { value, repeated }, true)?;
    with_warnings(warnings, || {
        metadata::place(&mut object, write.resource, write.namespace)?;
        metadata::check_name(&object, write.name)?;
        // A patch is looked through for doubles only when its fields have owners.
        let (mut object, managers) = managed(write, Some(&old), object);
        with_warnings(owners::dedup(&mut object, Dedup::Patched), || {
            replace(state, write, (&live, &old), (object, managers))
        })
    })
}

/// Whether an apply of this part makes an object that is not there. That of a status does so where
/// a PUT of it would.
pub(super) fn apply_creates(write: Write<'_>) -> bool {
    write.part == Part::Main || write.resource.has(Trait::CreateOnPut)
}

fn apply(state: &mut State, write: Write<'_>, sent: &Document) -> Result<Written, Refusal> {
    let warnings = strict::applied(write, &sent.repeated)?;
    with_warnings(warnings, || apply_value(state, write, &sent.value))
}

fn apply_value(state: &mut State, write: Write<'_>, config: &Value) -> Result<Written, Refusal> {
    check_applied_type(write.resource, config)?;
    let live = state.get(&write.address()).cloned();
    let old = live.as_ref().map(|live| live.parsed(write.resource));
    let force = write.options.force;
    let (mut object, managers) = managers::applied(write.hand(), old.as_deref(), config, force)?;
    let uid = metadata::text(&object, "uid");
    if live.is_none() && !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(Refusal::conflict(write.resource, write.name, why));
    }
    metadata::place(&mut object, write.resource, write.namespace)?;
    metadata::check_name(&object, write.name)?;
    let (Some(live), Some(old)) = (live, old) else {
        strategy::prepare_create(write.resource, &mut object);
        return commit::create(state, write, (object, managers));
    };
    replace(state, write, (&live, &old), (object, managers))
}

/// What is applied has to say what it is.
fn check_applied_type(resource: &Resource, config: &Value) -> Result<(), Refusal> {
    if !config.is_object() {
        return Err(Refusal::bad_request(
            "error decoding YAML: an object is expected",
        ));
    }
    let text = |key: &str| config[key].as_str().unwrap_or_default();
    if (text("apiVersion"), text("kind")) == (&resource.api_version(), &resource.kind) {
        return Ok(());
    }
    // What has too many parts is read as nothing.
    let (group, version, kind) = match text("apiVersion").split('/').collect::<Vec<_>>()[..] {
        [version] => ("", version, text("kind")),
        [group, version] => (group, version, text("kind")),
        _ => ("", "", ""),
    };
    let message = format!("invalid object type: {group}/{version}, Kind={kind}");
    Err(Refusal::bad_request(message))
}

/// Replaces a stored object by one that somebody sent or patched.
fn replace(
    state: &mut State,
    write: Write<'_>,
    (live, old): (&Stored, &Parsed),
    (mut object, managers): (Value, Vec<Managed>),
) -> Result<Written, Refusal> {
    check_version(write, live, &object)?;
    strategy::prepare_update(write.resource, write.part, &mut object, &old.object);
    commit::change(state, write, old, (object, managers))
}

/// An update has to be based on the stored version; most built-in kinds let that be left open.
fn check_version(write: Write<'_>, live: &Stored, object: &Value) -> Result<(), Refusal> {
    let resource = write.resource;
    let sent = query::version(metadata::text(object, "resourceVersion"));
    match sent.map_err(Refusal::internal)?.unwrap_or_default() {
        0 if resource.is_builtin() && !resource.has(Trait::Conditional) => Ok(()),
        0 => {
            let detail = "must be specified for an update";
            let cause = Cause::invalid("metadata.resourceVersion", &json!(0), detail);
            // The server writes the plural in the place of the kind.
            let (group, plural) = (&resource.group, &resource.plural);
            Err(Refusal::invalid_kind(group, plural, write.name, &[cause]))
        }
        version if version == live.version => Ok(()),
        _ => Err(Refusal::modified(resource, write.name)),
    }
}
