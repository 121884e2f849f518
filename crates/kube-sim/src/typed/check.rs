//! Whether a configuration can be merged at all.

use serde_json::{Map, Value};

use crate::types::{Form, Scalar, Types};
use kube_schema::Element;
use kube_schema::wording;

/// What keeps `config` from being merged, each with its path, in the API server's words: fields that
/// no schema declares, values of another kind, list items that cannot be distinguished.
pub(crate) fn check(config: &Value, types: Types<'_>) -> Vec<String> {
    let mut walk = Walk::default();
    walk.visit(types, config);
    walk.faults
}

/// What keeps a stored `object` from being compared field by field: as [`check`], but items may be there
/// twice.
pub(crate) fn check_stored(object: &Value, types: Types<'_>) -> Vec<String> {
    let mut walk = Walk {
        repeats: true,
        ..Walk::default()
    };
    walk.visit(types, object);
    walk.faults
}

#[derive(Default)]
struct Walk {
    at: String,
    /// Whether items of sets and keyed lists may be there twice.
    repeats: bool,
    faults: Vec<String>,
}

impl Walk {
    fn fault(&mut self, what: &str) {
        let at = if self.at.is_empty() { "" } else { ": " };
        self.faults.push(format!("{}{at}{what}", self.at));
    }

    fn below(&mut self, element: &Element, visit: impl FnOnce(&mut Self)) {
        let length = self.at.len();
        self.at += &element.to_string();
        visit(self);
        self.at.truncate(length);
    }

    fn visit(&mut self, types: Types<'_>, value: &Value) {
        match (types.forms().narrow(Some(value)).form(), value) {
            (_, Value::Null) => {}
            (Form::Map, Value::Object(fields)) => self.fields(types, fields),
            (Form::List, Value::Array(items)) => self.items(types, items),
            (Form::Scalar, scalar) => {
                if let Some(wanted) = types.scalar_wanted(scalar) {
                    self.fault(&format!("expected {wanted}, got {}", shown(wanted, scalar)));
                }
            }
            (Form::Map, other) => self.fault(&format!("expected map, got {}", held(other))),
            (Form::List, other) => self.fault(&format!("expected list, got {}", held(other))),
        }
    }

    fn fields(&mut self, types: Types<'_>, fields: &Map<String, Value>) {
        for (name, value) in fields {
            self.below(&Element::field(name.as_str()), |walk| {
                match types.member(name).types {
                    Some(types) => walk.visit(types, value),
                    None => walk.fault("field not declared in schema"),
                }
            });
        }
    }

    fn items(&mut self, types: Types<'_>, items: &[Value]) {
        let mut seen = std::collections::BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let element = if types.list_is_atomic() {
                Element::Index(index as i64)
            } else {
                match types.element(item) {
                    Ok(element) => element,
                    Err(why) => return self.fault(&format!("element {index}: {why}")),
                }
            };
            if !self.repeats && !seen.insert(element.clone()) {
                self.fault(&format!("duplicate entries for key {element}"));
            }
            self.below(&element, |walk| walk.visit(types.item(), item));
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
