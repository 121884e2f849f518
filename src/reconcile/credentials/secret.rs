//! The Secret `<cluster>-aso-secret`.
//!
//! In: the credential that a cluster uses. Out: whether its resources may name the Secret, and the write that makes it. A
//! Secret of this name that a person made is left alone, and used. What does not work replaces nothing that did.

use serde_json::{Value, json};

use super::chosen::{Chosen, no, secret_name};
use crate::api::conditions as c;
use crate::api::labels::{CREDENTIAL_VERSION, OWNED};
use crate::health::Live;
use crate::model::{AsoSecretRequest, CredentialRequest, ObjectId};
use crate::reconcile::conditions::{Conditions, NewCondition, Typed};
use crate::reconcile::links;
use crate::reconcile::outcome::{Outcome, Write, covers};
use crate::reconcile::resources::Ledger;

/// Keeps the Secret as it should be, if the owner is the control plane; whether the resources may name it.
pub(super) fn keep(
    ledger: &Ledger<'_>,
    (plane, infrastructure): (Live<'_>, Option<Live<'_>>),
    chosen: Chosen,
    conditions: &mut Conditions,
    outcome: &mut Outcome,
) -> Result<bool, Typed> {
    let name = secret_name(ledger.cluster);
    let id = ObjectId::new("", "Secret", ledger.owner.namespace(), name.as_str());
    outcome.need(id.clone());
    let live = ledger.world.get(&id).present();
    let is_ours = |live: &Live<'_>| live.label(ledger.cluster) == OWNED;
    if live.is_some_and(|live| !is_ours(&live)) {
        return Ok(true);
    }
    let works = chosen.state.works;
    let is_writer = ledger.owner.uid() == plane.uid();
    if works && is_writer {
        let patch = patch(ledger, &name, (live, infrastructure), &chosen);
        if !is_held(ledger, &id, live, &patch) {
            let request = Box::new(request(ledger, plane, chosen.clone()));
            outcome.write(Write::CredentialSecret(request, patch));
        }
        if let Some(error) = ledger.world.refusal(&id) {
            let failed = NewCondition::no(c::CREDENTIAL_SECRET_FAILED, error.to_string());
            conditions.set(c::IDENTITY_READY, failed);
        }
    }
    match (live, ledger.world.refusal(&id)) {
        (Some(_), _) => Ok(true),
        (None, Some(error)) => no(c::CREDENTIAL_SECRET_FAILED, error.to_string()),
        (None, None) if works => no(
            c::WAITING_FOR_IDENTITY,
            format!("Waiting for the Secret {name} with the credential of the cluster"),
        ),
        (None, None) => Err((c::IDENTITY_READY, awaited(chosen.state.condition))),
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

fn request(ledger: &Ledger<'_>, plane: Live<'_>, chosen: Chosen) -> AsoSecretRequest {
    AsoSecretRequest {
        credential: CredentialRequest {
            of: chosen.of,
            environment: plane.text(&["spec", "azureEnvironment"]).to_owned(),
            version: chosen.state.version,
        },
        namespace: ledger.owner.namespace().to_owned(),
        subscription: plane.text(&["spec", "subscriptionID"]).to_owned(),
    }
}

/// The Secret without its content. A Secret that exists is named by its uid, so that no other gets the content.
fn patch(
    ledger: &Ledger<'_>,
    name: &str,
    (live, infrastructure): (Option<Live<'_>>, Option<Live<'_>>),
    chosen: &Chosen,
) -> Value {
    let subscription = ledger.owner.text(&["spec", "subscriptionID"]);
    let version = format!("{}/{subscription}", chosen.state.version);
    let mut labels = json!({});
    labels[ledger.cluster] = json!(OWNED);
    let mut patch = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": ledger.owner.namespace(),
            "labels": labels,
            "annotations": {CREDENTIAL_VERSION: version},
        },
        "type": "Opaque",
    });
    let owner = infrastructure.unwrap_or(ledger.owner);
    patch["metadata"]["ownerReferences"] = json!([links::owned_by(owner, false)]);
    if let Some(live) = live {
        patch["metadata"]["uid"] = json!(live.uid());
    }
    patch
}

/// Whether the Secret is as it was written last, for the same credential.
fn is_held(ledger: &Ledger<'_>, id: &ObjectId, live: Option<Live<'_>>, patch: &Value) -> bool {
    let written = ledger.world.written(id);
    live.is_some_and(|live| {
        let version = live.text(&["metadata", "resourceVersion"]);
        written == Some(version) && covers(live.0, patch)
    })
}
