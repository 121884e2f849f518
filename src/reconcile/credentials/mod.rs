//! Which credential Azure Service Operator is to use for the resources of a cluster.
//!
//! In: an object with resources, its control plane and infrastructure, the identity that one of them names, the control plane
//! first. Out: whether
//! the resources are to name the Secret `<cluster>-aso-secret`, the writes that make it, and the condition `IdentityReady`;
//! or why nothing may be applied. A namespace that the identity does not allow gets nothing. The Secret belongs to the
//! AROCluster and outlives the resources that name it; no secret value is looked at here.

mod allowed;
pub(in crate::reconcile) mod check;
mod chosen;
mod ending;
mod parts;
mod secret;
mod source;
#[cfg(test)]
mod tests;

pub(super) use self::allowed::{is_allowed, unseen};
use self::chosen::{Chosen, no};
pub(super) use self::chosen::{identity, secret_name};
pub(super) use self::ending::{refresh, release, release_orphan};
pub(super) use self::parts::Parts;
use super::conditions::{Conditions, Typed};
use super::outcome::{Need, Outcome};
use super::resources::{Ledger, has_credential};
use super::settings::ProcessIdentity;
use super::world::Parent;
use crate::api::aro_control_plane::{is_known_cloud, unknown_cloud};
use crate::api::conditions as c;
use crate::api::kinds::INFRASTRUCTURE;
use crate::api::labels::NAMESPACE_CREDENTIAL;
use crate::health::Live;
use crate::model::{CredentialOf, CredentialRequest, ObjectId};

/// Whether the resources of `ledger.owner` are to name the Secret of the cluster. Sets the condition, and writes the Secret
/// if the owner is the control plane, or the infrastructure of a cluster without one.
pub(super) fn of(
    ledger: &Ledger<'_>,
    parts: Parts<'_>,
    conditions: &mut Conditions,
    outcome: &mut Outcome,
) -> Result<bool, Typed> {
    // Resources that name the Secret do not turn to another credential by themselves: a person deletes the Secret first.
    let is_settled = secret::ours(ledger, outcome).is_some_and(secret::is_filled);
    let named = parts.identity();
    if parts.plane.is_none() && named.is_none() {
        let is_needed = needs_secret(ledger, parts, outcome);
        if is_settled || !is_needed {
            return Ok(is_needed);
        }
        return no(c::WAITING_FOR_IDENTITY, c::IDENTITY_AWAITED);
    }
    let environment = parts.environment();
    if parts.is_writer(ledger.owner) {
        ending::let_go(ledger, parts.infrastructure, outcome);
    }
    if !is_known_cloud(environment) {
        return no(c::UNKNOWN_CLOUD, unknown_cloud(environment));
    }
    let is_infrastructure = ledger.owner.kind() == "AROCluster";
    if is_infrastructure {
        parts.agree()?;
    }
    let chosen = match named {
        Some(id) => {
            allowed::check(ledger, &id, outcome)?;
            let state = check::of_identity(ledger, &id, environment, outcome);
            Some(Chosen {
                of: CredentialOf::Identity(id),
                state,
            })
        }
        None => match process(ledger) {
            Some(process) if is_settled || !has_namespace_credential(ledger, outcome) => {
                Some(default(ledger, process, environment, outcome))
            }
            _ => None,
        },
    };
    let Some(chosen) = chosen else {
        conditions.remove(c::IDENTITY_READY);
        return Ok(is_settled && needs_secret(ledger, parts, outcome));
    };
    let condition = chosen.state.condition.clone();
    let note = parts.overridden();
    let note = note.filter(|_| is_infrastructure && condition.holds());
    conditions.set(
        c::IDENTITY_READY,
        match note {
            Some(note) => condition.saying(note),
            None => condition,
        },
    );
    if !needs_secret(ledger, parts, outcome) {
        return Ok(false);
    }
    secret::keep(ledger, parts, chosen, conditions, outcome)
}

/// The identity of this process, if a cluster that names none uses it.
fn process<'a>(ledger: &Ledger<'a>) -> Option<&'a ProcessIdentity> {
    let namespace = ledger.owner.namespace();
    let process = ledger.process;
    process.filter(|process| process.namespaces.has(namespace))
}

/// The identity of this process, checked here since no object speaks for it.
fn default(
    ledger: &Ledger<'_>,
    process: &ProcessIdentity,
    environment: &str,
    outcome: &mut Outcome,
) -> Chosen {
    let request = CredentialRequest {
        of: CredentialOf::Default,
        environment: environment.to_owned(),
        version: check::version_of_process(process, ledger.now, outcome),
    };
    Chosen {
        of: CredentialOf::Default,
        state: check::ask(ledger.world, &request, ledger.now, outcome),
    }
}

/// Whether a person made a credential for the whole namespace, which goes before that of this process.
fn has_namespace_credential(ledger: &Ledger<'_>, outcome: &mut Outcome) -> bool {
    let namespace = ledger.owner.namespace();
    let id = ObjectId::new("", "Secret", namespace, NAMESPACE_CREDENTIAL);
    let found = ledger.world.get(&id).present().is_some();
    outcome.need(id);
    found
}

/// Whether a resource of the cluster names no credential itself.
fn needs_secret(ledger: &Ledger<'_>, parts: Parts<'_>, outcome: &mut Outcome) -> bool {
    let needs = |live: Live<'_>| {
        let mut items = live.list(&["spec", "resources"]).iter();
        items.any(|item| !has_credential(Live(item)))
    };
    let mut lists = [parts.plane, parts.infrastructure].into_iter().flatten();
    if lists.any(needs) {
        return true;
    }
    let namespace = ledger.owner.namespace();
    let pools = Parent::new(INFRASTRUCTURE, "AROMachinePool", namespace, ledger.cluster);
    let found = ledger.world.below(&pools).any(needs);
    outcome.needs.push(Need::Below(pools));
    found
}
