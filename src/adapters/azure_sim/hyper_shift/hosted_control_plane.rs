//! The controller of HostedControlPlane: the control plane, and the operator that runs beside it.
//!
//! In: a HostedControlPlane. Out: its status, available after the time that a control plane takes, and the Service of its
//! private router. It does not know the HostedCluster.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::azure::Azure;
use super::{moments, router};
use crate::api::platform::HYPERSHIFT;
use crate::api::timeline;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::{Conditions, NewCondition};
use crate::reconcile::outcome::{self, Outcome};
use crate::reconcile::world::World;

const AVAILABLE: &str = "Available";

/// Reconciles a HostedControlPlane.
pub(super) fn reconcile(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    azure: &Azure,
) -> Outcome {
    let mut outcome = Outcome::default();
    if live.is_deleting() {
        return outcome;
    }
    router::reconcile(azure, world, live, &mut outcome);
    let cluster = ObjectId::new(HYPERSHIFT, "HostedCluster", "", live.name());
    let start = moments::since(live, AVAILABLE, false).unwrap_or(now);
    let due = moments::after(start, timeline::creation(&cluster));
    let was_up = moments::since(live, AVAILABLE, true).is_some();
    let is_up = was_up || now >= due;
    if !is_up {
        outcome.wake_at(due);
    }
    outcome.maybe(outcome::status(live, status(live, now, is_up)));
    outcome
}

fn status(live: Live<'_>, now: Timestamp, is_up: bool) -> Value {
    let mut conditions = Conditions::of(live, now);
    let waiting = "Waiting for the Pods of the control plane to be ready";
    for (kind, yes, no) in [
        (AVAILABLE, "AsExpected", "KubeAPIServerUnavailable"),
        ("EtcdAvailable", "QuorumAvailable", "EtcdWaitingForQuorum"),
        ("KubeAPIServerAvailable", "AsExpected", "NotFound"),
    ] {
        conditions.set(kind, NewCondition::either(is_up, yes, no, waiting));
    }
    let infrastructure = NewCondition::yes("AsExpected", "");
    conditions.set("InfrastructureReady", infrastructure);
    let degraded = if is_up {
        NewCondition::no("AsExpected", "")
    } else {
        NewCondition::yes("UnavailableReplicas", waiting)
    };
    conditions.set("Degraded", degraded);
    // A server fills in these three.
    let mut status = json!({
        "externalManagedControlPlane": true,
        "initialized": is_up,
        "ready": is_up,
    });
    if is_up {
        status["controlPlaneEndpoint"] = endpoint(live);
        status["kubeConfig"] = json!({"name": "admin-kubeconfig", "key": "kubeconfig"});
    }
    moments::with(status, conditions)
}

/// The address of the API server: of a route, or of a load balancer of its own.
fn endpoint(live: Live<'_>) -> Value {
    let services = live.list(&["spec", "services"]).iter().map(Live);
    let mut api = services.filter(|service| service.text(&["service"]) == "APIServer");
    let publishing = api
        .next()
        .and_then(|service| service.at(&["servicePublishingStrategy"]))
        .map(Live);
    let text = |path: &[&str]| publishing.map_or("", |publishing| publishing.text(path));
    let kind = text(&["type"]);
    let domain = match live.text(&["spec", "dns", "baseDomain"]) {
        "" => "hypershift.local",
        domain => domain,
    };
    let chosen = match kind {
        "Route" => text(&["route", "hostname"]),
        "LoadBalancer" => text(&["loadBalancer", "hostname"]),
        "NodePort" => text(&["nodePort", "address"]),
        _ => "",
    };
    let host = match chosen {
        "" => format!("api.{}.{domain}", live.name()),
        host => host.to_owned(),
    };
    let port = if kind == "Route" { 443 } else { 6443 };
    json!({"host": host, "port": port})
}
