//! The version of a hosted cluster, as its cluster version operator reports it.
//!
//! In: a HostedCluster, the release of its control plane, and what is there of it. Out: `status.version`. It does not know
//! which releases exist.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{moments, release};
use crate::api::timeline;
use crate::health::Live;
use crate::reconcile::conditions::stamp;

const HISTORY: &[&str] = &["status", "version", "history"];

/// The parts of a cluster that are there.
#[derive(Clone, Copy)]
pub(super) struct Presence {
    /// Its control plane is available.
    pub(super) is_up: bool,
    /// It has nodes, on which the rest of the release runs.
    pub(super) has_nodes: bool,
}

/// The version of a cluster.
pub(super) struct Version {
    /// As it is reported.
    pub(super) status: Value,
    /// The end of an upgrade of the control plane; `None` unless one is under way.
    pub(super) upgrading: Option<Timestamp>,
}

/// The version of a cluster whose control plane is to run this release. The first one is complete once there are nodes;
/// another one takes its time, too.
pub(super) fn version(live: Live<'_>, image: &str, there: Presence, now: Timestamp) -> Version {
    let mut history = live.list(HISTORY).to_vec();
    if history.first().map(|entry| Live(entry).text(&["image"])) != Some(image) {
        if let Some(before) = history
            .first_mut()
            .filter(|entry| entry["completionTime"].is_null())
        {
            before["completionTime"] = json!(stamp(now));
        }
        history.insert(0, entry(image, now));
    }
    let is_upgrade = history.len() > 1;
    let newest = Live(&history[0]);
    let is_partial = newest.text(&["state"]) == "Partial";
    let start = moments::time(newest, &["startedTime"]).unwrap_or(now);
    let end = moments::after(start, timeline::update(&live.id()));
    let upgrading = (is_partial && is_upgrade && now < end).then_some(end);
    if is_partial && upgrading.is_none() && there.is_up && there.has_nodes {
        history[0]["state"] = json!("Completed");
        history[0]["completionTime"] = json!(stamp(now));
    }
    let status = json!({
        "availableUpdates": [],
        "desired": {"image": image, "version": release::version(image)},
        "history": history,
        "observedGeneration": live.generation(),
    });
    Version { status, upgrading }
}

/// The rollout of a release that begins.
fn entry(image: &str, now: Timestamp) -> Value {
    json!({
        "state": "Partial",
        "image": image,
        "version": release::version(image),
        "startedTime": stamp(now),
        "completionTime": null,
        "verified": false,
    })
}

/// The time at which the newest release was complete; `None` as long as it is not.
pub(super) fn completion(cluster: Live<'_>) -> Option<Timestamp> {
    let newest = cluster.list(HISTORY).first().map(Live)?;
    let is_complete = newest.text(&["state"]) == "Completed";
    is_complete
        .then(|| moments::time(newest, &["completionTime"]))
        .flatten()
}
