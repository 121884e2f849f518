//! Functions that convert values.
//!
//! In: values. Out: values or errors. The spelling is the API server's where `kube-cel` has another:
//! durations in seconds, times in UTC with `Z`, numbers as Go prints them.

use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;
use serde_json::Value as Json;

use super::error::Error;
use super::functions;
use super::library::library;
use super::value::{Outcome, Val};
use kube_schema::wording;

/// A type as a value.
#[derive(Debug, PartialEq, Eq)]
struct TypeName(&'static str);

impl Opaque for TypeName {
    fn runtime_type_name(&self) -> &'static str {
        "type"
    }
}

/// The type with that name, as a value.
pub(super) fn type_named<'a>(name: &str) -> Option<Val<'a>> {
    functions::type_name(name).map(type_value)
}

fn type_value<'a>(name: &'static str) -> Val<'a> {
    Val::Plain(Value::Opaque(Arc::new(TypeName(name))))
}

/// The type of a value, as a value.
pub(super) fn type_of<'a>(value: &Val<'a>) -> Outcome<'a> {
    Ok(type_value(match value {
        Val::Part(Json::Array(_), _) | Val::Plain(Value::List(_)) => "list",
        Val::Part(Json::Object(_), _) | Val::Plain(Value::Map(_)) => "map",
        Val::Plain(Value::Bool(_)) => "bool",
        Val::Plain(Value::Bytes(_)) => "bytes",
        Val::Plain(Value::Float(_)) => "double",
        Val::Plain(Value::Int(_)) => "int",
        Val::Plain(Value::Null) => "null_type",
        Val::Plain(Value::String(_)) => "string",
        Val::Plain(Value::UInt(_)) => "uint",
        _ => {
            return Err(Error::Unsupported(
                "`type` of this value is not known here".into(),
            ));
        }
    }))
}

/// `bool(x)`
pub(super) fn bool<'a>(value: &Val<'a>) -> Outcome<'a> {
    match value {
        Val::Plain(Value::Bool(yes)) => Ok((*yes).into()),
        Val::Plain(Value::String(text)) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true.into()),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false.into()),
            _ => Err(Error::Failed(
                "type conversion error from 'string' to 'bool'".into(),
            )),
        },
        _ => Err(Error::NoOverload),
    }
}

/// `string(x)`: durations are in seconds, and times in UTC end in `Z`.
pub(super) fn text<'a>(value: &Val<'a>) -> Outcome<'a> {
    let text = match value {
        Val::Plain(Value::Bool(yes)) => yes.to_string(),
        Val::Plain(Value::Float(number)) => wording::float(*number),
        Val::Plain(Value::Timestamp(time)) => time.to_rfc3339().replace("+00:00", "Z"),
        Val::Plain(Value::Duration(time)) => {
            let nanoseconds = time.num_nanoseconds().unwrap_or(i64::MAX);
            format!("{}s", nanoseconds as f64 / 1e9)
        }
        value => return Ok(Val::Plain(library("string", None, vec![value.plain()?])?)),
    };
    Ok(Val::Plain(text.into()))
}

/// `text.split(separator, limit)`: at most `limit` parts unless that is negative. An empty separator
/// splits into characters.
///
/// # Errors
/// When the text or the separator is not a string, or the limit is not an integer.
pub(super) fn split(
    text: &Value,
    separator: &Value,
    limit: Option<&Value>,
) -> Result<Value, Error> {
    let (Value::String(text), Value::String(separator)) = (text, separator) else {
        return Err(Error::NoOverload);
    };
    let most = match limit {
        None => usize::MAX,
        Some(Value::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
        Some(_) => return Err(Error::NoOverload),
    };
    if !separator.is_empty() {
        let parts = text.splitn(most, separator.as_str());
        return Ok(parts.map(Value::from).collect::<Vec<_>>().into());
    }
    let cut = text.char_indices().nth(most.saturating_sub(1));
    let cut = cut.and_then(|(at, _)| text.split_at_checked(at));
    let (start, last) = cut.unwrap_or((text, ""));
    let last = Some(last.to_owned()).filter(|last| !last.is_empty());
    let parts = start.chars().map(String::from).chain(last).take(most);
    Ok(parts.map(Value::from).collect::<Vec<_>>().into())
}

/// The error of a conversion function for a string that it cannot parse.
pub(super) fn unparsable(function: &str) -> Error {
    let kind = match function {
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        kind => kind,
    };
    Error::Failed(format!("type conversion error from 'string' to '{kind}'"))
}

/// Whether a value is the zero value of its type.
pub(super) fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Plain(value) => value.is_zero(),
        Val::Optional(value) => value.is_none(),
        Val::Part(..) => value.size() == Ok(0),
    }
}
