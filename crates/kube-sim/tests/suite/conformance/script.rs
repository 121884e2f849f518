//! Conversations written down as lines, for behaviours that need no more.
//!
//! A line is a verb, a path and a body in YAML: `apply things/a?fieldManager=one {spec: {text: x}}`.
//! Objects that are sent whole may leave out their type and their metadata, which the path implies.
//! `sorted` or `gist` before the verb say how the answer is kept; `#` opens a note.

use serde_json::{Value as Json, json};

use super::yaml;
use crate::session::{Ask, GROUP, Session};

/// Says it all, line by line.
pub(super) async fn say(s: &Session, lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(note) => s.note(note),
            None => drop(s.send(ask(line)).await),
        }
    }
}

/// One line as a request.
pub(super) fn ask(line: &str) -> Ask {
    let (how, line) = match line.split_once(' ') {
        Some((how @ ("sorted" | "gist" | "silent"), line)) => (how, line),
        _ => ("", line),
    };
    let (verb, rest) = line.split_once(' ').expect("a path");
    let (path, body) = rest.split_once(' ').unwrap_or((rest, "null"));
    let body = yaml(body);
    let patch = |media_type: &str, body: &Json| {
        Ask::new("PATCH", path).body(&format!("application/{media_type}"), body.to_string())
    };
    let ask = match verb {
        "get" => Ask::new("GET", path),
        "delete" => Ask::new("DELETE", path),
        "post" => Ask::new("POST", path).json(&whole(path, body)),
        "put" => Ask::new("PUT", path).json(&whole(path, body)),
        "apply" => patch("apply-patch+yaml", &whole(path, body)),
        "merge" => patch("merge-patch+json", &body),
        "json" => patch("json-patch+json", &body),
        "strategic" => patch("strategic-merge-patch+json", &body),
        other => panic!("{other} is no verb"),
    };
    match how {
        "sorted" => ask.sorted(),
        "gist" => ask.gist(),
        "silent" => ask.silent(),
        _ => ask,
    }
}

/// The body with the type and the metadata that it leaves out.
pub(super) fn whole(path: &str, mut body: Json) -> Json {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let mut parts = path.split('/');
    let kind = match parts.next().expect("a plural") {
        "configmaps" => "v1/ConfigMap",
        "secrets" => "v1/Secret",
        "services" => "v1/Service",
        "deployments" => "apps/v1/Deployment",
        "statefulsets" => "apps/v1/StatefulSet",
        "things" => "/v1/Thing",
        "orbits" => "/v1/Orbit",
        "rules" => "/v1/Rule",
        other => panic!("the kind of {other}"),
    };
    let (version, kind) = kind.rsplit_once('/').expect("a version");
    let version = match version.strip_prefix('/') {
        Some(version) => format!("{GROUP}/{version}"),
        None => version.to_owned(),
    };
    let name = parts.next().unwrap_or("a");
    let fields = body.as_object_mut().expect("an object");
    for (key, value) in [
        ("apiVersion", json!(version)),
        ("kind", json!(kind)),
        ("metadata", json!({})),
    ] {
        fields.entry(key).or_insert(value);
    }
    if let Some(metadata) = body["metadata"].as_object_mut() {
        metadata.entry("name").or_insert(json!(name));
    }
    body
}
