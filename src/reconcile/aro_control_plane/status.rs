//! The status of an AROControlPlane, read off its embedded resources.
//!
//! In: entries of the embedded resources, the HCP cluster, the external authentication and the
//! kubeconfig as they are. Out: the whole status.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::conditions::{Conditions, NewCondition};
use super::super::outcome::Outcome;
use super::super::resources::{self, Entry};
use super::super::world::World;
use crate::api::conditions as c;
use crate::health::Live;
use crate::model::ObjectId;

/// The kind of the cluster in Azure.
pub(super) const HCP: &str = "HcpOpenShiftCluster";
/// The kind of its external authentication.
pub(super) const EXTERNAL_AUTH: &str = "HcpOpenShiftClustersExternalAuth";

/// The status it has; complete, since `ready` must always be there.
pub(super) fn held(live: Live<'_>) -> Value {
    let held = live.at(&["status"]).filter(|status| status.is_object());
    let mut status = held.cloned().unwrap_or_else(|| json!({}));
    if status.get("ready").is_none() {
        status["ready"] = json!(false);
        status["initialization"] = json!({"controlPlaneInitialized": false});
    }
    status
}

/// The status for the current state of the world.
pub(super) fn of(
    world: World<'_>,
    live: Live<'_>,
    entries: &[Entry],
    mut conditions: Conditions,
    outcome: &mut Outcome,
) -> Value {
    by_kind(entries, &mut conditions);
    let find = |kind: &str| entries.iter().find(|entry| entry.id.kind == kind);
    let hcp = find(HCP).and_then(|entry| world.get(&entry.id).present());
    let ready = hcp.is_some_and(|hcp| hcp.holds(c::READY));
    let name = find(HCP).map_or("", |entry| entry.id.name.as_str());
    let missing = NewCondition::no(c::HCP_CLUSTER_NOT_FOUND, c::hcp_cluster_missing(name));
    let default = "HcpOpenShiftCluster is not yet ready";
    conditions.set(
        c::HCP_CLUSTER_READY,
        resources::reported(hcp, missing, default),
    );
    if let Some(entry) = find(EXTERNAL_AUTH) {
        let missing = NewCondition::no(
            c::RESOURCE_NOT_FOUND,
            "The external authentication does not exist yet",
        );
        let default = "External authentication is being configured";
        let condition = resources::reported(world.get(&entry.id).present(), missing, default);
        conditions.set(c::EXTERNAL_AUTH_READY, condition);
    }
    let with_kubeconfig = hcp.is_some_and(|hcp| has_kubeconfig(world, hcp, outcome));
    let mut status = held(live);
    copy(hcp, &mut status);
    let initialized = ready && with_kubeconfig;
    let was = live.flag(&["status", "initialization", "controlPlaneInitialized"]);
    status["ready"] = json!(initialized);
    status["initialization"] = json!({"controlPlaneInitialized": was || initialized});
    status["resources"] = resources::listed(entries);
    status["conditions"] = conditions.into_value();
    status
}

/// One condition for each kind among the resources; the HCP cluster has its own.
fn by_kind(entries: &[Entry], conditions: &mut Conditions) {
    let kinds: BTreeSet<&str> = entries.iter().map(|entry| entry.id.kind.as_str()).collect();
    let known = c::PER_KIND
        .iter()
        .filter(|(kind, _)| kinds.contains(kind) && *kind != HCP);
    for (kind, name) in known {
        let late: Vec<&str> = entries
            .iter()
            .filter(|entry| entry.id.kind == *kind && !entry.ready)
            .map(|entry| entry.id.name.as_str())
            .collect();
        let message = c::waiting_for(kind, &late);
        let condition = NewCondition::either(late.is_empty(), c::SUCCEEDED, c::CREATING, message);
        conditions.set(name, condition);
    }
}

/// Whether ASO wrote the Secret with the admin kubeconfig.
fn has_kubeconfig(world: World<'_>, hcp: Live<'_>, outcome: &mut Outcome) -> bool {
    let place = &[
        "spec",
        "operatorSpec",
        "secrets",
        "adminCredentials",
        "name",
    ];
    let id = ObjectId::new("", "Secret", hcp.namespace(), hcp.text(place));
    outcome.need(id.clone());
    world.get(&id).present().is_some()
}

/// Copies what the HCP cluster reports; what it does not report stays.
fn copy(hcp: Option<Live<'_>>, status: &mut Value) {
    let fields: [(&str, &[&str]); 4] = [
        ("id", &["status", "id"]),
        ("consoleURL", &["status", "properties", "console", "url"]),
        ("apiURL", &["status", "properties", "api", "url"]),
        ("version", &["status", "properties", "version", "id"]),
    ];
    for (field, path) in fields {
        let value = hcp.map_or("", |hcp| hcp.text(path));
        if !value.is_empty() {
            status[field] = json!(value);
        }
    }
}
