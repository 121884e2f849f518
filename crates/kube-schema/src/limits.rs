//! What one value must hold to beside its type: lengths, ranges, patterns, formats, enums.
//!
//! In: the checks of a schema and a value of the right kind. Out: violations in the API server's
//! words. It does not walk into values.

use std::collections::HashSet;

use serde_json::{Number, Value};

use super::at::At;
use super::formats;
use super::order::same;
use super::outcome::Outcome;
use super::structural::{Bound, Checks, Schema};
use super::violation::{Violation, ViolationKind};
use super::wording::{encoded, float, quoted, value};

impl Schema {
    /// The format, when the API server checks it.
    pub(crate) fn known_format(&self) -> Option<&str> {
        let format = self.checks.as_ref()?.format.as_deref()?;
        formats::is_known(format).then_some(format)
    }
}

fn not_allowed(at: &At<'_>, message: String) -> Violation {
    Violation::new(at, ViolationKind::NotAllowed, message)
}

/// `Invalid value: <value>: <path> in body <why>`
fn invalid(at: &At<'_>, shown: &str, why: &str) -> Violation {
    let message = format!("Invalid value: {shown}: {} in body {why}", at.written());
    not_allowed(at, message)
}

/// A string's length and pattern; the first that fails is reported.
pub(crate) fn text(checks: &Checks, text: &str, at: &At<'_>) -> Outcome {
    let length = text.chars().count() as u64;
    if let Some(max) = checks.length.max.filter(|max| length > *max) {
        let bytes = if max == 1 { "byte" } else { "bytes" };
        return Outcome::wrong(not_allowed(
            at,
            format!("Too long: may not be more than {max} {bytes}"),
        ));
    }
    if let Some(min) = checks.length.min.filter(|min| length < *min) {
        let why = format!("should be at least {min} chars long");
        return Outcome::wrong(invalid(at, &quoted(text), &why));
    }
    match &checks.pattern {
        Some(pattern) if !pattern.matches(text) => {
            let why = format!("should match '{}'", pattern.text());
            Outcome::wrong(invalid(at, &quoted(text), &why))
        }
        _ => Outcome::fine(),
    }
}

/// A string's format.
pub(crate) fn format(format: &str, text: &str, at: &At<'_>) -> Outcome {
    if formats::fits(format, text) {
        return Outcome::fine();
    }
    let shown = quoted(text);
    let why = format!("must be of type {format}: {shown}");
    let violation = invalid(at, &shown, &why);
    Outcome::wrong(Violation {
        kind: ViolationKind::WrongFormat,
        ..violation
    })
}

/// A number's range and factor.
pub(crate) fn number(checks: &Checks, number: &Number, at: &At<'_>) -> Outcome {
    let mut outcome = Outcome::fine();
    let shown = value(&Value::Number(number.clone()));
    if let Some(factor) = checks.multiple_of {
        outcome.merge(multiple(number, factor, &shown, at));
    }
    if let Some(min) = checks.minimum.filter(|min| beyond(number, *min, false)) {
        let than = if min.exclusive {
            "than"
        } else {
            "than or equal to"
        };
        let why = format!("should be greater {than} {}", limit(number, min.limit));
        outcome.add(invalid(at, &shown, &why));
    }
    if let Some(max) = checks.maximum.filter(|max| beyond(number, *max, true)) {
        let than = if max.exclusive {
            "than"
        } else {
            "than or equal to"
        };
        let why = format!("should be less {than} {}", limit(number, max.limit));
        outcome.add(invalid(at, &shown, &why));
    }
    outcome.count();
    outcome
}

/// A limit as it is compared: cut to a whole number for whole numbers.
fn limit(number: &Number, limit: f64) -> String {
    if number.is_i64() {
        (limit as i64).to_string()
    } else {
        float(limit)
    }
}

/// Whether `number` lies outside `bound`, above it or below it.
fn beyond(number: &Number, bound: Bound, above: bool) -> bool {
    let order = match number.as_i64() {
        Some(int) => Some(int.cmp(&(bound.limit as i64))),
        None => number.as_f64().and_then(|f| f.partial_cmp(&bound.limit)),
    };
    order.is_some_and(|order| {
        let outside = if above { order.is_gt() } else { order.is_lt() };
        outside || (bound.exclusive && order.is_eq())
    })
}

/// A factor is cut to a whole number for whole numbers, and nothing is a multiple of zero.
fn multiple(number: &Number, factor: f64, shown: &str, at: &At<'_>) -> Outcome {
    let whole = number.as_i64().map(|int| (int, factor as i64));
    let positive = whole.map_or(factor > 0.0, |(_, factor)| factor > 0);
    if !positive {
        let factor = limit(number, factor);
        let at_path = at.written();
        let why = format!("factor MultipleOf declared for {at_path} must be positive: {factor}");
        return Outcome::wrong(not_allowed(at, format!("Invalid value: {factor}: {why}")));
    }
    let fits = match whole {
        Some((int, factor)) => int % factor == 0,
        None => is_whole(number.as_f64().unwrap_or_default(), factor),
    };
    if fits {
        return Outcome::fine();
    }
    let why = format!("should be a multiple of {}", limit(number, factor));
    Outcome::wrong(invalid(at, shown, &why))
}

/// Whether `number` divided by `factor` is whole, but for rounding.
fn is_whole(number: f64, factor: f64) -> bool {
    let times = if factor < 1.0 {
        1.0 / factor * number
    } else {
        number / factor
    };
    (times - times.round()).abs() < 1e-9
}

/// How many items a list has, and whether they differ.
pub(crate) fn items(checks: &Checks, items: &[Value], at: &At<'_>) -> Outcome {
    let mut outcome = Outcome::fine();
    let length = items.len() as u64;
    if let Some(min) = checks.items.min.filter(|min| length < *min) {
        let why = format!("should have at least {min} items");
        outcome.add(invalid(at, &length.to_string(), &why));
    }
    if let Some(max) = checks.items.max.filter(|max| length > *max) {
        outcome.add(too_many(at, length, max));
    }
    let mut seen = HashSet::new();
    if checks.unique_items && !items.iter().all(|item| seen.insert(item.to_string())) {
        outcome.add(invalid(at, "\"\"", "shouldn't contain duplicates"));
    }
    outcome
}

/// How many fields a map has.
pub(crate) fn fields(checks: &Checks, length: usize, at: &At<'_>) -> Outcome {
    let mut outcome = Outcome::fine();
    let length = length as u64;
    if let Some(min) = checks.fields.min.filter(|min| length < *min) {
        let why = format!("should have at least {min} properties");
        outcome.add(invalid(at, &length.to_string(), &why));
    }
    if let Some(max) = checks.fields.max.filter(|max| length > *max) {
        outcome.add(too_many(at, length, max));
    }
    outcome
}

fn too_many(at: &At<'_>, length: u64, max: u64) -> Violation {
    let items = if max == 1 { "item" } else { "items" };
    let message = format!("Too many: {length}: must have at most {max} {items}");
    not_allowed(at, message)
}

/// A field where `additionalProperties: false` allows none.
pub(crate) fn forbidden(name: &str, at: &At<'_>) -> Violation {
    let message = format!(
        "Invalid value: {}: {}.{name} in body is a forbidden property",
        quoted(name),
        at.written()
    );
    Violation::new(at, ViolationKind::Other, message)
}

/// Whether `found` is one of the values that are allowed, when any are named. Null is, when it is named,
/// where schemars describes an optional enum; for an API server it never is.
pub(crate) fn allowed(checks: &Checks, found: &Value, at: &At<'_>) -> Outcome {
    let allowed = &checks.allowed;
    let never = checks.never_null && found.is_null();
    if allowed.is_empty() || (!never && allowed.iter().any(|value| same(value, found))) {
        return Outcome::fine();
    }
    let names: Vec<String> = allowed
        .iter()
        .map(|value| match value {
            Value::String(text) => quoted(text),
            other => quoted(&encoded(other)),
        })
        .collect();
    let message = format!(
        "Unsupported value: {}: supported values: {}",
        value(found),
        names.join(", ")
    );
    Outcome::wrong(not_allowed(at, message))
}
