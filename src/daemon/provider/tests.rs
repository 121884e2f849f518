//! When the provider looks at its hub, and for how long it waits, on a paused clock.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, Ordering};

use ::http::{Request, Response};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use std::time::Duration;
use tokio::sync::watch;

use super::git::Branches;
use super::hub::HubView;
use super::kubeconfigs::Place;
use super::messages::RecordFile;
use super::pace::Turn;
use super::probing::{Prober, enabled};
use super::state::{Entry, Snapshot, Sources};
use super::write::{DirectWriter, MANAGER, Order, Queue, Writer};
use super::*;
use crate::adapters::git::{Access, Author, Files};
use crate::adapters::kubernetes::{Holder, Hub, Known};
use crate::adapters::service_provider::{Caller, Clusters as _, Create};
use crate::api::fleet::{GitReference, ServiceProvider};
use crate::daemon::WallClock;
use crate::daemon::jobs::Origin;
use crate::model::Clock;
use crate::provider::capabilities::{Capabilities, Platform};
use crate::provider::definition::{Accepted, text_of};
use crate::provider::health::{Health, Outcome, Readiness};
use crate::provider::instance::{Hosted, Instance, Stored};
use crate::provider::problem::Problem;
use crate::provider::request::Request as ClusterRequest;
use crate::provider::status::{State, Status};
use crate::settings::Environment;

/// The requests that a hub got: the seconds since its start, the method, and the end of the path.
#[derive(Clone)]
struct Hubs {
    begun: Instant,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Hubs {
    /// A hub that answers so, or never.
    fn answering(
        answer: impl Fn(&Request<Body>) -> Option<(u16, Json)> + Send + Sync + 'static,
    ) -> (Self, Client) {
        let hubs = Self {
            begun: Instant::now(),
            seen: Arc::default(),
        };
        let (keep, answer) = (hubs.clone(), Arc::new(answer));
        let service = tower::service_fn(move |request: Request<Body>| {
            let at = keep.begun.elapsed().as_secs();
            let end = request
                .uri()
                .path()
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .to_owned();
            keep.seen
                .lock()
                .push(format!("{at} {} {end}", request.method()));
            let answered = answer(&request);
            async move {
                let Some((status, body)) = answered else {
                    return std::future::pending().await;
                };
                let response = Response::builder()
                    .status(status)
                    .body(Body::from(body.to_string().into_bytes()));
                Ok::<_, kube::Error>(response.unwrap())
            }
        });
        (hubs, Client::new(service, "default"))
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }
}

fn status(code: u16) -> (u16, Json) {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "no", "reason": if code == 404 { "NotFound" } else { "InternalError" }});
    (code, body)
}

fn settings() -> ServiceProvider {
    ServiceProvider {
        namespace: "clusters".to_owned(),
        base_domain: Some("example.com".to_owned()),
        ..ServiceProvider::default()
    }
}

fn config() -> Arc<SyncConfig> {
    let environment = Environment {
        namespace: "capstan-system".to_owned(),
        ..Environment::default()
    };
    Arc::new(SyncConfig::source("/nowhere", None, &environment))
}

fn request(name: &str) -> ClusterRequest {
    let body = json!({"serviceType": "cluster", "version": "4.17", "metadata": {"name": name}});
    ClusterRequest::read(body.to_string().as_bytes()).unwrap()
}

fn stored(name: &str) -> Stored {
    Stored {
        id: name.to_owned(),
        name: name.to_owned(),
        namespace: "clusters".to_owned(),
        request: Some(request(name)),
        requested_at: Some("2026-01-29T10:30:00Z".to_owned()),
        version: None,
        key: None,
    }
}

/// A snapshot that knows all, with a cluster of each of these names that has no node pool.
fn snapshot(names: &[&str]) -> watch::Receiver<Arc<Snapshot>> {
    let entry = |name: &&str| {
        let cluster = json!({
            "metadata": {"name": name, "namespace": "clusters", "uid": "1"},
            "spec": {"release": {"image": "quay.io/a/b:4.17.1-multi"}}, "status": {"kubeconfig": {"name": "k"}},
        });
        Entry {
            instance: Instance {
                hosted: Some(Hosted {
                    cluster: Arc::new(cluster),
                    pools: Vec::new(),
                }),
                ..Instance::new(stored(name))
            },
            status: Status {
                state: State::Ready,
                message: String::new(),
            },
        }
    };
    let snapshot = Snapshot::of(names.iter().map(entry).collect());
    // Its sender stays, as in a process.
    let sender = Box::leak(Box::new(watch::Sender::new(Arc::new(snapshot))));
    sender.subscribe()
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_kubeconfig_is_new_for_a_minute_and_shown_for_ten_and_a_missing_one_is_asked_for_after_3_seconds()
 {
    let (hubs, client) = Hubs::answering(|request| {
        Some(match request.uri().path().ends_with("there") {
            true => (
                200,
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "there"}, "data": {"kubeconfig": "YQ=="}}),
            ),
            false => status(404),
        })
    });
    let all = Arc::new(Kubeconfigs::new(Hub::new(&client, "m")));
    let place = |secret: &str| Place {
        namespace: "n".to_owned(),
        secret: secret.to_owned(),
        cluster: "1".to_owned(),
    };
    for wait in [0, 59, 2, 700] {
        pass(wait).await;
        assert_eq!(all.get(place("there")).await.as_deref(), Some("YQ=="));
    }
    pass(1).await;
    assert_eq!(
        hubs.seen(),
        ["0 GET there", "61 GET there", "761 GET there"]
    );
    for wait in [0, 2, 2] {
        pass(wait).await;
        assert_eq!(all.get(place("away")).await, None);
    }
    assert_eq!(hubs.seen()[3..], ["762 GET away", "766 GET away"]);
}

#[tokio::test(start_paused = true)]
async fn the_pull_secret_is_looked_at_every_minute() {
    let (hubs, client) = Hubs::answering(|request| match request.method().as_str() {
        "GET" => Some(status(404)),
        _ => Some((
            200,
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}),
        )),
    });
    let secrets = ProviderSecrets::with_pull_secret(b"{}");
    let hub = Hub::new(&client, MANAGER);
    let _keeping = secrets::keep_pull_secret(&secrets, &hub, &settings(), Turn::default());
    pass(70).await;
    let name = "acm-cluster-sp-pull-secret";
    let expected = [0, 60].map(|at| [format!("{at} GET {name}"), format!("{at} PATCH {name}")]);
    assert_eq!(hubs.seen(), expected.concat());
}

#[tokio::test(start_paused = true)]
async fn managed_clusters_are_compared_every_half_minute() {
    let (hubs, client) = Hubs::answering(|request| match request.method().as_str() {
        "GET" => Some(status(404)),
        _ => Some((
            200,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s"}}),
        )),
    });
    let hub = Hub::new(&client, MANAGER);
    let _cleaning = managed::clean(&hub, &settings(), snapshot(&["a"]), Turn::default());
    pass(40).await;
    let name = "acm-cluster-sp-clusters";
    let expected = [0, 30].map(|at| [format!("{at} GET {name}"), format!("{at} PATCH {name}")]);
    assert_eq!(hubs.seen(), expected.concat());
}

#[tokio::test(start_paused = true)]
async fn only_a_managed_cluster_that_acm_made_for_the_instance_goes_with_it() {
    let hosted = "import.open-cluster-management.io/klusterlet-deploy-mode";
    let made_by = "open-cluster-management/created-via";
    for (annotations, instance, goes) in [
        (json!({hosted: "Hosted"}), "i-1", true),
        (json!({hosted: "Hosted", made_by: "other"}), "i-1", true),
        (json!({hosted: "Hosted"}), "i-2", false),
        (json!({hosted: "Hosted", made_by: "hive"}), "i-1", false),
        (json!({hosted: "Default"}), "i-1", false),
        (json!({}), "i-1", false),
    ] {
        let labels = json!({"dcm-instance-id": instance, "managed-by": "dcm", "dcm-service-type": "cluster"});
        let managed = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": "a", "uid": "1", "labels": labels, "annotations": annotations},
        });
        let (hubs, client) = Hubs::answering(move |request| {
            let is_record = request.uri().path().ends_with("acm-cluster-sp-clusters");
            let record = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r"}, "data": {"managedClusters": r#"{"a": "i-1"}"#},
            });
            Some((200, if is_record { record } else { managed.clone() }))
        });
        let hub = Hub::new(&client, MANAGER);
        let _cleaning = managed::clean(&hub, &settings(), snapshot(&[]), Turn::default());
        pass(1).await;
        let deleted = hubs.seen().contains(&"0 DELETE a".to_owned());
        assert_eq!(deleted, goes, "{annotations} {instance}: {:?}", hubs.seen());
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_of_what_is_gone_is_none() {
    let cluster = json!({"metadata": {"name": "a", "namespace": "clusters", "uid": "1"}});
    for (code, works) in [(404, true), (409, true), (500, false)] {
        let (_, client) = Hubs::answering(move |_| Some(status(code)));
        let hub = Hub::new(&client, MANAGER);
        let deleted = hub.delete(kinds::HOSTED_CLUSTER, &cluster).await;
        assert_eq!(deleted.is_ok(), works, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_half_cluster_is_completed_once_and_after_10_seconds_if_that_failed() {
    let fails = Arc::new(AtomicBool::new(true));
    let is_failing = Arc::clone(&fails);
    let (hubs, client) = Hubs::answering(move |_| match is_failing.swap(false, Ordering::SeqCst) {
        true => Some(status(500)),
        false => Some((
            201,
            json!({"apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool", "metadata": {"name": "a"}}),
        )),
    });
    let writer = Arc::new(DirectWriter {
        settings: settings(),
        config: config(),
        hub: Hub::new(&client, MANAGER),
        state: snapshot(&["a"]),
        queue: Queue::new(Turn::default()),
    });
    writer.keep_whole(Turn::default()).await;
    assert_eq!(hubs.seen(), ["0 POST nodepools", "10 POST nodepools"]);
}

#[tokio::test(start_paused = true)]
async fn the_hub_is_looked_at_every_5_seconds_and_no_kind_for_more_than_3() {
    let (hubs, client) = Hubs::answering(|request| {
        match request.uri().path().ends_with("agents") {
            true => None,
            false => Some((
                200,
                json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {}, "items": []}),
            )),
        }
    });
    let health = Health::new("1".to_owned(), enabled(&settings()));
    let health = Arc::new(Mutex::new(health));
    let begun = Instant::now();
    let prober = Prober {
        hub: Hub::new(&client, MANAGER),
        settings: settings(),
        matrix: Matrix::default(),
        state: snapshot(&[]),
        health: Arc::clone(&health),
        begun,
    };
    let (capabilities, _probing) = prober.run();
    pass(20).await;
    let looks = hubs
        .seen()
        .into_iter()
        .filter(|seen| seen.ends_with("agents"));
    assert_eq!(
        looks.collect::<Vec<_>>(),
        ["0 GET agents", "8 GET agents", "16 GET agents"]
    );
    let offered = capabilities.borrow().clone().unwrap();
    assert_eq!(
        offered.platforms,
        [Platform::KubeVirt].into(),
        "the rest is offered"
    );
    let report = health.lock().report(Readiness::WHOLE, begun.elapsed());
    let report = serde_json::to_value(report).unwrap();
    assert!(
        report["reasons"]
            .to_string()
            .contains("was not checked in time"),
        "{report}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_record_is_read_again_after_2_seconds() {
    let (hubs, client) = Hubs::answering(|_| Some(status(500)));
    let record = RecordFile {
        hub: Hub::new(&client, MANAGER),
        namespace: "n".to_owned(),
        name: "record".to_owned(),
    };
    let (events, _received) = tokio::sync::mpsc::unbounded_channel();
    let reading = record.read(events);
    let _ = tokio::time::timeout(Duration::from_secs(5), reading).await;
    assert_eq!(
        hubs.seen(),
        ["0 GET record", "2 GET record", "4 GET record"]
    );
}

/// Creates what it is asked for, and nothing more.
struct Yes;

impl Writer for Yes {
    fn create<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Stored, Problem>> {
        async move { Ok(order.stored("clusters")) }.boxed()
    }

    fn delete<'a>(&'a self, _: &'a str, _: &'a Caller) -> BoxFuture<'a, Result<(), Problem>> {
        async { Ok(()) }.boxed()
    }
}

fn provider(client: &Client, state: watch::Receiver<Arc<Snapshot>>) -> Provider {
    let mut offered = Capabilities::default();
    offered.platforms.insert(Platform::KubeVirt);
    Provider {
        settings: settings(),
        matrix: Matrix::default(),
        state,
        capabilities: watch::channel(Some(offered)).1,
        kubeconfigs: Arc::new(Kubeconfigs::new(Hub::new(client, MANAGER))),
        writer: Box::new(Yes),
        turn: Turn::default(),
        has_pull_secret: Arc::new(AtomicBool::new(true)),
        health: Arc::new(Mutex::new(Health::new(
            "1".to_owned(),
            enabled(&settings()),
        ))),
        clock: Arc::new(WallClock::start()),
        begun: Instant::now(),
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_waits_2_seconds_for_what_is_not_known_yet() {
    let (_, client) = Hubs::answering(|_| None);
    let provider = provider(&client, snapshot(&["a"]));
    let begun = Instant::now();
    let read = provider.get("a").await.unwrap();
    assert_eq!(
        (&read["kubeconfig"], begun.elapsed().as_secs()),
        (&json!(""), 2)
    );
    let mut asked = request("b");
    asked.release_image = Some("quay.io/a/b:4.17.1-multi".to_owned());
    let create = Create {
        caller: Caller::default(),
        chosen: Some("b".to_owned()),
        key: None,
        request: asked,
    };
    let begun = Instant::now();
    let made = provider.create(create).await.unwrap();
    assert_eq!((made.id.as_str(), begun.elapsed().as_secs()), ("b", 2));
}

#[tokio::test(start_paused = true)]
async fn one_of_several_clusters_with_an_id_is_not_deleted() {
    let (_, client) = Hubs::answering(|_| None);
    let mut instance = Instance::new(stored("a"));
    let status = || Status {
        state: State::Ready,
        message: String::new(),
    };
    let answers = async |instance: Instance| {
        let snapshot = Snapshot::of(vec![Entry {
            instance,
            status: status(),
        }]);
        let provider = provider(&client, watch::channel(Arc::new(snapshot)).1);
        let deleted = provider.delete("a", &Caller::default()).await;
        deleted.map_err(|problem| (problem.status(), problem.detail))
    };
    assert_eq!(answers(instance.clone()).await, Ok(()));
    instance.twins.push("clusters/copy".to_owned());
    let detail = "other clusters on the hub have this ID, too: clusters/copy; remove their label dcm-instance-id first";
    assert_eq!(answers(instance).await, Err((409, detail.to_owned())));
}

#[tokio::test(start_paused = true)]
async fn health_says_what_is_not_known_or_written_yet() {
    let (_, client) = Hubs::answering(|_| None);
    let reasons = |is_whole: bool, has_pull_secret: bool, turn: Turn| {
        let state = if is_whole {
            snapshot(&[])
        } else {
            watch::channel(Arc::default()).1
        };
        let mut provider = provider(&client, state);
        provider.has_pull_secret = Arc::new(AtomicBool::new(has_pull_secret));
        provider.turn = turn;
        let mut health = Health::new("1".to_owned(), enabled(&settings()));
        let passed = health.checks().into_iter();
        let passed = passed.map(|check| (check, Outcome::Passed));
        health.end(passed.collect(), Duration::ZERO);
        provider.health = Arc::new(Mutex::new(health));
        provider.health()["reasons"].to_string()
    };
    assert_eq!(reasons(true, true, Turn::default()), "null");
    assert!(reasons(false, true, Turn::default()).contains("not all known yet"));
    assert!(reasons(true, false, Turn::default()).contains("pull secret"));
    let (_sender, holder) = watch::channel(Holder::Other("b".to_owned()));
    let standing_by = Turn(Some(holder));
    assert_eq!(reasons(true, false, standing_by), "null");
}

#[tokio::test(start_paused = true)]
async fn statuses_are_looked_at_every_ten_minutes_and_changes_gathered_for_50_ms() {
    let (_, client) = Hubs::answering(|request| {
        match request
            .uri()
            .query()
            .unwrap_or_default()
            .contains("watch=true")
        {
            true => None,
            false => Some((
                200,
                json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}),
            )),
        }
    });
    let clock: Arc<dyn Clock> = Arc::new(WallClock::start());
    let sources = Sources {
        settings: settings(),
        hub: HubView::follow(&client, &settings()),
        revision: None,
        proposals: None,
        clock,
    };
    let (mut state, _following) = sources.follow();
    let begun = Instant::now();
    state.wait_for(|snapshot| snapshot.is_whole).await.unwrap();
    assert!(
        begun.elapsed() >= Duration::from_millis(50),
        "{:?}",
        begun.elapsed()
    );
    assert!(matches!(state.borrow().hub.image_sets, Known::Read(_)));
    let whole = Instant::now();
    let mut times = Vec::new();
    while times.len() < 2 {
        state.changed().await.unwrap();
        times.push(whole.elapsed().as_secs());
    }
    assert!(
        times.windows(2).all(|pair| pair[1] - pair[0] >= 600),
        "{times:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_mirror_of_the_branch_is_looked_at_every_second() {
    let dir = tempfile::tempdir().unwrap();
    let author = Author::init(&dir.path().join("repo.git")).unwrap();
    let accepted = Accepted {
        instance: "i-1",
        request: &request("a"),
        image: "quay.io/a/b:4.17.1-multi",
        key: None,
        at: "2026-01-29T10:30:00Z".parse().unwrap(),
    };
    let file = text_of(&accepted, &settings());
    let first = Files::from([("a.txt".to_owned(), "a".to_owned())]);
    let at = "2026-01-29T10:30:00Z".parse().unwrap();
    let commit = author.push("main", None, &first, "one", at).unwrap();
    let environment = Environment {
        cache: dir.path().join("cache"),
        ..Environment::default()
    };
    let reference = GitReference::default();
    let url = author.dir().display().to_string();
    let config = Arc::new(SyncConfig::source(&url, Some(reference), &environment));
    let origin = Origin::open(&config, &Access::default()).unwrap();
    let branches = Arc::new(Branches::of(&origin, &config, "main").unwrap());
    let mut newest = branches.newest();
    let _following = branches.follow(Turn::default());
    newest.wait_for(Option::is_some).await.unwrap();
    let second = Files::from([("dcm/i-1.yaml".to_owned(), file)]);
    author
        .push("main", Some(&commit), &second, "two", at)
        .unwrap();
    // The daemon fetches; the provider looks at what it fetched.
    branches.mirror.fetch().unwrap();
    let begun = Instant::now();
    newest.changed().await.unwrap();
    assert!(
        begun.elapsed() <= Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    let revision = newest.borrow().clone().unwrap();
    assert!(revision.index.instances.contains_key("i-1"));
}

#[tokio::test(start_paused = true)]
async fn the_last_messages_have_5_seconds() {
    let begun = Instant::now();
    let delivered = tokio::spawn(tokio::time::sleep(Duration::from_secs(2)));
    messages::finish(AbortOnDropHandle::new(delivered)).await;
    assert_eq!(begun.elapsed().as_secs(), 2);
    let begun = Instant::now();
    let late = tokio::spawn(std::future::pending());
    messages::finish(AbortOnDropHandle::new(late)).await;
    assert_eq!(begun.elapsed().as_secs(), 5);
}
