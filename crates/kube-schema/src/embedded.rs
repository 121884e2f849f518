//! Whole Kubernetes objects within an object: `x-kubernetes-embedded-resource`.
//!
//! In: a schema and a value. Out: violations where an embedded resource has no usable apiVersion or
//! kind. Its metadata may be absent.

use serde_json::{Map, Value};

use super::at::At;
use super::structural::Schema;
use super::violation::{Violation, ViolationKind};
use super::walk::walk;
use super::wording::{quoted, value as shown};

/// The faults of the embedded resources below `value`.
pub fn violations(schema: &Schema, value: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    walk(schema, value, &At::ROOT, &mut |schema, value, at| {
        if let Some(fields) = value.as_object().filter(|_| schema.embedded_resource) {
            found.extend(text_fault(fields, "apiVersion", at, api_version_fault));
            found.extend(text_fault(fields, "kind", at, kind_fault));
            found.extend(metadata_fault(fields, at));
        }
    });
    found
}

fn text_fault(
    fields: &Map<String, Value>,
    name: &str,
    at: &At<'_>,
    fault: fn(&str) -> Option<String>,
) -> Option<Violation> {
    let at = at.key(name);
    let invalid = |found: String, why: &str| {
        let message = format!("Invalid value: {found}: {why}");
        Some(Violation::new(&at, ViolationKind::NotAllowed, message))
    };
    match fields.get(name) {
        None => Some(Violation::new(
            &at,
            ViolationKind::Missing,
            "Required value",
        )),
        Some(Value::String(text)) if text.is_empty() => invalid(quoted(""), "must not be empty"),
        Some(Value::String(text)) => invalid(quoted(text), &fault(text)?),
        Some(other) => invalid(shown(other), "must be a string"),
    }
}

fn metadata_fault(fields: &Map<String, Value>, at: &At<'_>) -> Option<Violation> {
    let metadata = fields.get("metadata").filter(|m| !m.is_object())?;
    let message = format!("Invalid value: {}: must be an object", shown(metadata));
    let at = at.key("metadata");
    Some(Violation::new(&at, ViolationKind::NotAllowed, message))
}

fn api_version_fault(text: &str) -> Option<String> {
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

/// A kind in lower case is a DNS label that begins with a letter (RFC 1035).
fn kind_fault(text: &str) -> Option<String> {
    let label = text.to_lowercase();
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = label.len() <= 63
        && label.starts_with(|c: char| c.is_ascii_lowercase())
        && !label.ends_with('-')
        && label.chars().all(inner);
    (!fits).then(|| {
        "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower \
         case alphanumeric characters or '-', start with an alphabetic character, and end with an \
         alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
         '[a-z]([-a-z0-9]*[a-z0-9])?')"
            .into()
    })
}
