//! The Secrets of a control plane: the kubeconfig in Cluster API's form, and the certificate authority.
//!
//! In: the Secret that Azure Service Operator writes. Out: the writes that bring it into form, and the condition
//! `KubeconfigReady`. The Secret stays ASO's, which writes it again with each of its reconciliations; what differs from
//! Cluster API's form is written again whenever it does, however old it is. Its type cannot be changed any more. Nothing of
//! its content reaches a condition or an event.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::conditions::{NewCondition, stamp};
use super::super::links;
use super::super::outcome::{Outcome, Write, covers, patch_of};
use super::super::resources::Ledger;
use super::kubeconfig::{self, Kubeconfig};
use super::names;
use crate::api::conditions as c;
use crate::api::labels::{
    CLUSTER_NAME, KUBECONFIG_LAST_UPDATED, KUBECONFIG_REFRESH_NEEDED, TOKEN_EXPIRES_AT,
};
use crate::health::Live;
use crate::model::ObjectId;

/// The key of the kubeconfig in its Secret.
const KEY: &str = "value";
/// The type of Secrets that Cluster API reads.
const TYPE: &str = "cluster.x-k8s.io/secret";
/// How long before its end a credential should have been renewed.
const MARGIN: Duration = Duration::from_secs(15 * 60);

/// How far the kubeconfig is.
pub(super) struct Found {
    pub(super) condition: NewCondition,
    /// Whether it can be used.
    pub(super) is_usable: bool,
}

impl Found {
    fn no(reason: &str, message: String) -> Self {
        let condition = NewCondition::no(reason, message);
        Self {
            condition,
            is_usable: false,
        }
    }
}

/// Brings the kubeconfig into form.
pub(super) fn reconcile(
    ledger: &Ledger<'_>,
    hcp: Option<Live<'_>>,
    outcome: &mut Outcome,
) -> Found {
    let name = names::kubeconfig(ledger.cluster);
    let Some(hcp) = hcp else {
        let message = format!("Waiting for the HcpOpenShiftCluster, then for the Secret {name}");
        return Found::no(c::KUBECONFIG_AWAITED, message);
    };
    let id = ObjectId::new("", "Secret", hcp.namespace(), name.as_str());
    outcome.need(id.clone());
    let Some(secret) = ledger.world.get(&id).present() else {
        return Found::no(c::KUBECONFIG_AWAITED, awaited(hcp, &name));
    };
    let wrong = |why: &str| {
        Found::no(
            c::KUBECONFIG_INVALID,
            format!(
                "the key {KEY} of the Secret {name} is not a kubeconfig that can be used: {why}"
            ),
        )
    };
    let encoded = match secret.text(&["data", KEY]) {
        "" => return wrong("it is empty"),
        encoded => encoded,
    };
    match kubeconfig::read(encoded) {
        Err(why) => wrong(why),
        Ok(found) => {
            outcome.maybe(formed(ledger, secret, &found));
            let authority = authority(ledger, &found, outcome);
            outcome.maybe(authority);
            in_use(ledger, secret, &found, outcome)
        }
    }
}

/// The condition of a kubeconfig that can be used, and when to look at it again.
fn in_use(
    ledger: &Ledger<'_>,
    secret: Live<'_>,
    found: &Kubeconfig,
    outcome: &mut Outcome,
) -> Found {
    let usable = |condition| Found {
        condition,
        is_usable: true,
    };
    let Some(end) = expiry(secret, found) else {
        return usable(NewCondition::yes(c::SUCCEEDED, ""));
    };
    let late = end.checked_sub(MARGIN).unwrap_or(end);
    let message = |verb: &str| {
        format!(
            "the credential in the Secret {} {verb} at {}, and Azure Service Operator has not renewed it, as it does whenever it reconciles the HcpOpenShiftCluster: check that ASO runs, that this resource is not paused, and that AZURE_SYNC_PERIOD is shorter than the life of the credential. To renew it now, pause and resume the Cluster",
            secret.name(),
            stamp(end)
        )
    };
    if end <= ledger.now {
        return Found::no(c::KUBECONFIG_EXPIRED, message("expired"));
    }
    if late <= ledger.now {
        outcome.wake_at(end);
        return usable(NewCondition::no(c::KUBECONFIG_EXPIRING, message("expires")));
    }
    outcome.wake_at(late);
    usable(NewCondition::yes(c::SUCCEEDED, ""))
}

/// When the credential expires: as it says itself, else as is noted beside it.
fn expiry(secret: Live<'_>, found: &Kubeconfig) -> Option<Timestamp> {
    let noted = || secret.annotation(TOKEN_EXPIRES_AT).parse().ok();
    found.expires.or_else(noted)
}

/// What the Secret waits for; where the user sends the credentials, if that is elsewhere.
fn awaited(hcp: Live<'_>, name: &str) -> String {
    let admin = ["spec", "operatorSpec", "secrets", "adminCredentials"];
    let place = hcp.at(&admin).map(Live);
    let place = place.map(|place| (place.text(&["name"]), place.text(&["key"])));
    match place {
        Some(place) if place == (name, KEY) => {
            format!("Waiting for Azure Service Operator to write the Secret {name}")
        }
        _ => format!(
            "Waiting for the Secret {name} with the key {KEY}, which Cluster API reads; spec.operatorSpec.secrets.adminCredentials of HcpOpenShiftCluster {} does not name it: leave it out, or set name {name} and key {KEY}",
            hcp.name()
        ),
    }
}

/// The patch that brings the Secret into form, at the version it was read at; owner references stay.
fn formed(ledger: &Ledger<'_>, secret: Live<'_>, found: &Kubeconfig) -> Option<Write> {
    let is_labelled = secret.label(CLUSTER_NAME) == ledger.cluster;
    let is_stamped = !secret.annotation(KUBECONFIG_LAST_UPDATED).is_empty();
    let asked = secret.at(&["metadata", "annotations", KUBECONFIG_REFRESH_NEEDED]);
    let end = found.expires.map(stamp);
    let noted = secret.annotation(TOKEN_EXPIRES_AT);
    let is_noted = end.as_deref().is_none_or(|end| end == noted);
    if is_labelled && is_stamped && asked.is_none() && is_noted && found.rewritten.is_none() {
        return None;
    }
    let mut patch = patch_of(secret);
    let metadata = &mut patch["metadata"];
    metadata["resourceVersion"] = json!(secret.text(&["metadata", "resourceVersion"]));
    metadata["labels"] = json!({CLUSTER_NAME: ledger.cluster});
    metadata["annotations"] = json!({KUBECONFIG_LAST_UPDATED: stamp(ledger.now)});
    if asked.is_some() {
        metadata["annotations"][KUBECONFIG_REFRESH_NEEDED] = Value::Null;
    }
    if let Some(end) = end {
        metadata["annotations"][TOKEN_EXPIRES_AT] = json!(end);
    }
    if let Some(rewritten) = &found.rewritten {
        patch["data"] = json!({KEY: rewritten});
    }
    Some(Write::Merge(patch))
}

/// The Secret with the certificate authority, unless there is one of somebody else's.
fn authority(ledger: &Ledger<'_>, found: &Kubeconfig, outcome: &mut Outcome) -> Option<Write> {
    let authority = found.authority.as_deref()?;
    let owner = ledger.owner;
    let name = format!("{}-ca", ledger.cluster);
    let id = ObjectId::new("", "Secret", owner.namespace(), name.as_str());
    outcome.need(id.clone());
    let live = ledger.world.get(&id).present();
    let is_ours = |live: Live<'_>| {
        let mut owners = live.list(&["metadata", "ownerReferences"]).iter().map(Live);
        owners.any(|held| held.text(&["uid"]) == owner.uid())
    };
    if live.is_some_and(|live| !is_ours(live)) {
        return None;
    }
    let patch = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": owner.namespace(),
            "labels": {CLUSTER_NAME: ledger.cluster},
            "ownerReferences": [links::owned_by(owner, true)],
        },
        "type": TYPE,
        "data": {"tls.crt": authority, "tls.key": links::NO_KEY},
    });
    let is_held = live.is_some_and(|live| covers(live.0, &patch));
    (!is_held).then_some(Write::Apply(patch))
}
