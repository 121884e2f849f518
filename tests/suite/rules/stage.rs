//! What examples and cases of rules stand on: a fleet without faults, in three forms, and what is found
//! when something is laid over it.
//!
//! Marks are comments at the ends of lines: `# C15` says that the value on the line is pointed at,
//! `# key: C15` that the first thing on it is (a block has no other beginning), and `# elsewhere: C15`
//! that the finding points at the fleet below, where something is missing or no longer fits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan::api::aso;
use capstan::compile::{Compiled, compile};
use capstan::model::{Finding, Severity, Span, Tree};
use capstan::yaml;
use serde_json::{Value as Json, json};

/// A fleet without faults, of one cluster.
pub(super) const DEFINITION: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: one, namespace: clusters}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {name: cluster-identity}
  version: {id: \"4.20\"}
  externalAuth: {clientID: app}
  nodePools:
  - {name: mp1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: 2}
";
const SUBSCRIPTION: &str = "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10";

/// What the files of a fleet come to.
pub(super) fn compiled(files: &[(&str, &str)]) -> Compiled {
    let files = files
        .iter()
        .map(|(path, text)| (Arc::from(*path), Arc::from(text.as_bytes())));
    let tree = Tree {
        files: files.collect(),
        ..Tree::default()
    };
    compile(&tree, &[])
}

/// The objects of the definition, as somebody would write them by hand.
fn objects() -> Vec<Json> {
    let objects = compiled(&[("base.yaml", DEFINITION)]).objects.into_iter();
    let by_hand = objects.map(|object| {
        let mut object = object.node.to_json();
        object["metadata"]
            .as_object_mut()
            .expect("metadata")
            .remove("annotations");
        object
    });
    by_hand.collect()
}

/// The same fleet, written by hand: what is meant is named by group, kind and name.
pub(super) fn by_hand() -> String {
    yaml::write(&objects())
}

/// The same, where everything is named by its id in Azure, in letters of alternating case.
pub(super) fn by_arm_id() -> String {
    let mut objects = objects();
    let mut known = BTreeMap::new();
    let all: Vec<Json> = objects.iter().flat_map(embedded).cloned().collect();
    for resource in &all {
        let id = arm_id(resource, &all);
        known.insert(key(&resource["apiVersion"], resource), id);
    }
    for object in &mut objects {
        let items = object["spec"]["resources"].as_array_mut();
        for resource in items.into_iter().flatten() {
            name_the_owner(resource, &known);
            name_references(resource, &known);
        }
    }
    yaml::write(&objects)
}

fn embedded(object: &Json) -> impl Iterator<Item = &Json> {
    object["spec"]["resources"].as_array().into_iter().flatten()
}

/// Group, kind and name.
type Key = (String, String, String);

fn text(json: &Json) -> &str {
    json.as_str().unwrap_or_default()
}

fn key(api_version: &Json, resource: &Json) -> Key {
    let group = text(api_version).split('/').next().unwrap_or_default();
    let name = text(&resource["metadata"]["name"]);
    (
        group.to_owned(),
        text(&resource["kind"]).to_owned(),
        name.to_owned(),
    )
}

/// Whom a resource names as its owner.
fn owner(resource: &Json) -> Option<Key> {
    let said = &resource["spec"]["owner"];
    let (group, kind, _) = key(&resource["apiVersion"], resource);
    let (group, kind) = match (said["group"].as_str(), said["kind"].as_str()) {
        (Some(group), Some(kind)) => (group, kind),
        _ => aso::owner_kind(&group, &kind)?,
    };
    let name = said["name"].as_str()?;
    Some((group.to_owned(), kind.to_owned(), name.to_owned()))
}

fn arm_id(resource: &Json, all: &[Json]) -> String {
    let (group, kind, name) = key(&resource["apiVersion"], resource);
    let name = resource["spec"]["azureName"].as_str().unwrap_or(&name);
    let Some(owner) = owner(resource) else {
        return format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/{name}");
    };
    let of = |other: &&Json| key(&other["apiVersion"], other) == owner;
    let parent = arm_id(all.iter().find(of).expect("the owner is there"), all);
    let (provider, kind) =
        aso::azure_type(&group, &kind).unwrap_or(("Microsoft.Authorization", "roleAssignments"));
    match parent.contains("/providers/") {
        true => format!("{parent}/{kind}/{name}"),
        false => format!("{parent}/providers/{provider}/{kind}/{name}"),
    }
}

fn in_other_case(id: &str) -> String {
    let letters = id.chars().enumerate();
    let turned = letters.map(|(at, c)| match at % 2 {
        0 => c.to_ascii_uppercase(),
        _ => c.to_ascii_lowercase(),
    });
    turned.collect()
}

fn name_the_owner(resource: &mut Json, known: &BTreeMap<Key, String>) {
    if let Some(owner) = owner(resource) {
        resource["spec"]["owner"] = json!({"armId": in_other_case(&known[&owner])});
    }
}

/// Everything `{group, kind, name}` becomes `{armId}`.
fn name_references(json: &mut Json, known: &BTreeMap<Key, String>) {
    let part = |name: &str| json.get(name).and_then(Json::as_str).map(str::to_owned);
    let parts = (part("group"), part("kind"), part("name"));
    if let (Some(group), Some(kind), Some(name)) = parts {
        let id = &known[&(group, kind, name)];
        *json = json!({"armId": in_other_case(id)});
        return;
    }
    match json {
        Json::Object(map) => map
            .values_mut()
            .for_each(|value| name_references(value, known)),
        Json::Array(items) => items
            .iter_mut()
            .for_each(|item| name_references(item, known)),
        _ => {}
    }
}

/// What is found in `text` over the fleet `base`, as marks say it. What is only good to know counts
/// where it is of the rule `own`.
pub(super) fn found(base: &str, text: &str, own: &str) -> BTreeSet<String> {
    let files = [("base.yaml", base), ("example.yaml", text)];
    let files = files.iter().filter(|(_, text)| !text.is_empty());
    let findings = compiled(&files.copied().collect::<Vec<_>>()).findings;
    told(&findings, text, own)
}

/// What `findings` say, as marks in `text` say it.
pub(super) fn told(findings: &[Finding], text: &str, own: &str) -> BTreeSet<String> {
    let counts = |finding: &&Finding| finding.severity != Severity::Info || finding.id == own;
    let say = |finding: &Finding| match &finding.span {
        Some(span) if &*span.path == "example.yaml" => {
            format!("{} {}", place(text, span), finding.id)
        }
        Some(_) => format!("elsewhere {}", finding.id),
        None => format!("nowhere {}", finding.id),
    };
    findings.iter().filter(counts).map(say).collect()
}

/// Where a finding points: a line alone when it is the value on the line, all of it.
fn place(text: &str, span: &Span) -> String {
    let at = |number: u32| usize::try_from(number).expect("small") - 1;
    let line = text.lines().nth(at(span.start.line)).unwrap_or_default();
    let (first, value) = parts(line);
    let (start, end) = (at(span.start.column), at(span.end.column));
    let length = value.trim_end().chars().count();
    let value_at = line.chars().count() - line_end(line) - value.chars().count();
    // Of a map or a list in one line only its bracket is pointed at.
    let length = if value.starts_with(['{', '[']) {
        1
    } else {
        length
    };
    let whole = span.end.line > span.start.line || end == value_at + length;
    match start {
        at if at == value_at && whole => span.start.line.to_string(),
        at if at == first => format!("{} key", span.start.line),
        at => format!("{}:{}-{}", span.start.line, at + 1, end + 1),
    }
}

/// How many characters of a line are its mark.
fn line_end(line: &str) -> usize {
    let mark = line.rsplit_once(" # ");
    mark.map_or(0, |(_, mark)| mark.chars().count() + 3)
}

/// Before which character the first thing on a line begins, and its value; the thing itself when the
/// line has no other.
fn parts(line: &str) -> (usize, &str) {
    let line = line.rsplit_once(" # ").map_or(line, |(line, _)| line);
    let mut rest = line.trim_start();
    while let Some(item) = rest.strip_prefix("- ") {
        rest = item.trim_start();
    }
    let first = line.chars().count() - rest.chars().count();
    let is_flow = rest.starts_with(['{', '[']);
    let value = rest.split_once(": ").filter(|_| !is_flow);
    (first, value.map_or(rest, |(_, value)| value.trim_start()))
}

/// The marks in `text`, placed as [`found`] places findings.
pub(super) fn marked(text: &str) -> BTreeSet<String> {
    let lines = text.lines().enumerate();
    let marks = lines.filter_map(|(at, line)| {
        let (_, mark) = line.rsplit_once("# ")?;
        let (what, ids) = mark.split_once(": ").unwrap_or(("", mark));
        let place = match what {
            "key" => format!("{} key", at + 1),
            "elsewhere" | "nowhere" => what.to_owned(),
            _ => (at + 1).to_string(),
        };
        is_ids(ids).then(|| (place, ids.to_owned()))
    });
    let each = marks.flat_map(|(place, ids)| {
        let ids = ids.split(", ").map(|id| format!("{place} {id}"));
        ids.collect::<Vec<_>>()
    });
    each.collect()
}

/// `C15, N08`.
fn is_ids(text: &str) -> bool {
    let is_id = |id: &str| {
        id.len() == 3 && id.starts_with(char::is_uppercase) && id[1..].parse::<u8>().is_ok()
    };
    text.split(", ").all(is_id)
}
