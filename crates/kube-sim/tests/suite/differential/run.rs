//! Holds a sequence with a server and writes down how it went.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::sequence::{Step, Verb};
use crate::reply::Reply;
use crate::session::{Ask, Session};

/// The server's last answer about an object.
#[derive(Default)]
struct Seen {
    object: Json,
    first_version: String,
}

/// The conversation, in a session that is at its beginning.
pub(super) async fn converse(session: &Session, sequence: &[Step]) -> String {
    let mut seen: BTreeMap<&str, Seen> = BTreeMap::new();
    let owners = owners(session).await;
    for step in sequence {
        let known = seen.entry(step.object()).or_default();
        let mut body = step.body.clone();
        replace_symbols(&mut body, known, &owners);
        if step.onto_live {
            let mut live = known.object.clone();
            merge(&mut live, body);
            body = live;
        }
        let reply = session.send(ask(step, &body).sorted()).await;
        if matches!(reply.status, 200 | 201) && !step.query.contains("dryRun") {
            note(known, &reply);
        }
    }
    session.transcript()
}

fn ask(step: &Step, body: &Json) -> Ask {
    let mark = if step.query.is_empty() { "" } else { "?" };
    let collection = step.path.split('/').next().unwrap_or_default();
    let path = match step.verb {
        Verb::Create => collection,
        _ => step.path.as_str(),
    };
    let path = format!("{path}{mark}{}", step.query);
    let patch = |media_type: &str| Ask::new("PATCH", &path).body(media_type, body.to_string());
    match step.verb {
        Verb::Apply => patch("application/apply-patch+yaml"),
        Verb::Merge => patch("application/merge-patch+json"),
        Verb::Strategic => patch("application/strategic-merge-patch+json"),
        Verb::Patch => patch("application/json-patch+json"),
        Verb::Create => Ask::new("POST", &path).json(body),
        Verb::Replace => Ask::new("PUT", &path).json(body),
        Verb::Delete if body.is_null() => Ask::new("DELETE", &path),
        Verb::Delete => Ask::new("DELETE", &path).json(body),
        Verb::Get => Ask::new("GET", &path),
    }
}

fn note(known: &mut Seen, reply: &Reply) {
    if reply.version().is_empty() {
        return;
    }
    if known.object["metadata"]["uid"] != reply.uid() {
        known.first_version = reply.version().to_owned();
    }
    known.object = reply.body.clone();
}

/// The uids of objects that can own others without being collected.
async fn owners(session: &Session) -> BTreeMap<&'static str, String> {
    let mut uids = BTreeMap::new();
    for name in ["default"] {
        let path = format!("namespaces/{name}");
        let reply = session.send(Ask::new("GET", &path).silent()).await;
        uids.insert(name, reply.uid().to_owned());
    }
    uids
}

fn replace_symbols(value: &mut Json, seen: &Seen, owners: &BTreeMap<&str, String>) {
    match value {
        Json::Object(fields) => {
            for value in fields.values_mut() {
                replace_symbols(value, seen, owners);
            }
        }
        Json::Array(items) => {
            for value in items {
                replace_symbols(value, seen, owners);
            }
        }
        Json::String(text) => {
            if let Some(symbol) = text.strip_prefix('$') {
                *value = meaning(symbol, seen, owners);
            }
        }
        _ => {}
    }
}

/// What has not been seen yet is empty.
fn meaning(symbol: &str, seen: &Seen, owners: &BTreeMap<&str, String>) -> Json {
    let metadata = &seen.object["metadata"];
    let managers = || metadata["managedFields"].as_array().into_iter().flatten();
    match symbol {
        "version" => json!(metadata["resourceVersion"].as_str().unwrap_or_default()),
        "stale" => json!(seen.first_version),
        "uid" => json!(metadata["uid"].as_str().unwrap_or_default()),
        "managers" => managers().cloned().collect(),
        _ => match symbol.strip_prefix("managers but ") {
            Some(name) => managers()
                .filter(|entry| entry["manager"] != name)
                .cloned()
                .collect(),
            None => json!(owners[symbol]),
        },
    }
}

/// Merges maps deeply; nulls delete.
pub(super) fn merge(value: &mut Json, patch: Json) {
    let Json::Object(patch) = patch else {
        *value = patch;
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (key, patch) in patch {
        match (patch.is_null(), value.as_object_mut()) {
            (true, Some(fields)) => drop(fields.remove(&key)),
            _ => merge(&mut value[key], patch),
        }
    }
}
