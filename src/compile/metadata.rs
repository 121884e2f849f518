//! Checks of every object's `metadata`.
//!
//! In: a top-level object, or a definition or overlay. Out: findings: S01 for unknown fields, S02 for wrong types,
//! S04 for invalid names (which could redirect a request) and for fields that only the API server writes, S01 and
//! S04 for unknown or invalid annotations of Capstan. It does not know the kinds.

use crate::api::{embedded, kinds, labels};
use crate::model::{
    Finding, Key, Message, Node, Object, ObjectId, Path, Value, is_dns_label, is_dns_subdomain,
    message, rule_id,
};
use crate::rules::of_label_key;
use crate::schema;
use kube_schema::{OBJECT_META_SCHEMA, nearest};

/// Checks the metadata of `object` and of the resources that it carries.
pub(super) fn findings(object: &Object) -> Vec<Finding> {
    let mut findings = Vec::new();
    let id = object.definition.as_ref().unwrap_or(&object.id);
    let metadata = object.node.get("metadata");
    let field = |name: &str| metadata.and_then(|metadata| metadata.get(name));
    let role = object.id.group == "rbac.authorization.k8s.io";
    if let Some(name) = field("name") {
        findings.extend(name_fault(id, name, &Path::dotted("metadata.name"), role));
    }
    findings.extend(field("namespace").and_then(|node| namespace_fault(id, node)));
    findings.extend(label_faults(id, field("labels")));
    findings.extend(key_faults(id, "label", field("labels")));
    findings.extend(key_faults(id, "annotation", field("annotations")));
    findings.extend(of_annotations(id, &object.node));
    findings.extend(shape(id, &object.node, &Path::dotted("metadata")));
    for (index, item) in embedded::items(object).iter().enumerate() {
        let at = Path::dotted("spec.resources").index(index);
        let name = item.at(&["metadata", "name"]);
        let field = at.key("metadata").key("name");
        findings.extend(name.and_then(|name| name_fault(id, name, &field, false)));
        findings.extend(shape(id, item, &at.key("metadata")));
    }
    findings
}

/// Annotations of a definition that the objects made of it would heed, with the field of the `spec` that sets them, if there is one.
const UNHEEDED: [(&str, &str); 6] = [
    (labels::DELETION_POLICY, "deletionPolicy"),
    (labels::DEPENDS_ON, ""),
    (labels::IGNORE, ""),
    (labels::LINK_CREDENTIAL, "hyperShift.azure.credentialFrom"),
    (labels::LINK_IDENTITY, "hyperShift.azure.identityRef"),
    (
        labels::NAT_SUBNET_RANGE,
        "hyperShift.azure.privateConnectivity.natSubnet",
    ),
];
/// The domains of annotations that other controllers read on the objects made of a definition.
const OF_OTHERS: [&str; 3] = [
    "cluster.x-k8s.io",
    "hypershift.openshift.io",
    "serviceoperator.azure.com",
];

/// Checks the annotations of a definition: what is meant for the objects that are made of it does not reach them.
pub(super) fn of_definition(id: &ObjectId, node: &Node) -> Vec<Finding> {
    let map = node.at(&["metadata", "annotations"]).and_then(Node::as_map);
    let written = map.into_iter().flat_map(|map| map.iter());
    let unheeded = written.filter_map(|(key, value)| unheeded(id, &key.name, value));
    of_annotations(id, node)
        .into_iter()
        .chain(unheeded)
        .collect()
}

fn unheeded(id: &ObjectId, name: &str, value: &Node) -> Option<Finding> {
    let ours = UNHEEDED.iter().find(|(known, _)| *known == name);
    let domain = name.split_once('/').map_or("", |(domain, _)| domain);
    let mut starts = OF_OTHERS
        .iter()
        .filter_map(|other| domain.strip_suffix(other));
    if ours.is_none() && !starts.any(is_start_of_domain) {
        return None;
    }
    let help = match ours {
        Some((_, field)) if !field.is_empty() => format!("write `spec.{field}` instead"),
        _ => "set it with an Overlay that patches the object, or remove it".to_owned(),
    };
    let message = message!(
        "a definition does not pass the annotation `{name}` on to its objects",
        name
    );
    let field = Path::dotted("metadata.annotations").key(name);
    let finding = Finding::warning(rule_id::UNKNOWN_FIELD, message);
    Some(finding.at(value.span()).of(id).field(&field).help(help))
}

fn is_start_of_domain(start: &str) -> bool {
    start.is_empty() || start.ends_with('.')
}

/// Checks Capstan's annotations on an object, a definition or an overlay.
pub(super) fn of_annotations(id: &ObjectId, node: &Node) -> Vec<Finding> {
    let path = Path::dotted("metadata.annotations");
    let map = node.at(&["metadata", "annotations"]).and_then(Node::as_map);
    let annotations = map.into_iter().flat_map(|map| map.iter());
    annotations
        .filter_map(|(key, value)| misspelt(id, &key.name, value, &path.key(key.name.clone())))
        .collect()
}

/// Checks the metadata of `of`, which is at `at`, against its schema.
fn shape(id: &ObjectId, of: &Node, at: &Path) -> Vec<Finding> {
    // Metadata that is not a map is reported where required fields are checked.
    let metadata = of.get("metadata").filter(|node| node.as_map().is_some());
    let Some(metadata) = metadata else {
        return Vec::new();
    };
    let written = SERVERS.iter().filter_map(|name| {
        let node = metadata.get(name)?;
        let is_set = match &node.value {
            Value::String(text) => !text.is_empty(),
            Value::List(items) => !items.is_empty(),
            _ => false,
        };
        let message = message!("only the API server sets metadata.{name}", name);
        let help = "remove it: it was probably copied from a live object";
        is_set.then(|| {
            fault(
                id,
                rule_id::INVALID_VALUE,
                node,
                &at.key(*name),
                message,
                help,
            )
        })
    });
    let owners = metadata.get("ownerReferences");
    let owners = owners.filter(|node| node.as_list().is_some_and(|list| !list.is_empty()));
    let owned = owners.map(|node| {
        let message = "metadata.ownerReferences names an owner by its uid, which no file can know: the object is deleted unless that very owner exists";
        let help = "remove it: it was probably copied from a live object";
        let field = at.key("ownerReferences");
        fault(id, rule_id::INVALID_VALUE, node, &field, message.into(), help)
    });
    let mut findings = schema::findings(&OBJECT_META_SCHEMA, metadata, at, Some(id));
    findings.extend(written.chain(owned));
    findings
}

/// Fields that the API server sets and rejects in an apply. It ignores others.
const SERVERS: [&str; 3] = ["managedFields", "resourceVersion", "uid"];

fn fault(
    id: &ObjectId,
    rule: &'static str,
    node: &Node,
    field: &Path,
    message: Message,
    help: &str,
) -> Finding {
    Finding::error(rule, message)
        .at(node.span())
        .of(id)
        .field(field)
        .help(help)
}

fn name_fault(id: &ObjectId, node: &Node, field: &Path, role: bool) -> Option<Finding> {
    let name = node.as_str()?;
    // Roles may have almost any name, but it must be a single segment of a URL path.
    let part = !matches!(name, "." | "..") && name.bytes().all(|byte| byte.is_ascii_graphic());
    let part = part
        && !name.contains([
            '/', '%', '?', '#', '"', '<', '>', '\\', '^', '`', '{', '|', '}',
        ]);
    if is_dns_subdomain(name) || role && part && !name.is_empty() {
        return None;
    }
    let message = message!("`{name}` is not a valid object name", name);
    let help = "use at most 253 lower-case letters, digits, `-` and `.`; start and end with a letter or digit";
    Some(fault(
        id,
        rule_id::INVALID_VALUE,
        node,
        field,
        message,
        help,
    ))
}

fn namespace_fault(id: &ObjectId, node: &Node) -> Option<Finding> {
    let name = node.as_str().filter(|name| !is_dns_label(name))?;
    let field = Path::dotted("metadata.namespace");
    let help =
        "use at most 63 lower-case letters, digits and `-`; start and end with a letter or digit";
    let message = message!("`{name}` is not a valid namespace name", name);
    Some(fault(
        id,
        rule_id::INVALID_VALUE,
        node,
        &field,
        message,
        help,
    ))
}

fn label_faults(id: &ObjectId, labels: Option<&Node>) -> Vec<Finding> {
    let path = Path::dotted("metadata.labels");
    let map = labels.and_then(Node::as_map).into_iter();
    let fault = |(key, value): (&Key, &Node)| {
        let text = value.as_str().filter(|text| !is_label_value(text))?;
        let message = message!("`{text}` is not a valid label value", text);
        let help = "use at most 63 letters, digits, `-`, `_` and `.`; start and end with a letter or digit; use an annotation for longer texts";
        let field = path.key(key.name.clone());
        Some(fault(
            id,
            rule_id::INVALID_VALUE,
            value,
            &field,
            message,
            help,
        ))
    };
    map.flat_map(|map| map.iter()).filter_map(fault).collect()
}

/// Faults of the keys of labels or annotations, whose case counts for labels alone.
fn key_faults(id: &ObjectId, what: &'static str, entries: Option<&Node>) -> Vec<Finding> {
    let path = Path::dotted("metadata").key(format!("{what}s"));
    let map = entries.and_then(Node::as_map).into_iter();
    let fault = |(key, _): (&Key, &Node)| {
        let name = match what {
            "label" => key.name.to_string(),
            _ => key.name.to_lowercase(),
        };
        let why = of_label_key(&name)?;
        let message = message!("`{key}` is not a valid {what} key", key = key.name, what);
        let finding = Finding::error(rule_id::INVALID_VALUE, message)
            .at(key.origin.span())
            .of(id);
        Some(finding.field(&path.key(key.name.clone())).help(why))
    };
    map.flat_map(|map| map.iter()).filter_map(fault).collect()
}

/// Capstan's annotations and their values; none if any value is valid.
const OURS: [(&str, &[&str]); 14] = [
    (labels::ADOPT, &["true", "false"]),
    (labels::APPLIED, &[]),
    (labels::DELETION_POLICY, &["Delete", "Orphan"]),
    (labels::FORCE_CONFLICTS, &["true", "false"]),
    (labels::IGNORE, &[]),
    (labels::LINK_CREDENTIAL, &[]),
    (labels::LINK_IDENTITY, &[]),
    (labels::NAT_SUBNET_RANGE, &[]),
    (labels::ORPHANED_FROM, &[]),
    (labels::REQUEST, &[]),
    (labels::REQUEST_KEY, &[]),
    (labels::REQUESTED_AT, &[]),
    (labels::REQUESTED_VERSION, &[]),
    (labels::SOURCE, &[]),
];

/// A finding for an unknown annotation of Capstan: ignoring a misspelled one could delete an object.
fn misspelt(id: &ObjectId, name: &str, value: &Node, field: &Path) -> Option<Finding> {
    name.strip_prefix(kinds::CAPSTAN)?.strip_prefix('/')?;
    let Some((_, values)) = OURS.iter().find(|(known, _)| *known == name) else {
        let help = match nearest(name, OURS.iter().map(|(known, _)| *known)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "remove it, or choose another prefix".to_owned(),
        };
        let message = message!("unknown annotation `{name}`", name);
        return Some(fault(
            id,
            rule_id::UNKNOWN_FIELD,
            value,
            field,
            message,
            &help,
        ));
    };
    let text = match &value.value {
        Value::Null => "",
        Value::String(text) => text,
        _ => return None,
    };
    let message = match text {
        "" => message!("`{name}` cannot be empty", name),
        _ if values.is_empty() || values.contains(&text) => return None,
        _ => message!("`{name}` cannot be `{text}`", name, text),
    };
    let help = match values {
        [] => "set a value, or remove it".to_owned(),
        values => format!("write \"{}\"", values.join("\" or \"")),
    };
    Some(fault(
        id,
        rule_id::INVALID_VALUE,
        value,
        field,
        message,
        &help,
    ))
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
    fn reported(yaml: &str) -> Vec<String> {
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
        reported(&format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{{metadata}}}\n"
        ))
    }

    #[test]
    fn valid_metadata_has_no_findings() {
        for metadata in [
            "name: a-1.b",
            "name: a, namespace: ns-1, labels: {x: Y.z_1, y: \"\"}, annotations: {z: \"any / thing\"}",
            "name: a, namespace: null, labels: null, annotations: {x: null}",
        ] {
            assert_eq!(of(metadata), [] as [String; 0], "{metadata}");
        }
        let role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: \"system:NAME\"}}";
        assert_eq!(reported(role), [] as [String; 0]);
    }

    #[test]
    fn names_that_could_redirect_a_request_are_rejected() {
        for name in ["a/../b", "..", "A", "a b", "-a", "a.", "a?x=y", "a%2f", "ä"] {
            let expected = format!("S04 3:18 `{name}` is not a valid object name");
            assert_eq!(of(&format!("name: \"{name}\"")), [expected]);
        }
        let role =
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a/status}}";
        assert_eq!(reported(role).len(), 1);
        assert_eq!(
            of("name: a, namespace: x/y"),
            ["S04 3:32 `x/y` is not a valid namespace name"]
        );
    }

    #[test]
    fn keys_of_labels_and_annotations_are_qualified_names() {
        let found = |field: &str, key: &str| of(&format!("name: a, {field}: {{\"{key}\": x}}"));
        for key in ["a", "a.b/c_d-1", "x.dev/Y"] {
            assert_eq!(found("labels", key), [""; 0], "{key}");
            assert_eq!(found("annotations", key), [""; 0], "{key}");
        }
        for key in ["a b", "-x", "a/b/c", "/x", "x_y/z"] {
            let label = format!("S04 3:30 `{key}` is not a valid label key");
            assert_eq!(found("labels", key), [label]);
            let annotation = format!("S04 3:35 `{key}` is not a valid annotation key");
            assert_eq!(found("annotations", key), [annotation]);
        }
        // As the API server has it.
        assert_eq!(found("annotations", "X.dev/y"), [""; 0]);
        assert_eq!(found("labels", "X.dev/y").len(), 1);
    }

    #[test]
    fn names_of_embedded_resources_are_names_of_objects() {
        let carrier = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AROCluster\nmetadata: {name: c}\nspec:\n  resources:\n  - apiVersion: keyvault.azure.com/v1api20230701\n    kind: Vault\n    metadata: {name: team_kv}\n";
        let expected = "S04 8:22 `team_kv` is not a valid object name";
        assert_eq!(reported(carrier), [expected]);
    }

    #[test]
    fn annotations_of_capstan_are_known() {
        let reported = |annotation: &str| of(&format!("name: a, annotations: {{{annotation}}}"));
        let sound = "capstan.dev/adopt: \"true\", capstan.dev/deletion-policy: Orphan, capstan.dev/ignore: /data";
        assert_eq!(reported(sound), [] as [String; 0]);
        let misspelt = "S01 3:63 unknown annotation `capstan.dev/deletionPolicy`";
        assert_eq!(reported("capstan.dev/deletionPolicy: Orphan"), [misspelt]);
        let wrong = "S04 3:54 `capstan.dev/adopt` cannot be `True`";
        assert_eq!(reported("capstan.dev/adopt: \"True\""), [wrong]);
        let keep = "S04 3:64 `capstan.dev/deletion-policy` cannot be `Keep`";
        assert_eq!(reported("capstan.dev/deletion-policy: Keep"), [keep]);
        for empty in ["null", "''"] {
            let expected = "S04 3:64 `capstan.dev/deletion-policy` cannot be empty";
            let policy = format!("capstan.dev/deletion-policy: {empty}");
            assert_eq!(reported(&policy), [expected]);
        }
    }

    #[test]
    fn labels_and_annotations_are_maps_of_strings() {
        for (metadata, expected) in [
            (
                "name: a, namespace: 1",
                "S02 3:32 `metadata.namespace` must be a string, not a number",
            ),
            (
                "name: a, labels: hello",
                "S02 3:29 `metadata.labels` must be a map, not a string",
            ),
            (
                "name: a, annotations: {x: 1}",
                "S02 3:38 `metadata.annotations.x` must be a string, not a number",
            ),
            (
                "name: a, labels: {x: a b}",
                "S04 3:33 `a b` is not a valid label value",
            ),
        ] {
            assert_eq!(of(metadata), [expected]);
        }
    }

    #[test]
    fn metadata_has_only_known_fields() {
        for (metadata, expected) in [
            (
                "name: a, annotation: {x: y}",
                "S01 3:21 unknown field `metadata.annotation`",
            ),
            (
                "name: a, finalizers: x",
                "S02 3:33 `metadata.finalizers` must be a list, not a string",
            ),
            (
                "name: a, resourceVersion: '7'",
                "S04 3:38 only the API server sets metadata.resourceVersion",
            ),
            (
                "name: a, managedFields: [{manager: m, operation: Apply}]",
                "S04 3:36 only the API server sets metadata.managedFields",
            ),
            (
                "name: a, ownerReferences: [{apiVersion: v1, kind: Node, name: one, uid: a}]",
                "S04 3:38 metadata.ownerReferences names an owner by its uid, which no file can know: the object is deleted unless that very owner exists",
            ),
        ] {
            assert_eq!(of(metadata), [expected]);
        }
        let left = "name: a, creationTimestamp: null, generation: 2, selfLink: /a, managedFields: [], ownerReferences: [], uid: ''";
        assert_eq!(of(left), [] as [String; 0]);
        let carrier = "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {name: a}, spec: {resources: [{metadata: {name: b, labelz: {}}}, {metadata: 1}]}}";
        let expected = "S01 1:134 unknown field `spec.resources[0].metadata.labelz`";
        assert_eq!(reported(carrier), [expected]);
    }
}
