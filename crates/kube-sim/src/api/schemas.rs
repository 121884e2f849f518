//! The schemas of a definition.
//!
//! In: the versions of a definition. Out: their schemas, or the fields that are wrong; and the rules
//! that are not evaluated here. It does not know the rest of a version.

use std::sync::Arc;

use serde_json::{Value, json};

use super::status::Cause;
use crate::cel::{RuleTree, rule_faults};
use crate::structural_faults;
use kube_schema::Schema;

/// What came of reading the schemas of a definition.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    /// One for each version, unless something is wrong.
    pub(super) read: Vec<Ruled>,
    /// What is wrong.
    pub(super) causes: Vec<Cause>,
    /// Of rules that are not evaluated.
    pub(super) warnings: Vec<String>,
}

/// A schema and its rules.
#[derive(Clone, Debug)]
pub(super) struct Ruled {
    pub(super) schema: Arc<Schema>,
    pub(super) rules: Arc<RuleTree>,
}

/// Reads the schemas of `versions`. Versions that agree share one.
pub(super) fn read(versions: &[Value]) -> Schemas {
    let mut schemas = Schemas::default();
    let alike = versions
        .windows(2)
        .all(|pair| pair[0]["schema"] == pair[1]["schema"]);
    for (at, version) in versions.iter().enumerate() {
        let json = &version["schema"]["openAPIV3Schema"];
        // The server keeps one schema for versions that agree, and speaks of that.
        let field = match alike && json.is_object() {
            true => "spec.validation.openAPIV3Schema".to_owned(),
            false => format!("spec.versions[{at}].schema.openAPIV3Schema"),
        };
        if alike && json.is_object() && at > 0 {
            schemas.read.extend(schemas.read.first().cloned());
            continue;
        }
        let read = one(json, &field);
        schemas.read.extend(read.schema);
        schemas.causes.extend(read.causes);
        schemas.warnings.extend(read.warnings);
    }
    schemas
}

/// One schema that was read.
#[derive(Default)]
struct Read {
    schema: Option<Ruled>,
    causes: Vec<Cause>,
    warnings: Vec<String>,
}

/// Reads the schema at `field`.
fn one(json: &Value, field: &str) -> Read {
    let wrong = |causes| Read {
        causes,
        ..Read::default()
    };
    if !json.is_object() {
        return wrong(vec![Cause::required(field, "")]);
    }
    let below =
        |(path, message): (String, String)| Cause::with_message(format!("{field}.{path}"), message);
    let faults = structural_faults(json).into_iter().map(|fault| {
        let (path, message) = fault.split_once(": ").unwrap_or(("", &fault));
        let because = "because it is defined in ";
        let message = message.replace(because, &format!("{because}{field}."));
        below((path.to_owned(), message))
    });
    let mut causes: Vec<Cause> = faults.collect();
    let schema = match Schema::from_definition(json) {
        Ok(schema) => schema,
        Err(_) if !causes.is_empty() => return wrong(causes),
        Err(error) => return wrong(vec![Cause::invalid(field, &json!(""), &error)]),
    };
    let rules = match RuleTree::compile(&schema) {
        Ok(rules) => rules,
        Err(error) => return wrong(vec![Cause::invalid(field, &json!(""), &error)]),
    };
    let found = rule_faults(&schema, &rules, causes.is_empty());
    causes.extend(found.faults.into_iter().map(below));
    let unchecked = found.unchecked.into_iter();
    let (schema, rules) = (Arc::new(schema), Arc::new(rules));
    Read {
        schema: Some(Ruled { schema, rules }),
        causes,
        warnings: unchecked
            .map(|(path, why)| format!("{field}.{path}: rule not evaluated: {why}"))
            .collect(),
    }
}
