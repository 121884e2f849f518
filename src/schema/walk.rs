//! A value and its schema gone through together.

use serde_json::Value;

use crate::model::Path;

use super::structural::Schema;
use super::violation::{Violation, ViolationKind, written};

/// A place in the value, and which of its keys are free keys of maps: some messages write those in
/// brackets.
#[derive(Clone, Default)]
pub(super) struct At {
    path: Path,
    free: Vec<usize>,
}

impl At {
    pub(super) fn key(&self, name: &str) -> Self {
        Self {
            path: self.path.key(name),
            free: self.free.clone(),
        }
    }

    fn free_key(&self, name: &str) -> Self {
        let mut longer = self.key(name);
        longer.free.push(self.path.0.len());
        longer
    }

    pub(super) fn index(&self, index: usize) -> Self {
        Self {
            path: self.path.index(index),
            free: self.free.clone(),
        }
    }

    /// A violation here, free keys in brackets.
    pub(super) fn violation(&self, kind: ViolationKind, message: String) -> Violation {
        let mut violation = Violation::new(&self.path, kind, message);
        violation.field = written(&self.path, |at| self.free.contains(&at));
        violation
    }
}

/// Calls `see` for every place of `value` that the schema describes, parents first.
pub(super) fn walk(
    schema: &Schema,
    value: &Value,
    at: &At,
    see: &mut impl FnMut(&Schema, &Value, &At),
) {
    see(schema, value, at);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let Some(wanted) = schema.field(name) else {
                    continue;
                };
                let named = schema.properties.contains_key(name);
                let below = if named {
                    at.key(name)
                } else {
                    at.free_key(name)
                };
                walk(wanted, value, &below, see);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(wanted) = &schema.items {
                    walk(wanted, item, &at.index(index), see);
                }
            }
        }
        _ => {}
    }
}
