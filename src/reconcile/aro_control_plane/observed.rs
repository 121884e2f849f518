//! What there is of a control plane, in conditions.
//!
//! In: entries of its resources if they were applied, or what they wait for. Out: the status. While the newest spec waits,
//! the conditions of a cluster that exists are about the spec that was applied, so that nobody takes it for the newest.

use std::collections::BTreeSet;

use super::super::conditions::{Conditions, NewCondition, Typed};
use super::super::outcome::Outcome;
use super::super::resources::{self, Entry, Ledger};
use super::names::HCP;
use super::{external_auth, gates, recreation, secrets, status};
use crate::api::{aso, conditions as c};
use crate::health::Live;

/// The conditions that decide whether it is ready, in the order of their importance.
const PARTS: [&str; 4] = [
    c::IDENTITY_READY,
    c::ENCRYPTION_KEY_READY,
    c::HCP_CLUSTER_READY,
    c::KUBECONFIG_READY,
];

/// How far a control plane is.
pub(super) enum Stage {
    /// Everything that may be applied is.
    Applied(Vec<Entry>),
    /// Something comes first.
    Held(Typed),
}

/// Writes the status.
pub(super) fn report(
    ledger: &Ledger<'_>,
    stage: Stage,
    mut conditions: Conditions,
    outcome: &mut Outcome,
) {
    let live = ledger.owner;
    let hcp = gates::made(ledger);
    let mut status = status::held(live);
    let held = match stage {
        Stage::Applied(entries) => {
            by_kind(&entries, &mut conditions);
            status["resources"] = resources::listed(&entries);
            concern(&entries, &mut conditions)
        }
        Stage::Held(why) => Some(hold(live, hcp, why, &mut conditions)),
    };
    if held.as_ref().is_none_or(|held| held.is_note) {
        let note = held.as_ref().map_or("", |held| &held.message);
        let condition = match hcp {
            Some(hcp) => of_cluster(ledger, hcp, note),
            None => missing(live, note),
        };
        conditions.set(c::HCP_CLUSTER_READY, condition);
    }
    of_auth(ledger, held.is_some(), &mut conditions);
    let is_up = hcp.is_some_and(|hcp| hcp.holds(c::READY))
        && conditions.refuted(c::HCP_CLUSTER_READY).is_none();
    let kubeconfig = secrets::reconcile(ledger, hcp, outcome);
    conditions.set(c::KUBECONFIG_READY, kubeconfig.condition);
    if let Some(hcp) = hcp {
        recreation::carry_out(ledger, hcp, outcome);
        status::copy(hcp, &mut status);
    }
    status::set_ready(live, &mut status, is_up && kubeconfig.is_usable);
    let is_whole = PARTS.iter().all(|part| conditions.refuted(part).is_none());
    conditions.summarize(is_up && kubeconfig.is_usable && is_whole, &PARTS);
    status::write(live, status, conditions, outcome);
}

/// That the newest spec waits.
struct Held {
    message: String,
    /// Whether it is only noted beside what the cluster reports.
    is_note: bool,
}

/// What somebody should do before everything can be applied, if anything: about the HCP cluster above all.
fn concern(entries: &[Entry], conditions: &mut Conditions) -> Option<Held> {
    let concerned = entries.iter().filter(|entry| entry.concern.is_some());
    let entry = concerned.min_by_key(|entry| entry.id.kind != HCP)?;
    let message = entry.message.clone();
    let is_note = entry.ready || entry.id.kind != HCP;
    if !is_note {
        let condition = NewCondition::no(entry.concern?, message.as_str());
        conditions.set(c::HCP_CLUSTER_READY, condition);
    }
    Some(Held { message, is_note })
}

/// Sets the condition that says what the newest spec waits for.
fn hold(
    live: Live<'_>,
    hcp: Option<Live<'_>>,
    (kind, why): Typed,
    conditions: &mut Conditions,
) -> Held {
    let message = why.message().to_owned();
    let is_end = c::is_terminal(why.reason(), why.message());
    let is_about_cluster = kind == c::HCP_CLUSTER_READY;
    let is_note = hcp.is_some() && !(is_end && is_about_cluster);
    if !is_about_cluster {
        conditions.set(kind, why.clone());
    }
    if !is_note {
        let reason = match kind {
            c::HCP_CLUSTER_READY => why.reason(),
            c::IDENTITY_READY => c::WAITING_FOR_IDENTITY,
            _ => c::WAITING_FOR_ENCRYPTION_KEY,
        };
        let condition = NewCondition::no(reason, message.as_str());
        conditions.set(c::HCP_CLUSTER_READY, condition);
    }
    if is_note {
        let applied = live.condition(c::HCP_CLUSTER_READY);
        let applied = applied.and_then(|applied| applied.observed());
        conditions.about(applied.unwrap_or(0));
    }
    Held { message, is_note }
}

/// One condition for each kind among the resources; the HCP cluster has its own.
fn by_kind(entries: &[Entry], conditions: &mut Conditions) {
    let kinds: BTreeSet<&str> = entries.iter().map(|entry| entry.id.kind.as_str()).collect();
    for (kind, name) in c::PER_KIND.iter().filter(|(kind, _)| *kind != HCP) {
        if !kinds.contains(kind) {
            conditions.remove(name);
            continue;
        }
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

/// What ASO reports of the HCP cluster; `note` is what its newest spec waits for.
fn of_cluster(ledger: &Ledger<'_>, hcp: Live<'_>, note: &str) -> NewCondition {
    let missing = NewCondition::no(c::HCP_CLUSTER_NOT_FOUND, "");
    let default = "HcpOpenShiftCluster is not yet ready";
    let reported = resources::reported(Some(hcp), missing, default);
    if !reported.holds() {
        return recreation::advise(ledger, hcp, without_machine_cidr(hcp, reported));
    }
    match note {
        "" => reported.saying(c::HCP_CLUSTER_OPERATIONAL),
        note => reported.saying(format!(
            "{}; not applied: {note}",
            c::HCP_CLUSTER_OPERATIONAL
        )),
    }
}

/// Azure is done and ASO never is, as long as one field is missing.
fn without_machine_cidr(hcp: Live<'_>, reported: NewCondition) -> NewCondition {
    let state = hcp.text(&["status", "properties", "provisioningState"]);
    let cidr = hcp.text(&["spec", "properties", "network", "machineCidr"]);
    let is_it = reported.reason() == aso::RECONCILING && state == aso::SUCCEEDED && cidr.is_empty();
    if !is_it {
        return reported;
    }
    let message = format!(
        "{}; spec.properties.network.machineCidr is not set, and without it the cluster stays in this state: set it, whatever the type of network",
        reported.message()
    );
    reported.saying(message)
}

fn missing(live: Live<'_>, note: &str) -> NewCondition {
    let items = live.list(&["spec", "resources"]).iter().map(Live);
    let name = items.clone().find(|item| item.kind() == HCP);
    let mut message = c::hcp_cluster_missing(name.map_or("", Live::name));
    if !note.is_empty() {
        message = format!("{message}; not applied: {note}");
    }
    NewCondition::no(c::HCP_CLUSTER_NOT_FOUND, message)
}

/// The condition of the external authentication, unless it is known to wait.
fn of_auth(ledger: &Ledger<'_>, is_held: bool, conditions: &mut Conditions) {
    match external_auth::condition(ledger) {
        None => conditions.remove(c::EXTERNAL_AUTH_READY),
        Some(condition) if condition.reason() == c::RESOURCE_NOT_FOUND => {
            let waiting = [c::WAITING_FOR_NODE_POOL, c::WAITING_FOR_EXTERNAL_AUTH];
            let waits = conditions
                .refuted(c::EXTERNAL_AUTH_READY)
                .is_some_and(|(reason, _)| waiting.contains(&reason));
            if is_held {
                let waiting = NewCondition::no(c::WAITING_FOR_NODE_POOL, c::EXTERNAL_AUTH_DEFERRED);
                conditions.set(c::EXTERNAL_AUTH_READY, waiting);
            } else if !waits {
                conditions.set(c::EXTERNAL_AUTH_READY, condition);
            }
        }
        Some(condition) => conditions.set(c::EXTERNAL_AUTH_READY, condition),
    }
}
