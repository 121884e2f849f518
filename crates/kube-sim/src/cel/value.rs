//! Values as rules see them.
//!
//! In: JSON and its schema. Out: [`Val`]: compound values stay where they are in the object, and are
//! seen by their schema; scalars become CEL's. Source: `UnstructuredToVal` of k8s.io/apiserver.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map};
use serde_json::Value as Json;

use super::fault::Fault;
use super::library::library;
use super::names::{escape, unescape};
use super::place::Place;
use kube_schema::{ListKind, Type};

/// A value in a rule.
#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    /// A map or list of the object, or something that nothing is known of.
    Part(&'a Json, Place<'a>),
    /// A value that may not be there.
    Optional(Option<Box<Self>>),
    /// Anything else.
    Plain(Value),
}

/// What an expression comes to.
pub(super) type Outcome<'a> = Result<Val<'a>, Fault>;

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
    let unfit = |wanted: &str| Err(Fault::Said(format!("invalid data, expected {wanted}")));
    let plain = |value: Value| Ok(Val::Plain(value));
    match (place.kind(), json) {
        (_, Json::Null) if place.schema.nullable => plain(Value::Null),
        (_, Json::Null) => Err(Fault::Said(
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

/// A text in the type that its format stands for.
fn formatted(place: Place<'_>, text: &str) -> Result<Value, Fault> {
    let format = place.format();
    let made = |function: &str, text: &str| {
        // The format was checked before: the API server reads what we do not.
        let beyond = |_| Fault::Beyond(format!("the {function} {text:?} is not understood here"));
        library(function, None, vec![text.into()]).map_err(beyond)
    };
    match format {
        Some("date") => made("timestamp", &format!("{text}T00:00:00Z")),
        Some("date-time") => made("timestamp", text),
        Some("duration") => made("duration", text),
        Some("byte") => Ok(Value::Bytes(Arc::new(base64(text)))),
        _ => Ok(text.into()),
    }
}

/// The bytes of a text in base64, whose format was checked before.
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
    /// What is there, of a value that may not be there.
    pub(super) fn some(self) -> Self {
        Self::Optional(Some(Box::new(self)))
    }

    /// The field or key `key`, in the spelling of rules; nothing when it is not there.
    ///
    /// # Errors
    /// When it is no map, or what stands there is not what the schema says.
    pub(super) fn find(&self, key: &str) -> Result<Option<Self>, Fault> {
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
            _ => Err(Fault::Overload),
        }
    }

    /// The items of a list, or the keys of a map.
    ///
    /// # Errors
    /// When it is neither.
    pub(super) fn items(&self) -> Result<Vec<Outcome<'a>>, Fault> {
        match self {
            Self::Part(Json::Array(items), place) => {
                let at = place.items().ok_or(Fault::Overload)?;
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
            _ => Err(Fault::Overload),
        }
    }

    /// The keys of a map of the object that rules can name.
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

    /// How many characters, items or fields it has; all fields count, also those that rules cannot
    /// name.
    ///
    /// # Errors
    /// When it has no size.
    pub(super) fn size(&self) -> Result<usize, Fault> {
        match self {
            Self::Part(Json::Object(fields), _) => Ok(fields.len()),
            Self::Part(Json::Array(items), _) => Ok(items.len()),
            Self::Plain(Value::String(text)) => Ok(text.chars().count()),
            Self::Plain(Value::Bytes(bytes)) => Ok(bytes.len()),
            Self::Plain(Value::List(items)) => Ok(items.len()),
            Self::Plain(Value::Map(map)) => Ok(map.map.len()),
            _ => Err(Fault::Overload),
        }
    }

    /// Whether both mean the same. Lists of type `set` and `map` may differ in order.
    ///
    /// # Errors
    /// When what stands in them is not what the schema says.
    pub(super) fn equals(&self, other: &Self) -> Result<bool, Fault> {
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

    /// A copy in CEL's own values.
    ///
    /// # Errors
    /// When what stands in it is not what the schema says, or when it may not be there.
    pub(super) fn plain(&self) -> Result<Value, Fault> {
        match self {
            Self::Plain(value) => Ok(value.clone()),
            Self::Optional(_) => Err(Fault::Overload),
            Self::Part(Json::Array(_), _) => {
                let items = self.items()?.into_iter();
                let items: Result<Vec<Value>, Fault> = items.map(|item| item?.plain()).collect();
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

/// A condition's value.
pub(super) fn truth(value: Outcome<'_>) -> Result<bool, Fault> {
    match value? {
        Val::Plain(Value::Bool(yes)) => Ok(yes),
        _ => Err(Fault::Overload),
    }
}

type Fields = serde_json::Map<String, Json>;

/// Fields that the schema does not describe are compared as they are.
fn same_fields(a: &Val<'_>, b: &Val<'_>, fields: &Fields, others: &Fields) -> Result<bool, Fault> {
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

/// Two lists of the same length.
fn same_items(a: &Val<'_>, b: &Val<'_>, kind: &ListKind) -> Result<bool, Fault> {
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

/// Whether one of `others` is the same as `item`.
pub(super) fn is_among(item: &Val<'_>, others: &[Val<'_>]) -> Result<bool, Fault> {
    for other in others {
        if other.equals(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}
