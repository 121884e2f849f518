//! The record of approvals in the parent, over restarts and while the cluster is away.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use kube_sim::{Server, SimClock};
use serde_json::{Value, json};

use super::super::keeping::keep_approvals;
use super::forge::no_forge;
use super::*;
use crate::api::fleet::FleetMode;
use crate::apply::Parent;
use crate::model::cut;
use crate::plan::approvals::{How, Pressed};

pub(super) fn set() -> ApplySet {
    ApplySet::new("config", "default")
}

/// The settings of the fleet of [`set`].
pub(super) fn in_a_namespace() -> Setting {
    Setting {
        config: Some(|config| config.namespace = set().namespace().to_owned()),
        ..Setting::default()
    }
}

/// A cluster in which a fleet was applied.
pub(super) struct Cluster(Server);

impl Cluster {
    pub(super) async fn new() -> Self {
        let server = Server::new(Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1)));
        let cluster = Self(server);
        let namespace = json!({"metadata": {"name": set().namespace()}});
        let namespace: Namespace = serde_json::from_value(namespace).unwrap();
        let api = Api::all(cluster.client());
        let _ = api.create(&PostParams::default(), &namespace).await;
        let parent = serde_json::from_value(Parent::default().payload(&set())).unwrap();
        let (parents, params) = (cluster.parents(), PostParams::default());
        parents.create(&params, &parent).await.unwrap();
        cluster
    }

    pub(super) fn client(&self) -> Client {
        self.0.client("default")
    }

    /// A client whose first writes of this number do not find what they are for.
    pub(super) fn failing(&self, writes: usize) -> Client {
        let (router, left) = (self.0.router(), AtomicUsize::new(writes));
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let count = |left: usize| left.checked_sub(1);
            let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
            if request.method() == Method::PATCH && left.fetch_update(set, fetch, count).is_ok() {
                *request.uri_mut() = "/api/v1/namespaces/default/configmaps/none"
                    .parse()
                    .unwrap();
            }
            tower::Service::call(&mut router.clone(), request)
        });
        Client::new(service, "default")
    }

    pub(super) fn parents(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client(), set().namespace())
    }

    /// What the parent records.
    async fn recorded(&self) -> Option<Value> {
        let live = self.parents().get(&set().parent().name).await.unwrap();
        let text = live.data.unwrap_or_default().remove("approvals");
        text.map(|text| serde_json::from_str(&text).unwrap())
    }

    /// The same once the parent records this many approvals.
    async fn records(&self, count: usize) -> Vec<Value> {
        loop {
            let recorded = self.recorded().await.unwrap_or_default();
            let approvals = recorded["approvals"].as_array().cloned();
            let approvals = approvals.unwrap_or_default();
            if approvals.len() == count {
                return approvals;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn notes(&self) -> Vec<String> {
        let all = self.0.snapshot();
        let events = all.iter().filter(|live| live["kind"] == "Event");
        let notes = events.filter_map(|live| live["message"].as_str());
        notes.map(str::to_owned).collect()
    }
}

impl Case {
    fn in_a_namespace() -> Self {
        Self::with(in_a_namespace())
    }

    fn approve(&self, cluster: &str) {
        self.daemon.source.approvals.add(Pressed {
            commit: self.commit.clone(),
            losses: [format!("delete {cluster}")].into(),
            login: "octocat".to_owned(),
            how: How::Button,
            at: wall_time(),
            is_applied: true,
        });
    }

    /// What another process that follows the same holds of the record.
    fn again(&self) -> Arc<Source> {
        let origin = self.daemon.source.revisions.origin.clone();
        let config = Arc::clone(&self.daemon.source.config);
        Arc::new(Source::new(origin, config, &no_forge(), false))
    }
}

/// What may be deleted once it is known what earlier processes recorded.
async fn deletable(source: &Arc<Source>, commit: &str) -> Vec<String> {
    let recorded = &source.approvals.recorded;
    if let Some(until) = recorded.awaited_until() {
        recorded.known(until).await;
    }
    let found = source.approvals.for_revision(commit, commit);
    found.deletable().into_iter().collect()
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_in_the_parent_and_counts_after_a_restart_without_the_mirror() {
    let (cluster, case) = (Cluster::new().await, Case::in_a_namespace());
    let (client, source) = (cluster.client(), &case.daemon.source);
    // An earlier version kept it beside the mirror.
    let file = source.config.mirror.with_extension("approvals.json");
    let old = json!({"v": 1, "approvals": [{"commit": case.commit, "losses": ["delete c/old"],
        "login": "octocat", "at": "1970-01-01T00:00:00Z", "is_applied": true}]});
    std::fs::write(&file, old.to_string()).unwrap();
    let source = case.again();
    let keeper = keep_approvals(&client, &source);
    cluster.records(1).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(!file.exists(), "it is kept in one place");
    drop((keeper, source));

    let source = &case.daemon.source;
    let keeper = keep_approvals(&client, source);
    assert_eq!(deletable(source, &case.commit).await, ["c/old"]);
    case.approve("c/one");
    let approvals = cluster.records(2).await;
    assert_eq!(approvals[1]["login"], "octocat");
    assert_eq!(approvals[1]["losses"], json!(["delete c/one"]));
    tokio::time::sleep(Duration::from_millis(10)).await;
    let note = format!(
        "octocat approved with the button on {}: delete c/one",
        cut::head(&case.commit, 10)
    );
    assert_eq!(cluster.notes(), [note]);
    drop(keeper);

    let source = case.again();
    source.take_up(&case.commit);
    let keeper = keep_approvals(&client, &source);
    assert_eq!(deletable(&source, &case.commit).await, ["c/old", "c/one"]);
    drop(keeper);
    // Another revision was taken up meanwhile, before the record was known.
    let source = case.again();
    source.take_up("another");
    let _keeper = keep_approvals(&client, &source);
    assert_eq!(deletable(&source, &case.commit).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_counts_and_is_tried_again_after_5_seconds() {
    let (cluster, case) = (Cluster::new().await, Case::in_a_namespace());
    let source = &case.daemon.source;
    let _keeper = keep_approvals(&cluster.failing(2), source);
    assert_eq!(deletable(source, &case.commit).await, [""; 0]);
    let start = Instant::now();
    case.approve("c/one");
    assert_eq!(deletable(source, &case.commit).await, ["c/one"]);
    cluster.records(1).await;
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn what_is_recorded_is_waited_for_10_seconds() {
    let case = Case::in_a_namespace();
    let source = &case.daemon.source;
    let start = Instant::now();
    let _keeper = keep_approvals(&case.daemon.target.client, source);
    assert_eq!(deletable(source, &case.commit).await, [""; 0]);
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    assert_eq!(deletable(source, &case.commit).await, [""; 0]);
    assert_eq!(start.elapsed(), Duration::from_secs(10), "no longer");
}

#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_read_approves_nothing_and_is_replaced() {
    for text in ["", "{", r#"{"v":2}"#, &"[".repeat(100_000)] {
        let (cluster, case) = (Cluster::new().await, Case::in_a_namespace());
        let patch = json!({"data": {"approvals": text}});
        let patch = Patch::Merge(&patch);
        let name = set().parent().name;
        let (parents, params) = (cluster.parents(), PatchParams::default());
        parents.patch(&name, &params, &patch).await.unwrap();
        let source = &case.daemon.source;
        let _keeper = keep_approvals(&cluster.client(), source);
        assert_eq!(deletable(source, &case.commit).await, [""; 0]);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let live = cluster.parents().get(&name).await.unwrap();
        assert_eq!(live.data.unwrap()["approvals"], text, "nothing is known");
        case.approve("c/one");
        // Its text is none of ours until then.
        tokio::time::sleep(Duration::from_secs(1)).await;
        cluster.records(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_applied_approvals_are_in_memory() {
    let mut case = Case::with(Setting {
        config: Some(|config| config.mode = FleetMode::Check),
        ..Setting::default()
    });
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    let service = tower::service_fn(move |_: Request<Body>| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<Result<Response<Body>, Infallible>>()
    });
    case.daemon.target.client = Client::new(service, "default");
    let _watches = case
        .daemon
        .watch(&Arc::default(), &tokio::sync::watch::Sender::new(None));
    case.approve("c/one");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let deletable = deletable(&case.daemon.source, &case.commit).await;
    assert_eq!(deletable, ["c/one"]);
    assert_eq!(requests.load(Ordering::Relaxed), 0);
}
