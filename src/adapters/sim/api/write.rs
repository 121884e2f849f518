//! Creates, updates and patches.
//!
//! In: what a client sent, and the state. Out: the object as it is now stored, or the refusal. One
//! path for all: make the new object from what was sent, let its kind and its managers have their
//! say, check it, store it. It does not know HTTP, nor what else the change sets off.

use std::sync::Arc;

use serde_json::{Value, json};

use super::builtin::Trait;
use super::managers::{self, Hand};
use super::metadata;
use super::object::Stored;
use super::patch;
use super::request::WriteOptions;
use super::resources::Resource;
use super::status::{Cause, Refusal};
use super::store::{Address, State, definition_address, namespace_address};
use super::strategy::{self, Part};

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
    fn hand(&self) -> Hand<'_> {
        Hand {
            resource: self.resource,
            part: self.part,
            manager: &self.options.manager,
            now: self.now,
        }
    }

    fn address(&self) -> Address {
        Address::of(self.resource, self.namespace, self.name)
    }

    fn not_found(&self) -> Refusal {
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

/// The three ways to patch.
#[derive(Clone, Debug)]
pub(super) enum Patch {
    /// Server-side apply.
    Apply(Value),
    /// JSON merge patch.
    Merge(Value),
    /// JSON patch.
    Json(Value),
}

/// POST.
///
/// # Errors
/// The refusal.
pub(super) fn create(
    state: &mut State,
    write: Write<'_>,
    mut object: Value,
) -> Result<Written, Refusal> {
    strategy::check_type(write.resource, &object)?;
    if !metadata::text(&object, "resourceVersion").is_empty() {
        return Err(Refusal::internal(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    metadata::wipe(&mut object);
    metadata::place(&mut object, write.resource, write.namespace)?;
    generate_name(state, write, &mut object);
    insert(state, write, object)
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
        let address = Address::of(write.resource, write.namespace, &name);
        if state.get(&address).is_none() {
            metadata::of(object).insert("name".into(), json!(name));
            return;
        }
    }
}

/// Stores a new object that somebody sent as a whole.
fn insert(state: &mut State, write: Write<'_>, object: Value) -> Result<Written, Refusal> {
    let (mut object, warnings) =
        strategy::decode(write.resource, object, write.options.validation)?;
    strategy::prepare_create(write.resource, &mut object);
    let object = managers::updated(write.hand(), None, object);
    store_new(state, write, object, warnings)
}

fn store_new(
    state: &mut State,
    write: Write<'_>,
    mut object: Value,
    warnings: Vec<String>,
) -> Result<Written, Refusal> {
    let name = metadata::text(&object, "name").to_owned();
    admit(state, write, &name)?;
    let fields = metadata::of(&mut object);
    fields.insert("uid".into(), json!(state.next_uid()));
    fields.insert("creationTimestamp".into(), json!(write.now));
    let mut causes = metadata::check(&object, write.resource);
    causes.extend(strategy::check(write.resource, &object, None));
    if !causes.is_empty() {
        return Err(Refusal::invalid(write.resource, &name, &causes));
    }
    let address = Address::of(write.resource, write.namespace, &name);
    if state.get(&address).is_some() {
        return Err(Refusal::already_exists(write.resource, &name));
    }
    let draft = draft(state, write, object)?;
    let object = match write.options.dry_run {
        true => draft.at(0),
        false => state.put(&address, draft),
    };
    Ok(Written {
        object,
        created: true,
        warnings,
    })
}

fn draft(state: &State, write: Write<'_>, object: Value) -> Result<Stored, Refusal> {
    let draft = state.draft(write.resource, object);
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

/// PUT.
///
/// # Errors
/// The refusal.
pub(super) fn update(
    state: &mut State,
    write: Write<'_>,
    mut object: Value,
) -> Result<Written, Refusal> {
    strategy::check_type(write.resource, &object)?;
    metadata::check_name(&object, write.name)?;
    metadata::place(&mut object, write.resource, write.namespace)?;
    let uid = metadata::text(&object, "uid").to_owned();
    let Some(live) = state.get(&write.address()).cloned() else {
        let creates = write.resource.has(Trait::CreateOnPut) && write.part == Part::Main;
        return match (creates, uid.is_empty()) {
            (false, _) => Err(write.not_found()),
            (true, true) => insert(state, write, object),
            (true, false) => Err(uid_conflict(write, &uid, "")),
        };
    };
    if !uid.is_empty() && uid != live.uid() {
        return Err(uid_conflict(write, &uid, live.uid()));
    }
    let decoded = strategy::decode(write.resource, object, write.options.validation)?;
    replace(state, write, &live, decoded)
}

fn uid_conflict(write: Write<'_>, wanted: &str, found: &str) -> Refusal {
    let why =
        format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}");
    Refusal::conflict(write.resource, write.name, why)
}

/// PATCH.
///
/// # Errors
/// The refusal.
pub(super) fn patch(state: &mut State, write: Write<'_>, patch: Patch) -> Result<Written, Refusal> {
    if let Patch::Apply(config) = patch {
        return apply(state, write, config);
    }
    let live = state.get(&write.address()).cloned();
    let live = live.ok_or_else(|| write.not_found())?;
    let mut object = live.value(write.resource);
    match patch {
        Patch::Json(operations) => patch::operate(&mut object, &operations)?,
        Patch::Merge(changes) | Patch::Apply(changes) => patch::merge(&mut object, changes),
    }
    strategy::check_type(write.resource, &object)?;
    metadata::place(&mut object, write.resource, write.namespace)?;
    metadata::check_name(&object, write.name)?;
    let decoded = strategy::decode(write.resource, object, write.options.validation)?;
    replace(state, write, &live, decoded)
}

fn apply(state: &mut State, write: Write<'_>, mut config: Value) -> Result<Written, Refusal> {
    check_applied_type(write.resource, &config)?;
    if metadata::text(&config, "name").is_empty() {
        metadata::of(&mut config).insert("name".into(), json!(write.name));
    }
    let live = state.get(&write.address()).cloned();
    if live.is_none() && write.part == Part::Status {
        return Err(write.not_found());
    }
    let old = live.as_ref().map(|live| live.value(write.resource));
    let force = write.options.force;
    let mut object = managers::applied(write.hand(), old.as_ref(), &config, force)?;
    metadata::place(&mut object, write.resource, write.namespace)?;
    metadata::check_name(&object, write.name)?;
    let (Some(live), Some(old)) = (live, old) else {
        return apply_new(state, write, object);
    };
    check_version(write, &live, &object)?;
    strategy::prepare_update(write.resource, write.part, &mut object, &old);
    store_changed(state, write, &old, object, Vec::new())
}

fn apply_new(state: &mut State, write: Write<'_>, mut object: Value) -> Result<Written, Refusal> {
    let uid = metadata::text(&object, "uid");
    if !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(Refusal::conflict(write.resource, write.name, why));
    }
    metadata::wipe(&mut object);
    strategy::prepare_create(write.resource, &mut object);
    store_new(state, write, object, Vec::new())
}

/// What is applied has to say what it is.
fn check_applied_type(resource: &Resource, config: &Value) -> Result<(), Refusal> {
    if !config.is_object() {
        return Err(Refusal::bad_request(
            "error decoding YAML: an object is expected",
        ));
    }
    let version = config["apiVersion"].as_str().unwrap_or_default();
    let expected = resource.api_version();
    if version != expected {
        return Err(Refusal::bad_request(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {expected}"
        )));
    }
    strategy::check_type(resource, config)
}

/// Replaces a stored object by one that somebody sent or patched.
fn replace(
    state: &mut State,
    write: Write<'_>,
    live: &Stored,
    (mut object, warnings): (Value, Vec<String>),
) -> Result<Written, Refusal> {
    check_version(write, live, &object)?;
    let old = live.value(write.resource);
    strategy::prepare_update(write.resource, write.part, &mut object, &old);
    let object = managers::updated(write.hand(), Some(&old), object);
    store_changed(state, write, &old, object, warnings)
}

/// An update has to be based on the stored version; most built-in kinds let that be left open.
fn check_version(write: Write<'_>, live: &Stored, object: &Value) -> Result<(), Refusal> {
    let resource = write.resource;
    match metadata::text(object, "resourceVersion") {
        "" if resource.is_builtin() && !resource.has(Trait::Conditional) => Ok(()),
        "" => {
            let detail = "must be specified for an update";
            let cause = Cause::invalid("metadata.resourceVersion", &json!(0), detail);
            Err(Refusal::invalid(resource, write.name, &[cause]))
        }
        version if version == live.version.to_string() => Ok(()),
        _ => Err(Refusal::modified(resource, write.name)),
    }
}

fn store_changed(
    state: &mut State,
    write: Write<'_>,
    old: &Value,
    mut object: Value,
    warnings: Vec<String>,
) -> Result<Written, Refusal> {
    metadata::carry_over(&mut object, old);
    strategy::count_generation(write.resource, &mut object, old);
    let mut causes = metadata::check(&object, write.resource);
    causes.extend(metadata::check_update(&object, old));
    causes.extend(strategy::check(write.resource, &object, Some(old)));
    if !causes.is_empty() {
        return Err(Refusal::invalid(write.resource, write.name, &causes));
    }
    keep_managers_of_no_change(&mut object, old);
    let address = write.address();
    let ends = ends_deletion(&object, old);
    let draft = draft(state, write, object)?;
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

/// Whether the object goes because the last thing that kept it is gone.
fn ends_deletion(object: &Value, old: &Value) -> bool {
    let kept = object["spec"]["finalizers"].as_array();
    let kept = object["kind"] == "Namespace" && kept.is_some_and(|list| !list.is_empty());
    metadata::is_deleting(old) && metadata::finalizers(object).is_empty() && !kept
}

/// Times of managers alone are no change: with nothing else new, they stay.
fn keep_managers_of_no_change(object: &mut Value, old: &Value) {
    const ASIDE: [&str; 2] = ["managedFields", "resourceVersion"];
    let same_metadata = {
        let (new, old) = (&object["metadata"], &old["metadata"]);
        let keys = |value: &Value| {
            let map = value.as_object().into_iter().flatten();
            map.filter(|(key, _)| !ASIDE.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Vec<_>>()
        };
        keys(new) == keys(old)
    };
    let owned = |object: &Value| {
        let entries = object["metadata"]["managedFields"].as_array();
        let timeless = |entry: &Value| {
            let mut entry = entry.clone();
            entry.as_object_mut().map(|fields| fields.remove("time"));
            entry
        };
        entries
            .into_iter()
            .flatten()
            .map(timeless)
            .collect::<Vec<_>>()
    };
    let rest = |object: &Value| {
        let fields = object.as_object().into_iter().flatten();
        fields.filter(|(key, _)| *key != "metadata").count()
    };
    let same = same_metadata
        && rest(object) == rest(old)
        && old
            .as_object()
            .into_iter()
            .flatten()
            .all(|(key, value)| key == "metadata" || object.get(key) == Some(value));
    if same && owned(object) == owned(old) {
        let managed = old["metadata"].get("managedFields").cloned();
        if let Some(managed) = managed {
            metadata::of(object).insert("managedFields".into(), managed);
        }
    }
}
