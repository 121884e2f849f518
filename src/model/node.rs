//! A document as a tree of values with their origins.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Path, Segment, Span, work};

/// Where a value came from and what it replaced (newest first). Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(Arc<Layer>);

#[derive(Debug, PartialEq, Eq)]
struct Layer {
    span: Span,
    beneath: Option<Origin>,
    field: Option<&'static str>,
}

impl Origin {
    /// A value written at `span`.
    #[must_use]
    pub fn new(span: Span) -> Self {
        Self(Arc::new(Layer {
            span,
            beneath: None,
            field: None,
        }))
    }

    /// This origin for a value that replaces the value from `beneath`.
    #[must_use]
    pub fn over(&self, beneath: &Self) -> Self {
        Self(Arc::new(Layer {
            span: self.0.span.clone(),
            beneath: Some(beneath.clone()),
            field: self.0.field,
        }))
    }

    /// This origin for a value of the field `field` of a definition, whose name may differ from that of the
    /// field in the object.
    #[must_use]
    pub fn of_field(&self, field: &'static str) -> Self {
        Self(Arc::new(Layer {
            span: self.0.span.clone(),
            beneath: self.0.beneath.clone(),
            field: Some(field),
        }))
    }

    /// The dotted name of the definition's field that the value comes from, if it comes from one.
    #[must_use]
    pub fn field(&self) -> Option<&'static str> {
        self.0.field
    }

    /// The place a person can edit.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.0.span
    }

    /// The origin of the value that this one replaced.
    #[must_use]
    pub fn beneath(&self) -> Option<&Self> {
        self.0.beneath.as_ref()
    }
}

/// A value and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it came from; for a map or list, where it starts.
    pub origin: Origin,
}

/// The JSON data model, with numbers as they were written.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number, with its text as written (a person distinguishes `4.20` from `4.2`).
    Float(f64, Box<str>),
    /// A string.
    String(Cow<'static, str>),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping.
    Map(Map),
}

/// A key and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The text.
    pub name: Cow<'static, str>,
    /// Where it came from.
    pub origin: Origin,
}

/// A mapping in the order it was written. Keys are unique.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    entries: Vec<(Key, Node)>,
}

impl Map {
    /// The entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Key, &Node)> + ExactSizeIterator {
        self.entries.iter().map(|(key, node)| (key, node))
    }

    /// The entries in order, with mutable values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Key, &mut Node)> {
        self.entries.iter_mut().map(|(key, node)| (&*key, node))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|(_, node)| node)
    }

    /// The key and value of `name`.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<(&Key, &Node)> {
        self.iter().find(|(key, _)| {
            work::step();
            key.name == name
        })
    }

    /// The mutable value of `name`.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.entries
            .iter_mut()
            .find(|(key, _)| key.name == name)
            .map(|(_, node)| node)
    }

    /// Sets `key`, in place if it exists, otherwise at the end. Returns the old value.
    pub fn insert(&mut self, key: Key, node: Node) -> Option<Node> {
        if let Some(slot) = self.get_mut(&key.name) {
            return Some(std::mem::replace(slot, node));
        }
        self.entries.push((key, node));
        None
    }

    /// Removes `name`.
    pub fn remove(&mut self, name: &str) -> Option<Node> {
        let at = self.entries.iter().position(|(key, _)| key.name == name)?;
        Some(self.entries.remove(at).1)
    }
}

impl FromIterator<(Key, Node)> for Map {
    /// Keeps the order; the caller guarantees unique keys.
    fn from_iter<I: IntoIterator<Item = (Key, Node)>>(entries: I) -> Self {
        Self {
            entries: entries.into_iter().collect(),
        }
    }
}

impl IntoIterator for Map {
    type Item = (Key, Node);
    type IntoIter = std::vec::IntoIter<(Key, Node)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// How many values the memory of a text would hold, beside the text's own.
fn long(text: &str) -> u64 {
    text.len() as u64 / 64
}

impl Node {
    /// The limit on nesting of maps and lists, in a file and after a patch.
    pub const MAX_DEPTH: usize = 64;
    /// The limit on values that the anchors and aliases of one file, or one patch, may copy.
    pub const MAX_COPIES: usize = 100_000;

    /// The number of values and the depth of nesting.
    #[must_use]
    pub fn measure(&self) -> (usize, usize) {
        let inner = |(values, depth): (usize, usize), node: &Self| {
            let (more, deeper) = node.measure();
            (values + more, depth.max(deeper + 1))
        };
        match &self.value {
            Value::List(items) => items.iter().fold((1, 1), inner),
            Value::Map(map) => map.iter().map(|(_, node)| node).fold((1, 1), inner),
            _ => (1, 0),
        }
    }

    /// The number of keys and values, where long texts count as several: what a copy of it costs.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let inner: u64 = match &self.value {
            Value::Null | Value::Bool(_) | Value::Int(_) => 0,
            Value::Float(_, text) => long(text),
            Value::String(text) => long(text),
            Value::List(items) => items.iter().map(Self::weight).sum(),
            Value::Map(map) => map
                .iter()
                .map(|(key, node)| 1 + long(&key.name) + node.weight())
                .sum(),
        };
        1 + inner
    }

    /// A value with an origin.
    #[must_use]
    pub fn new(value: Value, origin: &Origin) -> Self {
        Self {
            value,
            origin: origin.clone(),
        }
    }

    /// A JSON value with one origin for all of it.
    #[must_use]
    pub fn from_json(json: &serde_json::Value, origin: &Origin) -> Self {
        use serde_json::Value as Json;
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(bool) => Value::Bool(*bool),
            Json::Number(number) => number.as_i64().map_or_else(
                || {
                    Value::Float(
                        number.as_f64().unwrap_or_default(),
                        number.to_string().into(),
                    )
                },
                Value::Int,
            ),
            Json::String(text) => Value::String(text.clone().into()),
            Json::Array(items) => Value::List(
                items
                    .iter()
                    .map(|item| Self::from_json(item, origin))
                    .collect(),
            ),
            Json::Object(fields) => Value::Map(
                fields
                    .iter()
                    .map(|(name, field)| {
                        let key = Key {
                            name: name.clone().into(),
                            origin: origin.clone(),
                        };
                        (key, Self::from_json(field, origin))
                    })
                    .collect(),
            ),
        };
        Self::new(value, origin)
    }

    /// The plain JSON value without origins.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(bool) => (*bool).into(),
            Value::Int(int) => (*int).into(),
            Value::Float(float, _) => self.as_int().map_or_else(|| (*float).into(), Json::from),
            Value::String(text) => text.as_ref().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(map) => map
                .iter()
                .map(|(key, node)| (key.name.to_string(), node.to_json()))
                .collect(),
        }
    }

    /// The value of `name` if this is a map that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_map()?.get(name)
    }

    /// The value under a chain of keys.
    #[must_use]
    pub fn at(&self, names: &[&str]) -> Option<&Self> {
        names.iter().try_fold(self, |node, name| node.get(name))
    }

    /// The value at a dotted path of keys.
    #[must_use]
    pub fn dotted(&self, path: &str) -> Option<&Self> {
        let mut keys = path.split('.').filter(|key| !key.is_empty());
        keys.try_fold(self, |node, key| node.get(key))
    }

    /// The text under a chain of keys.
    #[must_use]
    pub fn text(&self, names: &[&str]) -> Option<&str> {
        self.at(names)?.as_str()
    }

    /// The value at `path`, to change it.
    pub fn lookup_mut(&mut self, path: &Path) -> Option<&mut Self> {
        path.0
            .iter()
            .try_fold(self, |node, segment| match (&mut node.value, segment) {
                (Value::Map(map), Segment::Key(name)) => map.get_mut(name),
                (Value::List(items), Segment::Index(index)) => items.get_mut(*index),
                _ => None,
            })
    }

    /// The value at `path`.
    #[must_use]
    pub fn lookup(&self, path: &Path) -> Option<&Self> {
        path.0
            .iter()
            .try_fold(self, |node, segment| node.child(segment))
    }

    /// The value at `path`, or its nearest ancestor that exists: where a finding points.
    #[must_use]
    pub fn nearest(&self, path: &Path) -> &Self {
        let mut node = self;
        for segment in &path.0 {
            match node.child(segment) {
                Some(child) => node = child,
                None => break,
            }
        }
        node
    }

    fn child(&self, segment: &Segment) -> Option<&Self> {
        match segment {
            Segment::Key(name) => self.get(name),
            Segment::Index(index) => self.as_list()?.get(*index),
        }
    }

    /// The entries of a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The items of a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// A number without a fraction: `2.0` is 2 for Kubernetes' tools.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self.value {
            Value::Int(int) => Some(int),
            Value::Float(float, _) => whole(float),
            _ => None,
        }
    }

    /// The span of the value.
    #[must_use]
    pub fn span(&self) -> &Span {
        self.origin.span()
    }
}

/// A float without a fraction as the same whole number.
#[allow(
    clippy::cast_possible_truncation,
    reason = "only whole numbers in range are cast"
)]
fn whole(float: f64) -> Option<i64> {
    /// From here on, not every whole number is a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (float.fract() == 0.0 && float.abs() < EXACT).then_some(float as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_fraction_is_whole() {
        for (float, expected) in [
            (2.0, Some(2)),
            (-0.0, Some(0)),
            (1e3, Some(1000)),
            (2.5, None),
            (9_007_199_254_740_994.0, None),
        ] {
            assert_eq!(whole(float), expected, "{float}");
        }
    }
}
