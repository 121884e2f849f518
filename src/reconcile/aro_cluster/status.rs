//! The status of an AROCluster.
//!
//! In: entries of its resources, and what its control plane reports. Out: conditions, `ready`, and `provisioned`, which
//! stays true once it was.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::super::conditions::{Conditions, NewCondition};
use super::super::outcome::Outcome;
use super::super::resources::{self, Entry, Ledger};
use crate::api::labels::{RECONCILE_POLICY, SKIP};
use crate::api::{aso, conditions as c};
use crate::health::Live;

/// The conditions that decide whether it is ready, in the order of their importance.
const PARTS: [&str; 3] = [
    c::IDENTITY_READY,
    c::RESOURCES_READY,
    c::NETWORK_INFRASTRUCTURE_READY,
];

/// How many resources with a problem a message names.
const MOST: usize = 3;

/// What the control plane reports.
pub(super) struct Plane<'a> {
    /// Whether its API server responds.
    pub(super) is_ready: bool,
    /// The URL of its API server; empty if it has none.
    pub(super) url: &'a str,
    /// What that URL says.
    pub(super) endpoint: Option<Result<Value, String>>,
}

/// The status it has.
pub(super) fn held(live: Live<'_>) -> Value {
    let held = live.at(&["status"]).filter(|status| status.is_object());
    held.cloned().unwrap_or_else(|| json!({}))
}

/// The status it has, without its list of resources: that is long, and every decision replaces it.
fn own(live: Live<'_>) -> Map<String, Value> {
    let held = live.at(&["status"]).and_then(Value::as_object);
    let own = held
        .into_iter()
        .flatten()
        .filter(|(key, _)| *key != "resources");
    own.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Writes the status for the current state of the world.
pub(super) fn write(
    ledger: &Ledger<'_>,
    entries: &[Entry],
    plane: &Plane<'_>,
    mut conditions: Conditions,
    outcome: &mut Outcome,
) {
    let live = ledger.owner;
    let resources = of_resources(ledger, entries, outcome);
    let network = of_network(plane);
    let is_ready = resources.holds() && network.holds();
    conditions.set(c::RESOURCES_READY, resources);
    conditions.set(c::NETWORK_INFRASTRUCTURE_READY, network);
    let is_whole = PARTS.iter().all(|part| conditions.refuted(part).is_none());
    conditions.summarize(is_ready && is_whole, &PARTS);
    let mut status = Value::Object(own(live));
    let was = live.flag(&["status", "initialization", "provisioned"]);
    status["ready"] = json!(is_ready);
    status["initialization"] = json!({"provisioned": was || is_ready});
    status["resources"] = resources::listed(entries);
    conditions.write(live, status, outcome);
}

fn of_resources(ledger: &Ledger<'_>, entries: &[Entry], outcome: &mut Outcome) -> NewCondition {
    let ready = entries.iter().filter(|entry| entry.ready).count();
    if ready == entries.len() {
        let mut message = c::all_ready(ready);
        let notes = resources::notes(entries);
        if !notes.is_empty() {
            message = format!("{message}; {notes}");
        }
        return NewCondition::yes(c::INFRASTRUCTURE_READY, message);
    }
    let mut message = c::some_ready(ready, entries.len());
    let late = entries.iter().filter(|entry| !entry.ready);
    let problems: Vec<Problem> = late
        .filter_map(|entry| problem(ledger, entry, outcome))
        .collect();
    for Problem { text, .. } in problems.iter().take(MOST) {
        message.push_str("; ");
        message.push_str(text);
    }
    let concern = entries.iter().filter(|entry| !entry.ready);
    let concern = concern.filter_map(|entry| entry.concern).next();
    let has = |kind| problems.iter().any(|problem| problem.kind == kind);
    let failed = has(Kind::Final).then_some(c::FAILED);
    let waits = has(Kind::Waits).then_some(c::WAITING_FOR_DEPENDENCY);
    let reason = concern.or(failed).or(waits);
    let reason = reason.unwrap_or(c::PROVISIONING_INFRASTRUCTURE);
    NewCondition::no(reason, message)
}

/// What keeps a resource from being ready, besides time.
struct Problem {
    text: String,
    kind: Kind,
}

/// What ends a problem.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Another attempt may.
    Retried,
    /// Only a change of the resource does.
    Final,
    /// Something else, which a person may have to make.
    Waits,
}

/// How long a resource may wait for another before a person should know.
const LASTS: SignedDuration = SignedDuration::from_mins(10);

fn problem(ledger: &Ledger<'_>, entry: &Entry, outcome: &mut Outcome) -> Option<Problem> {
    let id = &entry.id;
    let of = |text: &str, kind| {
        let text = format!("{} {}: {text}", id.kind, id.name);
        Some(Problem { text, kind })
    };
    if entry.concern.is_some() {
        return of(&entry.message, Kind::Final);
    }
    let live = ledger.world.get(id).present()?;
    let ready = live.condition(c::READY)?;
    let is_final =
        ready.severity() == aso::ERROR || ready.reason() == aso::MULTIPLE_ERRORS_OCCURRED;
    let is_waiting = aso::WAITING.contains(&ready.reason());
    let is_warning = ready.severity() == aso::WARNING;
    if ready.is_true() || !(is_final || is_warning) {
        return None;
    }
    let text = format!("{}: {}", ready.reason(), ready.message());
    if is_final || !is_waiting {
        let kind = if is_final { Kind::Final } else { Kind::Retried };
        return of(&text, kind);
    }
    if ready.reason() == aso::AZURE_RESOURCE_NOT_FOUND && is_skipped(ledger.owner, entry) {
        return of(&format!("{text}; {}", c::SKIPPED_AND_MISSING), Kind::Waits);
    }
    let lasts = lasts(ledger, ready.since(), outcome);
    (lasts || ready.reason() == aso::SECRET_NOT_FOUND).then(|| of(&text, Kind::Waits))?
}

/// Whether the list itself says that Azure Service Operator only reads a resource.
fn is_skipped(owner: Live<'_>, entry: &Entry) -> bool {
    let mut items = owner.list(&["spec", "resources"]).iter();
    items.any(|item| {
        let is_it = resources::id(owner, item) == entry.id;
        is_it && Live(item).annotation(RECONCILE_POLICY) == SKIP
    })
}

/// Whether what began then has lasted for long; looks again once it has.
fn lasts(ledger: &Ledger<'_>, since: &str, outcome: &mut Outcome) -> bool {
    let Ok(since) = since.parse::<Timestamp>() else {
        return false;
    };
    let until = since + LASTS;
    if until > ledger.now {
        outcome.wake_at(until);
    }
    until <= ledger.now
}

fn of_network(plane: &Plane<'_>) -> NewCondition {
    let wait = |message| NewCondition::no(c::EXTERNALLY_MANAGED_CONTROL_PLANE, message);
    match &plane.endpoint {
        Some(Ok(_)) if plane.is_ready => NewCondition::yes(c::SUCCEEDED, ""),
        Some(Ok(_)) => wait(c::WAITING_FOR_PORT),
        None => wait(c::WAITING_FOR_CONTROL_PLANE),
        Some(Err(why)) => {
            let message = format!(
                "the AROControlPlane reports the API server at {:?}, which is not a URL with a host and a port: {why}",
                plane.url
            );
            NewCondition::no(c::INVALID_ENDPOINT, message)
        }
    }
}
