//! Reads documents of our own kinds: the part that all of them share.
//!
//! In: a document and its schema. Out: the typed value, if the document is valid, and findings with the
//! lines to fix.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::kinds::CAPSTAN;
use crate::model::{Finding, Node, ObjectId, Origin, Path, Severity, Value, message, rule_id};
use crate::schema;
use crate::schema::patterns::LABEL;
use kube_schema::{OBJECT_META_SCHEMA, Schema};

/// The version of our kinds.
pub(crate) const VERSION: &str = "v1alpha1";

/// The schema of a document of ours with this `spec`.
pub(super) fn schema(kind: &str, spec: &Json) -> Json {
    let labels = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": {"type": "string", "enum": [format!("{CAPSTAN}/{VERSION}")]},
            "kind": {"type": "string", "enum": [kind]},
            "metadata": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "pattern": LABEL, "maxLength": 63},
                    "namespace": {"type": "string", "pattern": LABEL, "maxLength": 63},
                    "labels": labels,
                    "annotations": labels,
                },
            },
            "spec": spec,
        },
    })
}

/// Parses a schema of ours.
pub(super) fn compiled(schema: &Json) -> Schema {
    Schema::from_json(schema).expect("our schemas are valid")
}

/// The names of the fields of `spec`.
pub(super) fn spec_fields(schema: &Schema) -> Vec<&str> {
    let spec = schema.properties.get("spec").into_iter();
    spec.flat_map(|spec| spec.properties.keys().map(String::as_str))
        .collect()
}

/// Reads the document as `T`, or reports what is wrong with it.
pub(super) fn typed<T: DeserializeOwned>(
    node: &Node,
    schema: &Schema,
) -> (Option<T>, Vec<Finding>) {
    let mut findings = schema::findings(schema, node, &Path::default(), None);
    findings.extend(unknown_metadata(node));
    if findings
        .iter()
        .any(|found| found.severity == Severity::Error)
    {
        return (None, findings);
    }
    match serde_json::from_value(node.to_json()) {
        Ok(value) => (Some(value), findings),
        Err(error) => {
            let found = Finding::error("S05", error.to_string()).at(node.span());
            (None, findings.into_iter().chain([found]).collect())
        }
    }
}

/// Unknown fields of the metadata, which the schema does not check.
fn unknown_metadata(node: &Node) -> Vec<Finding> {
    let metadata = node.get("metadata").filter(|node| node.as_map().is_some());
    let at = Path::dotted("metadata");
    let find = |node| schema::findings(&OBJECT_META_SCHEMA, node, &at, None);
    let mut findings = metadata.map_or_else(Vec::new, find);
    findings.retain(|finding| finding.id == rule_id::UNKNOWN_FIELD);
    findings
}

/// The identity of a document of ours; the namespace defaults to `default`, as with `kubectl`.
pub(super) fn identity(node: &Node, kind: &str) -> (ObjectId, Origin) {
    let name = node.at(&["metadata", "name"]);
    let namespace = node.text(&["metadata", "namespace"]).unwrap_or("default");
    let text = name.and_then(Node::as_str).unwrap_or_default();
    let origin = name.map_or(&node.origin, |name| &name.origin).clone();
    (ObjectId::new(CAPSTAN, kind, namespace, text), origin)
}

/// The labels of a document.
pub(super) fn labels(node: &Node) -> BTreeMap<String, String> {
    let labels = node.at(&["metadata", "labels"]).and_then(Node::as_map);
    let text = |node: &Node| node.as_str().unwrap_or_default().to_owned();
    let entries = labels.into_iter().flat_map(|map| map.iter());
    entries
        .map(|(key, node)| (key.name.to_string(), text(node)))
        .collect()
}

/// Removes keys whose value is `null`, which mean that a field is absent. What Azure's API
/// defines (`properties`) is kept: there `null` removes a generated field.
pub(super) fn without_nulls(node: Node) -> Node {
    let Value::Map(map) = node.value else {
        return list_without_nulls(node);
    };
    let present = map
        .into_iter()
        .filter(|(_, node)| node.value != Value::Null)
        .map(|(key, node)| match &*key.name {
            "properties" => (key, node),
            _ => (key, without_nulls(node)),
        });
    Node::new(Value::Map(present.collect()), &node.origin)
}

fn list_without_nulls(node: Node) -> Node {
    match node.value {
        Value::List(items) => {
            let items = items.into_iter().map(without_nulls).collect();
            Node::new(Value::List(items), &node.origin)
        }
        _ => node,
    }
}

/// Turns versions that were written as numbers into strings and reports them (Y11): YAML reads 4.20 as
/// the number 4.2. `spec` is a definition's whole or partial spec, at the path `at`.
pub(super) fn quote_versions(spec: &mut Node, at: &Path) -> Vec<Finding> {
    let minor = |text: &str| (with_minor(text), in_quotes(text));
    let patch = |text: &str| (full(text), in_full(text));
    let mut findings = Vec::new();
    findings.extend(quote(spec, at, &["version", "id"], minor));
    findings.extend(quote(
        spec,
        at,
        &["hyperShift", "release", "version"],
        patch,
    ));
    if let Some(Value::List(pools)) = child(spec, "nodePools").map(|node| &mut node.value) {
        for (index, pool) in pools.iter_mut().enumerate() {
            let at = at.key("nodePools").index(index);
            findings.extend(quote(pool, &at, &["version"], patch));
            findings.extend(quote(pool, &at, &["release", "version"], patch));
        }
    }
    findings
}

/// Replaces a version that is a number by the text that is suggested, so that nothing else depends on the mistake. It is at
/// the end of a chain of fields of `node`, which is at the path `at`.
fn quote(
    node: &mut Node,
    at: &Path,
    fields: &[&str],
    suggestion: impl Fn(&str) -> (String, String),
) -> Option<Finding> {
    let field = fields.iter().fold(at.clone(), |at, name| at.key(*name));
    let version = fields
        .iter()
        .try_fold(node, |node, name| child(node, name))?;
    let text = match &version.value {
        Value::Int(int) => int.to_string(),
        Value::Float(_, text) => text.to_string(),
        _ => return None,
    };
    let message = message!(
        "version {text} is written as a number and loses its trailing zeros",
        text
    );
    let (right, help) = suggestion(&text);
    let found = Finding::error(rule_id::UNQUOTED_VERSION, message);
    let found = found.at(version.span()).field(&field).help(help);
    version.value = Value::String(right.into());
    Some(found)
}

/// The minor version that is probably meant. OpenShift 4.2 is older than ARO HCP, so a one-digit minor version has
/// already lost its zero.
fn with_minor(text: &str) -> String {
    match text.split_once('.') {
        Some((_, minor)) if minor.len() >= 2 => text.to_owned(),
        Some((major, minor)) => format!("{major}.{minor}0"),
        None => "4.20".to_owned(),
    }
}

/// The help for a minor version.
fn in_quotes(text: &str) -> String {
    let right = with_minor(text);
    match text.contains('.') {
        true if right == text => format!("put it in quotes: \"{right}\""),
        true => format!("write it in quotes, such as \"{right}\""),
        false => format!("write it in quotes and with its minor version, such as \"{right}\""),
    }
}

/// The version of a node pool that is probably meant: it needs its patch version.
fn full(text: &str) -> String {
    let minor = text.split_once('.').filter(|(_, minor)| minor.len() >= 2);
    format!("{}.17", minor.map_or("4.20", |_| text))
}

/// The help for the version of a node pool.
fn in_full(text: &str) -> String {
    let right = full(text);
    format!("write the full version, such as {right}: with its patch version it needs no quotes")
}

/// The mutable value of `name` if `node` is a map that has it.
pub(super) fn child<'a>(node: &'a mut Node, name: &str) -> Option<&'a mut Node> {
    match &mut node.value {
        Value::Map(map) => map.get_mut(name),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;

    /// The one document of a text.
    pub(in crate::api) fn document(text: &str) -> Node {
        let (mut nodes, findings) = crate::yaml::read(&Arc::from("a.yaml"), text.as_bytes());
        assert_eq!(findings, []);
        nodes.remove(0)
    }

    /// `id line:column field` of each finding, in the order of lines.
    pub(in crate::api) fn places(findings: &[Finding]) -> Vec<String> {
        let place = |found: &Finding| {
            let start = found.span.as_ref().map(|span| span.start);
            let (line, column) = start.map_or((0, 0), |start| (start.line, start.column));
            let field = found
                .field
                .as_ref()
                .map(Path::to_string)
                .unwrap_or_default();
            (
                line,
                column,
                format!("{} {line}:{column} {field}", found.id),
            )
        };
        let mut places: Vec<_> = findings.iter().map(place).collect();
        places.sort();
        places.into_iter().map(|(_, _, text)| text).collect()
    }

    #[test]
    fn null_means_absent_except_in_fields_of_azure() {
        let node = document("{a: null, b: {c: ~, d: [{e: null, f: 1}]}, properties: {g: null}}");
        let expected = json!({"b": {"d": [{"f": 1}]}, "properties": {"g": null}});
        assert_eq!(without_nulls(node).to_json(), expected);
    }
}
