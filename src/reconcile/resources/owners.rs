//! Whose a resource is: in the cluster, by its controller; in Azure, by its tag or its owner.
//!
//! In: live resources. Out: answers. It does not know what follows from them.

use crate::api::aso;
use crate::api::labels::{
    CLUSTER_NAME, MANAGE, OWNED, PRE_PAUSE_POLICY, RECONCILE_POLICY, ownership_tag,
};
use crate::api::managers::{CAPZ, EMBEDDED};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::links;
use crate::reconcile::outcome::Outcome;

use super::ledger::Ledger;

/// No chain of owners in Azure is longer.
const LONGEST_CHAIN: usize = 8;

/// Whose a resource is in the cluster.
pub(super) enum Controller<'a> {
    /// It belongs to the owner of the list.
    Owner,
    /// It belongs to nobody.
    Nobody,
    /// It belongs to somebody else: the owner reference.
    Other(Live<'a>),
}

/// The controller of a resource.
pub(super) fn controller<'a>(owner: Live<'_>, live: Live<'a>) -> Controller<'a> {
    match controlled_by(live) {
        None => Controller::Nobody,
        Some(held) if held.text(&["uid"]) == owner.uid() => Controller::Owner,
        Some(held) => Controller::Other(held),
    }
}

fn controlled_by(live: Live<'_>) -> Option<Live<'_>> {
    let mut owners = live.list(&["metadata", "ownerReferences"]).iter().map(Live);
    owners.find(|held| held.flag(&["controller"]))
}

/// Whether CAPZ or we applied this very resource. Its owner reference alone proves nothing: it is copied with it.
pub(super) fn is_applied(live: Live<'_>) -> bool {
    [CAPZ, EMBEDDED]
        .iter()
        .any(|manager| live.applied_by(manager).next().is_some())
}

/// The policy that ASO has for a resource, or has again after a pause.
pub(in crate::reconcile) fn policy(live: Live<'_>) -> &str {
    let paused = live.at(&["metadata", "annotations", PRE_PAUSE_POLICY]);
    match paused.and_then(serde_json::Value::as_str) {
        Some(before) => before,
        None => live.annotation(RECONCILE_POLICY),
    }
}

/// Whether Azure's resource carries the tag of this cluster.
pub(super) fn is_tagged(ledger: &Ledger<'_>, live: Live<'_>) -> bool {
    let tag = ownership_tag(ledger.cluster);
    !ledger.cluster.is_empty() && live.text(&["status", "tags", &tag]) == OWNED
}

/// Whether Azure's resource belongs to this cluster: by its tag, or by its owner if its kind has no tags or is an
/// identity.
pub(super) fn is_clusters(ledger: &Ledger<'_>, live: Live<'_>, outcome: &mut Outcome) -> bool {
    let (group, kind) = (live.group(), live.kind());
    let follows = !aso::has_tags(group, kind) || kind == "UserAssignedIdentity";
    is_tagged(ledger, live) || follows && follows_owner(ledger, live, outcome)
}

/// Whether the owner in Azure belongs to this cluster. That of a role assignment, whose owner is its scope, is the
/// resource group.
fn follows_owner(ledger: &Ledger<'_>, live: Live<'_>, outcome: &mut Outcome) -> bool {
    let is_assignment = live.kind() == "RoleAssignment";
    let mut below = live;
    for _ in 0..LONGEST_CHAIN {
        let Some(id) = owner_in_azure(below) else {
            return false;
        };
        let owner = ledger.world.get(&id).present();
        outcome.need(id);
        match owner {
            Some(owner) if is_assignment && owner.kind() != "ResourceGroup" => below = owner,
            Some(owner) => {
                let is_managed = ["", MANAGE].contains(&policy(owner));
                return is_tagged(ledger, owner) || is_managed && is_controlled(ledger, owner);
            }
            None => return false,
        }
    }
    false
}

/// The owner in Azure that a resource names in the cluster.
fn owner_in_azure(live: Live<'_>) -> Option<ObjectId> {
    let owner = Live(live.at(&["spec", "owner"])?);
    let (group, kind) = match owner.text(&["kind"]) {
        "" => aso::owner_kind(live.group(), live.kind())?,
        kind => (owner.text(&["group"]), kind),
    };
    let name = owner.text(&["name"]);
    (!name.is_empty()).then(|| ObjectId::new(group, kind, live.namespace(), name))
}

/// Whether a resource is controlled by an object of this cluster.
fn is_controlled(ledger: &Ledger<'_>, live: Live<'_>) -> bool {
    let Some(held) = controlled_by(live) else {
        return false;
    };
    if held.text(&["uid"]) == ledger.owner.uid() {
        return true;
    }
    let [kind, name] = ["kind", "name"].map(|part| held.text(&[part]));
    let id = ObjectId::new(held.group(), kind, live.namespace(), name);
    let part = ledger.world.get(&id).present();
    part.filter(|part| part.uid() == held.text(&["uid"]))
        .is_some_and(|part| is_of(part, ledger.cluster))
}

fn is_of(part: Live<'_>, cluster: &str) -> bool {
    let owner = links::owner(part, "Cluster");
    let named = part.label(CLUSTER_NAME) == cluster;
    !cluster.is_empty() && (named || owner.is_some_and(|id| id.name == cluster))
}
