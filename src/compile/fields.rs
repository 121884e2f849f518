//! Misspelt and misplaced fields of definitions and overlays, corrected before overlays are merged: a field that an
//! overlay sets, too, would be known twice and reported twice.
//!
//! In: a document. Out: the same with fields under their right names, and findings (S01). It knows the fields of
//! documents, of metadata and of a definition's spec, and not what they mean.

use crate::api::kinds::CAPSTAN;
use crate::api::{cluster_definition, overlay};
use crate::model::{Finding, Key, Map, Node, ObjectId, Path, Segment, Value, message, rule_id};
use kube_schema::{OBJECT_META_SCHEMA, nearest};

const TOP: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];
const METADATA: [&str; 4] = ["name", "namespace", "labels", "annotations"];

/// Corrects the fields of a document that is probably one of ours.
pub(super) fn correct(document: &mut Node) -> Vec<Finding> {
    if !is_ours(document) {
        return Vec::new();
    }
    let mut findings = rename(document, &Path::default(), &TOP, &[]);
    let others: Vec<&str> = OBJECT_META_SCHEMA
        .properties
        .keys()
        .map(String::as_str)
        .collect();
    let fields = match document.text(&["kind"]) {
        Some("Overlay") => overlay::spec_fields(),
        _ => cluster_definition::spec_fields(document),
    };
    findings.extend(outdent(document, &fields));
    if let Some(metadata) = child(document, "metadata") {
        let known = [&others[..], &fields[..]].concat();
        findings.extend(rename(
            metadata,
            &Path::dotted("metadata"),
            &METADATA,
            &known,
        ));
    }
    let kind = document.text(&["kind"]).unwrap_or_default().to_owned();
    // What can be read of an overlay is known without this.
    if kind == "ClusterDefinition"
        && let Some(spec) = child(document, "spec")
    {
        findings.extend(rename(spec, &Path::dotted("spec"), &fields, &[]));
    }
    let name = document.text(&["metadata", "name"]).unwrap_or_default();
    let namespace = document.text(&["metadata", "namespace"]);
    let id = ObjectId::new(CAPSTAN, kind, namespace.unwrap_or("default"), name);
    findings.into_iter().map(|one| one.of(&id)).collect()
}

/// Whether a document has our apiVersion, or one of our kinds and no apiVersion.
fn is_ours(document: &Node) -> bool {
    let [version, kind] = ["apiVersion", "kind"].map(|field| document.text(&[field]));
    let is_kind = matches!(kind, Some("ClusterDefinition" | "Overlay"));
    let is_version = version.is_some_and(|version| version.starts_with(CAPSTAN));
    is_version && (is_kind || kind.is_none()) || is_kind && version.is_none()
}

/// Gives the unknown fields of a map the names that are probably meant and that it lacks. `others` are known, too.
fn rename(node: &mut Node, at: &Path, names: &[&str], others: &[&str]) -> Vec<Finding> {
    let Value::Map(map) = &mut node.value else {
        return Vec::new();
    };
    let is_known = |name: &str| names.contains(&name) || others.contains(&name);
    let unknown: Vec<Key> = map.iter().map(|(key, _)| key.clone()).collect();
    let unknown = unknown
        .into_iter()
        .filter(|key| !is_known(&key.name) && !key.name.starts_with('$'));
    let mut findings = Vec::new();
    for key in unknown {
        let free = names.iter().copied().filter(|name| map.get(name).is_none());
        let Some(right) = nearest(&key.name, free) else {
            continue;
        };
        let Some(value) = map.remove(&key.name) else {
            continue;
        };
        findings.push(unknown_field(&key, at).help(format!("did you mean `{right}`?")));
        let origin = key.origin.clone();
        map.insert(
            Key {
                name: right.to_owned().into(),
                origin,
            },
            value,
        );
    }
    findings
}

/// Moves what is below `metadata` and belongs below a `spec` that the document lacks: the line `spec:` is missing, or
/// indented.
fn outdent(document: &mut Node, fields: &[&str]) -> Option<Finding> {
    let has_spec = document.get("spec").is_some();
    let origin = document.origin.clone();
    let Value::Map(metadata) = &mut child(document, "metadata").filter(|_| !has_spec)?.value else {
        return None;
    };
    let is_of_spec = |key: &Key| fields.contains(&&*key.name);
    let moved: Vec<Key> = metadata
        .iter()
        .map(|(key, _)| key.clone())
        .filter(is_of_spec)
        .collect();
    let nested = metadata.entry("spec").map(|(key, _)| key.clone());
    let at = nested.clone().or_else(|| moved.first().cloned())?;
    let help = match nested {
        Some(_) => "write `spec` at the start of its line, not below `metadata`".to_owned(),
        None => format!("add the line `spec:` above `{}`", at.name),
    };
    let spec = match metadata.remove("spec") {
        Some(spec) if spec.as_map().is_some() => spec,
        _ => {
            let take = |key: Key| metadata.remove(&key.name).map(|value| (key, value));
            let taken: Map = moved.into_iter().filter_map(take).collect();
            Node::new(Value::Map(taken), &at.origin)
        }
    };
    let finding = unknown_field(&at, &Path::dotted("metadata")).help(help);
    let Value::Map(map) = &mut document.value else {
        return Some(finding);
    };
    map.insert(
        Key {
            name: "spec".into(),
            origin,
        },
        spec,
    );
    Some(finding)
}

fn unknown_field(key: &Key, at: &Path) -> Finding {
    let field = at.key(key.name.clone());
    let message = message!("unknown field `{field}`", field);
    Finding::error(rule_id::UNKNOWN_FIELD, message)
        .at(key.origin.span())
        .field(&field)
}

fn child<'n>(node: &'n mut Node, name: &str) -> Option<&'n mut Node> {
    match &mut node.value {
        Value::Map(map) => map.get_mut(name),
        _ => None,
    }
}

/// Reads an overlay whose apiVersion or kind is missing or not a text as an overlay. It is reported otherwise, and
/// what only its absence causes is not.
pub(super) fn as_overlay(document: &Node) -> Option<Node> {
    let [version, kind] = ["apiVersion", "kind"].map(|field| document.text(&[field]));
    let has = |name: &str| document.at(&["spec", name]).is_some();
    let is_one = match (version, kind) {
        (Some(version), None) => version.starts_with(CAPSTAN) && (has("merge") || has("patches")),
        (None, Some("Overlay")) => true,
        _ => false,
    };
    let mut overlay = document.clone();
    let Value::Map(map) = &mut overlay.value else {
        return None;
    };
    for (name, text) in [("apiVersion", "capstan.dev/v1alpha1"), ("kind", "Overlay")] {
        let key = Key {
            name: name.into(),
            origin: document.origin.clone(),
        };
        map.insert(key, Node::new(Value::String(text.into()), &document.origin));
    }
    is_one.then_some(overlay)
}

/// Whether a field of a finding is at the place of a label, or at one that a label may be meant for.
pub(super) fn may_hold_labels(field: &Path) -> bool {
    // Without its colon, `labels {env: prod}` is a key with a space in it.
    let word = |name: &str| name.split(' ').next().unwrap_or_default().to_owned();
    let is_near = |name: &str| nearest(&word(name), ["labels", "metadata"]).is_some();
    match field.0.as_slice() {
        [Segment::Key(only)] => is_near(only),
        [Segment::Key(metadata), Segment::Key(name), ..] => metadata == "metadata" && is_near(name),
        _ => false,
    }
}
