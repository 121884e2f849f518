//! The Secret `<cluster>-aso-secret` while its cluster is deleted.
//!
//! In: a control plane or an AROCluster that is being deleted, or a Secret that is. Out: the Secret kept up to date as long as
//! resources are deleted in Azure with it, and its finalizer taken off when that is over. A Secret that is not ours is left alone.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::parts::Parts;
use super::source::Source;
use super::{allowed, check, chosen, secret};
use crate::api::kinds::INFRASTRUCTURE;
use crate::api::labels::CREDENTIAL_FINALIZER;
use crate::health::Live;
use crate::model::{CredentialOf, ObjectId};
use crate::reconcile::outcome::{Outcome, unfinalize};
use crate::reconcile::resources::Ledger;

/// How long a deleted Secret stays: its namespace, or its cluster, may be about to be deleted as well.
const RESPITE: SignedDuration = SignedDuration::from_secs(60);

/// Writes a credential that changed to the Secret that resources still name. `plane` is the control plane if it is there; the Secret
/// knows what it said.
pub(in crate::reconcile) fn refresh(
    ledger: &Ledger<'_>,
    plane: Option<Live<'_>>,
    outcome: &mut Outcome,
) {
    let Some(live) = secret::ours(ledger, outcome) else {
        return;
    };
    let named = plane.and_then(|plane| {
        let of = CredentialOf::Identity(chosen::identity(plane)?);
        let parts = Parts {
            plane: Some(plane),
            infrastructure: None,
        };
        Some(Source::of_parts(of, parts))
    });
    let Some(source) = named.or_else(|| Source::recorded(live)) else {
        return;
    };
    let Some(version) = version(ledger, &source.of, outcome) else {
        return;
    };
    let request = source.request(ledger.owner.namespace(), version);
    if check::ask(ledger.world, &request.credential, ledger.now, outcome).works {
        let owners = live.list(&["metadata", "ownerReferences"]).iter();
        let owners = owners.filter(|owner| owner["kind"] == "AROCluster");
        let owners: Vec<&Value> = owners.collect();
        secret::write(ledger, Some(live), json!(owners), request, outcome);
    }
}

/// What a credential is made of now; `None` if the namespace may not use it, or if there is none.
fn version(ledger: &Ledger<'_>, of: &CredentialOf, outcome: &mut Outcome) -> Option<String> {
    let CredentialOf::Identity(id) = of else {
        let process = ledger.process?;
        return Some(check::version_of_process(process, ledger.now, outcome));
    };
    allowed::check(ledger, id, outcome).ok()?;
    let identity = ledger.world.get(id).present()?;
    Some(check::version(ledger.world, identity, ledger.now, outcome))
}

/// Lets the Secret go, since no resource is left. Returns whether it has gone.
pub(in crate::reconcile) fn release(ledger: &Ledger<'_>, outcome: &mut Outcome) -> bool {
    let live = secret::ours(ledger, outcome);
    let write = live.and_then(|live| unfinalize(live, CREDENTIAL_FINALIZER));
    let is_gone = write.is_none();
    outcome.maybe(write);
    is_gone
}

/// The same if no AROCluster is there to do it.
pub(in crate::reconcile) fn release_orphan(ledger: &Ledger<'_>, outcome: &mut Outcome) -> bool {
    let Some(live) = secret::ours(ledger, outcome) else {
        return true;
    };
    let owners = live.list(&["metadata", "ownerReferences"]).iter().map(Live);
    let owners = owners.filter(|owner| owner.text(&["kind"]) == "AROCluster");
    let mut is_alive = |owner: Live<'_>| {
        let namespace = ledger.owner.namespace();
        let id = ObjectId::new(
            INFRASTRUCTURE,
            "AROCluster",
            namespace,
            owner.text(&["name"]),
        );
        let found = ledger.world.get(&id).present();
        outcome.need(id);
        found.is_some_and(|found| found.uid() == owner.text(&["uid"]))
    };
    let alive = owners.filter(|owner| is_alive(*owner)).count();
    alive > 0 || release(ledger, outcome)
}

/// Lets the Secret go if a person deletes it, and nothing else.
pub(super) fn let_go(ledger: &Ledger<'_>, infrastructure: Option<Live<'_>>, outcome: &mut Outcome) {
    let ours = secret::ours(ledger, outcome);
    let Some(live) = ours.filter(|live| live.is_deleting()) else {
        return;
    };
    let namespace = ObjectId::new("", "Namespace", "", ledger.owner.namespace());
    let found = ledger.world.get(&namespace).present();
    outcome.need(namespace);
    let ending = [found, infrastructure].into_iter().flatten();
    if ending.into_iter().any(Live::is_deleting) {
        return;
    }
    let since = live.text(&["metadata", "deletionTimestamp"]);
    let since: Timestamp = since.parse().unwrap_or(ledger.now);
    let until = since + RESPITE;
    if ledger.now < until {
        return outcome.wake_at(until);
    }
    outcome.maybe(unfinalize(live, CREDENTIAL_FINALIZER));
}
