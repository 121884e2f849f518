//! The kinds of values that the checker distinguishes.
//!
//! In: places of a schema. Out: kinds. An expression of [`Kind::Any`] can have any value, so the
//! checker accepts it everywhere.

use std::fmt;

use super::place::Place;
use kube_schema::Type;

/// The kind of a value.
#[derive(Clone, Debug)]
pub(super) enum Kind<'a> {
    Any,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Duration,
    Timestamp,
    List(Box<Self>),
    /// A map with free keys, and its values.
    Map(Box<Self>),
    /// A map with fields.
    Object(Place<'a>),
    Optional(Box<Self>),
}

impl<'a> Kind<'a> {
    /// The kind of the values at a place.
    pub(super) fn of(place: Place<'a>) -> Self {
        match (place.kind(), place.format()) {
            (None, _) => Self::Any,
            (Some(Type::Boolean), _) => Self::Bool,
            (Some(Type::Integer), _) => Self::Int,
            (Some(Type::Number), _) => Self::Double,
            (Some(Type::String), Some("byte")) => Self::Bytes,
            (Some(Type::String), Some("duration")) => Self::Duration,
            (Some(Type::String), Some("date" | "date-time")) => Self::Timestamp,
            (Some(Type::String), _) => Self::Text,
            (Some(Type::Array), _) => Self::list(place.items().map_or(Self::Any, Self::of)),
            (Some(Type::Object), _) => match place.values() {
                Some(values) => Self::Map(Box::new(Self::of(values))),
                None => Self::Object(place),
            },
        }
    }

    pub(super) fn list(items: Self) -> Self {
        Self::List(Box::new(items))
    }

    pub(super) fn optional(self) -> Self {
        Self::Optional(Box::new(self))
    }

    const fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// Whether values of both kinds can be equal. Objects and times can be null; scalars and lists
    /// cannot (a kind does not say whether its schema is `nullable`).
    pub(super) fn is_like(&self, other: &Self) -> bool {
        use std::mem::discriminant;
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::Null, kind) | (kind, Self::Null) => matches!(
                kind,
                Self::Null | Self::Object(_) | Self::Optional(_) | Self::Duration | Self::Timestamp
            ),
            (Self::List(a), Self::List(b))
            | (Self::Map(a), Self::Map(b))
            | (Self::Optional(a), Self::Optional(b)) => a.is_like(b),
            (a, b) => discriminant(a) == discriminant(b),
        }
    }

    /// Whether values of both kinds can be ordered.
    pub(super) fn is_comparable_to(&self, other: &Self) -> bool {
        let ordered = |kind: &Self| {
            !matches!(
                kind,
                Self::Null | Self::List(_) | Self::Map(_) | Self::Object(_) | Self::Optional(_)
            )
        };
        ordered(self)
            && ordered(other)
            && (self.is_like(other) || (self.is_number() && other.is_number()))
    }

    /// The kind of a value that has one of both kinds.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::List(a), Self::List(b)) => match (*a, *b) {
                (Self::Any, b) => Self::list(b),
                (a, _) => Self::list(a),
            },
            (a, b) if a.is_like(&b) && !matches!(b, Self::Any | Self::Null) => match a {
                Self::Any | Self::Null => Self::Any,
                a => a,
            },
            _ => Self::Any,
        }
    }
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Any => "dyn",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::Text => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Object(_) => "object",
            Self::List(items) => return write!(f, "list({items})"),
            Self::Map(values) => return write!(f, "map(string, {values})"),
            Self::Optional(value) => return write!(f, "optional_type({value})"),
        };
        f.write_str(name)
    }
}
