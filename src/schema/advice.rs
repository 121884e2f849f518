//! What to write instead of a value that violates its schema.
//!
//! In: the value, and what the schema allows. Out: the help of the finding, if it is clear what to write. It does
//! not know where the value is.

use kube_schema::{Bound, Checks, Count, Type};

use crate::model::{Node, Value};

/// How to write the value so that it has the right type, if that is clear from the value.
pub(super) fn rewrite(expected: &[Type], node: &Node) -> Option<String> {
    let quoted = |text: &str| Some(format!("write it as \"{text}\", in quotes"));
    let bare = |text: &str| Some(format!("write it as {text}, without quotes"));
    match (expected.first()?, &node.value) {
        // YAML reads `0042` as 34: the text that was meant is unknown.
        (Type::String, Value::Int(number)) if is_plain(number, node) => quoted(&number.to_string()),
        (Type::String, Value::Int(_)) => Some("put quotes around it".into()),
        (Type::String, Value::Float(_, text)) => quoted(text),
        (Type::String, Value::Bool(_)) => Some("put quotes around it".into()),
        (Type::String, Value::List(_) | Value::Map(_)) => Some("write a string".into()),
        (Type::Integer, Value::String(text)) if text.parse::<i64>().is_ok() => bare(text),
        (Type::Number, Value::String(text)) if text.parse::<f64>().is_ok() => bare(text),
        (Type::Boolean, Value::String(text)) if matches!(&**text, "true" | "false") => bare(text),
        (Type::Array, Value::List(_) | Value::Null) => None,
        (Type::Array, _) => Some("write it as a list, with `- ` before each item".into()),
        (Type::Object, Value::List(items)) if items.len() == 1 => {
            Some("write it without the leading `- `".into())
        }
        _ => None,
    }
}

/// Whether a number is written in the digits that it has.
fn is_plain(number: &i64, node: &Node) -> bool {
    let span = node.span();
    let width = span.end.column.saturating_sub(span.start.column) as usize;
    span.start.line == span.end.line && number.to_string().len() == width
}

/// The help for a number or a text that is too small or too large.
pub(super) fn within(checks: &Checks, value: &Node) -> Option<String> {
    match &value.value {
        Value::String(text) => in_length(text.chars().count() as u64, checks.length),
        Value::Int(number) => in_range(*number as f64, checks.minimum, checks.maximum),
        Value::Float(number, _) => in_range(*number, checks.minimum, checks.maximum),
        _ => None,
    }
}

/// The help for a text of a wrong length.
fn in_length(length: u64, allowed: Count) -> Option<String> {
    let is_short = |min: &u64| length < *min;
    let is_long = |max: &u64| length > *max;
    match (allowed.min.filter(is_short), allowed.max.filter(is_long)) {
        (Some(1), _) => Some("write a value, or remove the field".to_owned()),
        (Some(min), _) => Some(format!("write at least {min} characters")),
        (_, Some(max)) => Some(format!("write at most {max} characters; this has {length}")),
        (None, None) => None,
    }
}

/// The help for a number outside of its range.
fn in_range(number: f64, min: Option<Bound>, max: Option<Bound>) -> Option<String> {
    let limit = |bound: Option<Bound>| Some(bound.filter(|bound| !bound.exclusive)?.limit);
    let (min, max) = (limit(min), limit(max));
    let is_outside = min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max);
    match (min, max) {
        _ if !is_outside => None,
        (Some(min), Some(max)) => Some(format!("write a number from {min} to {max}")),
        (Some(min), None) => Some(format!("write a number of at least {min}")),
        (None, Some(max)) => Some(format!("write a number of at most {max}")),
        (None, None) => None,
    }
}

/// The help for a value that a tool such as envsubst or Helm would replace.
pub(super) const TEMPLATE: &str =
    "variables and templates are not expanded: write the value itself, or set it in an overlay";

/// Whether a value is text with a variable or a template in it.
pub(super) fn is_template(node: &Node) -> bool {
    let has = |text: &str| text.contains("${") || text.contains("{{");
    node.as_str().is_some_and(has)
}
