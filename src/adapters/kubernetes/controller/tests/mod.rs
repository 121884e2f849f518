//! When the runtime reconciles, and what it writes.

#![allow(clippy::unwrap_used, clippy::panic)]
mod outside;
mod refused;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use jiff::Timestamp;
use kube::api::DynamicObject;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::connectors::Connectors;
use super::counts::Counts;
use super::runtime::Runtime;
use super::writer::{Writer, Written, perform, resource};
use crate::health::Live;
use crate::model::{
    AdapterError, AsoSecretRequest, Clock, CredentialOf, CredentialRequest, Credentials,
    ErrorClass, KeyError, KeyRequest, KeyVaults, ObjectId, SecretContent,
};
use crate::reconcile::Watched;
use crate::reconcile::controller::Controller;
use crate::reconcile::outcome::{Need, Outcome, Write, apply, patch_of};
use crate::reconcile::world::{GroupKind, Lookup, World};
use kube_sim::Server;
use kube_sim::SimClock;
fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
}

/// When a controller reconciled a ConfigMap within `seconds` of real time, in milliseconds of it, if
/// each time comes to `outcome` and the cluster's time passes `speed` times faster.
async fn times(
    seconds: u64,
    speed: u32,
    outcome: impl Fn(Timestamp) -> Outcome + Send + 'static,
) -> Vec<u128> {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, speed);
    let clock: Arc<dyn Clock> = Arc::new(time);
    let client = Server::new(Arc::new(time)).client("default");
    let one = vec![Write::Apply(config_map("one"))];
    perform(&client, "somebody", one).await.1.unwrap();
    let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let seen = Arc::clone(&times);
    let controller = controller(move |_, _, now| {
        seen.lock().unwrap().push(start.elapsed().as_millis());
        outcome(now)
    });
    run(
        client,
        clock,
        vec![controller],
        Duration::from_secs(seconds),
    )
    .await;
    let times = times.lock().unwrap();
    times.iter().map(|time| time - times[0]).collect()
}

/// A controller of the ConfigMap `one`.
fn controller(
    reconcile: impl Fn(World<'_>, Live<'_>, Timestamp) -> Outcome + Send + 'static,
) -> Controller {
    Controller {
        manager: "controller",
        watches: vec![GroupKind::new("", "ConfigMap")],
        handles: |id| id.kind == "ConfigMap" && id.name == "one",
        reconcile: Box::new(reconcile),
    }
}

async fn run(client: Client, clock: Arc<dyn Clock>, controllers: Vec<Controller>, limit: Duration) {
    let (_sender, may_act) = tokio::sync::watch::channel(true);
    let connectors = Connectors::default();
    let counts = Arc::default();
    let all = Watched::default();
    let runtime = Runtime::new(client, clock, controllers, connectors, all, may_act, counts);
    assert!(tokio::time::timeout(limit, runtime.run()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_object_is_reconciled_again_when_its_wake_up_is_due() {
    let tomorrow = |now: Timestamp| Outcome {
        wake: now.checked_add(Duration::from_secs(24 * 3600)).ok(),
        ..Outcome::default()
    };
    let day = 24 * 3600 * 1000;
    assert_eq!(times(200_000, 1, tomorrow).await, [0, day, 2 * day]);
    assert_eq!(
        times(200, 1000, tomorrow).await,
        [0, day / 1000, 2 * day / 1000]
    );
    assert_eq!(times(200_000, 1, |_| Outcome::default()).await, [0]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_tried_again_after_longer_and_longer_pauses() {
    let lost = || Outcome {
        writes: vec![Write::Apply(
            json!({"apiVersion": "no.dev/v1", "kind": "Such",
            "metadata": {"name": "thing", "namespace": "default"}}),
        )],
        ..Outcome::default()
    };
    let times = times(150, 1, move |_| lost()).await;
    assert_eq!(
        times,
        [0, 20, 2000, 6000, 14_000, 30_000, 62_000, 122_000],
        "at once again, so that it can be reported"
    );
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_panics_is_tried_again_after_longer_and_longer_pauses() {
    let broken = |_: Timestamp| -> Outcome { panic!("planted") };
    assert_eq!(times(100, 1, broken).await, [0, 30_000, 90_000]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_until_the_needed_kinds_are_synced() {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let clock: Arc<dyn Clock> = Arc::new(time);
    let client = Server::new(Arc::new(time)).client("default");
    let mut secret = config_map("secret");
    secret["kind"] = json!("Secret");
    let objects = [config_map("one"), secret].map(Write::Apply);
    perform(&client, "somebody", objects.into())
        .await
        .1
        .unwrap();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&answers);
    let controller = controller(move |world, live, _| {
        let id = |kind, name| ObjectId::new("", kind, "default", name);
        let ids = [
            id("Secret", "secret"),
            id("Secret", "other"),
            id("Pod", "pod"),
        ];
        let answer = |id| match world.get(id) {
            Lookup::Present(_) => "present",
            Lookup::Absent => "absent",
            Lookup::NotSynced => "not synced",
        };
        let answers = ids.each_ref().map(answer);
        seen.lock().unwrap().push(answers);
        let mut outcome = Outcome::default();
        outcome.need(ids[0].clone());
        outcome.need(ids[1].clone());
        let mut patch = patch_of(live);
        patch["data"] = json!({"secret": answers[0]});
        outcome.maybe(apply(live, patch));
        outcome
    });
    run(
        client.clone(),
        clock,
        vec![controller],
        Duration::from_secs(10),
    )
    .await;
    let synced = ["present", "absent", "not synced"];
    assert_eq!(
        *answers.lock().unwrap(),
        [["not synced"; 3], synced, synced]
    );
    let api: Api<DynamicObject> =
        Api::namespaced_with(client, "default", &resource("", "v1", "ConfigMap"));
    let one = api.get("one").await.unwrap();
    assert_eq!(one.data["data"], json!({"secret": "present"}));
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_pauses_for_a_second_in_the_cluster() {
    let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let asked = Arc::clone(&times);
    let away = tower::service_fn(move |_: http::Request<kube::client::Body>| {
        asked.lock().unwrap().push(start.elapsed().as_millis());
        let answer = http::Response::builder().status(503);
        std::future::ready(answer.body(kube::client::Body::empty()))
    });
    let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 10));
    let controllers = vec![controller(|_, _, _| Outcome::default())];
    let client = Client::new(away, "default");
    run(client, clock, controllers, Duration::from_millis(350)).await;
    assert_eq!(*times.lock().unwrap(), [0, 100, 200, 300]);
}

/// Under CAPZ's definitions the status cannot say what was told already.
#[tokio::test(start_paused = true)]
async fn what_every_decision_says_is_one_event() {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let client = Server::new(Arc::new(time)).client("default");
    let one = vec![Write::Apply(config_map("one"))];
    perform(&client, "somebody", one).await.1.unwrap();
    let told = Arc::new(Mutex::new(0));
    let count = Arc::clone(&told);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let is_event = request.uri().path().ends_with("/events");
        let (client, count) = (client.clone(), Arc::clone(&count));
        async move {
            let answer = client.send(request).await?;
            // The server takes it.
            let is_told = is_event && answer.status().is_success();
            *count.lock().unwrap() += usize::from(is_told);
            Ok::<_, kube::Error>(answer)
        }
    });
    let client = Client::new(service, "default");
    let controller = controller(|_, live, now| {
        let mut outcome = Outcome::default();
        outcome.event(live, true, "Foreign", "it is not ours");
        outcome.wake_at(now + Duration::from_secs(1));
        outcome
    });
    let limit = Duration::from_secs(10);
    run(client, Arc::new(time), vec![controller], limit).await;
    assert_eq!(*told.lock().unwrap(), 1);
}

/// The Lease may go to another process only after that.
#[tokio::test(start_paused = true)]
async fn a_write_that_is_under_way_is_waited_for() {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let open = Server::new(Arc::new(time)).client("default");
    let one = vec![Write::Apply(config_map("one"))];
    perform(&open, "somebody", one).await.1.unwrap();
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let open = open.clone();
        async move {
            if request.method() == http::Method::PATCH {
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
            open.send(request).await
        }
    });
    let controller = controller(|_, _, _| Outcome {
        writes: vec![
            Write::Apply(config_map("two")),
            Write::Apply(config_map("three")),
        ],
        ..Outcome::default()
    });
    let (sender, may_act) = tokio::sync::watch::channel(true);
    let client = Client::new(service, "default");
    let connectors = Connectors::default();
    let start = Instant::now();
    let counts: Arc<Counts> = Arc::default();
    let running = super::spawn_while(
        client,
        Arc::new(time),
        vec![controller],
        connectors,
        Watched::default(),
        may_act,
        Arc::clone(&counts),
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    sender.send_replace(false);
    running.rest().await;
    assert_eq!(start.elapsed().as_secs(), 5, "and no further write begins");
    assert!(counts.decisions() > 0);
}
