//! What must be there before a resource of a control plane is applied.
//!
//! In: the AROCluster, its role assignments, the node pools. Out: whether a gate is open, or the condition that says what
//! it waits for. An HCP cluster that exists does not wait for role assignments, an external authentication that exists
//! does not wait for node pools.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::super::conditions::{Conditions, NewCondition, Typed};
use super::super::outcome::{Need, Outcome};
use super::super::resources::{self, Ledger};
use super::super::world::Parent;
use super::names::{EXTERNAL_AUTH, HCP, NODE_POOL};
use crate::api::conditions as c;
use crate::api::kinds::{AUTHORIZATION, RED_HAT_OPENSHIFT};
use crate::api::labels::{RECONCILE_POLICY, SKIP};
use crate::health::Live;

/// The HCP cluster of this spec, if it exists.
pub(super) fn made<'a>(ledger: &Ledger<'a>) -> Option<Live<'a>> {
    let items = ledger.owner.list(&["spec", "resources"]);
    let item = items.iter().find(|item| Live(item).kind() == HCP)?;
    ledger
        .world
        .get(&resources::id(ledger.owner, item))
        .present()
}

/// Whether ASO only looks whether the cluster exists in Azure, and has not found it: its creation is still to come.
pub(super) fn is_probe(hcp: Live<'_>) -> bool {
    hcp.annotation(RECONCILE_POLICY) == SKIP && hcp.text(&["status", "id"]).is_empty()
}

/// The infrastructure, once it is ready; at once if it has no resources of its own.
pub(super) fn infrastructure<'a>(
    id: &str,
    infrastructure: Option<Live<'a>>,
) -> Result<Live<'a>, Typed> {
    let wait = |message: String| {
        let condition = NewCondition::no(c::WAITING_FOR_INFRASTRUCTURE, message);
        Err((c::HCP_CLUSTER_READY, condition))
    };
    let Some(infrastructure) = infrastructure else {
        return wait(format!("Waiting for {id}, which does not exist"));
    };
    let is_empty = infrastructure.list(&["spec", "resources"]).is_empty();
    if is_empty || infrastructure.holds(c::RESOURCES_READY) {
        return Ok(infrastructure);
    }
    let name = infrastructure.name();
    let reported = infrastructure.condition(c::RESOURCES_READY);
    let reported = reported.filter(|condition| infrastructure.is_current(*condition));
    // How many are ready is told there: here it would cost a write of this status for each of them.
    let reported = reported.filter(|found| found.reason() != c::PROVISIONING_INFRASTRUCTURE);
    match reported.map(|condition| condition.message()) {
        Some(message) if !message.is_empty() => wait(format!("AROCluster {name}: {message}")),
        _ => wait(format!("Waiting for the resources of AROCluster {name}")),
    }
}

/// When the last role assignment of the infrastructure is `settle` old.
pub(super) fn opens(
    ledger: &Ledger<'_>,
    infrastructure: Live<'_>,
    settle: Duration,
    outcome: &mut Outcome,
) -> Timestamp {
    let items = infrastructure.list(&["spec", "resources"]).iter();
    let assignments = items.filter(|item| Live(item).group() == AUTHORIZATION);
    let since = assignments.filter_map(|item| {
        let id = resources::id(infrastructure, item);
        outcome.need(id.clone());
        let live = ledger.world.get(&id).present()?;
        live.condition(c::READY)?.since().parse::<Timestamp>().ok()
    });
    let last = since.max().unwrap_or(Timestamp::UNIX_EPOCH);
    last.checked_add(settle).unwrap_or(Timestamp::MAX)
}

/// Whether the role assignments have reached all of Azure.
pub(super) fn settled(
    ledger: &Ledger<'_>,
    opens: Timestamp,
    outcome: &mut Outcome,
) -> Result<(), Typed> {
    if opens <= ledger.now {
        return Ok(());
    }
    outcome.wake_at(opens);
    let condition = NewCondition::no(c::WAITING_FOR_ROLE_ASSIGNMENTS, c::SETTLING);
    Err((c::HCP_CLUSTER_READY, condition))
}

/// The resources without the external authentications that do not exist yet, until a node pool of this cluster is ready and
/// it has no other external authentication.
pub(super) fn without_early_auth(
    ledger: &Ledger<'_>,
    mut items: Vec<Value>,
    conditions: &mut Conditions,
    outcome: &mut Outcome,
) -> Vec<Value> {
    let waits = |item: &Value| {
        let id = resources::id(ledger.owner, item);
        Live(item).kind() == EXTERNAL_AUTH && ledger.world.get(&id).present().is_none()
    };
    if !items.iter().any(waits) {
        return items;
    }
    let hcp = items.iter().find(|item| Live(item).kind() == HCP);
    let hcp = hcp.map_or("", |hcp| Live(hcp).name());
    let namespace = ledger.owner.namespace();
    let auths = Parent::new(RED_HAT_OPENSHIFT, EXTERNAL_AUTH, namespace, hcp);
    let others: Vec<&str> = ledger.world.below(&auths).map(Live::name).collect();
    outcome.needs.push(Need::Below(auths));
    // Azure takes one, and Azure Service Operator does not ask again after a refusal.
    if !others.is_empty() {
        items.retain(|item| !waits(item));
        let condition =
            NewCondition::no(c::WAITING_FOR_EXTERNAL_AUTH, c::one_external_auth(&others));
        conditions.set(c::EXTERNAL_AUTH_READY, condition);
        return items;
    }
    let pools = Parent::new(RED_HAT_OPENSHIFT, NODE_POOL, namespace, hcp);
    let mut ready = ledger
        .world
        .below(&pools)
        .filter(|pool| pool.holds(c::READY));
    let has_ready_pool = ready.next().is_some();
    outcome.needs.push(Need::Below(pools));
    if !has_ready_pool {
        items.retain(|item| !waits(item));
        let condition = NewCondition::no(c::WAITING_FOR_NODE_POOL, c::EXTERNAL_AUTH_DEFERRED);
        conditions.set(c::EXTERNAL_AUTH_READY, condition);
    }
    items
}
