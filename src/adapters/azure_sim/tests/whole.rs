//! The controllers on the in-process API: a whole cluster from its manifests, on a paused clock.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::response::IntoResponse;
use futures::{FutureExt, StreamExt, stream};
use jiff::Timestamp;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::manifests::{NAMESPACE, small_cluster};
use crate::adapters::azure_sim::{
    Options, SimulatedCredentials, SimulatedVaults, SimulatedWorkloads, controllers, crds, kinds,
};
use crate::adapters::kubernetes::controller::watches::{self, KindEvent, WatchEvent};
use crate::adapters::kubernetes::controller::writer;
use crate::adapters::kubernetes::controller::{self, Connectors, Running};
use crate::api::fleet::FirstApply;
use crate::api::kinds::{CAPI, KINDS, PRIVATE_LINK};
use crate::api::timeline;
use crate::health::{Live, health};
use crate::model::{Clock, HealthState, Namespaces, ObjectId};
use crate::reconcile::{self, Settings};
use kube_sim::{Server, SimClock};

/// Longer than any provisioning that works.
const LONGEST: Duration = Duration::from_secs(2 * 3600);

/// What a watcher saw: the second, the object, its state.
type Event = (i64, String, HealthState);

/// A cluster with the kinds installed, and controllers at work in it.
struct Rehearsal {
    server: Server,
    client: Client,
    clock: Arc<dyn Clock>,
    start: Timestamp,
    states: BTreeMap<ObjectId, HealthState>,
    events: Vec<Event>,
    seen: futures::stream::BoxStream<'static, KindEvent>,
    running: Running,
}

impl Rehearsal {
    async fn new(failures: &[&str]) -> Self {
        let all = KINDS.iter().chain(PRIVATE_LINK);
        let all: Vec<Value> = all.map(crds::definition).collect();
        Self::with(failures, &all).await
    }

    async fn with(failures: &[&str], definitions: &[Value]) -> Self {
        let start = "2026-01-01T00:00:00Z".parse().unwrap();
        let time = SimClock::new(start, 1);
        let server = Server::new(Arc::new(time));
        let clock: Arc<dyn Clock> = Arc::new(time);
        let client = server.client("default");
        for definition in definitions {
            apply(&client, definition).await;
        }
        let options = Options {
            failures: failures.iter().map(|text| text.parse().unwrap()).collect(),
            ..Options::default()
        };
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        apply(&client, &namespace).await;
        let running = spawn(&client, &clock, &options);
        let kinds = kinds::all().into_iter().enumerate();
        let second = Duration::from_secs(1);
        let watch = |(place, kind)| watches::watch(&client, place, kind, &Namespaces::All, second);
        let seen = stream::select_all(kinds.map(watch)).boxed();
        Self {
            server,
            client,
            clock,
            start,
            states: BTreeMap::new(),
            events: Vec::new(),
            seen,
            running,
        }
    }

    async fn apply(&self, objects: &[Value]) {
        for object in objects {
            apply(&self.client, object).await;
        }
    }

    fn elapsed(&self) -> i64 {
        self.clock.now().duration_since(self.start).as_secs()
    }

    /// Watches until `done` holds of the states; the second at which it did.
    async fn until(&mut self, done: impl Fn(&BTreeMap<ObjectId, HealthState>) -> bool) -> i64 {
        let watching = async {
            while let Some(seen) = self.seen.next().await {
                self.absorb(seen);
                if done(&self.states) {
                    return self.elapsed();
                }
            }
            panic!("the watches ended");
        };
        match tokio::time::timeout(LONGEST, watching).await {
            Ok(second) => second,
            Err(_) => panic!("not reached: {:#?}", self.unready()),
        }
    }

    /// Takes in all that was seen until now.
    fn catch_up(&mut self) {
        while let Some(Some(seen)) = self.seen.next().now_or_never() {
            self.absorb(seen);
        }
    }

    fn absorb(&mut self, seen: KindEvent) {
        match seen.event {
            WatchEvent::Listed(seen) | WatchEvent::Applied(seen) => {
                self.note(&seen.read().unwrap());
            }
            WatchEvent::Deleted(id, _) => {
                self.states.remove(&id);
            }
            WatchEvent::ListStarted | WatchEvent::ListEnded => {}
            WatchEvent::NotServed => panic!("a kind is not served"),
            WatchEvent::Denied { why: error, .. } | WatchEvent::Failed(error) => {
                panic!("a watch failed: {error}")
            }
        }
    }

    fn note(&mut self, object: &Value) {
        let (id, state) = (Live(object).id(), health(object).state);
        if self.states.insert(id.clone(), state) != Some(state) {
            self.events.push((self.elapsed(), id.to_string(), state));
        }
    }

    /// What is not ready, and why.
    fn unready(&self) -> Vec<String> {
        let all = self.server.snapshot();
        let ours = all.iter().filter(|object| !Live(object).group().is_empty());
        let unready = ours.map(|object| (Live(object).id(), health(object)));
        let unready = unready.filter(|(_, health)| !health.is_ready());
        unready
            .map(|(id, health)| format!("{id}: {health:?}"))
            .collect()
    }

    async fn get(&self, kind: &str, name: &str) -> Value {
        let known = KINDS.iter().find(|known| known.kind == kind).unwrap();
        // The real definitions do not serve every version that is known.
        for version in known.versions.iter().rev() {
            let resource = writer::resource(known.group, version, kind);
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.client.clone(), NAMESPACE, &resource);
            if let Ok(object) = api.get(name).await {
                return serde_json::to_value(object).unwrap();
            }
        }
        panic!("no version of {kind} {name}");
    }
}

fn spawn(client: &Client, clock: &Arc<dyn Clock>, options: &Options) -> Running {
    let mut all = controllers(options);
    all.extend(reconcile::aro(Settings {
        settle: timeline::SETTLE,
        first_apply: FirstApply::default(),
        identity: None,
    }));
    let connectors = Connectors {
        workloads: Arc::new(SimulatedWorkloads::new(client.clone(), &**clock)),
        keys: Arc::new(SimulatedVaults::new(Arc::clone(clock))),
        credentials: Arc::new(SimulatedCredentials),
        ..Connectors::default()
    };
    controller::spawn(client.clone(), Arc::clone(clock), all, connectors)
}

async fn apply(client: &Client, object: &Value) {
    let live = Live(object);
    let version = live.text(&["apiVersion"]).rsplit('/').next().unwrap();
    let resource = writer::resource(live.group(), version, live.kind());
    let api: Api<DynamicObject> = match live.namespace() {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let params = PatchParams::apply("capstan");
    let applied = api.patch(live.name(), &params, &Patch::Apply(object)).await;
    applied.unwrap_or_else(|error| panic!("{}: {error}", live.id()));
}

/// A client of a server that answers every seventh request with 503.
fn flaky(server: &Server) -> Client {
    let (router, count) = (server.router(), Arc::new(AtomicUsize::new(0)));
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let unlucky = count.fetch_add(1, Ordering::Relaxed) % 7 == 6;
        let router = router.clone();
        async move {
            match unlucky {
                true => Ok(axum::http::StatusCode::SERVICE_UNAVAILABLE.into_response()),
                false => router.oneshot(request).await,
            }
        }
    });
    Client::new(service, "default")
}

/// The documents of a file beside the repository; none where it is not.
fn shared(path: &str) -> Option<Vec<Value>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let text = std::fs::read_to_string(root.join(path)).ok()?;
    let documents =
        serde_yaml::Deserializer::from_str(&text).map(|d| Value::deserialize(d).unwrap());
    Some(documents.filter(|document| !document.is_null()).collect())
}

/// The hand-written cluster, in the order of its file, after what it expects to be there.
fn sample() -> Option<Vec<Value>> {
    let identity = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "AzureClusterIdentity",
        "metadata": {"name": "cluster-identity", "namespace": NAMESPACE},
        "spec": {"type": "WorkloadIdentity", "clientID": "x", "tenantID": "y", "allowedNamespaces": {}},
    });
    let documents = shared("samples/aro-hcp-2025-12-23/aro.yaml")?;
    Some([identity].into_iter().chain(documents).collect())
}

/// Everybody's real definitions.
fn real_definitions() -> Option<Vec<Value>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/crds");
    let mut all = Vec::new();
    for folder in ["aso-2.19", "cluster-api", "capz"] {
        for file in std::fs::read_dir(root.join(folder)).ok()? {
            let file = file.unwrap().file_name().into_string().unwrap();
            all.extend(shared(&format!("crds/{folder}/{file}"))?);
        }
    }
    Some(all)
}

/// Whether this many custom objects, embedded ones included, are there and everything is ready.
fn whole(count: usize) -> impl Fn(&BTreeMap<ObjectId, HealthState>) -> bool {
    move |states| {
        let custom = states.keys().filter(|id| !id.group.is_empty()).count();
        custom >= count && states.values().all(|state| *state == HealthState::Ready)
    }
}

/// Custom objects of the small cluster: identity, five on top, four, two and one embedded.
const SMALL: usize = 13;
/// Custom objects of the hand-written cluster: identity, five on top, 48, two and one embedded.
const HAND_WRITTEN: usize = 57;

async fn provision(objects: &[Value]) -> (i64, Vec<Event>) {
    let mut rehearsal = Rehearsal::new(&[]).await;
    rehearsal.apply(objects).await;
    let second = rehearsal.until(whole(HAND_WRITTEN)).await;
    (second, rehearsal.events)
}

#[tokio::test(start_paused = true)]
async fn a_hand_written_cluster_is_ready_after_about_twenty_minutes_and_the_same_way_each_time() {
    let Some(objects) = sample() else { return };
    let (second, events) = provision(&objects).await;
    assert!((19 * 60..=25 * 60).contains(&second), "{second} s");
    let (again, same) = provision(&objects).await;
    assert_eq!((second, events), (again, same));
}

#[tokio::test(start_paused = true)]
async fn what_the_controllers_write_fits_the_real_definitions() {
    let (Some(objects), Some(definitions)) = (sample(), real_definitions()) else {
        return;
    };
    let mut rehearsal = Rehearsal::with(&[], &definitions).await;
    rehearsal.apply(&objects).await;
    let second = rehearsal.until(whole(HAND_WRITTEN)).await;
    assert!((19 * 60..=25 * 60).contains(&second), "{second} s");
    let url = ["status", "properties", "api", "url"];
    let hcp = rehearsal.get("HcpOpenShiftCluster", "stage-uks-1").await;
    assert!(!Live(&hcp).text(&url).is_empty(), "{hcp}");
}

#[tokio::test(start_paused = true)]
async fn a_failing_vault_stops_the_cluster_before_azure_builds_it() {
    let failure = "Vault/clusters/vault=RequestDisallowedByPolicy";
    let mut rehearsal = Rehearsal::new(&[failure]).await;
    rehearsal.apply(&small_cluster()).await;
    let failed = HealthState::Failed { terminal: false };
    let second = rehearsal
        .until(|states| states.values().any(|state| *state == failed))
        .await;
    assert!(second < 60, "{second} s");
    tokio::time::sleep(Duration::from_secs(600)).await;
    rehearsal.catch_up();
    let built = rehearsal
        .states
        .keys()
        .any(|id| id.kind == "HcpOpenShiftCluster");
    assert!(!built);
}

#[tokio::test(start_paused = true)]
async fn deleting_the_root_deletes_everything_below_it() {
    let mut rehearsal = Rehearsal::new(&[]).await;
    rehearsal.apply(&small_cluster()).await;
    rehearsal.until(whole(SMALL)).await;
    let resource = writer::resource(CAPI, "v1beta2", "Cluster");
    let api: Api<DynamicObject> =
        Api::namespaced_with(rehearsal.client.clone(), NAMESPACE, &resource);
    api.delete("c", &DeleteParams::default()).await.unwrap();
    rehearsal.until(|states| states.len() == 1).await;
    let kinds: Vec<&str> = rehearsal.states.keys().map(|id| id.kind.as_str()).collect();
    assert_eq!(kinds, ["AzureClusterIdentity"]);
}

#[tokio::test(start_paused = true)]
async fn controllers_started_late_continue_where_others_stopped() {
    let mut rehearsal = Rehearsal::new(&[]).await;
    rehearsal.apply(&small_cluster()).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    let options = Options::default();
    let (client, clock) = (rehearsal.client.clone(), Arc::clone(&rehearsal.clock));
    rehearsal.running = spawn(&client, &clock, &options);
    let second = rehearsal.until(whole(SMALL)).await;
    assert!((19 * 60..=25 * 60).contains(&second), "{second} s");
    let cluster = rehearsal.get("Cluster", "c").await;
    assert_eq!(cluster["status"]["phase"], "Provisioned");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_now_and_then_only_slows_the_play() {
    let mut rehearsal = Rehearsal::new(&[]).await;
    let client = flaky(&rehearsal.server);
    rehearsal.running = spawn(&client, &rehearsal.clock, &Options::default());
    rehearsal.apply(&small_cluster()).await;
    let second = rehearsal.until(whole(SMALL)).await;
    // Azure may be asked again for what it is at, since an answer was lost.
    assert!((19 * 60..=32 * 60).contains(&second), "{second} s");
}
