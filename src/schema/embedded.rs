//! Whole Kubernetes objects within an object: `x-kubernetes-embedded-resource`.
//!
//! In: a schema and a value. Out: violations where an embedded resource has no usable apiVersion or
//! kind. Its metadata may be absent.

use serde_json::{Map, Value};

use crate::model::Path;

use super::structural::Schema;
use super::violation::{Violation, ViolationKind};
use super::wording::{quoted, value as shown};

/// The faults of the embedded resources below `value`.
pub(super) fn violations(schema: &Schema, value: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    visit(schema, value, &Path::default(), &mut found);
    found
}

fn visit(schema: &Schema, value: &Value, at: &Path, found: &mut Vec<Violation>) {
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource {
                resource(fields, at, found);
            }
            for (name, value) in fields {
                if let Some(wanted) = schema.field(name) {
                    visit(wanted, value, &at.key(name.as_str()), found);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(wanted) = &schema.items {
                    visit(wanted, item, &at.index(index), found);
                }
            }
        }
        _ => {}
    }
}

fn resource(fields: &Map<String, Value>, at: &Path, found: &mut Vec<Violation>) {
    for (name, fault) in [
        (
            "apiVersion",
            api_version_fault as fn(&str) -> Option<String>,
        ),
        ("kind", kind_fault),
    ] {
        let at = at.key(name);
        let invalid = |found: String, why: &str| {
            let message = format!("Invalid value: {found}: {why}");
            Violation::new(&at, ViolationKind::NotAllowed, message)
        };
        match fields.get(name) {
            None => found.push(Violation::new(
                &at,
                ViolationKind::Missing,
                "Required value",
            )),
            Some(Value::String(text)) if text.is_empty() => {
                found.push(invalid(quoted(""), "must not be empty"));
            }
            Some(Value::String(text)) => {
                found.extend(fault(text).map(|why| invalid(quoted(text), &why)));
            }
            Some(other) => found.push(invalid(shown(other), "must be a string")),
        }
    }
    if let Some(metadata) = fields.get("metadata").filter(|m| !m.is_object()) {
        let message = format!("Invalid value: {}: must be an object", shown(metadata));
        found.push(Violation::new(
            &at.key("metadata"),
            ViolationKind::NotAllowed,
            message,
        ));
    }
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
