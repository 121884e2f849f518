//! When controllers act that share a cluster with others, second by second.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::ServiceExt as _;

use super::*;
use crate::adapters::kubernetes::controller::writer::perform;
use crate::adapters::kubernetes::lease::{Lease, Round};
use crate::api::crds::crds;
use crate::health::Live;
use crate::reconcile::outcome::{Outcome, Write};
use crate::reconcile::world::{GroupKind, World};
use kube_sim::{Server, SimClock};

/// What the controllers of each process did, and when.
type Log = Arc<Mutex<Vec<(&'static str, u64)>>>;

/// A cluster, and the time since it began.
struct Cluster {
    server: Server,
    clock: SimClock,
    start: Instant,
    log: Log,
}

impl Cluster {
    /// With the custom resources of ours, and one object for the controllers.
    async fn new() -> Self {
        let cluster = Self::empty();
        cluster.install().await;
        cluster
    }

    /// Without anything.
    fn empty() -> Self {
        let clock = SimClock::new(Timestamp::from_second(1_000_000).unwrap(), 1);
        let server = Server::new(Arc::new(clock));
        Self {
            server,
            clock,
            start: Instant::now(),
            log: Log::default(),
        }
    }

    async fn install(&self) {
        let mut all = crds();
        all.push(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "one", "namespace": "default"}}));
        for object in all {
            self.write("somebody", Write::Apply(object)).await;
        }
    }

    fn client(&self) -> Client {
        self.server.client("default")
    }

    async fn write(&self, manager: &str, write: Write) {
        perform(&self.client(), manager, vec![write])
            .await
            .1
            .unwrap();
    }

    fn seconds(&self) -> u64 {
        self.start.elapsed().as_secs()
    }

    /// A process whose controllers look at their object every second.
    fn process(&self, name: &'static str, mode: Mode) -> Sharers {
        self.process_by(&self.client(), name, mode)
    }

    fn process_by(&self, client: &Client, name: &'static str, mode: Mode) -> Sharers {
        let (log, start) = (Arc::clone(&self.log), self.start);
        let reconcile = move |_: World<'_>, _: Live<'_>, now: Timestamp| {
            log.lock().unwrap().push((name, start.elapsed().as_secs()));
            Outcome {
                wake: now.checked_add(Duration::from_secs(1)).ok(),
                ..Outcome::default()
            }
        };
        let controller = Controller {
            manager: "capstan-test",
            watches: vec![GroupKind::new("", "ConfigMap")],
            handles: |id| id.name == "one",
            reconcile: Box::new(reconcile),
        };
        let sharing = Sharing {
            group: Group::Aro,
            near: Vec::new(),
            mode,
            namespace: "capstan-system".to_owned(),
            identity: name.to_owned(),
            watched: Namespaces::All,
        };
        let (clock, connectors) = (Arc::new(self.clock), Connectors::default());
        share(client, clock, vec![controller], connectors, sharing)
    }

    /// Who did something since the second `from`, without repetition.
    fn acted_since(&self, from: u64) -> Vec<&'static str> {
        let log = self.log.lock().unwrap();
        let names = log.iter().filter(|(_, second)| *second >= from);
        let mut names: Vec<&str> = names.map(|(name, _)| *name).collect();
        names.dedup();
        names
    }

    /// Requests to a path with `part` are answered by `fault`, or never.
    fn faulty(&self, part: &'static str, fault: Option<StatusCode>) -> Client {
        let router = self.server.router();
        let service = tower::service_fn(move |request: Request<Body>| {
            let router = router.clone();
            async move {
                if !request.uri().path().contains(part) {
                    return router.oneshot(request).await;
                }
                let Some(code) = fault else {
                    return std::future::pending().await;
                };
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                    "message": "it is forbidden: User \"me\" cannot get it", "reason": "Forbidden",
                    "code": code.as_u16()});
                let mut response = Response::new(axum::body::Body::from(status.to_string()));
                *response.status_mut() = code;
                Ok(response)
            }
        });
        Client::new(service, "default")
    }

    /// The same, once the answer is true.
    fn cuttable(&self, part: &'static str) -> (Client, Arc<Mutex<bool>>) {
        let (open, silent) = (self.client(), self.faulty(part, None));
        let cut = Arc::new(Mutex::new(false));
        let is_cut = Arc::clone(&cut);
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_cut = *is_cut.lock().unwrap();
            let client = if is_cut { silent.clone() } else { open.clone() };
            async move { client.send(request).await }
        });
        (Client::new(service, "default"), cut)
    }
}

/// Waits until the controllers do what `is` wants.
async fn until(sharers: &Sharers, is: impl Fn(&Standing) -> bool) -> Standing {
    let mut standing = sharers.standing();
    let found = standing.wait_for(|standing| is(standing));
    tokio::time::timeout(Duration::from_secs(3600), found)
        .await
        .unwrap_or_else(|_| panic!("{:?}", sharers.standing().borrow()))
        .unwrap()
        .clone()
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn deployment(ready: i64) -> [Value; 2] {
    let container =
        json!({"name": "manager", "image": "capz", "args": ["--feature-gates=ARO=true"]});
    let labels = json!({"cluster.x-k8s.io/provider": "infrastructure-azure"});
    let identity = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "capz-controller-manager", "namespace": "default", "labels": labels}});
    let (mut object, mut status) = (identity.clone(), identity);
    object["spec"] = json!({"replicas": 1, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}});
    status["status"] = json!({"replicas": 1, "readyReplicas": ready});
    [object, status]
}

async fn deploy(cluster: &Cluster, ready: i64) {
    let [object, status] = deployment(ready);
    cluster.write("clusterctl", Write::Apply(object)).await;
    cluster.write("kcm", Write::Status(status)).await;
}

fn aro_cluster() -> Value {
    json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROCluster",
        "metadata": {"name": "c", "namespace": "default"}})
}

#[tokio::test(start_paused = true)]
async fn they_act_where_nothing_of_capz_is_and_hold_the_lease() {
    let cluster = Cluster::new().await;
    let sharers = cluster.process("a", Mode::Auto);
    until(&sharers, Standing::acts).await;
    pass(3).await;
    assert_eq!(cluster.acted_since(0), ["a"]);
    let mut lease = Lease::new(cluster.client(), "capstan-system", LEASE, "b".to_owned());
    assert!(matches!(lease.round(&cluster.clock).await, Round::Others(holder) if holder == "a"));
}

#[tokio::test(start_paused = true)]
async fn they_begin_within_10_seconds_once_their_kinds_are_served() {
    let cluster = Cluster::empty();
    let sharers = cluster.process("a", Mode::Auto);
    let waits = until(&sharers, |standing| {
        matches!(standing, Standing::Unserved(_))
    })
    .await;
    assert!(waits.to_string().contains("capstan crds | kubectl apply"));
    pass(55).await;
    cluster.install().await;
    until(&sharers, Standing::acts).await;
    assert_eq!(cluster.seconds(), 60);
    let waiting = Cluster::empty().process("b", Mode::On);
    until(&waiting, |standing| {
        matches!(standing, Standing::Unserved(_))
    })
    .await;
    waiting.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_of_capz_stops_them_and_they_take_over_a_minute_after_its_end() {
    let cluster = Cluster::new().await;
    deploy(&cluster, 1).await;
    let sharers = cluster.process("a", Mode::Auto);
    let why = until(&sharers, |standing| {
        standing.to_string().contains("is ready")
    })
    .await;
    assert_eq!(
        why.to_string(),
        "step back: CAPZ's controllers run: Deployment/default/capz-controller-manager is ready"
    );
    pass(3600).await;
    assert!(cluster.acted_since(0).is_empty());
    let [object, _] = deployment(0);
    let uid = live_uid(&cluster, &object).await;
    let id = Live(&object).id();
    let version = "v1".to_owned();
    let ended = cluster.seconds();
    cluster.write("x", Write::Delete { id, version, uid }).await;
    until(&sharers, Standing::acts).await;
    assert_eq!(cluster.seconds(), ended + 60);
    // And back, while they act.
    deploy(&cluster, 1).await;
    until(&sharers, |standing| !standing.acts()).await;
    let stopped = cluster.seconds();
    pass(100).await;
    assert!(cluster.acted_since(stopped + 1).is_empty());
}

/// The note on an AROCluster.
async fn note(cluster: &Cluster) -> String {
    let path = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/aroclusters/c";
    let request = Request::get(path).body(Vec::new()).unwrap();
    let object: Value = cluster.client().request(request).await.unwrap();
    Live(&object)
        .annotation("capstan.dev/stepped-back")
        .to_owned()
}

#[tokio::test(start_paused = true)]
async fn objects_say_that_they_step_back_for_capz_once() {
    let cluster = Cluster::new().await;
    cluster.write("kubectl", Write::Apply(aro_cluster())).await;
    let sharers = cluster.process("a", Mode::Auto);
    until(&sharers, Standing::acts).await;
    pass(5).await;
    assert_eq!(note(&cluster).await, "");
    deploy(&cluster, 1).await;
    until(&sharers, |standing| !standing.acts()).await;
    pass(5).await;
    let said = note(&cluster).await;
    let why = "Z: CAPZ's controllers run: Deployment/default/capz-controller-manager is ready";
    assert!(said.ends_with(why), "{said}");
    // Whoever takes it off is not argued with.
    let mut patch = aro_cluster();
    patch["metadata"]["annotations"] = json!({"capstan.dev/stepped-back": null});
    cluster.write("kubectl", Write::Merge(patch)).await;
    pass(60).await;
    assert_eq!(note(&cluster).await, "");
    let mut later = aro_cluster();
    later["metadata"]["name"] = json!("later");
    cluster.write("kubectl", Write::Apply(later)).await;
    pass(5).await;
    let path = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/aroclusters/later";
    let request = Request::get(path).body(Vec::new()).unwrap();
    let object: Value = cluster.client().request(request).await.unwrap();
    assert!(
        Live(&object)
            .annotation("capstan.dev/stepped-back")
            .ends_with(why)
    );
}

async fn live_uid(cluster: &Cluster, object: &Value) -> String {
    let answers = perform(
        &cluster.client(),
        "clusterctl",
        vec![Write::Apply(object.clone())],
    )
    .await;
    Live(&answers.0[0]).uid().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_write_of_capz_stops_them_for_10_minutes() {
    let cluster = Cluster::new().await;
    cluster.write("kubectl", Write::Apply(aro_cluster())).await;
    let sharers = cluster.process("a", Mode::Auto);
    until(&sharers, Standing::acts).await;
    pass(5).await;
    let mut status = aro_cluster();
    status["status"] = json!({"ready": true});
    cluster
        .write("manager", Write::Status(status.clone()))
        .await;
    let written = cluster.seconds();
    until(&sharers, |standing| !standing.acts()).await;
    assert_eq!(cluster.seconds(), written);
    until(&sharers, Standing::acts).await;
    assert_eq!(cluster.seconds(), written + 600);
    let acted = cluster.log.lock().unwrap().clone();
    let between = written + 1..written + 600;
    assert!(!acted.iter().any(|(_, second)| between.contains(second)));
    // Our own writes are none of CAPZ's.
    status["status"] = json!({"ready": false});
    cluster
        .write("capstan-arocluster", Write::Status(status))
        .await;
    pass(5).await;
    assert!(sharers.standing().borrow().acts());
}

#[tokio::test(start_paused = true)]
async fn on_acts_beside_capz() {
    let cluster = Cluster::new().await;
    deploy(&cluster, 1).await;
    let sharers = cluster.process("a", Mode::On);
    assert_eq!(until(&sharers, Standing::acts).await, Standing::Acting);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_watched_is_asked_for_again_after_5_seconds() {
    let cluster = Cluster::new().await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (times, start) = (Arc::clone(&asked), cluster.start);
    let inner = cluster.faulty("deployments", Some(StatusCode::FORBIDDEN));
    let service = tower::service_fn(move |request: Request<Body>| {
        if request.uri().path().contains("deployments") {
            times.lock().unwrap().push(start.elapsed().as_secs());
        }
        let inner = inner.clone();
        async move { inner.send(request).await }
    });
    let client = Client::new(service, "default");
    let sharers = cluster.process_by(&client, "a", Mode::Auto);
    let why = until(&sharers, |standing| {
        standing.to_string().contains("cannot be seen")
    })
    .await;
    assert!(
        why.to_string().contains(
            "Grant that right, or pass `--aro on` (in a Fleet document: spec.controllers.aro)"
        ),
        "{why}"
    );
    pass(11).await;
    assert_eq!(*asked.lock().unwrap(), [0, 5, 10]);
    assert!(cluster.acted_since(0).is_empty());
}

#[tokio::test(start_paused = true)]
async fn of_two_processes_one_acts_and_the_other_takes_over_when_it_stops() {
    let cluster = Cluster::new().await;
    let first = cluster.process("a", Mode::Auto);
    until(&first, Standing::acts).await;
    let second = cluster.process("b", Mode::On);
    let waits = until(&second, |standing| matches!(standing, Standing::Waiting(_))).await;
    let said = "wait: a runs them (Lease capstan-aro-controllers)";
    assert_eq!(waits.to_string(), said);
    pass(60).await;
    assert_eq!(cluster.acted_since(0), ["a"]);
    let stopped = cluster.seconds();
    first.stop().await;
    until(&second, Standing::acts).await;
    assert!(cluster.seconds() <= stopped + RETRY.as_secs());
    pass(5).await;
    assert_eq!(cluster.acted_since(0), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_killed_is_replaced_when_its_lease_has_expired() {
    let cluster = Cluster::new().await;
    let first = cluster.process("a", Mode::Auto);
    let second = cluster.process("b", Mode::Auto);
    until(&first, Standing::acts).await;
    pass(60).await;
    let killed = cluster.seconds();
    drop(first);
    until(&second, Standing::acts).await;
    let took = cluster.seconds() - killed;
    assert!((13..=17).contains(&took), "{took}");
    pass(5).await;
    assert_eq!(cluster.acted_since(0), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_cannot_renew_stops_after_10_seconds() {
    let cluster = Cluster::new().await;
    let (client, cut) = cluster.cuttable("leases");
    let sharers = cluster.process_by(&client, "a", Mode::Auto);
    until(&sharers, Standing::acts).await;
    pass(21).await;
    *cut.lock().unwrap() = true;
    let begun = cluster.seconds();
    until(&sharers, |standing| !standing.acts()).await;
    let took = cluster.seconds() - begun;
    assert!((8..=10).contains(&took), "{took}");
    let stopped = cluster.seconds();
    pass(60).await;
    assert!(cluster.acted_since(stopped + 1).is_empty());
    *cut.lock().unwrap() = false;
    until(&sharers, Standing::acts).await;
}

#[tokio::test(start_paused = true)]
async fn a_holder_whose_last_round_hangs_after_failures_stops_after_10_seconds() {
    let cluster = Cluster::new().await;
    let start = cluster.start;
    let open = cluster.client();
    let failing = cluster.faulty("leases", Some(StatusCode::SERVICE_UNAVAILABLE));
    let silent = cluster.faulty("leases", None);
    let service = tower::service_fn(move |request: Request<Body>| {
        let client = match start.elapsed().as_secs() {
            0..=20 => &open,
            21..=28 => &failing,
            _ => &silent,
        };
        let client = client.clone();
        async move { client.send(request).await }
    });
    let client = Client::new(service, "default");
    let sharers = cluster.process_by(&client, "a", Mode::Auto);
    until(&sharers, Standing::acts).await;
    pass(25).await;
    until(&sharers, |standing| !standing.acts()).await;
    assert!(cluster.seconds() <= 31, "{}", cluster.seconds());
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_leases_on_acts_and_auto_does_not() {
    for (mode, acts) in [(Mode::On, true), (Mode::Auto, false)] {
        let cluster = Cluster::new().await;
        let client = cluster.faulty("leases", Some(StatusCode::FORBIDDEN));
        let sharers = cluster.process_by(&client, "a", mode);
        let found = until(&sharers, |standing| {
            matches!(standing, Standing::Unguarded(_) | Standing::Blocked(_))
        });
        assert_eq!(found.await.acts(), acts);
        pass(10).await;
        assert_eq!(!cluster.acted_since(0).is_empty(), acts);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_given_up_within_10_seconds_or_expires() {
    let cluster = Cluster::new().await;
    let (client, cut) = cluster.cuttable("leases");
    let sharers = cluster.process_by(&client, "a", Mode::Auto);
    until(&sharers, Standing::acts).await;
    *cut.lock().unwrap() = true;
    let start = cluster.seconds();
    sharers.stop().await;
    assert!(cluster.seconds() - start <= 10);
}

/// What a process still writes must not meet what the next one writes: the Lease expires before that one acts.
#[tokio::test(start_paused = true)]
async fn a_lease_is_not_given_up_while_a_write_is_under_way() {
    let cluster = Cluster::new().await;
    let controller = Controller {
        manager: "capstan-test",
        watches: vec![GroupKind::new("", "ConfigMap")],
        handles: |id| id.name == "one",
        reconcile: Box::new(|_, _, _| Outcome {
            writes: vec![Write::Apply(
                json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "two", "namespace": "default"}}),
            )],
            ..Outcome::default()
        }),
    };
    let sharing = Sharing {
        group: Group::Aro,
        near: Vec::new(),
        mode: Mode::Auto,
        namespace: "capstan-system".to_owned(),
        identity: "a".to_owned(),
        watched: Namespaces::All,
    };
    let client = cluster.faulty("configmaps/two", None);
    let (clock, connectors) = (Arc::new(cluster.clock), Connectors::default());
    let first = share(&client, clock, vec![controller], connectors, sharing);
    until(&first, Standing::acts).await;
    pass(3).await;
    let second = cluster.process("b", Mode::Auto);
    until(&second, |standing| matches!(standing, Standing::Waiting(_))).await;
    let stopped = cluster.seconds();
    first.stop().await;
    let took = cluster.seconds() - stopped;
    assert!((5..=10).contains(&took), "{took}");
    until(&second, Standing::acts).await;
    let took = cluster.seconds() - stopped;
    assert!((10..=17).contains(&took), "{took}");
}
