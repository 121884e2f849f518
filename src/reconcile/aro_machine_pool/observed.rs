//! What there is of a machine pool, in conditions.
//!
//! In: entries of its resources if they were applied, or what they wait for; the node pool and its nodes. Out: the status.
//! While the newest spec waits, the conditions of a node pool that exists are about the spec that was applied, so that
//! nobody takes it for the newest.

use super::super::conditions::{Conditions, NewCondition, Typed};
use super::super::outcome::{Outcome, covers};
use super::super::resources::{self, Entry};
use super::nodes::Nodes;
use super::status;
use crate::api::conditions as c;
use crate::health::Live;

/// The conditions that decide whether it is ready, in the order of their importance.
const PARTS: [&str; 2] = [c::NODE_POOL_READY, c::AGENT_POOLS_READY];

/// How far a machine pool is.
pub(super) enum Stage {
    /// Everything that may be applied is.
    Applied(Vec<Entry>),
    /// Something comes first.
    Held(Typed),
}

/// What was observed of a machine pool.
pub(super) struct Observed<'a> {
    pub(super) stage: Stage,
    /// The node pool as it is to be applied.
    pub(super) wanted: Live<'a>,
    /// The node pool as it is.
    pub(super) made: Option<Live<'a>>,
    /// The MachinePool.
    pub(super) pool: Live<'a>,
    pub(super) nodes: &'a Nodes,
    /// That the node pool decides how many nodes there are, and not the MachinePool.
    pub(super) overruled: Option<String>,
}

/// Writes the status.
pub(super) fn report(
    live: Live<'_>,
    observed: &Observed<'_>,
    mut conditions: Conditions,
    outcome: &mut Outcome,
) {
    let mut status = status::held(live);
    let agents = observed.agents();
    let is_fine = agents.holds();
    let is_asked = observed.pool.number(&["spec", "replicas"]) != Some(c::DEFAULT_REPLICAS);
    let overruled = observed.overruled.as_deref();
    if let Some(overruled) = overruled.filter(|_| is_fine && is_asked) {
        let held = live.condition(c::AGENT_POOLS_READY);
        if held.is_none_or(|held| held.message() != overruled) {
            outcome.event(live, true, c::REPLICAS_NOT_USED, overruled);
        }
    }
    conditions.set(c::AGENT_POOLS_READY, agents);
    if observed.waits().is_some() {
        let applied = live.condition(c::NODE_POOL_READY);
        let applied = applied.and_then(|applied| applied.observed());
        conditions.about(applied.unwrap_or(0));
    }
    let node_pool = observed.node_pool(c::NODE_POOL_DEFAULT);
    let summary = observed.summary(&node_pool);
    let is_ready = node_pool.holds() && is_fine;
    conditions.set(c::NODE_POOL_READY, node_pool);
    let same = observed.node_pool(c::ARO_MACHINE_POOL_DEFAULT);
    conditions.set(c::ARO_MACHINE_POOL_READY, same);
    match is_ready {
        true => conditions.set(c::READY, summary),
        false => conditions.summarize(false, &PARTS),
    }
    let mut all_ready = false;
    if let Stage::Applied(entries) = &observed.stage {
        all_ready = !entries.is_empty() && entries.iter().all(|entry| entry.ready);
        status["resources"] = resources::listed(entries);
    }
    if let Some(made) = observed.made {
        status::copy(made, &mut status);
    }
    let count = observed.nodes.ids.len();
    status::set_replicas(&mut status, count, observed.made, observed.pool);
    status::set_ready(&mut status, observed.made, is_fine);
    status::set_provisioned(live, &mut status, all_ready);
    status::write(live, status, conditions, outcome);
}

/// Reports why nothing is done; what Azure once reported stays.
pub(super) fn refuse(
    live: Live<'_>,
    mut conditions: Conditions,
    (kind, why): Typed,
    outcome: &mut Outcome,
) {
    let mut status = status::held(live);
    conditions.set(kind, why.clone());
    if kind == c::NODE_POOL_READY {
        conditions.set(c::ARO_MACHINE_POOL_READY, why.clone());
        let failed = NewCondition::no(c::FAILED, why.message());
        conditions.set(c::AGENT_POOLS_READY, failed);
        status["ready"] = serde_json::json!(false);
    }
    if kind != c::READY {
        conditions.summarize(false, &[kind]);
    }
    status::write(live, status, conditions, outcome);
}

impl Observed<'_> {
    /// What the newest spec waits for, although there is a node pool.
    fn waits(&self) -> Option<&str> {
        let (Stage::Held((_, why)), Some(made)) = (&self.stage, self.made) else {
            return None;
        };
        (!covers(made.0, self.wanted.0)).then_some(why.message())
    }

    /// What cannot be applied, and why; empty if nothing.
    fn failing(&self) -> String {
        let Stage::Applied(entries) = &self.stage else {
            return String::new();
        };
        let late = entries.iter().filter(|entry| !entry.ready).cloned();
        resources::notes(&late.collect::<Vec<_>>())
    }

    /// The reason of what cannot be applied: whether a person has to change the spec.
    fn failure(&self) -> &'static str {
        let Stage::Applied(entries) = &self.stage else {
            return c::FAILED;
        };
        let mut late = entries.iter().filter(|entry| !entry.ready);
        match late.any(|entry| entry.concern == Some(c::INVALID_RESOURCE)) {
            true => c::INVALID_RESOURCE,
            false => c::FAILED,
        }
    }

    /// Whether this pass had no error, and the node pool does not wait to be created.
    fn agents(&self) -> NewCondition {
        if let Stage::Held((kind, why)) = &self.stage
            && (*kind == c::AGENT_POOLS_READY || self.made.is_none())
        {
            return why.clone();
        }
        match self.failing() {
            failing if failing.is_empty() => {
                let overruled = self.overruled.as_deref().unwrap_or_default();
                NewCondition::yes(c::SUCCEEDED, overruled)
            }
            failing => NewCondition::no(c::FAILED, failing),
        }
    }

    /// What Azure Service Operator reports of the node pool, and what comes first.
    fn node_pool(&self, default: &str) -> NewCondition {
        let failing = self.failing();
        if !failing.is_empty() {
            return NewCondition::no(self.failure(), failing);
        }
        let missing = match &self.stage {
            Stage::Held((c::NODE_POOL_READY, why)) => why.clone(),
            Stage::Held((_, why)) => NewCondition::no(why.reason(), why.message()),
            Stage::Applied(_) => NewCondition::no(c::NODE_POOL_NOT_FOUND, c::NODE_POOL_MISSING),
        };
        let reported = resources::reported(self.made, missing, default);
        match reported.holds() {
            true => reported.saying(self.remarks()),
            false => reported,
        }
    }

    /// What there is to say of a node pool that is ready.
    fn remarks(&self) -> String {
        let notes = match &self.stage {
            Stage::Applied(entries) => resources::notes(entries),
            Stage::Held(_) => String::new(),
        };
        let waits = self.waits().map(|why| format!("a change waits: {why}"));
        let unknown = self.nodes.unknown.as_deref().map(c::nodes_unknown);
        let notes = (!notes.is_empty()).then_some(notes);
        let overruled = self.overruled.clone();
        let remarks = notes.into_iter().chain(waits).chain(overruled);
        let remarks: Vec<String> = remarks.chain(unknown).collect();
        remarks.join("; ")
    }

    /// The summary of a machine pool that is ready.
    fn summary(&self, node_pool: &NewCondition) -> NewCondition {
        NewCondition::yes(c::POOL_READY, node_pool.message())
    }
}
