//! Deletes embedded resources.
//!
//! In: an owner, and which of its resources must go. Out: writes, and an entry for each that is still there. Only what the
//! owner controls is looked at, and nothing is deleted before everything of the recorded kinds is known.

use std::collections::BTreeSet;
use std::time::Duration;

use super::concerns;
use super::entry::Entry;
use super::ledger::{Ledger, recorded};
use super::owners::{self, Controller};
use super::report;
use super::skip;
use crate::api::aso;
use crate::api::conditions::{KEPT_WHILE_NEEDED, NOT_APPLIED, READY};
use crate::api::kinds::{CONTROL_PLANE, RED_HAT_OPENSHIFT, RESOURCES, is_aso};
use crate::api::labels::PRE_PAUSE_POLICY;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::{Need, Outcome, Write, delete};
use crate::reconcile::world::{GroupKind, Parent, World};

/// When to look again at a deletion that is under way.
const RECHECK: Duration = Duration::from_secs(15);

/// Deletes what the owner controls for which `is_doomed` holds; an entry for each that is still there. Looks again while
/// there is one, and tells once what is refused.
pub(in crate::reconcile) fn remove(
    ledger: &Ledger<'_>,
    is_doomed: impl Fn(Live<'_>) -> bool,
    outcome: &mut Outcome,
) -> Vec<Entry> {
    let doomed = controlled(ledger).filter(|(_, live)| is_doomed(*live));
    let left = take(ledger, doomed, outcome);
    concerns::report(ledger.owner, &left, outcome);
    left
}

/// Deletes what is not kept; an entry for each that is still there. What something else stands on stays until that is
/// gone, and what was not applied from the list stays.
pub(super) fn take_unlisted(
    ledger: &Ledger<'_>,
    kept: &BTreeSet<&ObjectId>,
    outcome: &mut Outcome,
) -> Vec<Entry> {
    let owned = ledger.world.owned_ids(ledger.owner.uid());
    // Most are kept, so that is asked first.
    let unlisted = owned.filter(|id| !kept.contains(id));
    let unlisted = unlisted.filter_map(|id| controlled_one(ledger.world, ledger.owner, id));
    let mut stays = Vec::new();
    let mut doomed = Vec::new();
    for (id, live) in unlisted {
        match why_kept(ledger, id, live, kept, outcome) {
            Some(why) => stays.push((id, live, why)),
            None => doomed.push((id, live)),
        }
    }
    let mut left = take(ledger, doomed.into_iter(), outcome);
    for (id, live, why) in stays {
        let mut entry = report::unlisted(id, live, why);
        entry.ready = live.holds(READY);
        left.push(entry);
    }
    left
}

/// Why an unlisted resource is not deleted; `None` if it is.
fn why_kept(
    ledger: &Ledger<'_>,
    id: &ObjectId,
    live: Live<'_>,
    kept: &BTreeSet<&ObjectId>,
    outcome: &mut Outcome,
) -> Option<&'static str> {
    if !live.is_deleting() && !owners::is_applied(live) {
        outcome.need(id.clone());
        return Some(NOT_APPLIED);
    }
    is_needed(ledger, id, kept, outcome).then_some(KEPT_WHILE_NEEDED)
}

/// Kinds without which an HCP cluster dies. A list in which none of one is left is more likely cut short than meant.
const VITAL: [&str; 6] = [
    "NetworkSecurityGroup",
    "RoleAssignment",
    "UserAssignedIdentity",
    "Vault",
    "VirtualNetwork",
    "VirtualNetworksSubnet",
];

/// Whether deleting it would take something else along in Azure: with a resource group goes all of the cluster, with an
/// HCP cluster its node pools, and with all of a vital kind the HCP cluster.
fn is_needed(
    ledger: &Ledger<'_>,
    id: &ObjectId,
    kept: &BTreeSet<&ObjectId>,
    outcome: &mut Outcome,
) -> bool {
    let plane: &[(&str, &str, &str)] = &[(CONTROL_PLANE, "AROControlPlane", ledger.cluster)];
    let above: &[(&str, &str, &str)] = match id.kind.as_str() {
        "ResourceGroup" if has_content(ledger, id) => return true,
        "ResourceGroup" => plane,
        "HcpOpenShiftCluster" => &[
            (RED_HAT_OPENSHIFT, "HcpOpenShiftClustersNodePool", &id.name),
            (
                RED_HAT_OPENSHIFT,
                "HcpOpenShiftClustersExternalAuth",
                &id.name,
            ),
        ],
        _ if ledger.owner.kind() != "AROCluster" => &[],
        _ if kept.is_empty() => plane,
        kind if VITAL.contains(&kind) && kept.iter().all(|kept| kept.kind != kind) => {
            return has_cluster(ledger, outcome);
        }
        _ => &[],
    };
    let mut is_needed = false;
    for (group, kind, name) in above {
        let parent = Parent::new(group, kind, &id.namespace, name);
        is_needed |= ledger.world.below(&parent).next().is_some();
        outcome.needs.push(Need::Below(parent));
    }
    is_needed
}

/// Returns true if the owner has a resource that goes with this resource group in Azure. What does not stand in a group by name
/// counts, too: a role assignment goes with the vault that it is for.
fn has_content(ledger: &Ledger<'_>, group: &ObjectId) -> bool {
    let is_elsewhere = |id: &ObjectId, live: Live<'_>| {
        let owner = live.text(&["spec", "owner", "name"]);
        let stands_in_group =
            aso::owner_kind(&id.group, &id.kind).is_some_and(|(group, _)| group == RESOURCES);
        stands_in_group && !owner.is_empty() && owner != group.name
    };
    let mut others = controlled(ledger).filter(|(id, _)| !id.is(RESOURCES, "ResourceGroup"));
    others.any(|(id, live)| !is_elsewhere(id, live))
}

/// Whether a control plane of the Cluster has an HCP cluster. Before that nothing stands on the infrastructure.
fn has_cluster(ledger: &Ledger<'_>, outcome: &mut Outcome) -> bool {
    const HCP: &str = "HcpOpenShiftCluster";
    let (world, namespace) = (ledger.world, ledger.owner.namespace());
    let planes = Parent::new(CONTROL_PLANE, "AROControlPlane", namespace, ledger.cluster);
    let owned = world
        .below(&planes)
        .flat_map(|plane| world.owned(plane.uid()));
    let clusters: Vec<ObjectId> = owned
        .filter(|live| live.kind() == HCP)
        .map(Live::id)
        .collect();
    let is_there = !clusters.is_empty();
    outcome.needs.push(Need::Below(planes));
    outcome
        .needs
        .push(Need::Synced(GroupKind::new(RED_HAT_OPENSHIFT, HCP)));
    outcome.needs.extend(clusters.into_iter().map(Need::Object));
    is_there
}

/// Deletes all of these; an entry for each.
fn take<'a>(
    ledger: &Ledger<'a>,
    doomed: impl Iterator<Item = (&'a ObjectId, Live<'a>)>,
    outcome: &mut Outcome,
) -> Vec<Entry> {
    let mut is_known = true;
    for kind in recorded(ledger.owner) {
        is_known &= ledger.world.is_synced(&kind);
        outcome.needs.push(Need::Synced(kind));
    }
    let mut left = Vec::new();
    for (id, live) in doomed {
        outcome.need(id.clone());
        if is_known && ledger.world.is_synced(&GroupKind::from(id)) {
            outcome.maybe(step(ledger, live));
        }
        left.push(report::leaving(ledger.world, id, live));
    }
    if !left.is_empty() {
        outcome.wake_at(ledger.now.checked_add(RECHECK).unwrap_or(ledger.now));
    }
    left
}

/// The next write of a deletion. ASO leaves a paused resource in Azure when it is deleted.
pub(in crate::reconcile) fn step(ledger: &Ledger<'_>, live: Live<'_>) -> Option<Write> {
    if ledger.stays_in_azure {
        return skip::skip(live).or_else(|| delete(live));
    }
    let paused = live.at(&["metadata", "annotations", PRE_PAUSE_POLICY]);
    match paused.is_some() && !live.is_deleting() {
        true => Some(skip::resume(live, owners::policy(live))),
        false => delete(live),
    }
}

/// Whether the owner controls nothing, as far as is known.
pub(in crate::reconcile) fn has_none(ledger: &Ledger<'_>) -> bool {
    controlled(ledger).next().is_none()
}

/// An entry for each that the owner controls and that has none yet.
pub(super) fn unlisted(ledger: &Ledger<'_>, entries: &[Entry], why: &str) -> Vec<Entry> {
    let is_listed = |id: &ObjectId| entries.iter().any(|entry| entry.id == *id);
    controlled(ledger)
        .filter(|(id, _)| !is_listed(id))
        .map(|(id, live)| match live.is_deleting() {
            true => report::leaving(ledger.world, id, live),
            false => report::unlisted(id, live, why),
        })
        .collect()
}

/// What the owner controls, of kinds that can be embedded.
pub(super) fn controlled<'a>(
    ledger: &Ledger<'a>,
) -> impl Iterator<Item = (&'a ObjectId, Live<'a>)> {
    let (world, owner) = (ledger.world, ledger.owner);
    let owned = world.owned_ids(owner.uid());
    owned.filter_map(move |id| controlled_one(world, owner, id))
}

fn controlled_one<'a>(
    world: World<'a>,
    owner: Live<'_>,
    id: &'a ObjectId,
) -> Option<(&'a ObjectId, Live<'a>)> {
    let live = world.get(id).present().filter(|_| is_aso(&id.group))?;
    matches!(owners::controller(owner, live), Controller::Owner).then_some((id, live))
}
