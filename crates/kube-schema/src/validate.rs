//! Does a value fit its schema?
//!
//! In: a [`Schema`] and a value, and the value it replaces. Out: [`Violation`]s in the API server's
//! words and order. What the API server does in four passes (unknown fields, the schema itself,
//! embedded resources, unique list keys) is in four files; this one runs them and does the second.
//! Rules are a fifth, see `verdict`. It does not know where the value was written, and does not change
//! it.
//!
//! Two deliberate differences: the API server lets a list through where a string with a format is
//! wanted, and cuts a fraction off before it looks for a number among allowed whole ones; we do not.

use std::collections::HashSet;

use serde_json::Value;

use super::at::At;
use super::outcome::Outcome;
use super::ratchet::Pair;
use super::structural::{Additional, Checks, Schema, Type};
use super::violation::{Violation, ViolationKind};
use super::wording::quoted;
use super::{embedded, limits, lists, prune};

/// What to do with fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Each is a violation, as `fieldValidation=Strict` has it.
    Reject,
    /// They are pruned later and not spoken of.
    Ignore,
}

/// The ways in which `value`, a whole object or a part of one, does not fit `schema`.
#[must_use]
pub fn validate(schema: &Schema, value: &Value, unknown: Unknown) -> Vec<Violation> {
    let mut violations = Vec::new();
    if unknown == Unknown::Reject {
        violations.extend(prune::unknown_fields(schema, value));
    }
    violations.extend(by_schema(schema, value, None));
    violations.extend(embedded::violations(schema, value));
    violations.extend(lists::violations(schema, value));
    violations
}

/// What the schema itself has against `value`. Parts that did not change are tolerated when the value
/// goes on from another.
pub fn by_schema(schema: &Schema, value: &Value, pair: Option<Pair<'_>>) -> Vec<Violation> {
    once(part(schema, value, pair, &At::ROOT).violations)
}

/// Each violation once: several schemas may have found the same.
fn once(mut violations: Vec<Violation>) -> Vec<Violation> {
    let mut seen = HashSet::new();
    violations.retain(|v| seen.insert((v.field.clone(), v.message.clone())));
    violations
}

/// One schema against a part of a value, unless that is what it was.
fn part(schema: &Schema, value: &Value, pair: Option<Pair<'_>>, at: &At<'_>) -> Outcome {
    let outcome = against(schema, value, pair, at);
    match outcome.is_fine() || !pair.is_some_and(Pair::is_unchanged) {
        true => outcome,
        false => Outcome::fine(),
    }
}

/// One schema against one value, its parts included.
fn against(schema: &Schema, value: &Value, pair: Option<Pair<'_>>, at: &At<'_>) -> Outcome {
    let mut outcome = Outcome::fine();
    let format = schema.known_format();
    let nothing = Checks::default();
    let checks = schema.checks.as_deref().unwrap_or(&nothing);
    if value.is_null() {
        outcome.merge(null(schema, at));
        outcome.merge(limits::allowed(checks, value, at));
        return outcome;
    }
    let mut step = |result: Outcome| {
        outcome.merge(result);
        outcome.count();
    };
    if !schema.types.is_empty() || format.is_some() {
        step(of_type(schema, value, at));
    }
    step(combined(checks, value, at));
    match value {
        Value::String(text) => {
            step(limits::text(checks, text, at));
            if let Some(format) = format {
                step(limits::format(format, text, at));
            }
        }
        Value::Number(number) => step(limits::number(checks, number, at)),
        Value::Array(items) => step(list(schema, checks, items, pair, at)),
        _ => {}
    }
    step(limits::allowed(checks, value, at));
    if let Value::Object(fields) = value {
        step(map(schema, checks, fields, pair, at));
    }
    outcome.count();
    outcome
}

fn null(schema: &Schema, at: &At<'_>) -> Outcome {
    if schema.nullable || (schema.types.is_empty() && !schema.int_or_string) {
        let mut outcome = Outcome::fine();
        outcome.count();
        return outcome;
    }
    wrong_type(schema, "null", at)
}

fn of_type(schema: &Schema, value: &Value, at: &At<'_>) -> Outcome {
    if schema.types.is_empty() || schema.types.iter().any(|wanted| fits(*wanted, value)) {
        let mut outcome = Outcome::fine();
        outcome.count();
        return outcome;
    }
    let is_number = |wanted: &Type| matches!(wanted, Type::Integer | Type::Number);
    match schema.known_format() {
        // Nor does it look at these where the format is not one of numbers.
        Some(_)
            if (value.is_string() || value.is_array()) && !schema.types.iter().any(is_number) =>
        {
            let mut outcome = Outcome::fine();
            outcome.count();
            outcome
        }
        // With a format, the API server compares formats for everything but strings and lists.
        Some(format) if !value.is_string() && !value.is_array() => {
            let found = match value {
                Value::Number(number) if number.is_i64() => "int64",
                Value::Number(_) => "float64",
                _ => "",
            };
            type_violation(schema, format, found, at)
        }
        _ => wrong_type(schema, type_name(value), at),
    }
}

fn wrong_type(schema: &Schema, found: &str, at: &At<'_>) -> Outcome {
    let wanted: Vec<&str> = schema.types.iter().map(|wanted| wanted.name()).collect();
    type_violation(schema, &wanted.join(","), found, at)
}

fn type_violation(schema: &Schema, wanted: &str, found: &str, at: &At<'_>) -> Outcome {
    let found = quoted(found);
    let message = format!(
        "Invalid value: {found}: {} in body must be of type {wanted}: {found}",
        at.written()
    );
    let expected = schema.types.clone();
    Outcome::wrong(Violation::new(
        at,
        ViolationKind::WrongType { expected },
        message,
    ))
}

/// The greatest whole number up to which every whole number is a float.
const MAX_WHOLE_FLOAT: f64 = 9_007_199_254_740_991.0;

/// Whole numbers fit `number`, and numbers without a fraction fit `integer` unless they are so large
/// that they may have lost one.
pub(crate) fn fits(wanted: Type, value: &Value) -> bool {
    match (wanted, value) {
        (Type::Object, Value::Object(_))
        | (Type::Array, Value::Array(_))
        | (Type::String, Value::String(_))
        | (Type::Number, Value::Number(_))
        | (Type::Boolean, Value::Bool(_)) => true,
        (Type::Integer, Value::Number(number)) => {
            let whole = |float: f64| float.fract() == 0.0 && float.abs() <= MAX_WHOLE_FLOAT;
            number.is_i64() || number.as_f64().is_some_and(whole)
        }
        _ => false,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn list(
    schema: &Schema,
    checks: &Checks,
    items: &[Value],
    pair: Option<Pair<'_>>,
    at: &At<'_>,
) -> Outcome {
    let mut outcome = Outcome::fine();
    if let Some(wanted) = schema.items.as_deref() {
        for (index, item) in items.iter().enumerate() {
            let pair = pair.and_then(|pair| pair.item(index));
            outcome.merge(part(wanted, item, pair, &at.index(index)));
        }
    }
    outcome.merge(limits::items(checks, items, at));
    outcome.count();
    outcome
}

fn map(
    schema: &Schema,
    checks: &Checks,
    fields: &serde_json::Map<String, Value>,
    pair: Option<Pair<'_>>,
    at: &At<'_>,
) -> Outcome {
    // The type of an object is never what it was: both versions of it were converted to the same.
    let is_type = |name: &str| at.is_root() && matches!(name, "apiVersion" | "kind");
    let below = |name: &str| pair.filter(|_| !is_type(name))?.field(name);
    let mut outcome = limits::fields(checks, fields.len(), at);
    let others = fields
        .iter()
        .filter(|(name, _)| !schema.properties.contains_key(*name));
    match &schema.additional {
        Additional::Schema(wanted) => {
            for (name, value) in others {
                outcome.merge(part(wanted, value, below(name), &at.key(name)));
            }
        }
        Additional::Any(false) => {
            for (name, _) in others {
                outcome.add(limits::forbidden(name, at));
            }
        }
        Additional::Any(true) | Additional::Unsaid => {}
    }
    for (name, wanted) in &schema.properties {
        if let Some(value) = fields.get(name) {
            outcome.merge(part(wanted, value, below(name), &at.key(name)));
        }
    }
    for name in checks
        .required
        .iter()
        .filter(|name| !fields.contains_key(*name))
    {
        let at = at.key(name);
        let missing = Violation::new(&at, ViolationKind::Missing, "Required value");
        outcome.add(missing);
    }
    outcome
}

/// `anyOf`, `oneOf`, `allOf` and `not`. What is wrong within those is not tolerated by itself.
fn combined(checks: &Checks, value: &Value, at: &At<'_>) -> Outcome {
    let mut outcome = Outcome::fine();
    if !checks.any_of.is_empty() {
        outcome.merge(any_of(&checks.any_of, value, at));
    }
    if !checks.one_of.is_empty() {
        outcome.merge(one_of(&checks.one_of, value, at));
    }
    if !checks.all_of.is_empty() {
        outcome.merge(all_of(&checks.all_of, value, at));
    }
    if let Some(not) = &checks.not
        && against(not, value, None, at).is_fine()
    {
        outcome.add(unfit(at, "must not validate the schema (not)"));
    }
    outcome.count();
    outcome
}

fn unfit(at: &At<'_>, why: &str) -> Violation {
    let message = format!("Invalid value: \"\": {} {why}", quoted(&at.written()));
    Violation::nowhere(at, message)
}

fn any_of(arms: &[Schema], value: &Value, at: &At<'_>) -> Outcome {
    let mut best: Option<Outcome> = None;
    for arm in arms {
        let outcome = against(arm, value, None, at);
        if outcome.is_fine() {
            return outcome;
        }
        best = Some(better(best, outcome));
    }
    let mut outcome = Outcome::wrong(unfit(at, "must validate at least one schema (anyOf)"));
    outcome.merge(best.unwrap_or_default());
    outcome
}

fn better(best: Option<Outcome>, other: Outcome) -> Outcome {
    match best {
        Some(best) if best.applied >= other.applied => best,
        _ => other,
    }
}

fn one_of(arms: &[Schema], value: &Value, at: &At<'_>) -> Outcome {
    let outcomes = arms.iter().map(|arm| against(arm, value, None, at));
    let (fine, wrong): (Vec<_>, Vec<_>) = outcomes.partition(Outcome::is_fine);
    let only = "must validate one and only one schema (oneOf).";
    match fine.len() {
        1 => fine.into_iter().next().unwrap_or_default(),
        0 => {
            let mut outcome = Outcome::wrong(unfit(at, &format!("{only} Found none valid")));
            let best = wrong
                .into_iter()
                .fold(None, |best, o| Some(better(best, o)));
            outcome.merge(best.unwrap_or_default());
            outcome
        }
        several => {
            let found = format!("{only} Found {several} valid alternatives");
            Outcome::wrong(unfit(at, &found))
        }
    }
}

fn all_of(arms: &[Schema], value: &Value, at: &At<'_>) -> Outcome {
    let mut outcome = Outcome::fine();
    let mut fine = 0;
    for arm in arms {
        let result = against(arm, value, None, at);
        fine += usize::from(result.is_fine());
        outcome.merge(result);
    }
    if fine < arms.len() {
        let none = if fine == 0 { ". None validated" } else { "" };
        let why = format!("must validate all the schemas (allOf){none}");
        outcome.add(unfit(at, &why));
    }
    outcome
}
