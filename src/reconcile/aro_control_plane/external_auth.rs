//! The external authentication of a control plane, as Azure reports it.
//!
//! In: the external authentications that exist. Out: the condition `ExternalAuthReady`. Azure finishes one only when the
//! secret of its client is there, which a person has to supply: the condition names it.

use serde_json::Value;

use super::super::conditions::NewCondition;
use super::super::resources::{self, Ledger};
use super::names::EXTERNAL_AUTH;
use crate::api::conditions as c;
use crate::health::Live;

/// The key of the client's secret.
const SECRET_KEY: &str = "clientSecret";
/// With this annotation CAPZ held back an external authentication.
const HELD_BACK: &str = "reconcile.azure-service-operator.io/pause";

/// The condition of all external authentications: the first that is not ready decides. `None` if the spec has none.
pub(super) fn condition(ledger: &Ledger<'_>) -> Option<NewCondition> {
    let items = ledger.owner.list(&["spec", "resources"]);
    let auths = items
        .iter()
        .filter(|item| Live(item).kind() == EXTERNAL_AUTH);
    let conditions: Vec<NewCondition> = auths.map(|item| of(ledger, item)).collect();
    let late = conditions.iter().find(|condition| !condition.holds());
    late.or(conditions.first()).cloned()
}

fn of(ledger: &Ledger<'_>, item: &Value) -> NewCondition {
    let live = ledger
        .world
        .get(&resources::id(ledger.owner, item))
        .present();
    let Some(live) = live else {
        let name = Live(item).name();
        let message = format!("HcpOpenShiftClustersExternalAuth {name} does not exist yet");
        return NewCondition::no(c::RESOURCE_NOT_FOUND, message);
    };
    let state = live.text(&["status", "properties", "provisioningState"]);
    if state.eq_ignore_ascii_case(c::AWAITING_SECRET) {
        return NewCondition::no(c::AWAITING_SECRET, awaited(ledger.cluster, live));
    }
    if live.annotation(HELD_BACK) == "true" {
        return NewCondition::no(c::WAITING_FOR_NODE_POOL, c::EXTERNAL_AUTH_DEFERRED);
    }
    let missing = NewCondition::no(c::RESOURCE_NOT_FOUND, "");
    let default = "External authentication is being configured";
    let reported = resources::reported(Some(live), missing, default);
    if reported.holds() {
        reported.saying(c::EXTERNAL_AUTH_CONFIGURED)
    } else {
        reported
    }
}

/// The Secrets that a person has to make.
fn awaited(cluster: &str, auth: Live<'_>) -> String {
    let clients = auth
        .list(&["spec", "properties", "clients"])
        .iter()
        .map(Live);
    let clients = clients.filter(|client| client.text(&["type"]) != "Public");
    let mut secrets: Vec<String> = clients
        .map(|client| {
            let name = client.text(&["component", "name"]);
            let namespace = client.text(&["component", "authClientNamespace"]);
            format!("{cluster}-ea-{name}-{namespace}")
        })
        .collect();
    if secrets.is_empty() {
        secrets.push(format!("{cluster}-ea-console-openshift-console"));
    }
    format!(
        "Azure waits for the secret of the client: create the Secret {} with the key {SECRET_KEY} in namespace {}",
        secrets.join(" and "),
        auth.namespace()
    )
}
