//! The ARO controllers at work on many clusters: how soon a cluster's next write follows on an ASO resource that became
//! ready, what they take of memory, and what a ready fleet costs. Clusters are added one after the other: if all were
//! added at once, the run would measure the API server.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use capstan::adapters::azure_sim::{SimulatedCredentials, SimulatedVaults, SimulatedWorkloads};
use capstan::adapters::kubernetes::controller::{self, Connectors, Running};
use capstan::api::fleet::FirstApply;
use capstan::daemon::WallClock;
use capstan::model::Clock;
use capstan::reconcile::{Settings, aro};
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use tokio::runtime::Runtime;

use super::Fixture;
use super::around::{PLAY, Playing, SERVE, SPEED, add, cluster, connect, install};

/// How long after a cluster the next one is added on a real server. About 200 are under way before the first is ready.
const APART: Duration = Duration::from_secs(6);
/// How many clusters there are on a real server, if nothing else is asked for.
const UNDER_WAY: [usize; 1] = [200];
/// How many clusters there are after each part on the simulated server, if nothing else is asked for.
const KEPT: [usize; 3] = [1, 200, 500];
/// How long a ready fleet is looked at.
const QUIET: Duration = Duration::from_secs(60);
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
    /// Adds clusters to a real server, and prints latency, memory and requests of the controllers.
    pub(super) fn controllers(&self, counts: &[usize]) {
        let counts = if counts.is_empty() {
            &UNDER_WAY
        } else {
            counts
        };
        let kubeconfig = self.server.kubeconfig();
        let _playing = Playing::start(PLAY, kubeconfig);
        measure(self.runtime, kubeconfig, APART, counts);
    }
}

/// Does the same on a simulated server, whose time is fast: only memory and requests are meaningful there.
pub(super) fn memory(runtime: &Runtime, counts: &[usize]) {
    let counts = if counts.is_empty() { &KEPT[..] } else { counts };
    let dir = tempfile::tempdir().unwrap();
    let kubeconfig = dir.path().join("kubeconfig");
    let mut playing = Playing::start(SERVE, &kubeconfig);
    while !kubeconfig.exists() {
        assert!(playing.is_running(), "the simulated server ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    measure(runtime, &kubeconfig, APART / SPEED, counts);
}

/// Runs the controllers of this process on the cluster of a kubeconfig, and adds clusters.
fn measure(runtime: &Runtime, kubeconfig: &Path, apart: Duration, counts: &[usize]) {
    let log = Arc::new(Log::default());
    let running = runtime.block_on(async {
        let client = connect(kubeconfig).await;
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
        controller::spawn(observed, clock, aro(settings), connectors)
    });
    let mut made = 0;
    for &count in counts {
        let start = Instant::now();
        add(kubeconfig, apart, made..count);
        let took = start.elapsed().as_secs_f64();
        let mut spans = std::mem::take(&mut *log.spans.lock().unwrap());
        spans.sort();
        let milliseconds = |at: usize| spans[at.min(spans.len() - 1)].as_secs_f64() * 1e3;
        println!(
            "{count} clusters: {took:.1} s for {}; from a resource that is ready to the next write of its cluster {:.1} ms, at p99 {:.1} ms ({} times); {} MiB, at most {} MiB",
            count - made,
            milliseconds(spans.len() / 2),
            milliseconds(spans.len() * 99 / 100),
            spans.len(),
            resident("VmRSS:") >> 20,
            resident("VmHWM:") >> 20,
        );
        made = count;
    }
    std::thread::sleep(Duration::from_secs(10));
    let before = log.requests.load(Ordering::Relaxed);
    std::thread::sleep(QUIET);
    let after = log.requests.load(Ordering::Relaxed);
    println!(
        "ready, in {} s: {} requests beside watches; {} MiB",
        QUIET.as_secs(),
        after - before,
        resident("VmRSS:") >> 20,
    );
    drop::<Running>(running);
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
