//! The Secret `<cluster>-aso-secret`.
//!
//! In: the credential that a cluster uses. Out: whether its resources may name the Secret, and the write that makes it. A
//! Secret of this name that a person made is left alone, and used. What does not work replaces nothing that did.

use serde_json::{Value, json};

use super::chosen::{Chosen, no, secret_name};
use super::parts::Parts;
use super::source::Source;
use crate::api::conditions as c;
use crate::api::labels::{CREDENTIAL_FINALIZER, CREDENTIAL_SOURCE, CREDENTIAL_VERSION, OWNED};
use crate::health::Live;
use crate::model::{AsoSecretRequest, ObjectId};
use crate::reconcile::conditions::{Conditions, NewCondition, Typed};
use crate::reconcile::links;
use crate::reconcile::outcome::{Outcome, Write, covers};
use crate::reconcile::resources::Ledger;

/// The id of the Secret of a cluster.
pub(super) fn id(ledger: &Ledger<'_>) -> ObjectId {
    let name = secret_name(ledger.cluster);
    ObjectId::new("", "Secret", ledger.owner.namespace(), name)
}

/// The Secret, if it is there and we made it.
pub(super) fn ours<'a>(ledger: &Ledger<'a>, outcome: &mut Outcome) -> Option<Live<'a>> {
    let id = id(ledger);
    let live = ledger.world.get(&id).present();
    outcome.need(id);
    live.filter(|live| live.label(ledger.cluster) == OWNED)
}

/// Whether the Secret has its content: it is made without.
pub(super) fn is_filled(live: Live<'_>) -> bool {
    !live.annotation(CREDENTIAL_VERSION).is_empty()
}

/// Keeps the Secret as it should be, if the owner writes it; whether the resources may name it.
pub(super) fn keep(
    ledger: &Ledger<'_>,
    parts: Parts<'_>,
    chosen: Chosen,
    conditions: &mut Conditions,
    outcome: &mut Outcome,
) -> Result<bool, Typed> {
    let id = id(ledger);
    let ours = ours(ledger, outcome);
    if ours.is_none() && ledger.world.get(&id).present().is_some() {
        return Ok(true);
    }
    let is_filled = ours.is_some_and(is_filled);
    let infrastructure = parts.infrastructure;
    let is_writer = parts.is_writer(ledger.owner);
    let works = chosen.state.works;
    match infrastructure.filter(|infrastructure| links::is_infrastructure_held(*infrastructure)) {
        Some(infrastructure) if is_writer && works => {
            let source = Source::of_parts(chosen.of, parts);
            let request = source.request(ledger.owner.namespace(), chosen.state.version);
            let owners = json!([links::owned_by(infrastructure, false)]);
            write(ledger, ours, owners, request, outcome);
            if let Some(error) = ledger.world.refusal(&id) {
                let failed = NewCondition::no(c::CREDENTIAL_SECRET_FAILED, error.to_string());
                conditions.set(c::IDENTITY_READY, failed);
            }
        }
        // Nothing is applied before there is an infrastructure, and one that will release the Secret when it is deleted.
        None if is_writer && infrastructure.is_none() => return Ok(is_filled),
        _ => {}
    }
    match ledger.world.refusal(&id) {
        _ if is_filled => Ok(true),
        Some(error) => no(c::CREDENTIAL_SECRET_FAILED, error.to_string()),
        None if works => no(c::WAITING_FOR_IDENTITY, waiting(&id.name, parts.plane)),
        None => Err((c::IDENTITY_READY, awaited(chosen.state.condition))),
    }
}

/// A control plane that a person has to change writes no Secret.
fn waiting(secret: &str, plane: Option<Live<'_>>) -> String {
    let message = format!("Waiting for the Secret {secret} with the credential of the cluster");
    let refused = plane.and_then(|plane| {
        let refused = plane.condition(c::HCP_CLUSTER_READY)?;
        let reasons = [c::HCP_CLUSTER_INVALID, c::UNSUPPORTED_INFRASTRUCTURE];
        let is_it = plane.is_current(refused) && reasons.contains(&refused.reason());
        is_it.then_some((plane, refused))
    });
    match refused {
        Some((plane, refused)) => {
            let (name, why) = (plane.name(), refused.message());
            format!("{message}, which AROControlPlane {name} writes once it is corrected: {why}")
        }
        None => message,
    }
}

/// Without an answer nothing is applied, and that is no fault yet.
fn awaited(condition: NewCondition) -> NewCondition {
    if condition.is_false() {
        return condition;
    }
    let message = match condition.message() {
        "" => "Waiting for a token of Entra ID, which shows that the identity works".to_owned(),
        message => message.to_owned(),
    };
    NewCondition::no(c::WAITING_FOR_IDENTITY, message)
}

/// Writes the Secret with this credential, unless it is there already.
pub(super) fn write(
    ledger: &Ledger<'_>,
    live: Option<Live<'_>>,
    owners: Value,
    request: AsoSecretRequest,
    outcome: &mut Outcome,
) {
    let patch = patch(ledger, live, owners, &request);
    if !is_held(ledger, live, &patch) {
        outcome.write(Write::CredentialSecret(Box::new(request), patch));
    }
}

/// The Secret without its content. A Secret that exists is named by its uid, so that no other gets the content.
fn patch(
    ledger: &Ledger<'_>,
    live: Option<Live<'_>>,
    owners: Value,
    request: &AsoSecretRequest,
) -> Value {
    let version = format!("{}/{}", request.credential.version, request.subscription);
    let mut labels = json!({});
    labels[ledger.cluster] = json!(OWNED);
    let mut patch = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": id(ledger).name,
            "namespace": ledger.owner.namespace(),
            "labels": labels,
            "annotations": {
                CREDENTIAL_VERSION: version,
                CREDENTIAL_SOURCE: Source::of_request(request).text(),
            },
            "finalizers": [CREDENTIAL_FINALIZER],
        },
        "type": "Opaque",
    });
    patch["metadata"]["ownerReferences"] = owners;
    if let Some(live) = live {
        patch["metadata"]["uid"] = json!(live.uid());
    }
    patch
}

/// Whether the Secret is as it was written last, for the same credential.
fn is_held(ledger: &Ledger<'_>, live: Option<Live<'_>>, patch: &Value) -> bool {
    let written = ledger.world.written(&id(ledger));
    live.is_some_and(|live| {
        let version = live.text(&["metadata", "resourceVersion"]);
        written == Some(version) && covers(live.0, patch)
    })
}
