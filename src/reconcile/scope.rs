//! The Cluster that an object of the ARO provider belongs to.
//!
//! In: the object. Out: its Cluster, or why there is none yet, and whether both are to be left alone. It does not know
//! which of the provider's kinds it is.

use std::time::Duration;

use serde_json::Value;

use super::blocked::unblock;
use super::conditions::{Conditions, NewCondition};
use super::links;
use super::membership::Membership;
use super::outcome::{self, Outcome};
use super::resources::{self, Ledger};
use super::world::{GroupKind, Lookup, World};
use crate::api::capi::{DELETE_FOR_MOVE, PAUSED};
use crate::api::conditions as c;
use crate::api::kinds::CAPI;
use crate::api::labels::CLUSTER_NAME;
use crate::health::Live;
use crate::model::ObjectId;

/// How long a deletion waits before it looks again, although a change would wake it.
pub(super) const RECHECK: Duration = Duration::from_secs(15);

/// The Cluster of an object.
pub(super) struct Scope<'a> {
    /// Its name, also when it is gone.
    pub(super) name: &'a str,
    /// What it belongs to.
    pub(super) membership: Membership<'a>,
    /// The Cluster, or why it is not known.
    pub(super) cluster: Result<Live<'a>, NewCondition>,
    /// Whether the object is to be left alone.
    pub(super) is_paused: bool,
}

impl<'a> Scope<'a> {
    /// The Cluster that owns `live`.
    pub(super) fn of(world: World<'a>, live: Live<'a>, outcome: &mut Outcome) -> Self {
        let id = links::owner(live, "Cluster");
        let cluster = id.as_ref().and_then(|id| world.get(id).present());
        outcome.needs.extend(id.clone().map(outcome::Need::Object));
        let name = owner_name(live)
            .or(live.label(CLUSTER_NAME))
            .or(live.name());
        let cluster = match &id {
            Some(_) => cluster,
            None => leaving(world, live, name, outcome),
        };
        let is_marked = |name| live.at(&["metadata", "annotations", name]).is_some();
        let membership = Membership::of(cluster, live);
        Self {
            name,
            is_paused: [PAUSED, DELETE_FOR_MOVE].into_iter().any(is_marked) || cluster.is_some_and(|cluster| links::is_paused(cluster, live)),
            cluster: membership.cluster().ok_or_else(|| match &id {
                Some(id) => {
                    let message = format!("{id}, which owns this object, does not exist");
                    NewCondition::no(c::CLUSTER_NOT_FOUND, message)
                }
                None => NewCondition::no(
                    c::WAITING_FOR_OWNER_CLUSTER,
                    format!("Waiting for Cluster API to make a Cluster the owner of this object: one in the same namespace must refer to {} {}", live.kind(), live.name()),
                ),
            }),
            membership,
        }
    }
}

/// The Cluster that refers to an object which it does not own any more, if it is being deleted: in the foreground, garbage
/// collection takes its owner off an object that something else owns, too, such as an identity that it uses.
fn leaving<'a>(
    world: World<'a>,
    live: Live<'_>,
    name: &str,
    outcome: &mut Outcome,
) -> Option<Live<'a>> {
    let id = ObjectId::new(CAPI, "Cluster", live.namespace(), name);
    let found = world.get(&id).present();
    outcome.need(id);
    let refers = |cluster: Live<'_>| {
        let parts = [
            links::control_plane(cluster),
            links::infrastructure(cluster),
        ];
        parts.into_iter().flatten().any(|part| part == live.id())
    };
    found.filter(|cluster| cluster.is_deleting() && refers(*cluster))
}

/// One of two texts: the first that is not empty.
trait Or<'a> {
    fn or(self, other: &'a str) -> &'a str;
}

impl<'a> Or<'a> for &'a str {
    fn or(self, other: &'a str) -> &'a str {
        if self.is_empty() { other } else { self }
    }
}

fn owner_name(live: Live<'_>) -> &str {
    let owners = live.list(&["metadata", "ownerReferences"]).iter().map(Live);
    let mut clusters = owners.filter(|owner| owner.kind() == "Cluster");
    clusters.next().map_or("", |owner| owner.text(&["name"]))
}

/// Leaves everything alone: the embedded resources are paused too, and `clusterctl move` may go on.
pub(super) fn pause(
    ledger: &Ledger<'_>,
    mut conditions: Conditions,
    mut status: Value,
    outcome: &mut Outcome,
) {
    let live = ledger.owner;
    unblock(&mut conditions);
    let items = live.list(&["spec", "resources"]);
    let entries = resources::pause(ledger, items, outcome);
    status["resources"] = resources::listed(&entries);
    let refused = resources::notes(&entries);
    conditions.set(c::PAUSED, NewCondition::yes(c::IS_PAUSED, refused));
    conditions.write(live, status, outcome);
}

/// It is neither paused nor blocked, if it ever was.
pub(super) fn resume(conditions: &mut Conditions) {
    unblock(conditions);
    if conditions.has(c::PAUSED) {
        conditions.set(c::PAUSED, NewCondition::no(c::NOT_PAUSED, ""));
    }
}

/// `Waiting for <kind> <names> to be deleted`, with a few of the names.
pub(super) fn awaited<'a>(kind: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 5;
    let names: Vec<&str> = names.into_iter().collect();
    let shown = names[..names.len().min(MOST)].join(", ");
    match names.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("Waiting for {kind} {shown} and {more} more to be deleted"),
        _ => format!("Waiting for {kind} {shown} to be deleted"),
    }
}

/// Whether an object is being deleted, or belongs to an object that is there, and that takes it along. Azure Service
/// Operator makes the HCP cluster an owner of its node pools: that does not count. Nor does an owner of which nobody may
/// tell us whether it is there: whoever waits would wait for ever.
pub(super) fn leaves(world: World<'_>, live: Live<'_>, outcome: &mut Outcome) -> bool {
    let owners = live.list(&["metadata", "ownerReferences"]).iter().map(Live);
    let others = owners.filter(|owner| owner.kind() != "HcpOpenShiftCluster");
    let mut leaves = live.is_deleting();
    for owner in others {
        // An owner of a kind without namespaces has none.
        for namespace in [live.namespace(), ""] {
            let [kind, name] = ["kind", "name"].map(|part| owner.text(&[part]));
            let id = ObjectId::new(owner.group(), kind, namespace, name);
            leaves |= match world.get(&id) {
                Lookup::Present(found) => found.uid() == owner.text(&["uid"]),
                Lookup::Absent => false,
                Lookup::NotSynced => !world.is_denied(&GroupKind::from(&id)),
            };
            if !world.is_denied(&GroupKind::from(&id)) {
                outcome.need(id);
            }
        }
    }
    leaves
}
