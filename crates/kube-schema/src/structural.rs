//! [`Schema`]: which values are valid, as in a CustomResourceDefinition.
//!
//! This is the shape that the other files of the crate walk; `reading` makes it from JSON. It holds
//! what decides about values and merging, not descriptions.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::Value;

use super::{Path, Segment, pattern};

/// The types of JSON as OpenAPI names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
}

impl Type {
    /// The OpenAPI name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// What a map may hold beside its named properties.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Additional {
    /// Not set: other keys are unknown.
    #[default]
    Unsaid,
    /// `additionalProperties: true` or `false`.
    Any(bool),
    /// Every other key has this schema.
    Schema(Box<Schema>),
}

/// How a list merges (`x-kubernetes-list-type`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// As one value; the default.
    #[default]
    Atomic,
    /// Each item is its own key.
    Set,
    /// These fields of an item are its key.
    Map(Vec<String>),
}

/// A schema for one place in a value, and for all below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// What it may be; any type when empty.
    pub types: Vec<Type>,
    /// Whether `null` is a value here.
    pub nullable: bool,
    /// Named fields of a map.
    pub properties: BTreeMap<String, Self>,
    /// Other fields of a map.
    pub additional: Additional,
    /// Items of a list.
    pub items: Option<Box<Self>>,
    /// What to put where nothing is.
    pub default: Option<Value>,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`
    pub embedded_resource: bool,
    /// `x-kubernetes-list-type` and `-list-map-keys`
    pub list: ListKind,
    /// `x-kubernetes-map-type: atomic`
    pub atomic_map: bool,
    /// `x-kubernetes-validations`, which this crate only carries.
    pub validations: Vec<Value>,
    /// What else a value must hold to; none for most places.
    pub checks: Option<Box<Checks>>,
}

impl Schema {
    /// The schema of the field `name`, named or additional.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Self> {
        match (self.properties.get(name), &self.additional) {
            (Some(named), _) => Some(named),
            (None, Additional::Schema(other)) => Some(other),
            _ => None,
        }
    }

    /// The schema at a chain of fields, through lists by their items.
    #[must_use]
    pub fn at(&self, path: &Path) -> Option<&Self> {
        path.0
            .iter()
            .try_fold(self, |schema, segment| match segment {
                Segment::Key(name) => schema.field(name),
                Segment::Index(_) => schema.items.as_deref(),
            })
    }
}

/// What a value must hold to beside its type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checks {
    /// Fields that must be there.
    pub required: Vec<String>,
    /// The only values allowed; any when empty.
    pub allowed: Vec<Value>,
    /// Whether null is none of them even where it is named.
    pub never_null: bool,
    /// `format`, such as `date-time`.
    pub format: Option<String>,
    /// The least number.
    pub minimum: Option<Bound>,
    /// The greatest number.
    pub maximum: Option<Bound>,
    /// The number that values are multiples of.
    pub multiple_of: Option<f64>,
    /// Length of a string, in characters.
    pub length: Count,
    /// Number of items of a list.
    pub items: Count,
    /// Number of fields of a map.
    pub fields: Count,
    /// Whether all items of a list must differ.
    pub unique_items: bool,
    /// What a string must match.
    pub pattern: Option<Pattern>,
    /// Schemas that must all hold.
    pub all_of: Vec<Schema>,
    /// Schemas of which one must hold.
    pub any_of: Vec<Schema>,
    /// Schemas of which exactly one must hold.
    pub one_of: Vec<Schema>,
    /// A schema that must not hold.
    pub not: Option<Schema>,
}

/// A limit on a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The limit.
    pub limit: f64,
    /// Whether the limit itself is outside.
    pub exclusive: bool,
}

/// The least and most of something that is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The least.
    pub min: Option<u64>,
    /// The most.
    pub max: Option<u64>,
}

/// A regular expression, compiled when it is first used.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// The pattern `text`, in the syntax of Go's `regexp`.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            compiled: OnceLock::new(),
        }
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether `value` matches somewhere. A pattern that cannot be compiled matches everything: the
    /// API server knows better.
    #[must_use]
    pub fn matches(&self, value: &str) -> bool {
        self.compiled
            .get_or_init(|| pattern::compile(&self.text).ok())
            .as_ref()
            .is_none_or(|regex| regex.is_match(value))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
