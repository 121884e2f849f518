//! What must hold after an hour without faults.

use http::{Method, StatusCode};
use serde_json::Value as Json;
use tokio::time::Instant;

use super::fleet::{Item, Kind};
use super::{Strangers, World};
use crate::apply::fixture::set;

const PART_OF: &str = "applyset.kubernetes.io/part-of";

/// Everything that is wrong.
pub(super) fn judge(world: &World, strangers: &Strangers, bystanders: &[Json]) -> Vec<String> {
    let all = world.server.snapshot();
    let mut wrong = Vec::new();
    for item in &world.fleet.second {
        wrong.extend(fault_of(item, &all));
    }
    let members = all
        .iter()
        .filter(|live| capstan::apply::is_member(live, &set().id()));
    let members = members.count();
    if members != world.fleet.second.len() {
        wrong.push(format!(
            "{members} members, not {}",
            world.fleet.second.len()
        ));
    }
    for item in world.fleet.leaving() {
        wrong.extend(left(world, item, &all));
    }
    for before in bystanders {
        let after = all
            .iter()
            .find(|live| live["metadata"]["uid"] == before["metadata"]["uid"]);
        let version = |live: &Json| live["metadata"]["resourceVersion"].clone();
        if after.map(version) != Some(version(before)) {
            wrong.push(format!(
                "a stranger's object was touched: {}",
                before["metadata"]["name"]
            ));
        }
    }
    let parent = find(&all, "ConfigMap", "default", "capstan-test");
    for part in ["applying", "applied", "ready"] {
        let says = parent.map(|parent| &parent["data"][part]);
        if says.and_then(Json::as_str) != Some("2") {
            wrong.push(format!("the parent's {part} is {says:?}"));
        }
    }
    wrong.extend(deeds(world, strangers));
    wrong
}

fn find<'a>(all: &'a [Json], kind: &str, namespace: &str, name: &str) -> Option<&'a Json> {
    all.iter().find(|live| {
        live["kind"] == kind
            && live["metadata"]["namespace"].as_str().unwrap_or_default() == namespace
            && live["metadata"]["name"] == name
    })
}

fn live<'a>(item: &Item, all: &'a [Json]) -> Option<&'a Json> {
    let kind = match item.kind {
        Kind::Namespace => "Namespace",
        Kind::Definition => "CustomResourceDefinition",
        Kind::ConfigMap => "ConfigMap",
        Kind::Widget => "Widget",
        Kind::Deployment => "Deployment",
    };
    find(all, kind, item.namespace, &item.name)
}

/// What is wrong with an object of the fleet in the cluster.
fn fault_of(item: &Item, all: &[Json]) -> Option<String> {
    let path = item.path();
    let Some(live) = live(item, all) else {
        return Some(format!("{path} is not there"));
    };
    if live["metadata"]["deletionTimestamp"].is_string() {
        return Some(format!("{path} is being deleted"));
    }
    if !holds(live, &item.object()) {
        return Some(format!("{path} is not as it was applied: {live}"));
    }
    let managers = live["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten();
    let mut ours = managers.filter(|entry| entry["manager"] == "capstan");
    let part_of = format!("f:{PART_OF}");
    match ours.any(|entry| entry["fieldsV1"]["f:metadata"]["f:labels"][&part_of].is_object()) {
        true => None,
        false => Some(format!("{path} is not ours: {live}")),
    }
}

/// Whether all of `wanted` is in `live`.
fn holds(live: &Json, wanted: &Json) -> bool {
    match (live, wanted) {
        (Json::Object(live), Json::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| live.get(key).is_some_and(|live| holds(live, wanted))),
        (Json::Array(live), Json::Array(wanted)) => {
            live.len() == wanted.len()
                && live
                    .iter()
                    .zip(wanted)
                    .all(|(live, wanted)| holds(live, wanted))
        }
        (live, wanted) => live == wanted,
    }
}

/// What left the fleet is gone, or released, if it ever was.
fn left(world: &World, item: &Item, all: &[Json]) -> Option<String> {
    let (path, live) = (item.path(), live(item, all));
    if !item.stays {
        return live.map(|live| format!("{path} was to be deleted: {live}"));
    }
    let made = world.injector.counted(&Method::PATCH, StatusCode::CREATED);
    match live {
        None if made.contains_key(&path) => Some(format!("{path} was to stay")),
        Some(live)
            if live["metadata"]["annotations"]["capstan.dev/orphaned-from"] != set().id() =>
        {
            Some(format!("{path} was not released: {live}"))
        }
        Some(live) if live["metadata"]["annotations"]["capstan.dev/applied"].is_string() => {
            Some(format!("{path} still says what was applied"))
        }
        _ => None,
    }
}

/// What was done on the way: nothing made twice, nothing deleted that was to stay.
fn deeds(world: &World, strangers: &Strangers) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, count) in world.injector.counted(&Method::PATCH, StatusCode::CREATED) {
        let gone = strangers
            .deleted
            .iter()
            .filter(|deleted| **deleted == path)
            .count();
        if count > 1 + gone {
            wrong.push(format!(
                "{path} was made {count} times, and deleted {gone} times"
            ));
        }
    }
    for (path, count) in world.injector.counted(&Method::DELETE, StatusCode::OK) {
        let meant = world
            .fleet
            .leaving()
            .any(|item| item.path() == path && !item.stays);
        if !meant || count > 1 {
            wrong.push(format!("{path} was deleted {count} times"));
        }
    }
    wrong
}

/// What was asked since, but for watches.
pub(super) fn unquiet(world: &World, since: Instant) -> Vec<String> {
    let asked = world.injector.asked().into_iter();
    let mut asked: Vec<String> = asked
        .filter(|asked| asked.at > since && !asked.watch)
        .map(|asked| format!("{} {}: {}", asked.method, asked.path, asked.status))
        .collect();
    let count = asked.len();
    asked.truncate(3);
    match asked.first() {
        Some(_) => vec![format!(
            "{count} requests in a quiet hour: {}",
            asked.join(", ")
        )],
        None => Vec::new(),
    }
}
