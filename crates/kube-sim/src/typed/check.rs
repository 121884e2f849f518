//! Whether a configuration can be merged at all.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::types::{Form, Scalar, Types};
use kube_schema::Element;
use kube_schema::wording;

/// What keeps `config` from being merged, each with its path, in the API server's words: fields that
/// no schema declares, values of another kind, list items that cannot be distinguished.
pub(crate) fn check(config: &Value, types: Types<'_>) -> Vec<String> {
    let mut walk = Walk::default();
    walk.visit(types, config, &At::Root);
    walk.faults
}

/// What keeps a stored `object` from being compared field by field: as [`check`], but items may be there
/// twice.
pub(crate) fn check_stored(object: &Value, types: Types<'_>) -> Vec<String> {
    let mut walk = Walk {
        repeats: true,
        ..Walk::default()
    };
    walk.visit(types, object, &At::Root);
    walk.faults
}

/// A place: the steps back to the root. It is written out only for a fault.
enum At<'a> {
    Root,
    Field(&'a Self, &'a str),
    Item(&'a Self, &'a Element),
    /// An item of a list that is one value.
    Index(&'a Self, usize),
}

/// As elements write themselves, one after the other.
impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(above, name) => write!(f, "{above}.{name}"),
            Self::Item(above, element) => write!(f, "{above}{element}"),
            Self::Index(above, index) => write!(f, "{above}[{index}]"),
        }
    }
}

#[derive(Default)]
struct Walk {
    /// Whether items of sets and keyed lists may be there twice.
    repeats: bool,
    faults: Vec<String>,
}

impl Walk {
    fn fault(&mut self, at: &At<'_>, what: &str) {
        let colon = if matches!(at, At::Root) { "" } else { ": " };
        self.faults.push(format!("{at}{colon}{what}"));
    }

    fn visit(&mut self, types: Types<'_>, value: &Value, at: &At<'_>) {
        if types.take_anything() {
            return;
        }
        match (types.forms().narrow(Some(value)).form(), value) {
            (_, Value::Null) => {}
            (Form::Map, Value::Object(fields)) => self.fields(types, fields, at),
            (Form::List, Value::Array(items)) => self.items(types, items, at),
            (Form::Scalar, scalar) => {
                if let Some(wanted) = types.scalar_wanted(scalar) {
                    let shown = shown(wanted, scalar);
                    self.fault(at, &format!("expected {wanted}, got {shown}"));
                }
            }
            (Form::Map, other) => self.fault(at, &format!("expected map, got {}", held(other))),
            (Form::List, other) => self.fault(at, &format!("expected list, got {}", held(other))),
        }
    }

    fn fields(&mut self, types: Types<'_>, fields: &Map<String, Value>, at: &At<'_>) {
        for (name, value) in fields {
            let at = At::Field(at, name);
            match types.member(name).types {
                Some(types) => self.visit(types, value, &at),
                None => self.fault(&at, "field not declared in schema"),
            }
        }
    }

    fn items(&mut self, types: Types<'_>, items: &[Value], at: &At<'_>) {
        if types.list_is_atomic() {
            for (index, item) in items.iter().enumerate() {
                self.visit(types.item(), item, &At::Index(at, index));
            }
            return;
        }
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let element = match types.element(item) {
                Ok(element) => element,
                Err(why) => return self.fault(at, &format!("element {index}: {why}")),
            };
            if !self.repeats && seen.contains(&element) {
                self.fault(at, &format!("duplicate entries for key {element}"));
            }
            self.visit(types.item(), item, &At::Item(at, &element));
            if !self.repeats {
                seen.insert(element);
            }
        }
    }
}

/// A value that is no scalar of the wanted type, as the API server happens to tell it.
fn shown(wanted: Scalar, value: &Value) -> String {
    match wanted {
        Scalar::Number => kind(value).to_owned(),
        Scalar::Text => format!(
            "&value.valueUnstructured{{Value:{}}}",
            wording::in_go(value)
        ),
        Scalar::Boolean | Scalar::Any => held(value),
    }
}

/// Go's name of the type.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
        Value::Null => "<nil>",
    }
}

/// A value in the struct that holds it on the API server.
fn held(value: &Value) -> String {
    format!("&{{{}}}", wording::printed(value))
}
