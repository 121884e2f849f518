//! Reading documents of our own kinds: what all of them have in common.
//!
//! In: a document and its schema. Out: the typed value, when the schema has nothing against it, and
//! findings with the lines to mend.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::kinds::CAPSTAN;
use crate::model::{Finding, Node, ObjectId, Origin, Path, Severity, Value};
use crate::schema;
use kube_schema::{OBJECT_META_SCHEMA, Schema};

/// The version that our kinds are served at.
pub(crate) const VERSION: &str = "v1alpha1";

/// The schema of a document of ours with this `spec`.
pub(super) fn schema(kind: &str, spec: &Json) -> Json {
    let labels = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let dns = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
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
                    "name": {"type": "string", "pattern": dns, "maxLength": 63},
                    "namespace": {"type": "string", "pattern": dns, "maxLength": 63},
                    "labels": labels,
                    "annotations": labels,
                },
            },
            "spec": spec,
        },
    })
}

/// A schema of ours, read.
pub(super) fn compiled(schema: &Json) -> Schema {
    Schema::from_json(schema).expect("a schema of ours is one")
}

/// Reads the document as `T`, or says what is wrong with it.
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

/// Fields that no metadata has: a schema lets all of an object's own metadata be.
fn unknown_metadata(node: &Node) -> Vec<Finding> {
    let metadata = node.get("metadata").filter(|node| node.as_map().is_some());
    let at = Path::dotted("metadata");
    let find = |node| schema::findings(&OBJECT_META_SCHEMA, node, &at, None);
    let mut findings = metadata.map_or_else(Vec::new, find);
    findings.retain(|finding| finding.id == "S01");
    findings
}

/// What names a document of ours; without a namespace it is `default`, as for `kubectl`.
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

/// Takes out keys whose value is `null`, which say that something is absent. What Azure's API
/// defines (`properties`) is left as it is: there `null` removes what expansion makes.
pub(super) fn without_nulls(node: Node) -> Node {
    let Value::Map(map) = node.value else {
        return list_without_nulls(node);
    };
    let said = map
        .into_iter()
        .filter(|(_, node)| node.value != Value::Null)
        .map(|(key, node)| match &*key.name {
            "properties" => (key, node),
            _ => (key, without_nulls(node)),
        });
    Node::new(Value::Map(said.collect()), &node.origin)
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

/// Makes texts of versions that were written as bare numbers, and says so (Y11): YAML reads 4.20 as
/// the number 4.2. `spec` is a definition's spec, whole or partial, that stands at `at`.
pub(super) fn quote_versions(spec: &mut Node, at: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(version) = child(spec, "version") {
        let field = at.key("version").key("id");
        findings.extend(child(version, "id").and_then(|id| quote(id, &field)));
    }
    if let Some(Value::List(pools)) = child(spec, "nodePools").map(|node| &mut node.value) {
        for (index, pool) in pools.iter_mut().enumerate() {
            let field = at.key("nodePools").index(index).key("version");
            findings.extend(child(pool, "version").and_then(|version| quote(version, &field)));
        }
    }
    findings
}

fn quote(version: &mut Node, field: &Path) -> Option<Finding> {
    let text = match &version.value {
        Value::Int(int) => int.to_string(),
        Value::Float(_, text) => text.to_string(),
        _ => return None,
    };
    let message = format!("version {text} is written as a number, which loses zeros at its end");
    let found = Finding::error("Y11", message)
        .at(version.span())
        .field(field)
        .help(format!("write \"{text}\" in quotes"));
    version.value = Value::String(text.into());
    Some(found)
}

/// The value of `name` when `node` is a map that has it, open to change.
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
    fn null_says_that_something_is_absent_but_not_in_what_azure_defines() {
        let node = document("{a: null, b: {c: ~, d: [{e: null, f: 1}]}, properties: {g: null}}");
        let said = json!({"b": {"d": [{"f": 1}]}, "properties": {"g": null}});
        assert_eq!(without_nulls(node).to_json(), said);
    }
}
