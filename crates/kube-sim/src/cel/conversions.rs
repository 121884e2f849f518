//! Functions that make one value of another.
//!
//! In: values. Out: values, or why there is none. In the API server's spelling where the crate has
//! another: durations in seconds, times in UTC with `Z`, numbers as Go writes them.

use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;
use serde_json::Value as Json;

use super::fault::Fault;
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

/// The type of that name, as a value.
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
            return Err(Fault::Beyond(
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
            _ => Err(Fault::Said(
                "type conversion error from 'string' to 'bool'".into(),
            )),
        },
        _ => Err(Fault::Overload),
    }
}

/// `string(x)`: durations in seconds, times in UTC end in `Z`.
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

/// The parts of a text, at most as many as `limit` when that is not negative; its characters when
/// there is no separator.
///
/// # Errors
/// When they are no texts and no number.
pub(super) fn split(
    text: &Value,
    separator: &Value,
    limit: Option<&Value>,
) -> Result<Value, Fault> {
    let (Value::String(text), Value::String(separator)) = (text, separator) else {
        return Err(Fault::Overload);
    };
    let most = match limit {
        None => usize::MAX,
        Some(Value::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
        Some(_) => return Err(Fault::Overload),
    };
    if !separator.is_empty() {
        let parts = text.splitn(most, separator.as_str());
        return Ok(parts.map(Value::from).collect::<Vec<_>>().into());
    }
    let cut = text.char_indices().nth(most.saturating_sub(1));
    let (start, last) = text.split_at(cut.map_or(text.len(), |(at, _)| at));
    let last = Some(last.to_owned()).filter(|last| !last.is_empty());
    let parts = start.chars().map(String::from).chain(last).take(most);
    Ok(parts.map(Value::from).collect::<Vec<_>>().into())
}

/// A text is not what a function makes of texts.
pub(super) fn unreadable(function: &str) -> Fault {
    let kind = match function {
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        kind => kind,
    };
    Fault::Said(format!("type conversion error from 'string' to '{kind}'"))
}

/// Whether a value is what its kind has where nothing is said.
pub(super) fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Plain(value) => value.is_zero(),
        Val::Optional(value) => value.is_none(),
        Val::Part(..) => value.size() == Ok(0),
    }
}
