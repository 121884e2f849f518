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
    clusters: Mutex<BTreeMap<String, Cluster>>,
    spans: Mutex<Vec<Span>>,
    /// All requests but watches.
    requests: AtomicUsize,
}

/// What is known of a cluster.
#[derive(Default)]
struct Cluster {
    /// Since when a resource of it is ready to which no write answered yet.
    ready: Option<Instant>,
    /// How many of its writes the server has not answered.
    unanswered: usize,
    /// When the server answered the last of them.
    answered: Option<Instant>,
}

/// How long it took from a resource that is ready to the next write of its cluster.
struct Span {
    whole: Duration,
    /// Without the time before the server had answered all earlier writes of the cluster.
    own: Duration,
}

impl Log {
    /// The controllers see that a resource of a cluster became ready.
    fn ready(&self, cluster: &str) {
        let mut clusters = self.clusters.lock().unwrap();
        let cluster = clusters.entry(cluster.to_owned()).or_default();
        cluster.ready.get_or_insert_with(Instant::now);
    }

    /// The controllers send a write of a cluster, which is under way until the result is dropped.
    fn written(self: &Arc<Self>, cluster: &str) -> UnderWay {
        let under_way = UnderWay(Arc::clone(self), cluster.to_owned());
        let mut clusters = self.clusters.lock().unwrap();
        let cluster = clusters.entry(cluster.to_owned()).or_default();
        if let Some(ready) = cluster.ready.take() {
            let free = cluster
                .answered
                .map_or(ready, |answered| answered.max(ready));
            let own = match cluster.unanswered {
                0 => free.elapsed(),
                _ => Duration::ZERO,
            };
            let whole = ready.elapsed();
            self.spans.lock().unwrap().push(Span { whole, own });
        }
        cluster.unanswered += 1;
        under_way
    }
}

/// A write of a cluster that the server has not answered.
struct UnderWay(Arc<Log>, String);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut clusters = self.0.clusters.lock().unwrap();
        if let Some(cluster) = clusters.get_mut(&self.1) {
            cluster.unanswered -= 1;
            cluster.answered = Some(Instant::now());
        }
    }
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
            ..Connectors::default()
        };
        let observed = observed(&client, &log);
        controller::spawn(observed, clock, aro(settings), connectors)
    });
    let mut made = 0;
    for &count in counts {
        let start = Instant::now();
        add(kubeconfig, apart, made..count);
        let took = start.elapsed().as_secs_f64();
        let spans = std::mem::take(&mut *log.spans.lock().unwrap());
        println!(
            "{count} clusters: {took:.1} s for {}; {} MiB, at most {} MiB",
            count - made,
            resident("VmRSS:") >> 20,
            resident("VmHWM:") >> 20,
        );
        println!(
            "from a resource that is ready to the next write of its cluster ({} times): {}; when the server had answered all earlier writes: {}",
            spans.len(),
            percentiles(spans.iter().map(|span| span.whole)),
            percentiles(spans.iter().map(|span| span.own)),
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
        let is_write = request.method() == Method::PATCH;
        let written = cluster(uri.path()).filter(|_| is_write);
        let under_way = written.map(|cluster| log.written(cluster));
        async move {
            let answer = client.send(request).await;
            drop(under_way);
            let (parts, body) = answer?.into_parts();
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
            log.ready(cluster);
        }
    }
}

/// The median, 90th and 99th percentile of these times.
fn percentiles(spans: impl Iterator<Item = Duration>) -> String {
    let mut spans: Vec<Duration> = spans.collect();
    spans.sort();
    let at = |percent: usize| {
        let span = spans.get((spans.len() * percent / 100).min(spans.len().saturating_sub(1)));
        span.map_or(0.0, |span| span.as_secs_f64() * 1e3)
    };
    format!(
        "{:.1} ms, {:.1} ms at p90, {:.1} ms at p99",
        at(50),
        at(90),
        at(99)
    )
}

/// A line of what Linux reports of this process, in bytes.
fn resident(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|held| held.strip_prefix(line));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
