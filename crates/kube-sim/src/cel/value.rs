//! Values as rules see them.
//!
//! In: JSON and its schema. Out: [`Val`]. Maps and lists are borrowed from the object and read through
//! their schema; scalars are converted to values of CEL. Source: `UnstructuredToVal` of k8s.io/apiserver.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map};
use serde_json::Value as Json;

use super::error::Error;
use super::library::library;
use super::names::{escape, unescape};
use super::place::Place;
use kube_schema::{ListKind, Type};

/// A value in a rule.
#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    /// A map or list of the object, or a value that the schema says nothing about.
    Part(&'a Json, Place<'a>),
    /// An optional value.
    Optional(Option<Box<Self>>),
    /// Any other value.
    Plain(Value),
}

/// The result of an expression.
pub(super) type Outcome<'a> = Result<Val<'a>, Error>;

impl From<Value> for Val<'_> {
    fn from(value: Value) -> Self {
        Self::Plain(value)
    }
}

impl From<bool> for Val<'_> {
    fn from(value: bool) -> Self {
        Self::Plain(Value::Bool(value))
    }
}

/// The value at a place of the object.
pub(super) fn read<'a>(json: &'a Json, place: Place<'a>) -> Outcome<'a> {
    let unfit = |wanted: &str| Err(Error::Failed(format!("invalid data, expected {wanted}")));
    let plain = |value: Value| Ok(Val::Plain(value));
    match (place.kind(), json) {
        (_, Json::Null) if place.schema.nullable => plain(Value::Null),
        (_, Json::Null) => Err(Error::Failed(
            "invalid data, got null for schema with nullable=false".into(),
        )),
        (Some(Type::Object), Json::Object(_)) | (Some(Type::Array), Json::Array(_)) => {
            Ok(Val::Part(json, place))
        }
        (Some(Type::String), Json::String(text)) => formatted(place, text).map(Val::Plain),
        (Some(Type::Boolean), Json::Bool(yes)) => plain(Value::Bool(*yes)),
        (Some(Type::Number), Json::Number(number)) => {
            plain(Value::Float(number.as_f64().unwrap_or(f64::NAN)))
        }
        (Some(Type::Integer), Json::Number(number)) if number.is_i64() => {
            plain(Value::Int(number.as_i64().unwrap_or_default()))
        }
        (None, _) if !place.schema.int_or_string => Ok(Val::Part(json, place)),
        (None, Json::String(text)) => plain(text.as_str().into()),
        (None, Json::Number(number)) if number.is_i64() => {
            plain(Value::Int(number.as_i64().unwrap_or_default()))
        }
        (None, _) => unfit("XIntOrString value to be either a string or integer"),
        (Some(kind), _) => unfit(kind.name()),
    }
}

/// A string, converted to the type of its format.
fn formatted(place: Place<'_>, text: &str) -> Result<Value, Error> {
    let format = place.format();
    let made = |function: &str, text: &str| {
        // The format was validated before, so the API server can parse this value.
        let unsupported =
            |_| Error::Unsupported(format!("the {function} {text:?} is not understood here"));
        library(function, None, vec![text.into()]).map_err(unsupported)
    };
    match format {
        Some("date") => made("timestamp", &format!("{text}T00:00:00Z")),
        Some("date-time") => made("timestamp", text),
        Some("duration") => made("duration", text),
        Some("byte") => Ok(Value::Bytes(Arc::new(base64(text)))),
        _ => Ok(text.into()),
    }
}

/// The bytes of a base64 string whose format was validated before.
fn base64(text: &str) -> Vec<u8> {
    let six = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0);
    for value in text.bytes().filter_map(six) {
        held = (held << 6) | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    bytes
}

impl<'a> Val<'a> {
    /// An optional value that is present.
    pub(super) fn some(self) -> Self {
        Self::Optional(Some(Box::new(self)))
    }

    /// The field or key `key`, in the spelling of rules; `None` when it is absent.
    ///
    /// # Errors
    /// When `self` is not a map, or the value there does not match the schema.
    pub(super) fn find(&self, key: &str) -> Result<Option<Self>, Error> {
        match self {
            Self::Part(Json::Object(fields), place) if place.has_fields() => {
                let Some(name) = unescape(key) else {
                    return Ok(None);
                };
                let value = fields.get(&*name).filter(|value| !value.is_null());
                let field = place.field(&name).filter(|_| value.is_some());
                field
                    .zip(value)
                    .map(|(at, json)| read(json, at))
                    .transpose()
            }
            Self::Part(Json::Object(fields), place) => {
                let value = place.values().zip(fields.get(key));
                value.map(|(at, json)| read(json, at)).transpose()
            }
            Self::Plain(Value::Map(map)) => Ok(map.get(&Key::from(key)).cloned().map(Val::Plain)),
            _ => Err(Error::NoOverload),
        }
    }

    /// The items of a list, or the keys of a map.
    ///
    /// # Errors
    /// When it is neither a list nor a map.
    pub(super) fn items(&self) -> Result<Vec<Outcome<'a>>, Error> {
        match self {
            Self::Part(Json::Array(items), place) => {
                let at = place.items().ok_or(Error::NoOverload)?;
                Ok(items.iter().map(|item| read(item, at)).collect())
            }
            Self::Part(Json::Object(_), _) => {
                let keys = self.keys().into_iter();
                Ok(keys.map(|key| Ok(Val::Plain(key.into()))).collect())
            }
            Self::Plain(Value::List(items)) => Ok(items
                .iter()
                .cloned()
                .map(|item| Ok(Val::Plain(item)))
                .collect()),
            Self::Plain(Value::Map(map)) => {
                let mut keys: Vec<&Key> = map.map.keys().collect();
                keys.sort();
                Ok(keys
                    .into_iter()
                    .map(|key| Ok(Val::Plain(key.into())))
                    .collect())
            }
            _ => Err(Error::NoOverload),
        }
    }

    /// The keys of a map that rules can name, in the spelling of rules.
    fn keys(&self) -> Vec<String> {
        let Self::Part(Json::Object(fields), place) = self else {
            return Vec::new();
        };
        let named = |name: &String| match (place.has_fields(), place.values()) {
            (true, _) => {
                place.field(name)?;
                escape(name).map(Into::into)
            }
            (false, Some(_)) => Some(name.clone()),
            (false, None) => None,
        };
        fields.keys().filter_map(named).collect()
    }

    /// The number of characters, items or fields. Fields that rules cannot name count as well.
    ///
    /// # Errors
    /// When it has no size.
    pub(super) fn size(&self) -> Result<usize, Error> {
        match self {
            Self::Part(Json::Object(fields), _) => Ok(fields.len()),
            Self::Part(Json::Array(items), _) => Ok(items.len()),
            Self::Plain(Value::String(text)) => Ok(text.chars().count()),
            Self::Plain(Value::Bytes(bytes)) => Ok(bytes.len()),
            Self::Plain(Value::List(items)) => Ok(items.len()),
            Self::Plain(Value::Map(map)) => Ok(map.map.len()),
            _ => Err(Error::NoOverload),
        }
    }

    /// Whether both are equal. In lists of type `set` and `map` the order does not matter.
    ///
    /// # Errors
    /// When a value in them does not match the schema.
    pub(super) fn equals(&self, other: &Self) -> Result<bool, Error> {
        match (self, other) {
            (Self::Part(a, at), Self::Part(b, _)) => match (a, b) {
                (Json::Object(fields), Json::Object(others)) if at.kind().is_some() => {
                    same_fields(self, other, fields, others)
                }
                (Json::Array(items), Json::Array(others)) if at.kind().is_some() => {
                    Ok(items.len() == others.len() && same_items(self, other, &at.schema.list)?)
                }
                (a, b) => Ok(a == b),
            },
            (Self::Part(Json::Array(items), at), Self::Plain(Value::List(others))) => {
                Ok(items.len() == others.len() && same_items(self, other, &at.schema.list)?)
            }
            (Self::Optional(a), Self::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals(b),
                (a, b) => Ok(a.is_none() && b.is_none()),
            },
            (Self::Optional(_), _) | (_, Self::Optional(_)) => Ok(false),
            (a, b) => Ok(a.plain()? == b.plain()?),
        }
    }

    /// A copy as a value of CEL.
    ///
    /// # Errors
    /// When a value in it does not match the schema, or when it is an optional value.
    pub(super) fn plain(&self) -> Result<Value, Error> {
        match self {
            Self::Plain(value) => Ok(value.clone()),
            Self::Optional(_) => Err(Error::NoOverload),
            Self::Part(Json::Array(_), _) => {
                let items = self.items()?.into_iter();
                let items: Result<Vec<Value>, Error> = items.map(|item| item?.plain()).collect();
                Ok(Value::List(Arc::new(items?)))
            }
            Self::Part(..) => {
                let mut map = HashMap::new();
                for key in self.keys() {
                    if let Some(value) = self.find(&key)? {
                        map.insert(Key::from(key), value.plain()?);
                    }
                }
                Ok(Value::Map(Map { map: Arc::new(map) }))
            }
        }
    }
}

/// The value of a condition.
pub(super) fn truth(value: Outcome<'_>) -> Result<bool, Error> {
    match value? {
        Val::Plain(Value::Bool(yes)) => Ok(yes),
        _ => Err(Error::NoOverload),
    }
}

type Fields = serde_json::Map<String, Json>;

/// Fields that the schema does not describe are compared as JSON.
fn same_fields(a: &Val<'_>, b: &Val<'_>, fields: &Fields, others: &Fields) -> Result<bool, Error> {
    let (Val::Part(_, at), true) = (a, fields.len() == others.len()) else {
        return Ok(false);
    };
    for (name, value) in fields {
        let known = at.has_fields() && at.field(name).is_some();
        let written = match known {
            true => escape(name),
            false => at.values().map(|_| name.into()),
        };
        let same = match written {
            Some(name) => match (a.find(&name)?, b.find(&name)?) {
                (Some(value), Some(other)) => value.equals(&other)?,
                (value, other) => value.is_none() && other.is_none(),
            },
            None => others.get(name).is_none_or(|other| other == value),
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two lists of the same length have equal items.
fn same_items(a: &Val<'_>, b: &Val<'_>, kind: &ListKind) -> Result<bool, Error> {
    let others: Vec<Val<'_>> = b.items()?.into_iter().collect::<Result<_, _>>()?;
    for (index, item) in a.items()?.into_iter().enumerate() {
        let item = item?;
        let same = match kind {
            ListKind::Atomic => others
                .get(index)
                .map_or(Ok(false), |other| item.equals(other))?,
            ListKind::Set | ListKind::Map(_) => is_among(&item, &others)?,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether one of `others` equals `item`.
pub(super) fn is_among(item: &Val<'_>, others: &[Val<'_>]) -> Result<bool, Error> {
    for other in others {
        if other.equals(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}
