//! Whether a change may be sent to an existing object (DESIGN §6, §7).
//!
//! In: the live object, the payload, and whether the revision has been applied before. Out: why the
//! payload is not sent, if so. It does not know how objects are read or sent.

use serde_json::Value as Json;

use super::{Consequence, consequences, is_plain};
use crate::health::Live;
use crate::model::{Path, Segment};
use kube_schema::{Element, FieldSet, Managed, Operation};

/// Why a step is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Withheld {
    /// A field cannot be changed, or not like this.
    #[error("{0}")]
    Impossible(String),
    /// It replaces nodes, and no commit asked for that.
    #[error(
        "the revision is unchanged, so nobody asked to replace nodes ({0}); push a commit to continue"
    )]
    Rolls(String),
    /// Its identity does not allow its namespace.
    #[error("{0}")]
    Identity(String),
    /// Its identity does not exist.
    #[error("{0}")]
    NoIdentity(String),
}

/// Whether `sent` may be applied to `live`. `unchanged` means that the revision has been fully applied
/// before, so that a change comes from another binary or another version of a CRD.
///
/// # Errors
/// If it would replace something, if Azure would refuse it, or if it replaces nodes without a request.
pub fn gate(live: &Json, sent: &Json, manager: &str, unchanged: bool) -> Result<(), Withheld> {
    let managers = Managed::read(live).unwrap_or_default();
    let mut found = consequences(live, &would_be(live, sent, manager));
    // Fields overwritten by others do not count: the server reports their managers.
    found.retain(|one| !is_others(&managers, manager, &one.field));
    let mut impossible = found.iter().filter(|one| one.is_error());
    if let Some(first) = impossible.next() {
        let more = match impossible.count() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let (message, help) = (first.message(), first.help());
        return Err(Withheld::Impossible(format!("{message}{more}; {help}")));
    }
    match found.is_empty() || !unchanged {
        true => Ok(()),
        false => Err(Withheld::Rolls(fields(&found))),
    }
}

/// Whether a field is owned, and not by `manager`.
fn is_others(managers: &[Managed], manager: &str, field: &Path) -> bool {
    let keys = field.0.iter().map_while(|segment| match segment {
        Segment::Key(name) => Some(Element::field(name)),
        Segment::Index(_) => None,
    });
    let path: Vec<Element> = keys.collect();
    let owners = managers.iter().filter(|entry| owns(&entry.fields, &path));
    let mut owners = owners.peekable();
    owners.peek().is_some() && owners.all(|entry| entry.manager != manager)
}

/// Whether the value at `path`, or one that it is part of, is in `fields` as a whole.
fn owns(fields: &FieldSet, path: &[Element]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return false;
    };
    match fields.below(first) {
        Some(inner) => owns(inner, rest),
        None => fields.has(first),
    }
}

/// The changed fields, for people.
fn fields(found: &[Consequence]) -> String {
    let field = |one: &Consequence| format!("{} of {}", one.field, one.part);
    found.iter().map(field).collect::<Vec<_>>().join(", ")
}

/// What `live` would be after an apply of `sent` as `manager`, as far as that can be predicted without the
/// server: fields that the manager owned and no longer sends are gone. Lists of custom kinds are whole
/// values, which is the default of their definitions.
#[must_use]
pub fn would_be(live: &Json, sent: &Json, manager: &str) -> Json {
    let mut after = live.clone();
    for entry in Managed::read(live).unwrap_or_default() {
        let ours = entry.manager == manager && entry.operation == Operation::Apply;
        if !ours || !entry.subresource.is_empty() {
            continue;
        }
        for path in entry.fields.paths() {
            let keys: Option<Vec<&str>> = path.0.iter().map(key).collect();
            if let Some(keys) = keys
                && !has(sent, &keys)
            {
                drop_at(&mut after, &keys);
            }
        }
    }
    merge(&mut after, sent, is_plain(Live(sent).group()));
    after
}

fn key(element: &Element) -> Option<&str> {
    match element {
        Element::Field(name) => Some(name),
        _ => None,
    }
}

fn has(json: &Json, keys: &[&str]) -> bool {
    keys.iter()
        .try_fold(json, |value, key| value.get(key))
        .is_some()
}

fn drop_at(json: &mut Json, keys: &[&str]) {
    match keys {
        [] => {}
        [last] => {
            if let Some(members) = json.as_object_mut() {
                members.remove(*last);
            }
        }
        [first, rest @ ..] => {
            if let Some(inner) = json.get_mut(first) {
                drop_at(inner, rest);
            }
        }
    }
}

/// Kubernetes' own lists have `items` with defaults, which stay as they are.
fn merge(into: &mut Json, from: &Json, items: bool) {
    match (into, from) {
        (Json::Object(into), Json::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name.clone()).or_insert(Json::Null), value, items);
            }
        }
        (Json::Array(into), Json::Array(from)) if items && into.len() == from.len() => {
            for (into, from) in into.iter_mut().zip(from) {
                merge(into, from, items);
            }
        }
        (into, from) => into.clone_from(from),
    }
}
