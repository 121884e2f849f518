//! Which old value a part of a new one goes on from, and whether it changed.
//!
//! In: a schema, an object and the one it replaces. Out: pairs of parts. The API server tolerates what
//! is wrong with a part that did not change (`CRDValidationRatcheting`), so this decides as its
//! `CorrelatedObject` does: fields go on from their namesakes, items only in lists of type `map`, by
//! their keys; where a list has another type it is one value. A field that the schema does not
//! describe goes on from nothing, so that what holds one always counts as changed.

use serde_json::Value;

use super::structural::{ListKind, Schema};

/// A part of an object and the part it goes on from.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    schema: &'a Schema,
    new: &'a Value,
    old: &'a Value,
}

impl<'a> Pair<'a> {
    /// Two whole objects.
    pub const fn new(schema: &'a Schema, new: &'a Value, old: &'a Value) -> Self {
        Self { schema, new, old }
    }

    /// The pair for a field, when both have it.
    pub fn field(self, name: &str) -> Option<Self> {
        let (new, old) = (self.new.as_object()?, self.old.as_object()?);
        Some(Self {
            schema: self.schema.field(name)?,
            new: new.get(name)?,
            old: old.get(name)?,
        })
    }

    /// The pair for an item, when the list it goes on from has one with its keys.
    pub fn item(self, index: usize) -> Option<Self> {
        let new = self.new.as_array()?.get(index)?;
        Some(Self {
            schema: self.schema.items.as_deref()?,
            new,
            old: namesake(self.schema, self.old.as_array()?, new)?,
        })
    }

    /// Whether the part is what it was. Items of a list of type `map` may have moved.
    pub fn is_unchanged(self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) if is_keyed(self.schema) => {
                new.len() == old.len()
                    && (0..new.len()).all(|at| self.item(at).is_some_and(Self::is_unchanged))
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new
                        .keys()
                        .all(|name| self.field(name).is_some_and(Self::is_unchanged))
            }
            (new, old) => new == old,
        }
    }
}

const fn is_keyed(schema: &Schema) -> bool {
    matches!(schema.list, ListKind::Map(_))
}

/// The item of `old` with the keys of `item`, in a list of type `map`.
pub fn namesake<'a>(schema: &Schema, old: &'a [Value], item: &Value) -> Option<&'a Value> {
    let ListKind::Map(names) = &schema.list else {
        return None;
    };
    let keys = |item: &'_ Value| -> Option<Vec<Value>> {
        let scalar = |key: &&Value| !(key.is_null() || key.is_object() || key.is_array());
        let key = |name: &String| item.get(name).filter(scalar).cloned();
        names.iter().map(key).collect()
    };
    let wanted = keys(item).filter(|keys| !keys.is_empty())?;
    old.iter().find(|old| keys(old).as_ref() == Some(&wanted))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn unchanged(schema: &Value, new: &Value, old: &Value) -> bool {
        let schema = Schema::from_json(schema).unwrap();
        Pair::new(&schema, new, old).is_unchanged()
    }

    #[test]
    fn items_with_keys_may_move_and_others_may_not() {
        let list = |kind: &str| {
            json!({"type": "array", "x-kubernetes-list-type": kind, "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}})
        };
        let (ab, ba) = (
            json!([{"k": "a"}, {"k": "b"}]),
            json!([{"k": "b"}, {"k": "a"}]),
        );
        assert!(unchanged(&list("map"), &ab, &ba));
        assert!(!unchanged(&list("atomic"), &ab, &ba));
        assert!(unchanged(&list("atomic"), &ab, &ab));
        let other = json!([{"k": "a", "v": 1}, {"k": "b"}]);
        assert!(!unchanged(&list("map"), &ab, &other));
        assert!(
            !unchanged(&list("map"), &json!([{}]), &json!([{}])),
            "no keys"
        );
    }

    #[test]
    fn what_the_schema_does_not_describe_counts_as_changed() {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"a": {"type": "integer"}}});
        assert!(unchanged(&open, &json!({"a": 1}), &json!({"a": 1})));
        assert!(!unchanged(&open, &json!({"b": 1}), &json!({"b": 1})));
        assert!(!unchanged(&open, &json!({"a": 1}), &json!({})));
    }
}
