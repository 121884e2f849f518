//! How the parts of an object merge: as one value, by key, or member by member.
//!
//! [`Types`] describes one place of an object and steps down with the value. In: a schema, or the name
//! of a built-in kind. Out: for each place, which of map, list and scalar it may be, and how each of
//! them merges. What is not known is deduced: maps merge member by member, lists are one value.

mod built_in;
mod shape;

use std::fmt;

use serde_json::{Map, Value};

use kube_schema::Element;
use kube_schema::wording;
use kube_schema::{Additional, ListKind, Schema, Type};
use kube_schema::{Path, Segment};
use shape::Shape;

/// What is known of one place of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Types<'a>(Place<'a>);

#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    Schema {
        schema: &'a Schema,
        /// Whether something above keeps fields that it does not know.
        open: bool,
        /// Whether the place holds a whole Kubernetes object.
        object: bool,
    },
    Shape(&'static Shape),
}

/// The types of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Number,
    Boolean,
    Text,
    Any,
}

/// In the API server's words.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number => "numeric (int or float)",
            Self::Boolean => "boolean",
            Self::Text => "string",
            Self::Any => "any scalar",
        })
    }
}

/// Which of the three a place may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forms {
    map: bool,
    scalar: bool,
    list: bool,
}

/// How one value is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Map,
    Scalar,
    List,
}

impl Forms {
    const ANY: Self = Self::only(true, true, true);

    const fn only(map: bool, scalar: bool, list: bool) -> Self {
        Self { map, scalar, list }
    }

    /// What is left once the value is seen. Null and nothing can be any; a value that does not fit
    /// leaves it open, too.
    pub(super) fn narrow(self, value: Option<&Value>) -> Self {
        match value {
            Some(Value::Object(_)) if self.map => Self::only(true, false, false),
            Some(Value::Array(_)) if self.list => Self::only(false, false, true),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if self.scalar => {
                Self::only(false, true, false)
            }
            _ => self,
        }
    }

    pub(super) const fn form(self) -> Form {
        match self {
            Self { map: true, .. } => Form::Map,
            Self { scalar: true, .. } => Form::Scalar,
            _ => Form::List,
        }
    }
}

/// A field of a map.
pub(super) struct Member<'a> {
    /// What is known of it; nothing when the schema has no such field.
    pub(super) types: Option<Types<'a>>,
    /// Whether the field is named, not a free key.
    pub(super) declared: bool,
}

impl<'a> Types<'a> {
    /// A whole object of a kind with this schema, a custom resource.
    #[must_use]
    pub(crate) const fn of_schema(schema: &'a Schema) -> Self {
        Self(Place::Schema {
            schema,
            open: schema.preserve_unknown,
            object: true,
        })
    }

    /// A whole object of a built-in kind, with `group` empty for the core group; deduced when we do
    /// not know the kind.
    #[must_use]
    pub(crate) fn built_in(group: &str, kind: &str) -> Self {
        built_in::find(group, kind).map_or(Self::deduced(), Self::shape)
    }

    /// A whole object of a kind of which nothing is known.
    #[must_use]
    pub(crate) const fn deduced() -> Self {
        Self::shape(&Shape::Object)
    }

    /// Anything that is not a whole object.
    pub(super) const fn unknown() -> Self {
        Self::shape(&Shape::Deduced)
    }

    const fn shape(shape: &'static Shape) -> Self {
        Self(Place::Shape(shape))
    }

    /// Which of map, list and scalar the place may hold.
    pub(super) fn forms(self) -> Forms {
        match self.0 {
            Place::Schema { schema, .. } if schema.types.is_empty() || schema.int_or_string => {
                Forms::ANY
            }
            Place::Schema { schema, .. } => {
                let has = |wanted| schema.types.contains(&wanted);
                let (map, list) = (has(Type::Object), has(Type::Array));
                let scalars = usize::from(map) + usize::from(list) < schema.types.len();
                Forms::only(map, scalars, list)
            }
            Place::Shape(Shape::Plain | Shape::Deduced | Shape::Untyped) => Forms::ANY,
            Place::Shape(Shape::Text) => Forms::only(false, true, false),
            Place::Shape(
                Shape::Struct(_) | Shape::Closed(_) | Shape::Object | Shape::Map(_) | Shape::Atomic,
            ) => Forms::only(true, false, false),
            Place::Shape(Shape::Set | Shape::Keyed(..)) => Forms::only(false, false, true),
        }
    }

    /// Whether a map here is one value.
    pub(super) const fn map_is_atomic(self) -> bool {
        match self.0 {
            Place::Schema { schema, .. } => schema.atomic_map,
            Place::Shape(shape) => matches!(shape, Shape::Atomic | Shape::Untyped),
        }
    }

    /// Whether a list here is one value.
    pub(super) fn list_is_atomic(self) -> bool {
        match self.0 {
            Place::Schema { schema, .. } => schema.list == ListKind::Atomic,
            Place::Shape(shape) => !matches!(shape, Shape::Set | Shape::Keyed(..)),
        }
    }

    /// Whether nothing is known of a map here, so that its members are not looked at again when
    /// schemas change.
    pub(super) fn map_is_deduced(self) -> bool {
        match self.0 {
            Place::Schema {
                schema,
                object: false,
                open,
            } => {
                schema.properties.is_empty()
                    && (schema.additional == Additional::Any(true)
                        || (schema.additional == Additional::Unsaid
                            && (open || schema.properties.is_empty())))
            }
            Place::Schema { .. } => false,
            Place::Shape(shape) => matches!(shape, Shape::Deduced | Shape::Plain),
        }
    }

    /// Whether every value fits here, whatever is in it.
    pub(super) const fn take_anything(self) -> bool {
        matches!(
            self.0,
            Place::Shape(Shape::Plain | Shape::Deduced | Shape::Untyped)
        )
    }

    /// Whether the place holds a map with free keys and texts.
    pub(super) const fn is_map_of_texts(self) -> bool {
        matches!(self.0, Place::Shape(Shape::Map(Shape::Text)))
    }

    /// The field `name` of a map here.
    pub(super) fn member(self, name: &str) -> Member<'a> {
        match self.0 {
            Place::Schema {
                schema,
                open,
                object,
            } => of_schema(schema, open, object, name),
            Place::Shape(shape) => of_shape(shape, name),
        }
    }

    /// The items of a list here.
    pub(super) fn item(self) -> Self {
        match self.0 {
            Place::Schema { schema, open, .. } => match schema.items.as_deref() {
                Some(items) => below(items, open),
                None => Self::shape(&Shape::Untyped),
            },
            Place::Shape(Shape::Keyed(_, item)) => Self::shape(item),
            Place::Shape(Shape::Set) => Self::shape(&Shape::Text),
            Place::Shape(_) => Self::shape(&Shape::Untyped),
        }
    }

    /// What names `item` in the list here, which is not one value.
    pub(super) fn element(self, item: &Value) -> Result<Element, String> {
        match self.keys() {
            Some(names) => self.keyed(&names, item),
            None => match item {
                Value::Object(_) => Err(set_fault("an element that's a map type")),
                Value::Array(_) => {
                    Err("not supported: associative list with lists as elements".into())
                }
                Value::Null => Err(set_fault("an element that's an explicit null")),
                scalar => Ok(Element::Value(scalar.clone())),
            },
        }
    }

    /// `path` into `value` as the API server names it: items of lists that have keys by these.
    #[must_use]
    pub(crate) fn name(self, value: &Value, path: &Path) -> String {
        let mut at = Some((self, value));
        let mut name = String::new();
        for segment in &path.0 {
            let element = match (segment, at) {
                (Segment::Index(index), Some((types, list))) if !types.list_is_atomic() => {
                    types.element(&list[*index]).ok()
                }
                _ => None,
            };
            let element = element.unwrap_or_else(|| match segment {
                Segment::Key(key) => Element::field(key.as_str()),
                Segment::Index(index) => Element::Index(*index as i64),
            });
            name += &element.to_string();
            at = at.and_then(|(types, value)| match segment {
                Segment::Key(key) => Some((types.member(key).types?, value.get(key)?)),
                Segment::Index(index) => Some((types.item(), value.get(index)?)),
            });
        }
        name
    }

    /// The names of the key fields; none for a set.
    fn keys(self) -> Option<Vec<&'a str>> {
        match self.0 {
            Place::Schema { schema, .. } => match &schema.list {
                ListKind::Map(names) => Some(names.iter().map(String::as_str).collect()),
                _ => None,
            },
            Place::Shape(Shape::Keyed(names, _)) => Some(names.to_vec()),
            Place::Shape(_) => None,
        }
    }

    fn keyed(self, names: &[&str], item: &Value) -> Result<Element, String> {
        let fields: &Map<String, Value> = match item {
            Value::Object(fields) => fields,
            Value::Null => {
                return Err("associative list with keys may not have a null element".into());
            }
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let key: Vec<(String, Value)> = names
            .iter()
            .filter_map(|name| {
                let value = fields
                    .get(*name)
                    .cloned()
                    .or_else(|| self.key_default(name))?;
                Some(((*name).to_owned(), value))
            })
            .collect();
        if key.is_empty() && !names.is_empty() {
            let quoted: Vec<String> = names.iter().map(|name| wording::quoted(name)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                quoted.join(" ")
            ));
        }
        Ok(Element::key(key))
    }

    /// What the key field `name` of an item holds when the item leaves it out.
    fn key_default(self, name: &str) -> Option<Value> {
        match self.0 {
            Place::Schema { schema, .. } => {
                let items = schema.items.as_deref()?;
                items.properties.get(name)?.default.clone()
            }
            Place::Shape(_) => Some(built_in::key_default(name)),
        }
    }

    /// What the scalar `value` should be and is not.
    pub(super) fn scalar_wanted(self, value: &Value) -> Option<Scalar> {
        let wanted = match self.0 {
            Place::Schema { schema, .. } => match schema.types.as_slice() {
                [Type::Integer | Type::Number] => Scalar::Number,
                [Type::Boolean] => Scalar::Boolean,
                [Type::String] if has_plain_text(schema) => Scalar::Text,
                _ => Scalar::Any,
            },
            Place::Shape(Shape::Text) => Scalar::Text,
            Place::Shape(_) => Scalar::Any,
        };
        let fits = match wanted {
            Scalar::Number => value.is_number(),
            Scalar::Boolean => value.is_boolean(),
            Scalar::Text => value.is_string(),
            Scalar::Any => !value.is_object() && !value.is_array(),
        };
        (!fits && !value.is_null()).then_some(wanted)
    }
}

/// Whether strings here have no format that could make them something else.
fn has_plain_text(schema: &Schema) -> bool {
    let format = schema.checks.as_ref().and_then(|c| c.format.as_deref());
    matches!(format, None | Some("" | "byte"))
}

fn set_fault(what: &str) -> String {
    format!("associative list without keys has {what}")
}

fn below(schema: &Schema, open: bool) -> Types<'_> {
    Types(Place::Schema {
        schema,
        open: open || schema.preserve_unknown,
        object: schema.embedded_resource,
    })
}

fn of_schema<'a>(schema: &'a Schema, open: bool, object: bool, name: &str) -> Member<'a> {
    let declared = |types| Member {
        types: Some(types),
        declared: true,
    };
    match (name, schema.properties.get(name)) {
        ("metadata", _) if object => declared(Types::shape(&built_in::OBJECT_META)),
        ("apiVersion" | "kind", _) if object => declared(Types::shape(&Shape::Plain)),
        (_, Some(property)) => declared(below(property, open)),
        (_, None) => Member {
            types: free_keys(schema, open, object),
            declared: false,
        },
    }
}

/// What is known of keys that are not named; nothing when there may be none.
fn free_keys(schema: &Schema, open: bool, object: bool) -> Option<Types<'_>> {
    match &schema.additional {
        Additional::Schema(other) => Some(below(other, open)),
        Additional::Any(true) => Some(Types::unknown()),
        Additional::Any(false) => None,
        Additional::Unsaid => {
            let says_nothing = schema.properties.is_empty() && !object;
            (open || says_nothing).then(Types::unknown)
        }
    }
}

fn of_shape(shape: &'static Shape, name: &str) -> Member<'static> {
    let named = |fields: &[(&str, &'static Shape)]| {
        let named = fields.iter().find(|(known, _)| *known == name);
        named.map(|(_, shape)| *shape)
    };
    let (types, declared) = match shape {
        Shape::Struct(fields) => (named(fields).unwrap_or(&Shape::Plain), true),
        Shape::Closed(fields) => {
            let types = named(fields).map(Types::shape);
            return Member {
                declared: types.is_some(),
                types,
            };
        }
        Shape::Object if name == "metadata" => (&built_in::OBJECT_META, true),
        Shape::Object => (&Shape::Deduced, matches!(name, "apiVersion" | "kind")),
        Shape::Map(values) => (*values, false),
        Shape::Deduced => (&Shape::Deduced, false),
        Shape::Atomic | Shape::Untyped => (&Shape::Untyped, false),
        Shape::Plain | Shape::Text | Shape::Set | Shape::Keyed(..) => (&Shape::Plain, true),
    };
    Member {
        types: Some(Types::shape(types)),
        declared,
    }
}
