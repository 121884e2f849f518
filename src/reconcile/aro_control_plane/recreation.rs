//! An HCP cluster that Azure failed to create, and that only its deletion can help.
//!
//! In: the HCP cluster, and the approval on its AROControlPlane. Out: what to do about it, for a person; its deletion, if
//! the approval names the uid of this very object, so that no approval is good for a second one.

use super::super::conditions::NewCondition;
use super::super::outcome::{self, Outcome};
use super::super::resources::Ledger;
use crate::api::aso::IN_STATE_ERROR;
use crate::api::conditions as c;
use crate::api::labels::{APPROVE, RECREATE};
use crate::health::Live;

/// Whether Azure refuses every change, since the cluster was never made.
fn is_lost(hcp: Live<'_>) -> bool {
    let ready = hcp.condition(c::READY);
    ready.is_some_and(|ready| !ready.is_true() && ready.message().contains(IN_STATE_ERROR))
}

/// The condition with what a person can do about such a cluster.
pub(super) fn advise(ledger: &Ledger<'_>, hcp: Live<'_>, condition: NewCondition) -> NewCondition {
    if !is_lost(hcp) || hcp.is_deleting() {
        return condition;
    }
    let message = format!(
        "{}. Azure could not create this cluster and cannot update it: add what was missing, often a role assignment, then let Capstan delete and recreate it with the commit trailer '{APPROVE}: recreate {}/{}', or with the annotation {RECREATE}={} on this object",
        condition.message().trim_end_matches('.'),
        ledger.owner.namespace(),
        ledger.cluster,
        hcp.uid(),
    );
    condition.saying(message)
}

/// Deletes such a cluster if a person approved it. It is made again once it is gone.
pub(super) fn carry_out(ledger: &Ledger<'_>, hcp: Live<'_>, outcome: &mut Outcome) {
    let approved = ledger.owner.annotation(RECREATE);
    if is_lost(hcp) && !approved.is_empty() && approved == hcp.uid() {
        outcome.maybe(outcome::delete(hcp));
    }
}
