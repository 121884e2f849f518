//! The controller of AzureClusterIdentity.
//!
//! In: an identity, its Secret, the AROControlPlanes and AROClusters that use it, and what a token call answered. Out: the condition `Ready`,
//! which says whether it works; a finalizer for each of its users, so that it outlives them; and what `clusterctl move` needs
//! to carry it with the clusters of its namespace: labels, and an owner reference on these users. It does not look
//! at the content of the Secret.

#[cfg(test)]
mod tests;
mod users;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::users::Users;
use super::conditions::{Conditions, NewCondition};
use super::credentials::check;
use super::outcome::{Outcome, Write, apply, patch_of, without};
use super::world::World;
use crate::api::capi::{DELETE_FOR_MOVE, PAUSED};
use crate::api::conditions as c;
use crate::api::labels::MOVE_HIERARCHY;
use crate::health::Live;
use crate::model::{CredentialOf, CredentialRequest};

/// What to do about an AzureClusterIdentity.
pub(super) fn reconcile(world: World<'_>, live: Live<'_>, now: Timestamp) -> Outcome {
    let mut outcome = Outcome::default();
    let is_marked = |name: &&str| live.at(&["metadata", "annotations", name]).is_some();
    if [PAUSED, DELETE_FOR_MOVE].iter().any(is_marked) {
        return outcome;
    }
    let users = Users::of(world, live, &mut outcome);
    hold(live, &users, &mut outcome);
    if live.is_deleting() {
        return outcome;
    }
    users.carry(world, live, &mut outcome);
    report(world, live, &users, now, &mut outcome);
    // Entra ID may take its time: the status says so before.
    let is_slow = |write: &Write| matches!(write, Write::CheckCredential(_));
    outcome.writes.sort_by_key(is_slow);
    outcome
}

/// Keeps the identity as long as it has users. Nothing can be added to one that is being deleted.
fn hold(live: Live<'_>, users: &Users<'_>, outcome: &mut Outcome) {
    let held = live.list(&["metadata", "finalizers"]);
    let held: BTreeSet<&str> = held.iter().filter_map(Value::as_str).collect();
    let mut wanted = users.finalizers();
    if live.is_deleting() {
        wanted.retain(|one| held.contains(one.as_str()));
    }
    let mut patch = patch_of(live);
    if !wanted.is_empty() {
        patch["metadata"]["finalizers"] = json!(wanted);
    }
    if users.has_neighbours() {
        patch["metadata"]["labels"] = json!({MOVE_HIERARCHY: "true"});
    }
    let is_left = |one: &str| users::is_ours(one) && !wanted.contains(one);
    if held.iter().any(|one| is_left(one)) {
        let kept = held.iter().filter(|one| !is_left(one));
        outcome.write(without(live, "finalizers", json!(kept.collect::<Vec<_>>())));
        if !live.is_deleting() {
            // What else was applied for them goes as well.
            outcome.write(Write::Apply(patch));
        }
    } else if !wanted.is_empty() {
        outcome.maybe(apply(live, patch));
    }
}

/// The reasons of our condition.
const REASONS: [&str; 6] = [
    c::CREDENTIALS_VALID,
    c::CREDENTIALS_REFUSED,
    c::CREDENTIALS_INVALID,
    c::CREDENTIALS_NOT_FOUND,
    c::CREDENTIALS_UNCHECKED,
    c::CHECKING_CREDENTIALS,
];

/// Says nothing of an identity that no ARO cluster uses: others use it in their own way.
fn retract(live: Live<'_>, now: Timestamp, outcome: &mut Outcome) {
    let held = live.condition(c::READY);
    if held.is_some_and(|held| REASONS.contains(&held.reason())) {
        let mut conditions = Conditions::of(live, now);
        conditions.remove(c::READY);
        let status = live.at(&["status"]).cloned().unwrap_or_else(|| json!({}));
        conditions.write_plain(live, status, outcome);
    }
}

/// Says whether the identity works, in every cloud in which it is used.
fn report(
    world: World<'_>,
    live: Live<'_>,
    users: &Users<'_>,
    now: Timestamp,
    outcome: &mut Outcome,
) {
    if users.environments().is_empty() {
        return retract(live, now, outcome);
    }
    let version = check::version(world, live, now, outcome);
    let mut found: Option<NewCondition> = None;
    for environment in users.environments() {
        let request = CredentialRequest {
            of: CredentialOf::Identity(live.id()),
            environment: environment.to_owned(),
            version: version.clone(),
        };
        let condition = check::ask(world, &request, now, outcome).condition;
        // What is wrong in one cloud is not hidden by another.
        let is_worse =
            |best: &NewCondition| best.holds() || condition.is_false() && !best.is_false();
        if found.as_ref().is_none_or(is_worse) {
            found = Some(condition);
        }
    }
    let Some(condition) = found else { return };
    let held = live.condition(c::READY);
    let (status, reason) = held.map_or(("", ""), |held| (held.status(), held.reason()));
    // An answer that is asked for anew, or that does not come, leaves what was known.
    let is_pending = !condition.holds() && !condition.is_false();
    if is_pending && [c::TRUE, c::FALSE].contains(&status) {
        return;
    }
    let is_news = reason != condition.reason();
    if is_news && condition.is_false() {
        outcome.event(live, true, condition.reason(), condition.message());
    } else if is_news && condition.holds() {
        let message = "Entra ID gives tokens for the identity";
        outcome.event(live, false, condition.reason(), message);
    }
    let severity = if condition.is_false() { "Error" } else { "" };
    let mut conditions = Conditions::of(live, now);
    conditions.set(c::READY, condition.severe(severity));
    let status = live.at(&["status"]).filter(|status| status.is_object());
    let status = status.cloned().unwrap_or_else(|| json!({}));
    conditions.write_plain(live, status, outcome);
}
