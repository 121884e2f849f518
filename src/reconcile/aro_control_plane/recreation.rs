//! An HCP cluster that Azure failed to create, and that only its deletion can help.
//!
//! In: the HCP cluster, and the approval on its AROControlPlane. Out: what to do about it, for a person; its deletion, if
//! the approval names the uid of this very object, so that no approval is good for a second one.

use serde_json::json;

use super::super::conditions::NewCondition;
use super::super::outcome::{self, Outcome};
use super::super::resources::Ledger;
use crate::api::conditions as c;
use crate::api::labels::{APPROVE, PART_OF, RECREATE};
use crate::health::Live;

/// The condition with what a person can do about such a cluster.
pub(super) fn advise(ledger: &Ledger<'_>, hcp: Live<'_>, condition: NewCondition) -> NewCondition {
    if !hcp.is_lost() || hcp.is_deleting() {
        return condition;
    }
    let owner = ledger.owner;
    // Nobody reads commits for an object that no fleet has.
    let is_in_fleet = !owner.label(PART_OF).is_empty();
    let trailer = match is_in_fleet && heeds_trailer(owner, hcp.uid()) {
        true => format!(
            "with the commit trailer '{APPROVE}: recreate {}/{}', or ",
            owner.namespace(),
            owner.name()
        ),
        false => String::new(),
    };
    let message = format!(
        "{}. Azure could not create this cluster and cannot update it: add what was missing, often a role assignment, then let Capstan delete and recreate it {trailer}with the annotation {RECREATE}={} on this object",
        condition.message().trim_end_matches('.'),
        hcp.uid(),
    );
    condition.saying(message)
}

/// Whether a commit can approve that the HCP cluster of this uid is recreated. A commit may be read more than once, so it
/// approves for no cluster that ever ran, nor for one after an earlier approval.
pub(crate) fn heeds_trailer(plane: Live<'_>, uid: &str) -> bool {
    let ran = plane.flag(&["status", "initialization", "controlPlaneInitialized"]);
    let is_used = !["", uid].contains(&plane.annotation(RECREATE));
    !ran && !is_used
}

/// Deletes such a cluster if a person approved it. It is made again once it is gone. An approval that is not needed any
/// more is taken off.
pub(super) fn carry_out(ledger: &Ledger<'_>, hcp: Live<'_>, outcome: &mut Outcome) {
    let approved = ledger.owner.annotation(RECREATE);
    if hcp.is_lost() && !approved.is_empty() && approved == hcp.uid() {
        outcome.maybe(outcome::delete(hcp));
    } else if hcp.holds(c::READY) && !approved.is_empty() {
        let mut patch = outcome::patch_of(ledger.owner);
        patch["metadata"]["annotations"] = json!({RECREATE: null});
        outcome.write(outcome::Write::Merge(patch));
    }
}
