//! The kinds that operators and functions take and return.
//!
//! In: the name of an operator or function and the kinds of its operands. Out: the kind of its value, or
//! the error of the API server's checker. Of syntax trees it knows only literals.

use std::fmt::Display;

use kube_cel::cel::common::ast::{LiteralValue, operators as op};

use super::kinds::Kind;
use super::names::unescape;

/// A kind or an error.
pub(super) type Checked<'a> = Result<Kind<'a>, String>;

/// The kind of the values in a list or map literal, which must all be of one kind: `known` is the kind of
/// the first ones, `kind` that of the next.
pub(super) fn unify<'a>(known: Option<Kind<'a>>, kind: Kind<'a>) -> Checked<'a> {
    match known {
        None => Ok(kind),
        Some(known) if known.is_like(&kind) => Ok(known.or(kind)),
        Some(known) => Err(format!("expected type '{known}' but found '{kind}'")),
    }
}

/// The kind of a literal.
pub(super) fn literal_kind<'a>(literal: &LiteralValue) -> Kind<'a> {
    match literal {
        LiteralValue::Boolean(_) => Kind::Bool,
        LiteralValue::Bytes(_) => Kind::Bytes,
        LiteralValue::Double(_) => Kind::Double,
        LiteralValue::Int(_) => Kind::Int,
        LiteralValue::Null => Kind::Null,
        LiteralValue::String(_) => Kind::Text,
        LiteralValue::UInt(_) => Kind::Uint,
    }
}

/// The kind of the field `name` of a value.
pub(super) fn field<'a>(operand: &Kind<'a>, name: &str) -> Checked<'a> {
    match operand {
        Kind::Any => Ok(Kind::Any),
        Kind::Map(values) => Ok((**values).clone()),
        Kind::Optional(inner) => field(inner, name).map(Kind::optional),
        Kind::Object(place) => {
            let known = unescape(name).and_then(|name| place.field(&name));
            match known.filter(|place| place.is_exposed()) {
                Some(place) => Ok(Kind::of(place)),
                None => Err(format!("undefined field '{name}'")),
            }
        }
        other => Err(format!("type '{other}' does not support field selection")),
    }
}

/// Checks that a condition is a boolean.
pub(super) fn must_be_bool(operator: &str, kind: &Kind<'_>) -> Result<(), String> {
    match kind {
        Kind::Any | Kind::Bool => Ok(()),
        other => Err(no_overload(operator, other)),
    }
}

/// The error for a macro on a value that is neither a list nor a map.
pub(super) fn no_range(kind: &Kind<'_>) -> String {
    format!(
        "expression of type '{kind}' cannot be range of a comprehension (must be list, map, or dynamic)"
    )
}

/// The error for an operator or function that is not defined for these operands.
pub(super) fn no_overload(name: &str, operands: impl Display) -> String {
    format!("found no matching overload for '{name}' applied to '({operands})'")
}

/// The kind of `a name b`.
pub(super) fn operator<'a>(name: &str, a: Kind<'a>, b: Kind<'a>) -> Checked<'a> {
    let none = || Err(no_overload(name, format!("{a}, {b}")));
    match name {
        op::LOGICAL_AND | op::LOGICAL_OR => {
            must_be_bool(name, &a)?;
            must_be_bool(name, &b)?;
            Ok(Kind::Bool)
        }
        op::EQUALS | op::NOT_EQUALS if !a.is_like(&b) => none(),
        op::EQUALS | op::NOT_EQUALS => Ok(Kind::Bool),
        op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS => {
            match a.is_comparable_to(&b) {
                true => Ok(Kind::Bool),
                false => none(),
            }
        }
        op::IN => match &b {
            Kind::List(items) if !items.is_like(&a) => none(),
            Kind::Map(_) if !a.is_like(&Kind::Text) => none(),
            Kind::Any | Kind::List(_) | Kind::Map(_) => Ok(Kind::Bool),
            _ => none(),
        },
        op::INDEX => match (&a, &b) {
            (Kind::List(items), Kind::Int | Kind::Any) => Ok((**items).clone()),
            (Kind::Map(values), Kind::Text | Kind::Any) => Ok((**values).clone()),
            (Kind::Any | Kind::Optional(_), _) => Ok(Kind::Any),
            _ => none(),
        },
        op::ADD | op::SUBSTRACT | op::MULTIPLY | op::DIVIDE | op::MODULO => arithmetic(name, a, b),
        _ => Ok(Kind::Any),
    }
}

/// Timestamps and durations can be mixed; otherwise both operands must be of one kind.
fn arithmetic<'a>(name: &str, a: Kind<'a>, b: Kind<'a>) -> Checked<'a> {
    let is_time = |kind: &Kind<'_>| matches!(kind, Kind::Duration | Kind::Timestamp);
    match (&a, &b) {
        (Kind::Any, _) | (_, Kind::Any) => Ok(a.or(b)),
        (a, b) if is_time(a) && is_time(b) => Ok(Kind::Any),
        (Kind::Int | Kind::Uint | Kind::Double, _) if a.is_like(&b) => Ok(a),
        (Kind::Text | Kind::Bytes | Kind::List(_), _) if name == op::ADD && a.is_like(&b) => {
            Ok(a.or(b))
        }
        _ => Err(no_overload(name, format!("{a}, {b}"))),
    }
}

/// Whether a function takes an argument of that kind.
pub(super) fn takes(name: &str, kind: &Kind<'_>) -> bool {
    match name {
        "startsWith" | "endsWith" | "contains" | "matches" | "find" | "join" => {
            matches!(kind, Kind::Text | Kind::Any)
        }
        _ => true,
    }
}

/// The kind of the value in an optional value.
pub(super) fn optional<'a>(name: &str, subject: &Kind<'a>) -> Checked<'a> {
    match subject {
        Kind::Optional(kind) => Ok((**kind).clone()),
        Kind::Any => Ok(Kind::Any),
        other => Err(no_overload(name, other)),
    }
}

/// The kind that a function returns, if that matters for checks. `subject` is the value it is called on,
/// or its first argument.
pub(super) fn result<'a>(name: &str, subject: &Kind<'a>) -> Checked<'a> {
    let of_text = |kind: Kind<'a>| match subject {
        Kind::Text | Kind::Any => Ok(kind),
        other => Err(no_overload(name, other)),
    };
    match name {
        "startsWith" | "endsWith" | "contains" | "matches" => of_text(Kind::Bool),
        "lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "charAt" => {
            of_text(Kind::Text)
        }
        "split" | "findAll" => of_text(Kind::list(Kind::Text)),
        "find" => of_text(Kind::Text),
        "isIP" | "isCIDR" | "isURL" | "isQuantity" | "isSemver" => of_text(Kind::Bool),
        "size" => match subject {
            Kind::Text | Kind::Bytes | Kind::List(_) | Kind::Map(_) | Kind::Any => Ok(Kind::Int),
            other => Err(no_overload(name, other)),
        },
        "bool" | "isSorted" => Ok(Kind::Bool),
        "hasValue" => optional(name, subject).map(|_| Kind::Bool),
        "or" => optional(name, subject).map(Kind::optional),
        "orValue" | "value" => optional(name, subject),
        "double" => Ok(Kind::Double),
        "duration" => Ok(Kind::Duration),
        "family" | "indexOf" | "int" | "lastIndexOf" | "prefixLength" => Ok(Kind::Int),
        "join" | "string" => Ok(Kind::Text),
        "timestamp" => Ok(Kind::Timestamp),
        "uint" => Ok(Kind::Uint),
        _ => Ok(Kind::Any),
    }
}
