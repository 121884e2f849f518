//! The ARO controllers at work on many clusters: how soon a cluster's next write follows on an ASO resource that became
//! ready, what they take of memory, and what a ready fleet costs. Cluster API, ASO and Azure are played by another
//! process, in which 20 minutes take 10. Clusters are added one after the other: if all were added at once, the run would
//! measure the API server.

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use capstan::adapters::azure_sim::crds::foreign;
use capstan::adapters::azure_sim::{
    self, SimulatedCredentials, SimulatedVaults, SimulatedWorkloads,
};
use capstan::adapters::kubernetes::controller::{self, Connectors, Running};
use capstan::api::crds::crds;
use capstan::api::fleet::FirstApply;
use capstan::compile::compile;
use capstan::daemon::{WallClock, wall_time};
use capstan::model::Clock;
use capstan::reconcile::{Settings, aro};
use futures::{StreamExt as _, TryStreamExt as _};
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::client::Body;
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use kube_sim::SimClock;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{AT_ONCE, Fixture, generate};

/// How much faster than outside time passes for those that are played.
const SPEED: u32 = 2;
/// How long after a cluster the next one is added. 200 are under way before the first of them is ready.
const APART: Duration = Duration::from_secs(3);
/// How far behind they begin: what they report must not lie in the future, in runs of up to ten hours.
const BEHIND: Duration = Duration::from_secs(10 * 3600);
/// How many clusters there are after each part, if nothing else is asked for.
const STAGES: [usize; 2] = [200, 500];
/// How long a ready fleet is looked at.
const QUIET: Duration = Duration::from_secs(60);
/// The argument that makes this program play the other systems.
pub(super) const PLAY: &str = "play";

/// What happened so far.
#[derive(Default)]
struct Log {
    /// By cluster: since when a resource of it is ready to which no write answered yet.
    ready: Mutex<BTreeMap<String, Instant>>,
    spans: Mutex<Vec<Duration>>,
    /// All requests but watches.
    requests: AtomicUsize,
}

impl Fixture<'_> {
    /// Prints what is said above.
    pub(super) fn controllers(&self, counts: &[usize]) {
        let counts = if counts.is_empty() { &STAGES } else { counts };
        let _play = Playing::start(self.server.kubeconfig());
        let log = Arc::new(Log::default());
        let (client, running) = self.runtime.block_on(async {
            let client = self.server.client().await;
            install(&client).await;
            let clock: Arc<dyn Clock> = Arc::new(WallClock::start());
            let settings = Settings {
                settle: Duration::from_millis(200),
                first_apply: FirstApply::Probe,
                identity: None,
            };
            let connectors = Connectors {
                workloads: Arc::new(SimulatedWorkloads::new(client.clone(), &*clock)),
                keys: Arc::new(SimulatedVaults::new(Arc::clone(&clock))),
                credentials: Arc::new(SimulatedCredentials),
            };
            let observed = observed(&client, &log);
            (
                client,
                controller::spawn(observed, clock, aro(settings), connectors),
            )
        });
        let mut made = 0;
        for &count in counts {
            let start = Instant::now();
            self.runtime.block_on(self.provision(&client, made..count));
            let took = start.elapsed().as_secs_f64();
            let mut spans = std::mem::take(&mut *log.spans.lock().unwrap());
            spans.sort();
            let milliseconds = |at: usize| spans[at.min(spans.len() - 1)].as_secs_f64() * 1e3;
            println!(
                "\n{count} clusters: {took:.1} s for {}; from a resource that is ready to the next write of its cluster {:.1} ms, at p99 {:.1} ms ({} times); {} MiB, at most {} MiB",
                count - made,
                milliseconds(spans.len() / 2),
                milliseconds(spans.len() * 99 / 100),
                spans.len(),
                resident("VmRSS:") >> 20,
                resident("VmHWM:") >> 20,
            );
            made = count;
        }
        std::thread::sleep(Duration::from_secs(5));
        let before = log.requests.load(Ordering::Relaxed);
        std::thread::sleep(QUIET);
        let after = log.requests.load(Ordering::Relaxed);
        println!(
            "ready, in {} s: {} requests beside watches",
            QUIET.as_secs(),
            after - before
        );
        drop::<Running>(running);
    }

    /// Applies these definitions and waits until every Cluster is provisioned.
    async fn provision(&self, client: &Client, indexes: std::ops::Range<usize>) {
        let mut tree = generate::fleet(0);
        for index in indexes.clone() {
            let path = format!("clusters/c{index}.yaml");
            let text = generate::definition(index);
            tree.files
                .insert(Arc::from(path), Arc::from(text.as_bytes()));
        }
        let compiled = compile(&tree, &[]);
        assert!(!compiled.has_errors(), "{:?}", compiled.findings.first());
        let mut clusters: BTreeMap<&str, Vec<Json>> = BTreeMap::new();
        for object in &compiled.objects {
            let of = clusters.entry(cluster(&object.id.name).unwrap_or_default());
            of.or_default().push(object.node.to_json());
        }
        for objects in clusters.values() {
            let next = tokio::time::Instant::now() + APART;
            let applied = objects.iter().map(|object| apply(client, object));
            let applied = futures::stream::iter(applied).buffer_unordered(AT_ONCE);
            applied.try_collect::<Vec<()>>().await.unwrap();
            tokio::time::sleep_until(next).await;
        }
        loop {
            let clusters = list(client, "cluster.x-k8s.io/v1beta2", "Cluster").await;
            let is_done = |cluster: &&DynamicObject| {
                cluster.data["status"]["initialization"]["infrastructureProvisioned"] == true
            };
            if clusters.iter().filter(is_done).count() == indexes.end {
                return;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

/// Another process of this program, which plays the other systems.
struct Playing(Child);

impl Playing {
    fn start(kubeconfig: &std::path::Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        Self(command.arg(PLAY).arg(kubeconfig).spawn().unwrap())
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Plays the other systems on the cluster of a kubeconfig until it is killed.
pub(super) async fn play(kubeconfig: std::path::PathBuf) {
    let access = capstan::adapters::kubernetes::Access {
        kubeconfig: Some(kubeconfig),
        context: None,
    };
    let client = capstan::adapters::kubernetes::connect(&access)
        .await
        .unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SimClock::new(wall_time() - BEHIND, SPEED));
    let actors = azure_sim::controllers(&azure_sim::Options::default());
    let _running = controller::spawn(client, clock, actors, Connectors::default());
    std::future::pending::<()>().await;
}

/// The kinds, the namespace, and the identity that the definitions name.
async fn install(client: &Client) {
    for definition in foreign().into_iter().chain(crds()) {
        apply(client, &definition).await.unwrap();
    }
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "clusters"}});
    apply(client, &namespace).await.unwrap();
    let id = "00000000-0000-0000-0000-000000000000";
    let identity = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "AzureClusterIdentity",
        "metadata": {"name": "cluster-identity", "namespace": "clusters"},
        "spec": {"type": "WorkloadIdentity", "clientID": id, "tenantID": id, "allowedNamespaces": {}},
    });
    while apply(client, &identity).await.is_err() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn resource(object: &Json) -> ApiResource {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let api_version = text(&object["apiVersion"]);
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        group,
        version,
        &text(&object["kind"]),
    ))
}

async fn apply(client: &Client, object: &Json) -> kube::Result<()> {
    let resource = resource(object);
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let params = PatchParams::apply("load").force();
    api.patch(name, &params, &Patch::Apply(object)).await?;
    Ok(())
}

async fn list(client: &Client, api_version: &str, kind: &str) -> Vec<DynamicObject> {
    let resource = resource(&json!({"apiVersion": api_version, "kind": kind}));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let all = api.list(&ListParams::default()).await;
    all.map(|all| all.items).unwrap_or_default()
}

/// A client that notes when an ASO resource is seen to become ready, and when the cluster it belongs to is written next.
fn observed(client: &Client, log: &Arc<Log>) -> Client {
    let (client, log) = (client.clone(), Arc::clone(log));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, log) = (client.clone(), Arc::clone(&log));
        let uri = request.uri().clone();
        let is_watch = uri.query().unwrap_or_default().contains("watch=true");
        let is_azures = is_watch && uri.path().contains(".azure.com/");
        if !is_watch {
            log.requests.fetch_add(1, Ordering::Relaxed);
        }
        if request.method() == Method::PATCH
            && let Some(cluster) = cluster(uri.path())
            && let Some(since) = log.ready.lock().unwrap().remove(cluster)
        {
            log.spans.lock().unwrap().push(since.elapsed());
        }
        async move {
            let (parts, body) = client.send(request).await?.into_parts();
            let mut pending = Vec::new();
            let mut ready = BTreeMap::new();
            let body = body.map_frame(move |frame| {
                if let Some(data) = frame.data_ref().filter(|_| is_azures) {
                    pending.extend_from_slice(data);
                    read_events(&mut pending, &mut ready, &log);
                }
                frame
            });
            Ok::<_, kube::Error>(Response::from_parts(parts, body))
        }
    });
    Client::new(service, "default")
}

/// The name of the cluster in a text: `fleet-` and a number.
fn cluster(text: &str) -> Option<&str> {
    let start = text.find("fleet-")?;
    let digits = text[start + 6..]
        .bytes()
        .take_while(u8::is_ascii_digit)
        .count();
    (digits > 0).then(|| &text[start..start + 6 + digits])
}

/// The part of a watch event that is looked at.
#[derive(Default, Deserialize)]
struct Seen {
    object: Object,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Object {
    metadata: Metadata,
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Vec<Condition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// Notes the resources that were not ready the last time.
fn read_events(pending: &mut Vec<u8>, ready: &mut BTreeMap<String, bool>, log: &Log) {
    while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
        let line: Vec<u8> = pending.drain(..=end).collect();
        let event: Seen = serde_json::from_slice(&line).unwrap_or_default();
        let Object { metadata, status } = event.object;
        let mut conditions = status.conditions.iter();
        let is_ready = conditions.any(|one| one.kind == "Ready" && one.status == "True");
        let name = metadata.name.as_str();
        let was_ready = ready.insert(name.to_owned(), is_ready).unwrap_or(false);
        if let Some(cluster) = cluster(name).filter(|_| is_ready && !was_ready) {
            let mut waiting = log.ready.lock().unwrap();
            waiting
                .entry(cluster.to_owned())
                .or_insert_with(Instant::now);
        }
    }
}

/// A line of what Linux reports of this process, in bytes.
fn resident(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|held| held.strip_prefix(line));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
