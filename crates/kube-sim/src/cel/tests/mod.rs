//! Rules as the API server evaluates them. The expected results were observed in its libraries (1.34).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::needless_pass_by_value
)]

mod definitions;
mod expressions;
mod real;
mod rules;

use serde_json::{Value, json};

use super::{Failures, RuleTree};
use kube_schema::{Schema, apply_defaults};

/// A schema whose `spec` has these properties and rules.
fn schema(properties: Value, rules: Value) -> Schema {
    let json = json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": properties, "x-kubernetes-validations": rules}}});
    Schema::from_json(&json).unwrap()
}

/// Which rules of a schema an object breaks, or the change from an old one to it.
fn of_object(schema: &Schema, new: &Value, old: Option<&Value>) -> Failures {
    Failures::of(schema, &RuleTree::compile(schema).unwrap(), new, old)
}

/// Which rules a `spec` breaks, or the change from an old one to it.
fn failures(schema: &Schema, new: &Value, old: Option<&Value>) -> Failures {
    let object = |spec: &Value| {
        let mut object = json!({"metadata": {"name": "a"}, "spec": spec});
        apply_defaults(schema, &mut object);
        object
    };
    of_object(schema, &object(new), old.map(object).as_ref())
}

/// The messages of the violations.
fn violations(schema: &Schema, new: Value, old: Option<Value>) -> Vec<String> {
    let found = failures(schema, &new, old.as_ref());
    found.violations.iter().map(ToString::to_string).collect()
}
