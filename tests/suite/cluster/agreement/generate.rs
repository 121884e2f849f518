//! Sequences at random: one seed, one sequence.

use serde_json::{Value as Json, json};

use super::random::Random;
use super::sequence::{Step, Verb};
use super::{steady, values};
use crate::cluster::session::GROUP;

const MANAGERS: [&str; 3] = ["ann", "bob", "cyd"];

const VERBS: &[(usize, Verb)] = &[
    (42, Verb::Apply),
    (3, Verb::Create),
    (20, Verb::Replace),
    (14, Verb::Merge),
    (12, Verb::Patch),
    (5, Verb::Delete),
    (1, Verb::Get),
];

/// The sequence of `seed`.
pub(super) fn sequence(seed: u64) -> Vec<Step> {
    let random = &mut Random::new(seed);
    if random.chance(60) {
        random.be_careful();
    }
    let objects: &[&str] = if random.chance(80) {
        &["a"]
    } else {
        &["a", "b"]
    };
    let mut steps = Vec::new();
    for at in 0..5 + random.below(16) {
        let name = *random.pick(objects);
        let verb = match at {
            0 => *random.weighed(&[(6, Verb::Apply), (4, Verb::Create)]),
            _ => *random.weighed(VERBS),
        };
        let mut step = step(random, name, verb);
        steady::make(&mut step, at);
        steps.push(step);
    }
    steps
}

fn step(random: &mut Random, name: &str, verb: Verb) -> Step {
    let has_status = matches!(
        verb,
        Verb::Apply | Verb::Replace | Verb::Merge | Verb::Patch
    );
    let to_status = has_status && random.chance(14);
    let mut step = Step {
        verb,
        path: format!("things/{name}{}", if to_status { "/status" } else { "" }),
        query: query(random, verb),
        onto_live: verb == Verb::Replace && random.chance(70),
        body: Json::Null,
    };
    step.body = match verb {
        Verb::Apply | Verb::Create => whole(random, name, verb, to_status),
        Verb::Replace if step.onto_live => edits(random, name, to_status),
        Verb::Replace => replacement(random, name, to_status),
        Verb::Merge => merge(random, to_status),
        Verb::Patch => patch(random),
        Verb::Delete => delete(random),
        Verb::Get | Verb::Strategic => Json::Null,
    };
    step
}

fn query(random: &mut Random, verb: Verb) -> String {
    let mut parts = Vec::new();
    let writes = !matches!(verb, Verb::Delete | Verb::Get);
    if verb == Verb::Apply || (writes && random.chance(85)) {
        parts.push(format!("fieldManager={}", random.pick(&MANAGERS)));
    }
    if verb == Verb::Apply && random.chance(35) {
        parts.push("force=true".to_owned());
    }
    if verb != Verb::Get && random.chance(4) {
        parts.push("dryRun=All".to_owned());
    }
    if writes && random.chance(8) {
        let ways = ["Strict", "Ignore", "Warn"];
        parts.push(format!("fieldValidation={}", random.pick(&ways)));
    }
    parts.join("&")
}

/// A document of an object, as a person writes it.
fn whole(random: &mut Random, name: &str, verb: Verb, to_status: bool) -> Json {
    let mut metadata = values::metadata(random);
    metadata["name"] = json!(name);
    let mut body = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing"});
    if random.chance(if to_status { 20 } else { 92 }) {
        body["spec"] = values::spec(random);
    }
    if random.chance(if to_status { 95 } else { 8 }) {
        body["status"] = values::status(random);
    }
    if verb == Verb::Apply && random.slip(6) {
        metadata["resourceVersion"] = json!(random.pick(&["$version", "$stale"]));
    }
    if verb == Verb::Apply && random.slip(5) {
        metadata["uid"] = json!(random.pick(&["$uid", "$uid", UID]));
    }
    body["metadata"] = metadata;
    if random.slip(8) {
        spoil(random, &mut body);
    }
    body
}

/// Somebody else's uid.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// Makes a document one that is not about the object or not of the kind.
fn spoil(random: &mut Random, body: &mut Json) {
    let metadata = |key: &str, value: Json| (format!("/metadata/{key}"), value);
    let whole = |key: &str, value: Json| (format!("/{key}"), value);
    let ways = [
        metadata("name", Json::Null),
        metadata("name", json!("other")),
        metadata("namespace", json!("elsewhere")),
        metadata("managedFields", json!([])),
        metadata("managedFields", json!("$managers")),
        metadata("labels", json!({"k": 1})),
        metadata("labels", json!("none")),
        whole("apiVersion", json!(format!("{GROUP}/v2"))),
        whole("apiVersion", Json::Null),
        whole("kind", json!("Other")),
        whole("kind", Json::Null),
        whole("spec", Json::Null),
        whole("spec", json!([])),
        whole("spec", json!("none")),
        whole("colour", json!("red")),
        whole("metadata", Json::Null),
    ];
    let (path, value) = random.pick(&ways).clone();
    let (parent, key) = path.rsplit_once('/').unwrap_or_default();
    if let Some(parent) = body.pointer_mut(parent) {
        parent[key] = value;
    }
}

/// What a controller changes in an object that it has read.
fn edits(random: &mut Random, name: &str, to_status: bool) -> Json {
    let mut edits = replacement(random, name, to_status);
    let metadata = &mut edits["metadata"];
    if let Some(fields) = metadata.as_object_mut() {
        fields.remove("resourceVersion");
    }
    if random.slip(10) {
        metadata["resourceVersion"] = random.pick(&[json!("$stale"), Json::Null]).clone();
    }
    if random.chance(8) {
        metadata["managedFields"] = managers(random);
    }
    edits
}

fn managers(random: &mut Random) -> Json {
    let but = format!("$managers but {}", random.pick(&MANAGERS));
    let ways = [
        json!([]),
        json!([{}]),
        Json::Null,
        json!("$managers"),
        json!(but),
        json!([{"manager": "ann", "operation": "Apply", "apiVersion": format!("{GROUP}/v1"),
            "fieldsType": "FieldsV1", "time": "2024-01-01T00:00:00Z",
            "fieldsV1": {"f:spec": {"f:text": {}, "f:items": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}}}}]),
        json!([{"manager": "bob", "operation": "Update"}]),
    ];
    random.pick(&ways).clone()
}

fn replacement(random: &mut Random, name: &str, to_status: bool) -> Json {
    let mut body = whole(random, name, Verb::Replace, to_status);
    let version = match random.slip(30) {
        true => random
            .pick(&[json!("$stale"), json!(""), Json::Null])
            .clone(),
        false => json!("$version"),
    };
    if body["metadata"].is_object() {
        body["metadata"]["resourceVersion"] = version;
    }
    body
}

fn merge(random: &mut Random, to_status: bool) -> Json {
    let mut body = json!({});
    let metadata = values::metadata(random);
    if metadata != json!({}) {
        body["metadata"] = metadata;
    }
    if to_status || random.chance(8) {
        body["status"] = values::status(random);
    }
    if !to_status || random.chance(20) {
        body["spec"] = values::spec(random);
    }
    match if random.slip(16) { random.below(8) } else { 8 } {
        0 => body["metadata"]["resourceVersion"] = json!("$version"),
        1 => body["metadata"]["resourceVersion"] = json!("$stale"),
        2 => body["metadata"]["resourceVersion"] = Json::Null,
        3 => body["metadata"]["uid"] = json!("$uid"),
        4 => body["metadata"]["uid"] = json!(UID),
        5 | 6 => body["metadata"]["managedFields"] = managers(random),
        7 => spoil(random, &mut body),
        _ => {}
    }
    body
}

fn patch(random: &mut Random) -> Json {
    let operations = [
        (5, "add"),
        (4, "replace"),
        (4, "remove"),
        (1, "test"),
        (1, "copy"),
        (1, "move"),
    ];
    let mut patch = Vec::new();
    for _ in 0..=random.below(3) {
        let (path, value) = values::place(random);
        let operation = *random.weighed(&operations);
        let mut operation = json!({"op": operation, "path": path});
        match operation["op"].as_str() {
            Some("copy" | "move") => operation["from"] = json!(values::place(random).0),
            Some("remove") => {}
            _ => operation["value"] = value,
        }
        patch.push(operation);
    }
    json!(patch)
}

fn delete(random: &mut Random) -> Json {
    match random.below(10) {
        0 => json!({"preconditions": {"uid": "$uid"}}),
        1 => json!({"preconditions": {"uid": UID}}),
        2 => json!({"preconditions": {"resourceVersion": "$version"}}),
        3 => json!({"preconditions": {"resourceVersion": "$stale"}}),
        4 => json!({"propagationPolicy": "Background"}),
        5 => json!({"gracePeriodSeconds": 0}),
        _ => Json::Null,
    }
}
