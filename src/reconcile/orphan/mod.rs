//! An object of the ARO provider whose Cluster is gone: what becomes of what it has in Azure.
//!
//! In: an object that is being deleted, and its Cluster. Out: whether its resources are deleted in Azure, too. They are if
//! somebody deletes the object while its Cluster exists, or if the Cluster was seen being deleted, which is recorded on the
//! object. If a Cluster just disappears, by a move that left its objects behind or by force, garbage collection deletes the
//! objects and nobody meant Azure: a person decides. It does not know in which order anything is deleted.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::conditions::{Conditions, NewCondition};
use super::membership::Membership;
use super::outcome::{Outcome, Write, patch_of};
use super::resources::{self, Ledger};
use super::scope;
use crate::api::conditions as c;
use crate::api::kinds::CAPI;
use crate::api::labels::{CLUSTER_DELETED, DELETE_IN_AZURE, KEEP_IN_AZURE};
use crate::health::Live;
use crate::model::ObjectId;

/// What becomes of the resources of an object that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// They are deleted in Azure.
    Deleted,
    /// They go from Kubernetes and stay in Azure.
    Kept,
    /// A person has to decide.
    Undecided,
}

/// Records on an object that its Cluster is being deleted: later the Cluster may be gone. A Cluster that is not, such as
/// that of a copy in another management cluster, takes the record away.
pub(super) fn record(live: Live<'_>, cluster: Option<Live<'_>>, outcome: &mut Outcome) {
    let Some(cluster) = cluster else { return };
    let recorded = live.annotation(CLUSTER_DELETED);
    let record = match cluster.is_deleting() {
        true if recorded != cluster.uid() => json!(cluster.uid()),
        false if !recorded.is_empty() => Value::Null,
        _ => return,
    };
    let mut patch = patch_of(live);
    patch["metadata"]["annotations"] = json!({CLUSTER_DELETED: record});
    outcome.write(Write::Merge(patch));
}

/// Whether an object is being deleted and its Cluster is gone. Nobody but a person ends a pause of it then.
pub(super) fn is_orphan(live: Live<'_>, membership: &Membership<'_>) -> bool {
    live.is_deleting() && membership.cluster_of_deletion(live).is_none()
}

/// Begins the deletion of the owner, or goes on with it: what to delete with. `None` while a person has to decide, which is
/// said: always if it is paused. What was moved, or is about to be, is nobody's to delete.
pub(super) fn begin<'a>(
    ledger: &Ledger<'a>,
    (membership, is_paused): (&Membership<'_>, bool),
    mut conditions: Conditions,
    status: Value,
    outcome: &mut Outcome,
) -> Option<(Ledger<'a>, Conditions)> {
    let fate = fate(ledger, membership, is_paused, outcome);
    if is_paused {
        // It counts later, too, when it is not any more.
        conditions.set(c::PAUSED, NewCondition::yes(c::IS_PAUSED, ""));
    }
    if fate == Fate::Undecided {
        ask(ledger, membership, conditions, status, outcome);
        return None;
    }
    if !is_paused {
        scope::resume(&mut conditions);
    }
    let ledger = Ledger {
        stays_in_azure: fate == Fate::Kept,
        ..*ledger
    };
    Some((ledger, conditions))
}

fn fate(
    ledger: &Ledger<'_>,
    membership: &Membership<'_>,
    is_paused: bool,
    outcome: &mut Outcome,
) -> Fate {
    let live = ledger.owner;
    if membership.cluster_of_deletion(live).is_some() {
        return Fate::Deleted;
    }
    let is_asked = |annotation| live.annotation(annotation) == live.uid();
    if is_asked(KEEP_IN_AZURE) {
        return Fate::Kept;
    }
    let (recorded, uid) = (live.annotation(CLUSTER_DELETED), membership.uid);
    let was_seen = !recorded.is_empty() && (uid.is_empty() || recorded == uid);
    // What was paused when its Cluster disappeared was moved.
    let recorded = live.condition(c::PAUSED);
    let was_paused = is_paused || recorded.is_some_and(|paused| paused.is_true());
    if is_asked(DELETE_IN_AZURE) || was_seen && !was_paused {
        return Fate::Deleted;
    }
    // After a restart nobody has looked for it yet.
    resources::need_recorded(ledger, outcome);
    // Others may still stand on what it had, such as node pools that were moved.
    match resources::has_none(ledger) {
        true => Fate::Kept,
        false => Fate::Undecided,
    }
}

/// Leaves Azure as it is until a person decides, whatever becomes of the object: its resources are skipped. Says so.
fn ask(
    ledger: &Ledger<'_>,
    membership: &Membership<'_>,
    mut conditions: Conditions,
    mut status: Value,
    outcome: &mut Outcome,
) {
    let live = ledger.owner;
    let items = live.list(&["spec", "resources"]);
    let entries = resources::pause(ledger, items, outcome);
    status["resources"] = resources::listed(&entries);
    let (reason, gone) = gone(ledger, membership);
    let message = resources::with_notes(question(live, &gone), &entries);
    let said = live.condition(c::READY);
    // Without this a reason that stays the same is no event.
    if said.is_some_and(|said| said.reason() == reason && said.message() != message) {
        outcome.event(live, true, reason, message.as_str());
    }
    conditions.set(c::READY, NewCondition::no(reason, message));
    conditions.write(live, status, outcome);
}

/// What is gone that the owner belongs to, and the reason that says so.
fn gone(ledger: &Ledger<'_>, membership: &Membership<'_>) -> (&'static str, String) {
    match (&membership.lost, membership.named) {
        (Some(pool), Some(_)) => (
            c::MACHINE_POOL_NOT_FOUND,
            format!("MachinePool {} of this object", pool.name),
        ),
        (None, Some(_)) => {
            let earlier = format!("The earlier Cluster {} of this object", ledger.cluster);
            (c::CLUSTER_NOT_FOUND, earlier)
        }
        (_, None) => (c::CLUSTER_NOT_FOUND, cluster_of(ledger.cluster)),
    }
}

fn cluster_of(name: &str) -> String {
    format!("Cluster {name} of this object")
}

/// What to say of an object that is not being deleted although its Cluster is gone: something else owns it, too, such as an
/// identity. Without resources, `missing` says enough.
pub(super) fn left_over(
    ledger: &Ledger<'_>,
    missing: NewCondition,
    outcome: &mut Outcome,
) -> NewCondition {
    let live = ledger.owner;
    let id = ObjectId::new(CAPI, "Cluster", live.namespace(), ledger.cluster);
    let is_gone = ledger.world.get(&id).is_absent();
    outcome.need(id);
    resources::need_recorded(ledger, outcome);
    if !is_gone || resources::has_none(ledger) {
        return missing;
    }
    let (kind, name, namespace) = (live.kind().to_lowercase(), live.name(), live.namespace());
    let message = format!(
        "{}. Then delete the object: `kubectl delete {kind} {name} --namespace {namespace}`",
        question(live, &cluster_of(ledger.cluster))
    );
    NewCondition::no(c::CLUSTER_NOT_FOUND, message)
}

/// What happened, and the two commands.
fn question(live: Live<'_>, gone: &str) -> String {
    let (kind, name, namespace, uid) = (
        live.kind().to_lowercase(),
        live.name(),
        live.namespace(),
        live.uid(),
    );
    let command = |annotation: &str| {
        format!("`kubectl annotate {kind} {name} --namespace {namespace} {annotation}={uid}`")
    };
    format!(
        "{gone} does not exist any more, and it is not known whether Azure was meant, too, so nothing is deleted there. \
        To leave Azure as it is and let this object go: {}. To delete its resources in Azure, too: {}",
        command(KEEP_IN_AZURE),
        command(DELETE_IN_AZURE)
    )
}
