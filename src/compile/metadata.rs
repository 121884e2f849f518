//! What every object's `metadata` must be like for a request to be made of it.
//!
//! In: a top-level object. Out: findings: S02 for a wrong type, S04 for a name that no API server
//! takes (and that could lead a request elsewhere), S01 and S04 for annotations that would say something
//! to us and are misspelt. It does not know the kinds.

use crate::api::{kinds, labels};
use crate::model::{Finding, Node, Object, Path, Value};
use crate::schema::nearest;

/// What is wrong with the metadata of `object`.
pub(super) fn findings(object: &Object) -> Vec<Finding> {
    let mut findings = Vec::new();
    let metadata = object.node.get("metadata");
    let field = |name: &str| metadata.and_then(|metadata| metadata.get(name));
    let role = object.id.group == "rbac.authorization.k8s.io";
    if let Some(name) = field("name") {
        findings.extend(name_fault(object, name, role));
    }
    findings.extend(field("namespace").and_then(|node| namespace_fault(object, node)));
    for (name, is_label) in [("labels", true), ("annotations", false)] {
        if let Some(node) = field(name) {
            findings.extend(texts(object, node, name, is_label));
        }
    }
    findings
}

fn fault(
    object: &Object,
    id: &'static str,
    node: &Node,
    field: &Path,
    message: String,
    help: &str,
) -> Finding {
    Finding::error(id, message)
        .at(node.span())
        .of(object.definition.as_ref().unwrap_or(&object.id))
        .field(field)
        .help(help)
}

fn name_fault(object: &Object, node: &Node, role: bool) -> Option<Finding> {
    let name = node.as_str()?;
    // Roles may be called almost anything; what stands in a path must still be one part of it.
    let part = !matches!(name, "." | "..") && name.bytes().all(|byte| byte.is_ascii_graphic());
    let part = part
        && !name.contains([
            '/', '%', '?', '#', '"', '<', '>', '\\', '^', '`', '{', '|', '}',
        ]);
    if is_subdomain(name) || role && part && !name.is_empty() {
        return None;
    }
    let message = format!("`{name}` cannot be the name of an object");
    let help = "use lower-case letters, digits, `-` and `.`, at most 253, with a letter or digit at both ends";
    let field = Path::dotted("metadata.name");
    Some(fault(object, "S04", node, &field, message, help))
}

fn namespace_fault(object: &Object, node: &Node) -> Option<Finding> {
    let field = Path::dotted("metadata.namespace");
    let help =
        "use lower-case letters, digits and `-`, at most 63, with a letter or digit at both ends";
    match &node.value {
        Value::Null => None,
        Value::String(name) if is_label(name) => None,
        Value::String(name) => {
            let message = format!("`{name}` cannot be the name of a namespace");
            Some(fault(object, "S04", node, &field, message, help))
        }
        _ => {
            let message = "metadata.namespace must be a text".to_owned();
            Some(fault(
                object,
                "S02",
                node,
                &field,
                message,
                "put it in quotes",
            ))
        }
    }
}

/// Labels and annotations are maps of texts.
fn texts(object: &Object, node: &Node, name: &str, is_label: bool) -> Vec<Finding> {
    let path = Path::dotted("metadata").key(name.to_owned());
    let map = match &node.value {
        Value::Map(map) => map,
        Value::Null => return Vec::new(),
        _ => {
            let message = format!("metadata.{name} must be a map of texts");
            let help = "write `name: value` lines below it";
            return vec![fault(object, "S02", node, &path, message, help)];
        }
    };
    let mut findings = Vec::new();
    for (key, value) in map.iter() {
        let field = path.key(key.name.clone());
        if !is_label {
            findings.extend(misspelt(object, &key.name, value, &field));
        }
        match &value.value {
            Value::String(text) if is_label && !is_label_value(text) => {
                let message = format!("`{text}` cannot be the value of a label");
                let help = "use at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends; longer texts can be annotations";
                findings.push(fault(object, "S04", value, &field, message, help));
            }
            Value::String(_) | Value::Null => {}
            _ => {
                let message = format!(
                    "metadata.{name} must be a map of texts, and `{}` is none",
                    key.name
                );
                findings.push(fault(
                    object,
                    "S02",
                    value,
                    &field,
                    message,
                    "put the value in quotes",
                ));
            }
        }
    }
    findings
}

/// Annotations of ours and what they may say; nothing where that is free.
const OURS: [(&str, &[&str]); 7] = [
    (labels::ADOPT, &["true", "false"]),
    (labels::APPLIED, &[]),
    (labels::DELETION_POLICY, &["Delete", "Orphan"]),
    (labels::FORCE_CONFLICTS, &["true", "false"]),
    (labels::IGNORE, &[]),
    (labels::ORPHANED_FROM, &[]),
    (labels::SOURCE, &[]),
];

/// An annotation that is for us and that we do not know: passed over, it could cost an object.
fn misspelt(object: &Object, name: &str, value: &Node, field: &Path) -> Option<Finding> {
    name.strip_prefix(kinds::CAPSTAN)?.strip_prefix('/')?;
    let Some((_, values)) = OURS.iter().find(|(known, _)| *known == name) else {
        let help = match nearest(name, OURS.iter().map(|(known, _)| *known)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "remove it, or choose another prefix".to_owned(),
        };
        let message = format!("Capstan knows no annotation `{name}`");
        return Some(fault(object, "S01", value, field, message, &help));
    };
    let text = value.as_str().filter(|_| !values.is_empty())?;
    if values.contains(&text) {
        return None;
    }
    let message = format!("`{name}` cannot be `{text}`");
    let help = format!("write \"{}\"", values.join("\" or \""));
    Some(fault(object, "S04", value, field, message, &help))
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// RFC 1123, as Kubernetes checks names of namespaces.
fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_word(text)
}

/// RFC 1123, as Kubernetes checks names of most objects.
fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_word)
}

fn is_word(text: &str) -> bool {
    let mut ends = [text.bytes().next(), text.bytes().last()].into_iter();
    let inner = text.bytes().all(|byte| is_lower(byte) || byte == b'-');
    inner && ends.all(|end| end.is_some_and(is_lower))
}

fn is_label_value(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_none_or(|byte| byte.is_ascii_alphanumeric());
    let inner = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    text.len() <= 63 && inner && edge(text.bytes().next()) && edge(text.bytes().last())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// `id line:column message` per finding of one object.
    fn said(yaml: &str) -> Vec<String> {
        let (documents, _) = crate::yaml::read(&Arc::from("a.yaml"), yaml.as_bytes());
        let objects = documents
            .into_iter()
            .filter_map(|node| Object::from_node(node, "default"));
        let say = |finding: Finding| {
            let at = finding.span.expect("a place").start;
            format!(
                "{} {}:{} {}",
                finding.id, at.line, at.column, finding.message
            )
        };
        objects
            .flat_map(|object| findings(&object))
            .map(say)
            .collect()
    }

    fn of(metadata: &str) -> Vec<String> {
        said(&format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{{metadata}}}\n"
        ))
    }

    #[test]
    fn what_kubernetes_takes_is_taken() {
        for metadata in [
            "name: a-1.b",
            "name: a, namespace: ns-1, labels: {x: Y.z_1, y: \"\"}, annotations: {z: \"any / thing\"}",
            "name: a, namespace: null, labels: null, annotations: {x: null}",
        ] {
            assert_eq!(of(metadata), [] as [String; 0], "{metadata}");
        }
        let role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: \"system:NAME\"}}";
        assert_eq!(said(role), [] as [String; 0]);
    }

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        for name in ["a/../b", "..", "A", "a b", "-a", "a.", "a?x=y", "a%2f", "ä"] {
            let expected = format!("S04 3:18 `{name}` cannot be the name of an object");
            assert_eq!(of(&format!("name: \"{name}\"")), [expected]);
        }
        let role =
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a/status}}";
        assert_eq!(said(role).len(), 1);
        assert_eq!(
            of("name: a, namespace: x/y"),
            ["S04 3:32 `x/y` cannot be the name of a namespace"]
        );
    }

    #[test]
    fn annotations_for_us_are_ones_we_know() {
        let said = |annotation: &str| of(&format!("name: a, annotations: {{{annotation}}}"));
        let sound = "capstan.dev/adopt: \"true\", capstan.dev/deletion-policy: Orphan, capstan.dev/ignore: /data";
        assert_eq!(said(sound), [] as [String; 0]);
        let misspelt = "S01 3:63 Capstan knows no annotation `capstan.dev/deletionPolicy`";
        assert_eq!(said("capstan.dev/deletionPolicy: Orphan"), [misspelt]);
        let wrong = "S04 3:54 `capstan.dev/adopt` cannot be `True`";
        assert_eq!(said("capstan.dev/adopt: \"True\""), [wrong]);
        let keep = "S04 3:64 `capstan.dev/deletion-policy` cannot be `Keep`";
        assert_eq!(said("capstan.dev/deletion-policy: Keep"), [keep]);
    }

    #[test]
    fn labels_and_annotations_are_maps_of_texts() {
        assert_eq!(
            of("name: a, namespace: 1"),
            ["S02 3:32 metadata.namespace must be a text"]
        );
        assert_eq!(
            of("name: a, labels: hello"),
            ["S02 3:29 metadata.labels must be a map of texts"]
        );
        assert_eq!(
            of("name: a, annotations: {x: 1}"),
            ["S02 3:38 metadata.annotations must be a map of texts, and `x` is none"]
        );
        assert_eq!(
            of("name: a, labels: {x: a b}"),
            ["S04 3:33 `a b` cannot be the value of a label"]
        );
    }
}
