//! The controller of AROCluster (facts/aro-controllers.md §3.1 and §3.4).
//!
//! In: an AROCluster, its Cluster, control plane and embedded resources. Out: the resources applied,
//! the endpoint copied from the control plane, and its status.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{Conditions, NewCondition};
use super::links;
use super::outcome::{self, Outcome, unfinalize};
use super::resources::{self, Entry, Ledger};
use super::settings::Settings;
use super::world::World;
use crate::api::conditions as c;
use crate::health::Live;

const FINALIZER: &str = "arocluster/finalizer";

/// What to do about an AROCluster.
pub(super) fn reconcile(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    settings: Settings,
) -> Outcome {
    let mut outcome = Outcome::default();
    let cluster_id = links::owner(live, "Cluster");
    let ledger = Ledger {
        world,
        owner: live,
        cluster: cluster_id.as_ref().map_or("", |id| &id.name),
        first_apply: settings.first_apply,
        now,
    };
    if live.is_deleting() {
        let left = resources::remove(&ledger, |_| true, &mut outcome);
        let write = match left.is_empty() {
            true => unfinalize(live, FINALIZER),
            false => outcome::status(live, remaining(live, &left)),
        };
        outcome.maybe(write);
        return outcome;
    }
    let Some(cluster_id) = cluster_id.clone() else {
        return outcome;
    };
    outcome.need(cluster_id.clone());
    let cluster = world.get(&cluster_id).present();
    let Some(cluster) = cluster.filter(|cluster| !links::is_paused(*cluster, live)) else {
        return outcome;
    };
    let plane_id = links::control_plane(cluster);
    plane_id.clone().into_iter().for_each(|id| outcome.need(id));
    let plane = plane_id.and_then(|id| world.get(&id).present());
    let endpoint = plane.and_then(|plane| endpoint(plane.text(&["status", "apiURL"])));
    let items = resources::wanted(live);
    let spec = with_endpoint(live, endpoint.as_ref());
    resources::mark(&ledger, FINALIZER, &items, spec, &mut outcome);
    let entries = resources::reconcile(&ledger, &items, &mut outcome);
    let plane_ready = plane.is_some_and(|plane| plane.flag(&["status", "ready"]));
    let ready = plane_ready && endpoint.is_some();
    let status = status(live, now, &entries, (ready, endpoint.is_some()));
    outcome.maybe(outcome::status(live, status));
    outcome
}

/// The spec to write: the endpoint, the one it has if the control plane reports none.
fn with_endpoint(live: Live<'_>, endpoint: Option<&Value>) -> Value {
    let held = live.at(&["spec", "controlPlaneEndpoint"]);
    let known = endpoint.or(held);
    known.map_or(
        Value::Null,
        |endpoint| json!({"controlPlaneEndpoint": endpoint}),
    )
}

/// Host and port of a URL; the port of https when it names none.
fn endpoint(url: &str) -> Option<Value> {
    let uri: http::Uri = url.parse().ok()?;
    let host = uri.host().filter(|host| !host.is_empty())?;
    Some(json!({"host": host, "port": uri.port_u16().unwrap_or(443)}))
}

/// `(ready, known)`: whether the control plane is ready at a known endpoint, and whether there is one.
fn status(live: Live<'_>, now: Timestamp, entries: &[Entry], plane: (bool, bool)) -> Value {
    let (ready, known) = plane;
    let count = entries.iter().filter(|entry| entry.ready).count();
    let all = count == entries.len();
    let mut conditions = Conditions::of(live, now);
    if !entries.is_empty() {
        conditions.set(
            c::RESOURCES_READY,
            resources_condition(all, count, entries.len()),
        );
    }
    let waiting = match known {
        true => c::WAITING_FOR_PORT,
        false => c::WAITING_FOR_CONTROL_PLANE,
    };
    let condition = NewCondition::either(
        ready,
        c::SUCCEEDED,
        c::EXTERNALLY_MANAGED_CONTROL_PLANE,
        waiting,
    );
    conditions.set(c::NETWORK_INFRASTRUCTURE_READY, condition);
    let was = live.flag(&["status", "initialization", "provisioned"]);
    json!({
        "ready": ready,
        "initialization": {"provisioned": was || (all && ready)},
        "resources": resources::listed(entries),
        "conditions": conditions.into_value(),
    })
}

fn resources_condition(all: bool, ready: usize, count: usize) -> NewCondition {
    match all {
        true => NewCondition::yes(c::INFRASTRUCTURE_READY, c::all_ready(count)),
        false => NewCondition::no(c::PROVISIONING_INFRASTRUCTURE, c::some_ready(ready, count)),
    }
}

/// The status of a cluster that is being deleted: what is left.
fn remaining(live: Live<'_>, left: &[Entry]) -> Value {
    let mut status = live.at(&["status"]).cloned().unwrap_or_else(|| json!({}));
    status["ready"] = json!(false);
    status["resources"] = resources::listed(left);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_have_a_port_whether_the_url_has_one_or_not() {
        let cases = [
            (
                "https://api.x.example:6443/",
                Some(json!({"host": "api.x.example", "port": 6443})),
            ),
            (
                "https://api.x.example/",
                Some(json!({"host": "api.x.example", "port": 443})),
            ),
            (
                "https://[fd00::1]:443",
                Some(json!({"host": "[fd00::1]", "port": 443})),
            ),
            ("", None),
            ("no url", None),
        ];
        for (url, expected) in cases {
            assert_eq!(endpoint(url), expected, "{url}");
        }
    }
}
