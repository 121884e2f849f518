//! When the runtime reconciles, and what it writes.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use jiff::Timestamp;
use kube::api::DynamicObject;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::connectors::Connectors;
use super::runtime::Runtime;
use super::writer::{Writer, Written, perform, resource};
use crate::health::Live;
use crate::model::{
    AdapterError, AsoSecretRequest, Clock, CredentialOf, CredentialRequest, Credentials,
    ErrorClass, KeyError, KeyRequest, KeyVaults, ObjectId, SecretContent,
};
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
    let runtime = Runtime::new(client, clock, controllers, Connectors::default(), may_act);
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

/// Vaults that refuse every request, and when they were asked.
struct Refusing(Instant, Arc<Mutex<Vec<u64>>>);

impl KeyVaults for Refusing {
    fn ensure(&self, _: &KeyRequest) -> BoxFuture<'static, Result<String, KeyError>> {
        self.1.lock().unwrap().push(self.0.elapsed().as_secs());
        let error = AdapterError::new(ErrorClass::Transient, "the vault is away");
        std::future::ready(Err(error.into())).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_request_that_fails_the_same_way_again_is_tried_again() {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let client = Server::new(Arc::new(time)).client("default");
    let one = vec![Write::Apply(config_map("one"))];
    perform(&client, "somebody", one).await.1.unwrap();
    let request = KeyRequest {
        vault: "vault".to_owned(),
        key: "etcd".to_owned(),
        identity: ObjectId::new(
            "infrastructure.cluster.x-k8s.io",
            "AzureClusterIdentity",
            "default",
            "me",
        ),
        namespace: "default".to_owned(),
        environment: String::new(),
    };
    let controller = controller(move |_, _, _| Outcome {
        writes: vec![Write::EnsureKey(request.clone())],
        needs: vec![Need::Key(request.clone())],
        ..Outcome::default()
    });
    let asked = Arc::new(Mutex::new(Vec::new()));
    let connectors = Connectors {
        keys: Arc::new(Refusing(Instant::now(), Arc::clone(&asked))),
        ..Connectors::default()
    };
    let (_sender, may_act) = tokio::sync::watch::channel(true);
    let runtime = Runtime::new(
        client,
        Arc::new(time),
        vec![controller],
        connectors,
        may_act,
    );
    let limit = Duration::from_secs(40);
    assert!(tokio::time::timeout(limit, runtime.run()).await.is_err());
    assert_eq!(*asked.lock().unwrap(), [0, 1, 3, 7, 15, 31]);
}

/// A cluster whose requests of this method to objects named `two` get this answer, with the ConfigMaps `one` and `two`.
async fn refusing(method: http::Method, code: http::StatusCode) -> (Client, SimClock) {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let open = Server::new(Arc::new(time)).client("default");
    let both = [config_map("one"), config_map("two")].map(Write::Apply);
    perform(&open, "somebody", both.into()).await.1.unwrap();
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let is_refused = request.method() == method && request.uri().path().ends_with("/two");
        let open = open.clone();
        async move {
            if !is_refused {
                return open.send(request).await;
            }
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                "message": "not today", "reason": "Refused", "code": code.as_u16()});
            let body = kube::client::Body::from(status.to_string().into_bytes());
            Ok(http::Response::builder().status(code).body(body).unwrap())
        }
    });
    (Client::new(service, "default"), time)
}

#[tokio::test(start_paused = true)]
async fn a_refused_deletion_shows_in_the_snapshot_at_once_and_is_tried_rarely() {
    let (client, time) = refusing(http::Method::DELETE, http::StatusCode::FORBIDDEN).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, start) = (Arc::clone(&seen), Instant::now());
    let controller = controller(move |world, _, _| {
        let id = ObjectId::new("", "ConfigMap", "default", "two");
        let is_refused = world.refusal(&id).is_some();
        log.lock()
            .unwrap()
            .push((start.elapsed().as_secs(), is_refused));
        let delete = Write::Delete {
            id,
            version: "v1".to_owned(),
            uid: "uid".to_owned(),
        };
        Outcome {
            writes: vec![delete],
            ..Outcome::default()
        }
    });
    let limit = Duration::from_secs(100);
    run(client, Arc::new(time), vec![controller], limit).await;
    let expected = [(0, false), (0, true), (30, true), (90, true)];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn after_a_passing_failure_only_the_status_of_the_object_itself_is_written() {
    let unavailable = http::StatusCode::SERVICE_UNAVAILABLE;
    let (client, _) = refusing(http::Method::PATCH, unavailable).await;
    let (_sender, may_act) = tokio::sync::watch::channel(true);
    let writer = Writer {
        client,
        connectors: Connectors::default(),
        manager: "controller",
        patience: Duration::from_secs(9),
        may_act,
    };
    let mut status = config_map("one");
    status["status"] = json!({});
    let writes = vec![
        Write::Apply(config_map("two")),
        Write::Apply(config_map("three")),
        Write::Status(status),
    ];
    let one = Live(&config_map("one")).id();
    let written = writer.perform(&one, writes).await;
    let sent = written.iter().map(|written| match written {
        Written::Answered(write, _) | Written::Failed(write, _) => write.object().unwrap().name,
        _ => String::new(),
    });
    assert_eq!(sent.collect::<Vec<_>>(), ["two", "one"]);
}

/// An Entra ID that never answers.
struct SilentEntra;

impl Credentials for SilentEntra {
    fn check(&self, _: &CredentialRequest) -> BoxFuture<'static, Result<(), AdapterError>> {
        std::future::pending().boxed()
    }

    fn aso_secret(
        &self,
        _: &AsoSecretRequest,
    ) -> BoxFuture<'static, Result<SecretContent, AdapterError>> {
        std::future::pending().boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn issue_15_a_token_that_does_not_come_holds_up_no_write_and_is_asked_for_again() {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let client = Server::new(Arc::new(time)).client("default");
    let one = vec![Write::Apply(config_map("one"))];
    perform(&client, "somebody", one).await.1.unwrap();
    let request = CredentialRequest {
        of: CredentialOf::Default,
        environment: String::new(),
        version: String::new(),
    };
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, start) = (Arc::clone(&seen), Instant::now());
    let controller = controller(move |world, live, _| {
        let answer = world.credential(&request);
        let second = start.elapsed().as_secs();
        let is_written = live.label("written") == "yes";
        let new = (second, answer.is_some(), is_written);
        log.lock().unwrap().push(new);
        let mut written = config_map("one");
        written["metadata"]["labels"] = json!({"written": "yes"});
        Outcome {
            writes: vec![
                Write::CheckCredential(request.clone()),
                Write::Apply(written),
            ],
            needs: vec![Need::Credential(request.clone())],
            ..Outcome::default()
        }
    });
    let connectors = Connectors {
        credentials: Arc::new(SilentEntra),
        ..Connectors::default()
    };
    let (_sender, may_act) = tokio::sync::watch::channel(true);
    let runtime = Runtime::new(
        client,
        Arc::new(time),
        vec![controller],
        connectors,
        may_act,
    );
    let limit = Duration::from_secs(45);
    assert!(tokio::time::timeout(limit, runtime.run()).await.is_err());
    let mut seen = seen.lock().unwrap().clone();
    seen.dedup();
    let expected = [
        (0, false, false),
        (0, false, true),
        (20, true, true),
        (21, true, true),
        (41, true, true),
        (43, true, true),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test(start_paused = true)]
async fn issue_15_a_secret_that_does_not_get_written_is_waited_for_a_minute() {
    let (client, _) = refusing(http::Method::PATCH, http::StatusCode::FORBIDDEN).await;
    let (_sender, may_act) = tokio::sync::watch::channel(true);
    let writer = Writer {
        client,
        connectors: Connectors {
            credentials: Arc::new(SilentEntra),
            ..Connectors::default()
        },
        manager: "controller",
        patience: Duration::from_secs(60),
        may_act,
    };
    let request = AsoSecretRequest {
        credential: CredentialRequest {
            of: CredentialOf::Default,
            environment: String::new(),
            version: String::new(),
        },
        namespace: "default".to_owned(),
        subscription: String::new(),
    };
    let start = Instant::now();
    let one = Live(&config_map("one")).id();
    let secret = Write::CredentialSecret(Box::new(request), json!({"kind": "Secret"}));
    let written = writer.perform(&one, vec![secret]).await;
    assert_eq!(start.elapsed().as_secs(), 60);
    let Written::Secret(_, Err(error)) = &written[0] else {
        panic!("{written:?}");
    };
    assert_eq!(error.to_string(), "the cluster does not answer");
}

/// A definition whose status has `ready` and `failureMessage` only.
fn poor_definition() -> Value {
    let status = json!({"type": "object", "properties": {
        "ready": {"type": "boolean"}, "failureMessage": {"type": "string"}}});
    let schema = json!({"type": "object", "properties": {"status": status}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.capstan.test"},
        "spec": {"group": "capstan.test", "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}]}})
}

#[tokio::test(start_paused = true)]
async fn a_field_that_a_merged_status_leaves_out_is_removed() {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let client = Server::new(Arc::new(time)).client("default");
    let thing = json!({"apiVersion": "capstan.test/v1", "kind": "Thing",
        "metadata": {"name": "one", "namespace": "default", "labels": {"a": "b"}}});
    let with = |status: Value| {
        let mut thing = thing.clone();
        thing["status"] = status;
        Write::Status(thing)
    };
    let writes = vec![
        Write::Apply(poor_definition()),
        Write::Apply(thing.clone()),
        with(json!({"ready": false, "failureMessage": "broken", "unknown": 1})),
        with(json!({"ready": true, "unknown": 1})),
    ];
    let (answers, end) = perform(&client, "controller", writes).await;
    end.unwrap();
    assert_eq!(answers[2]["status"]["failureMessage"], "broken");
    assert_eq!(answers[3]["status"], json!({"ready": true}));
    // The definition gets better, and the status is applied again.
    let mut definition = poor_definition();
    let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
    *definition.pointer_mut(properties).unwrap() = json!({"ready": {"type": "boolean"},
        "failureMessage": {"type": "string"}, "unknown": {"type": "integer"},
        "nested": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}});
    let poor = with(
        json!({"ready": false, "failureMessage": "broken", "undeclared": 1, "nested": {"a": "1", "b": "2"}}),
    );
    let good = with(json!({"ready": true, "unknown": 1, "nested": {"a": "1"}}));
    let writes = vec![Write::Apply(definition), poor, good];
    let (answers, end) = perform(&client, "controller", writes).await;
    end.unwrap();
    let expected = json!({"ready": true, "unknown": 1, "nested": {"a": "1"}});
    assert_eq!(answers[2]["status"], expected);
}

/// A cluster where ConfigMaps may not be listed until this is false.
fn forbidding(open: &Client, kind: &'static str) -> (Client, Arc<Mutex<bool>>) {
    let (open, is_denied) = (open.clone(), Arc::new(Mutex::new(true)));
    let denied = Arc::clone(&is_denied);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let is_refused = request.uri().path().ends_with(kind) && *denied.lock().unwrap();
        let open = open.clone();
        async move {
            if !is_refused || request.method() != http::Method::GET {
                return open.send(request).await;
            }
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
                "message": format!("{kind} is forbidden: User \"me\" cannot list resource \"{kind}\" in API group \"\" at the cluster scope"), "code": 403});
            let body = kube::client::Body::from(status.to_string().into_bytes());
            Ok(http::Response::builder().status(403).body(body).unwrap())
        }
    });
    (Client::new(service, "default"), is_denied)
}

/// An AROCluster `one` on a server with its definition.
async fn aro_cluster() -> (Client, SimClock) {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let client = Server::new(Arc::new(time)).client("default");
    let mut objects = crate::api::crds::crds();
    objects.push(
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROCluster",
        "metadata": {"name": "one", "namespace": "default"}}),
    );
    let writes = objects.into_iter().map(Write::Apply).collect();
    perform(&client, "somebody", writes).await.1.unwrap();
    (client, time)
}

async fn ready_of_aro_cluster(client: &Client) -> String {
    let kind = resource("infrastructure.cluster.x-k8s.io", "v1beta2", "AROCluster");
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &kind);
    let one = api.get("one").await.unwrap();
    let one = serde_json::to_value(one).unwrap();
    let ready = Live(&one).condition("Ready");
    ready.map_or_else(String::new, |ready| {
        format!("{}: {}", ready.reason(), ready.message())
    })
}

/// A kind that is needed, or watched from the start, and may not be listed, is named by the object that waits for it.
#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_listed_is_named_in_the_status_until_it_may() {
    for is_watched in [false, true] {
        let (open, time) = aro_cluster().await;
        let (client, is_denied) = forbidding(&open, "secrets");
        let secrets = GroupKind::new("", "Secret");
        let mut watches = vec![GroupKind::new(
            "infrastructure.cluster.x-k8s.io",
            "AROCluster",
        )];
        watches.extend(is_watched.then(|| secrets.clone()));
        let controller = Controller {
            manager: "controller",
            watches,
            handles: |id| id.kind == "AROCluster",
            reconcile: Box::new(|_, live, now| {
                let mut conditions = crate::reconcile::conditions::Conditions::of(live, now);
                let ready = crate::reconcile::conditions::NewCondition::yes("Done", "");
                conditions.set("Ready", ready);
                let mut outcome = Outcome::default();
                outcome.need(ObjectId::new("", "Secret", "default", "s"));
                conditions.write(live, json!({"ready": true}), &mut outcome);
                outcome
            }),
        };
        let running = super::spawn(
            client,
            Arc::new(time),
            vec![controller],
            Connectors::default(),
        );
        tokio::time::sleep(Duration::from_secs(5)).await;
        let waits = ready_of_aro_cluster(&open).await;
        let expected = "KindNotReadable: Nothing is done for this object, since it needs the kind Secret of the group \"\", which may not be watched: grant get, list and watch on secrets";
        assert!(waits.starts_with(expected), "{waits}");
        *is_denied.lock().unwrap() = false;
        tokio::time::sleep(Duration::from_secs(40)).await;
        assert_eq!(ready_of_aro_cluster(&open).await, "Done: ");
        drop(running);
    }
}

#[tokio::test(start_paused = true)]
async fn a_passing_failure_shows_in_the_snapshot_from_the_second_time_on() {
    let unavailable = http::StatusCode::SERVICE_UNAVAILABLE;
    let (client, time) = refusing(http::Method::PATCH, unavailable).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, start) = (Arc::clone(&seen), Instant::now());
    let controller = controller(move |world, _, _| {
        let id = ObjectId::new("", "ConfigMap", "default", "two");
        let shows = world.refusal(&id).is_some();
        log.lock().unwrap().push((start.elapsed().as_secs(), shows));
        let mut two = config_map("two");
        two["data"] = json!({"a": "b"});
        Outcome {
            writes: vec![Write::Apply(two)],
            ..Outcome::default()
        }
    });
    run(
        client,
        Arc::new(time),
        vec![controller],
        Duration::from_secs(10),
    )
    .await;
    assert_eq!(
        *seen.lock().unwrap(),
        [(0, false), (1, false), (3, true), (7, true)]
    );
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

/// Vaults that never answer.
struct Silent;

impl KeyVaults for Silent {
    fn ensure(&self, _: &KeyRequest) -> BoxFuture<'static, Result<String, KeyError>> {
        std::future::pending().boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_vault_that_never_answers_fails_after_a_minute() {
    let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    let client = Server::new(Arc::new(time)).client("default");
    let one = vec![Write::Apply(config_map("one"))];
    perform(&client, "somebody", one).await.1.unwrap();
    let request = KeyRequest {
        vault: "vault".to_owned(),
        key: "etcd".to_owned(),
        identity: Live(&config_map("one")).id(),
        namespace: "default".to_owned(),
        environment: String::new(),
    };
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, start) = (Arc::clone(&seen), Instant::now());
    let controller = controller(move |world, _, _| {
        let answer = world.key(&request);
        let class = answer.and_then(|answer| answer.version.as_ref().err());
        let class = class.map(|error| error.error.class());
        log.lock().unwrap().push((start.elapsed().as_secs(), class));
        Outcome {
            writes: vec![Write::EnsureKey(request.clone())],
            needs: vec![Need::Key(request.clone())],
            ..Outcome::default()
        }
    });
    let connectors = Connectors {
        keys: Arc::new(Silent),
        ..Connectors::default()
    };
    let (_sender, may_act) = tokio::sync::watch::channel(true);
    let runtime = Runtime::new(
        client,
        Arc::new(time),
        vec![controller],
        connectors,
        may_act,
    );
    let limit = Duration::from_secs(100);
    assert!(tokio::time::timeout(limit, runtime.run()).await.is_err());
    let failed = Some(ErrorClass::Transient);
    assert_eq!(
        *seen.lock().unwrap(),
        [(0, None), (60, failed), (61, failed)]
    );
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
    let running = super::spawn_while(
        client,
        Arc::new(time),
        vec![controller],
        connectors,
        may_act,
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    sender.send_replace(false);
    running.rest().await;
    assert_eq!(start.elapsed().as_secs(), 5, "and no further write begins");
}
