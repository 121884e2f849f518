//! Whether a document surely fits its schema: most do, and this is quick to see.
//!
//! In: a schema and a document. Out: true if there are no violations, and false if nobody knows. It makes no copy, and
//! leaves all that is rare to the check that also says what is wrong.

use kube_schema::{Additional, Checks, Count, ListKind, Schema, Type};

use crate::model::{Map, Node, Value};

/// The fields of a whole object that no schema names.
const OF_OBJECTS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Returns true if `node`, a whole object, has nothing that `schema` rules out.
pub(super) fn fits(schema: &Schema, node: &Node) -> bool {
    match &node.value {
        Value::Map(map) => {
            let is_object = |name: &str| OF_OBJECTS.contains(&name);
            is_plain(schema) && is_of(schema, Type::Object) && holds(schema, map, is_object)
        }
        _ => within(schema, node),
    }
}

fn within(schema: &Schema, node: &Node) -> bool {
    let checks = schema.checks.as_deref();
    is_plain(schema)
        && match &node.value {
            Value::Null | Value::Float(..) => false,
            Value::Bool(_) => is_of(schema, Type::Boolean) && has_no_values(checks),
            Value::Int(_) => is_number(schema) && has_no_values(checks),
            Value::String(text) => {
                is_text(schema) && checks.is_none_or(|checks| says(checks, text))
            }
            Value::List(items) => is_of(schema, Type::Array) && lists(schema, items),
            Value::Map(map) => is_of(schema, Type::Object) && holds(schema, map, |_| false),
        }
}

/// Whether a schema says what it allows at one place, and nothing that must be compared.
fn is_plain(schema: &Schema) -> bool {
    let is_simple = |checks: &Checks| {
        checks.all_of.is_empty()
            && checks.any_of.is_empty()
            && checks.one_of.is_empty()
            && checks.not.is_none()
            && checks.format.is_none()
    };
    !schema.embedded_resource && schema.checks.as_deref().is_none_or(is_simple)
}

fn is_of(schema: &Schema, wanted: Type) -> bool {
    schema.types.contains(&wanted)
}

fn is_number(schema: &Schema) -> bool {
    schema.int_or_string || is_of(schema, Type::Integer) || is_of(schema, Type::Number)
}

fn is_text(schema: &Schema) -> bool {
    schema.int_or_string || is_of(schema, Type::String)
}

/// Whether all values of a type are allowed.
fn has_no_values(checks: Option<&Checks>) -> bool {
    checks.is_none_or(|checks| {
        checks.allowed.is_empty()
            && checks.minimum.is_none()
            && checks.maximum.is_none()
            && checks.multiple_of.is_none()
    })
}

fn says(checks: &Checks, text: &str) -> bool {
    let is_allowed = checks.allowed.is_empty()
        || checks
            .allowed
            .iter()
            .any(|allowed| allowed.as_str() == Some(text));
    let matches = |pattern: &kube_schema::Pattern| pattern.matches(text);
    is_allowed
        && counts(checks.length, text.chars().count())
        && checks.pattern.as_ref().is_none_or(matches)
}

fn counts(count: Count, number: usize) -> bool {
    let number = number as u64;
    count.min.is_none_or(|min| number >= min) && count.max.is_none_or(|max| number <= max)
}

fn lists(schema: &Schema, items: &[Node]) -> bool {
    let checks = schema.checks.as_deref();
    let is_counted = checks.is_none_or(|checks| {
        checks.allowed.is_empty() && !checks.unique_items && counts(checks.items, items.len())
    });
    let is_apart = schema.list == ListKind::Atomic || items.len() < 2;
    let item = schema.items.as_deref();
    is_counted && is_apart && item.is_some_and(|item| items.iter().all(|node| within(item, node)))
}

fn holds(schema: &Schema, map: &Map, is_known: impl Fn(&str) -> bool) -> bool {
    let checks = schema.checks.as_deref();
    let is_whole = checks.is_none_or(|checks| {
        let is_there = |name: &String| map.get(name).is_some();
        checks.allowed.is_empty()
            && counts(checks.fields, map.len())
            && checks.required.iter().all(is_there)
    });
    let has_defaults = schema.properties.values().any(|one| one.default.is_some());
    is_whole
        && !has_defaults
        && map.iter().all(|(key, node)| {
            let field = match (schema.properties.get(&*key.name), &schema.additional) {
                (Some(named), _) => Some(named),
                (None, Additional::Schema(other)) => Some(&**other),
                (None, Additional::Any(_)) => return false,
                (None, Additional::Unsaid) => None,
            };
            match field {
                Some(field) => within(field, node),
                None => schema.preserve_unknown || is_known(&key.name),
            }
        })
}
