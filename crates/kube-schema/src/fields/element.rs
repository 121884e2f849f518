//! One step of a field path as managedFields writes it.
//!
//! In: `f:name`, `k:{"name":"a"}`, `v:"x"`, `i:0`. Out: [`Element`], ordered as the API server orders
//! them. It does not know which step a list or map calls for; `types` does.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use crate::order::compare;

/// One step: into a map by field, into a list by key fields, by value or by index.
#[derive(Clone, Debug)]
pub enum Element {
    /// A field of a map: `f:name`.
    Field(String),
    /// The item of a list-map whose key fields have these values: `k:{"name":"a"}`. Sorted by name.
    Key(Vec<(String, Value)>),
    /// The item of a set: `v:"x"`.
    Value(Value),
    /// The item at an index: `i:0`. Kubernetes writes none; other writers may.
    Index(i64),
}

impl Element {
    /// The step into the field `name`.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// The step to the item with these key fields.
    #[must_use]
    pub fn key(mut fields: Vec<(String, Value)>) -> Self {
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Self::Key(fields)
    }

    /// Whether `text` is of a kind we know; the API server drops the others, and `.` is no element.
    pub(super) fn reads(text: &str) -> bool {
        text.len() != 1
            && !matches!(text.split_once(':'), Some((kind, _)) if kind.len() == 1 && !"fkvi".contains(kind))
    }

    /// Reads the text form.
    ///
    /// # Errors
    /// Says what is wrong with a text that is no path element.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (kind, rest) = text
            .split_once(':')
            .ok_or_else(|| format!("missing colon: {text}"))?;
        match kind {
            "f" => Ok(Self::field(rest)),
            "k" => serde_json::from_str::<serde_json::Map<String, Value>>(rest)
                .map(|fields| Self::key(fields.into_iter().collect()))
                .map_err(|error| format!("{text}: {error}")),
            "v" => serde_json::from_str(rest)
                .map(Self::Value)
                .map_err(|error| format!("{text}: {error}")),
            "i" => rest
                .parse()
                .map(Self::Index)
                .map_err(|error| format!("{text}: {error}")),
            _ => Err(format!("unknown path element: {text}")),
        }
    }

    /// The text form, as [`Element::parse`] reads it.
    #[must_use]
    pub fn print(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
                    .collect();
                format!("k:{{{}}}", fields.join(","))
            }
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// Fields come first, then keys, values and indices.
    const fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

/// As the API server writes paths in conflicts: `.spec.ports[port=80].name`, sets as `[="x"]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => compare_keys(a, b),
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

fn compare_keys(a: &[(String, Value)], b: &[(String, Value)]) -> Ordering {
    a.iter()
        .zip(b)
        .map(|(a, b)| a.0.cmp(&b.0).then_with(|| compare(&a.1, &b.1)))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| a.len().cmp(&b.len()))
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element {}
