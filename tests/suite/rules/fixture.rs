//! What examples and cases of rules build on: a fleet without faults, in three forms, and what is found
//! when something is laid over it.
//!
//! Marks are comments at the ends of lines: `# C15` marks the value on the line as the place of
//! the finding, `# key: C15` the first thing on the line (a block has no other beginning), and
//! `# elsewhere: C15` a place in the fleet below, where something is missing or no longer fits. `; `
//! separates several.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use capstan::api::aso;
use capstan::api::fleet::{FleetPolicy, read};
use capstan::compile::Compiled;
use capstan::model::{Finding, Object, ObjectId, Severity, Span};
use capstan::{plan, yaml};
use serde_json::{Value as Json, json};

use crate::fleet::{self, tree};

/// A fleet without faults, of one cluster, at the version of Azure's API that has all fields.
pub(super) const DEFINITION: &str = concat!(
    include_str!("../../definition.yaml"),
    "    replicas: 2\n  externalAuth: {clientID: app}\n  armAPIVersion: 2026-06-30-preview\n"
);
const SUBSCRIPTION: &str = "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10";

/// What the files of a fleet come to.
pub(super) fn compiled(files: &[(&str, &str)]) -> Compiled {
    compiled_by(&FleetPolicy::default(), files)
}

fn compiled_by(policy: &FleetPolicy, files: &[(&str, &str)]) -> Compiled {
    fleet::compiled_by(policy, &tree(files.iter().copied()), &[])
}

/// The objects of a definition, as somebody would write them by hand.
fn objects(definition: &str) -> Vec<Json> {
    let objects = compiled(&[("base.yaml", definition)]).objects.into_iter();
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

/// The same fleet, written by hand: references name group, kind and name.
pub(super) fn by_hand() -> String {
    yaml::write(&objects_by_hand(DEFINITION))
}

/// The objects of a definition, which name each other by group, kind and name.
pub(super) fn objects_by_hand(definition: &str) -> Vec<Json> {
    let mut objects = objects(definition);
    let ids = ids(&objects);
    let named = |json: &Json| {
        let id = json
            .as_object()
            .filter(|map| map.len() == 1)?
            .get("armId")?;
        let ((group, kind, name), _) = ids
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(text(id)))?;
        Some(json!({"group": group, "kind": kind, "name": name}))
    };
    let resources = objects.iter_mut().flat_map(embedded_mut);
    resources.for_each(|resource| replace(&mut resource["spec"], &named));
    objects
}

/// The same, where everything is named by its id in Azure, in letters of alternating case.
pub(super) fn by_arm_id() -> String {
    let mut objects = objects(DEFINITION);
    let ids = ids(&objects);
    let by_id = |json: &Json| {
        let part = |name: &str| Some(json.get(name)?.as_str()?.to_owned());
        let named = || {
            ids.get(&(part("group")?, part("kind")?, part("name")?))
                .cloned()
        };
        let id = part("armId").or_else(named)?;
        Some(json!({"armId": in_other_case(&id)}))
    };
    for resource in objects.iter_mut().flat_map(embedded_mut) {
        if let Some(owner) = owner(resource) {
            resource["spec"]["owner"] = json!({"armId": ids[&owner]});
        }
        replace(&mut resource["spec"], &by_id);
    }
    yaml::write(&objects)
}

/// What every embedded resource is called in Azure.
fn ids(objects: &[Json]) -> BTreeMap<Key, String> {
    let all: Vec<Json> = objects.iter().flat_map(embedded).cloned().collect();
    let ids = all.iter().map(|resource| {
        let id = arm_id(resource, &all);
        (key(resource), id)
    });
    ids.collect()
}

/// Replaces what `by` has something for, wherever it occurs.
fn replace(json: &mut Json, by: &impl Fn(&Json) -> Option<Json>) {
    if let Some(other) = by(json) {
        *json = other;
        return;
    }
    match json {
        Json::Object(map) => map.values_mut().for_each(|value| replace(value, by)),
        Json::Array(items) => items.iter_mut().for_each(|item| replace(item, by)),
        _ => {}
    }
}

pub(super) fn embedded_mut(object: &mut Json) -> impl Iterator<Item = &mut Json> {
    let items = object["spec"]["resources"].as_array_mut();
    items.into_iter().flatten()
}

fn embedded(object: &Json) -> impl Iterator<Item = &Json> {
    object["spec"]["resources"].as_array().into_iter().flatten()
}

/// Group, kind and name.
type Key = (String, String, String);

fn text(json: &Json) -> &str {
    json.as_str().unwrap_or_default()
}

fn key(resource: &Json) -> Key {
    let group = text(&resource["apiVersion"]).split('/').next();
    let kind = text(&resource["kind"]);
    let name = text(&resource["metadata"]["name"]);
    let group = group.unwrap_or_default();
    (group.to_owned(), kind.to_owned(), name.to_owned())
}

/// Whom a resource names as its owner.
fn owner(resource: &Json) -> Option<Key> {
    let owner = &resource["spec"]["owner"];
    let (group, kind, _) = key(resource);
    let (group, kind) = match (owner["group"].as_str(), owner["kind"].as_str()) {
        (Some(group), Some(kind)) => (group, kind),
        _ => aso::owner_kind(&group, &kind)?,
    };
    let name = owner["name"].as_str()?;
    Some((group.to_owned(), kind.to_owned(), name.to_owned()))
}

fn arm_id(resource: &Json, all: &[Json]) -> String {
    let (group, kind, name) = key(resource);
    let name = resource["spec"]["azureName"].as_str().unwrap_or(&name);
    let Some(owner) = owner(resource) else {
        return format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/{name}");
    };
    let of = |other: &&Json| key(other) == owner;
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

/// An overlay that patches the resources of a kind: with a patch, or with steps of a JSON patch.
pub(super) fn overlay(kind: &str, patch: &str) -> String {
    let how = match patch.starts_with("- op:") {
        true => "json6902",
        false => "patch",
    };
    let patch = indented(6, patch);
    fleet::overlay(&format!(
        "  patches:\n  - target: {{kind: {kind}}}\n    {how}:\n{patch}"
    ))
}

/// An overlay that is merged into definitions.
pub(super) fn merged(spec: &str) -> String {
    fleet::overlay(&format!("  merge:\n{}", indented(4, spec)))
}

fn indented(by: usize, text: &str) -> String {
    text.lines().fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "{:by$}{line}", "");
        all
    })
}

/// What is found in `text` over the fleet `base`, as marks say it. What is only good to know counts
/// where it is of the rule `own`.
pub(super) fn found(base: &str, text: &str, own: &str) -> BTreeSet<String> {
    reported(&over(base, text, "").findings, text, own)
}

/// What `text` over the fleet `base` comes to, with this in the spec of the Fleet document.
pub(super) fn over(base: &str, text: &str, spec: &str) -> Compiled {
    let files = [("base.yaml", base), ("example.yaml", text)];
    let files = files.into_iter().filter(|(_, text)| !text.is_empty());
    compiled_by(&policy(spec), &files.collect::<Vec<_>>())
}

/// The policy of a Fleet document with this in its spec; without anything there is no document.
fn policy(spec: &str) -> FleetPolicy {
    if spec.is_empty() {
        return FleetPolicy::default();
    }
    let spec = spec.replace('\n', "\n  ");
    let text = format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: example}}\nspec:\n  source: {{git: {{url: u}}}}\n  {spec}\n"
    );
    let (documents, _) = yaml::read(&Arc::from("fleet.yaml"), text.as_bytes());
    let (fleet, findings) = read(&documents[0]);
    assert_eq!(findings, [], "{text}");
    FleetPolicy::from(&fleet.expect("a Fleet document"))
}

/// What is found in `text` over `base` when `before` was there, as marks say it: of the new revision
/// alone, and of what changes.
pub(super) fn changed(base: &str, before: &str, text: &str) -> BTreeSet<String> {
    let (old, new) = (over(base, before, ""), over(base, text, ""));
    let objects = |one: &Compiled| {
        one.objects
            .iter()
            .map(|one| one.node.to_json())
            .collect::<Vec<_>>()
    };
    assert_ne!(
        objects(&old),
        objects(&new),
        "this changes nothing:\n{before}\n{text}"
    );
    let mut findings = new.checked.findings;
    let mut changes = plan::Changes::default();
    for object in &new.objects {
        let was = old.objects.iter().find(|other| other.id == object.id);
        if let Some(was) = was {
            changes.add(object, &plan::placed(was), &plan::placed(object));
        }
    }
    let is_gone = |was: &&Object| new.objects.iter().all(|object| object.id != was.id);
    let gone = old.objects.iter().filter(is_gone).map(plan::placed);
    let gone: Vec<Json> = gone.collect();
    changes.remove(&gone, &new.objects);
    let ids = old.objects.iter().filter(is_gone).map(|object| &object.id);
    changes.leave(ids, &new.graph);
    let is_new = |id: &ObjectId| old.objects.iter().all(|object| object.id != *id);
    changes.succeed(&gone, &new.objects, is_new);
    findings.extend(changes.findings());
    reported(&findings, text, "")
}

/// What `findings` say, as marks in `text` say it.
pub(super) fn reported(findings: &[Finding], text: &str, own: &str) -> BTreeSet<String> {
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

/// Where a finding points: a line alone when it is the value on the line, all of it, or a remark there.
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
    let remark = line.split_once("# capstan:");
    let remark = remark.map(|(before, _)| before.chars().count());
    match start {
        at if Some(at) == remark => span.start.line.to_string(),
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
    let marks = lines.flat_map(|(at, line)| {
        let mark = line.rsplit_once("# ").map_or("", |(_, mark)| mark);
        mark.split("; ").map(move |mark| (at + 1, mark))
    });
    let placed = marks.filter_map(|(line, mark)| {
        let (what, ids) = mark.split_once(": ").unwrap_or(("", mark));
        let place = match what {
            "key" => format!("{line} key"),
            "elsewhere" | "nowhere" => what.to_owned(),
            _ => line.to_string(),
        };
        is_ids(ids).then_some((place, ids))
    });
    let each = placed.flat_map(|(place, ids)| {
        let ids = ids.split(", ");
        ids.map(move |id| format!("{place} {id}"))
    });
    each.collect()
}

/// `C15, N08`.
pub(super) fn is_ids(text: &str) -> bool {
    let is_id = |id: &str| {
        let number = id.strip_prefix(char::is_uppercase);
        id.len() == 3 && number.is_some_and(|number| number.parse::<u8>().is_ok())
    };
    text.split(", ").all(is_id)
}
