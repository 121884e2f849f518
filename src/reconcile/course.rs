//! What every controller of the ARO provider does before it looks at what is special about its kind.
//!
//! In: an object, what it belongs to, and whether both are to be left alone. Out: whether there is more to do, and what to
//! do it with. It does not know which of the provider's kinds the object is.

use serde_json::Value;

use super::conditions::Conditions;
use super::membership::Membership;
use super::orphan;
use super::outcome::Outcome;
use super::resources::Ledger;
use super::scope;
use crate::health::Live;

/// What is left to do for an object.
pub(super) enum Course<'a> {
    /// Nothing: it is paused, or a person has to decide what becomes of its resources.
    Rest,
    /// It is being deleted.
    Delete(Ledger<'a>, Conditions),
    /// It is to be as its spec says.
    Provision(Conditions),
}

impl<'a> Course<'a> {
    /// The course of the ledger's owner; `held` reads the status that it has.
    pub(super) fn of(
        ledger: &Ledger<'a>,
        (membership, is_paused): (&Membership<'_>, bool),
        held: impl FnOnce(Live<'_>) -> Value,
        outcome: &mut Outcome,
    ) -> Self {
        let live = ledger.owner;
        let mut conditions = Conditions::of(live, ledger.now);
        let cluster = membership.cluster();
        orphan::record(live, cluster, outcome);
        if is_paused && !orphan::is_orphan(live, membership) {
            scope::pause(ledger, conditions, held(live), outcome);
            return Self::Rest;
        }
        if live.is_deleting() {
            let belonging = (membership, is_paused);
            let begun = orphan::begin(ledger, belonging, conditions, held(live), outcome);
            return begun.map_or(Self::Rest, |(ledger, conditions)| {
                Self::Delete(ledger, conditions)
            });
        }
        if cluster.is_some() {
            scope::resume(&mut conditions);
        }
        Self::Provision(conditions)
    }
}
