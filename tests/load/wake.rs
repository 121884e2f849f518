//! How long a step waits that nothing keeps any more: 1,000 ConfigMaps depend on 1,000 StatefulSets.
//! 32 writers, on a thread of their own, make one after the other ready, and wait for its ConfigMap to be
//! made before the next, so that 32 steps are under way. The time runs from the event on our watch to our
//! request about the ConfigMap, and from before the write of the status to that request.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use capstan::adapters::kubernetes::{Options, Target, run_once};
use capstan::apply::{Assignment, Report, State};
use capstan::compile::compile;
use capstan::daemon::WallClock;
use capstan::model::Tree;
use capstan::plan::{ApplySet, against_none};
use futures::StreamExt as _;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Patch, PatchParams};
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value as Json, json};

use tokio::sync::{Notify, oneshot};

use super::{AT_ONCE, Fixture, object};

const PAIRS: usize = 1_000;

/// When something happened to a pair.
#[derive(Clone, Copy, Default)]
struct Times {
    written: Option<Instant>,
    seen: Option<Instant>,
    asked: Option<Instant>,
}

/// What happened to each pair, and who waits for its ConfigMap to be made.
struct Log {
    times: Mutex<BTreeMap<String, Times>>,
    made: BTreeMap<String, Notify>,
}

impl Log {
    fn new() -> Arc<Self> {
        let made = (0..PAIRS).map(|at| (format!("app-{at}"), Notify::new()));
        Arc::new(Self {
            times: Mutex::default(),
            made: made.collect(),
        })
    }

    fn note(&self, name: &str, which: fn(&mut Times) -> &mut Option<Instant>) {
        let mut times = self.times.lock().unwrap();
        which(times.entry(name.to_owned()).or_default()).get_or_insert_with(Instant::now);
    }
}

impl Fixture<'_> {
    /// Prints the median and the 99th of 100.
    pub(super) fn wake(&self) {
        let log = Log::new();
        let (opens, opened) = oneshot::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut runtime = tokio::runtime::Builder::new_current_thread();
                let runtime = runtime.enable_all().build().unwrap();
                runtime.block_on(async {
                    opened.await.unwrap();
                    open_all(&self.server.client().await, &log).await;
                });
            });
            self.runtime.block_on(self.pairs(&log, opens));
        });
        let log = log.times.lock().unwrap();
        let spans = |from: fn(&Times) -> Option<Instant>, to: fn(&Times) -> Option<Instant>| {
            let spans = log
                .values()
                .map(|times| to(times).unwrap() - from(times).unwrap());
            let mut spans: Vec<Duration> = spans.collect();
            spans.sort();
            let milliseconds = |at: usize| spans[at].as_secs_f64() * 1e3;
            let (median, worst) = (milliseconds(PAIRS / 2), milliseconds(PAIRS * 99 / 100));
            format!("{median:.1} ms, at p99 {worst:.1} ms")
        };
        println!(
            "\nfrom the event on the watch to the request: {}",
            spans(|times| times.seen, |times| times.asked)
        );
        println!(
            "from before the write of the status to the request: {}",
            spans(|times| times.written, |times| times.asked)
        );
    }

    async fn pairs(&self, log: &Arc<Log>, opens: oneshot::Sender<()>) {
        let client = self.server.client().await;
        let mut yaml = String::new();
        for object in (0..PAIRS).flat_map(pair) {
            let _ = writeln!(yaml, "---\n{object}");
        }
        let tree = Tree {
            files: [(Arc::from("fleet.yaml"), Arc::from(yaml.as_bytes()))].into(),
            ..Tree::default()
        };
        let compiled = compile(&tree, &[]);
        assert!(!compiled.has_errors(), "{:?}", compiled.findings.first());
        let set = ApplySet::new("wake", "default");
        let plan = against_none(&compiled.objects, &compiled.graph, &set);
        let assignment = Assignment::new(Arc::new(plan), compiled.embedded());
        let target = Target::new(observed(&client, log), Arc::new(WallClock::start()));
        let options = Options {
            concurrency: AT_ONCE,
            set,
        };
        let (sender, mut reports) = tokio::sync::mpsc::unbounded_channel();
        let runs = tokio::spawn(run_once(target, options, assignment, Vec::new(), sender));
        let mut opens = Some(opens);
        let mut gates = 0;
        let mut maps = 0;
        while maps < PAIRS {
            let (_, report) = reports.recv().await.unwrap();
            let Report::Object(progress) = report else {
                continue;
            };
            match (progress.object.kind.as_str(), progress.state) {
                ("StatefulSet", State::Applied) => gates += 1,
                ("ConfigMap", State::Applied) => maps += 1,
                (_, State::Failed) => panic!("{}: {}", progress.object, progress.message),
                _ => continue,
            }
            if gates == PAIRS
                && let Some(opens) = opens.take()
            {
                opens.send(()).unwrap();
            }
        }
        runs.abort();
    }
}

/// A StatefulSet, for which nobody but us writes a status, and a ConfigMap that waits for it.
fn pair(at: usize) -> [Json; 2] {
    let labels = json!({"app": format!("app-{at}")});
    let gate = json!({"spec": {"replicas": 1, "serviceName": "none", "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": "example.invalid/app"}]}}}});
    let mut map = object("v1", "ConfigMap", at, &json!({"data": {"k": "v"}}));
    let gate_id = format!("apps/namespaces/default/StatefulSet/app-{at}");
    map["metadata"]["annotations"] = json!({"config.kubernetes.io/depends-on": gate_id});
    [object("apps/v1", "StatefulSet", at, &gate), map]
}

/// Makes all of them ready, so many at once.
async fn open_all(client: &Client, log: &Log) {
    let api: Api<StatefulSet> = Api::namespaced(client.clone(), "default");
    let status = json!({"status": {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1,
        "currentReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1}});
    let (api, status) = (&api, &status);
    let writes = log.made.iter().map(|(name, made)| async move {
        log.note(name, |times| &mut times.written);
        let params = PatchParams::default();
        let written = api.patch_status(name, &params, &Patch::Merge(status)).await;
        written.unwrap();
        made.notified().await;
    });
    let writes = futures::stream::iter(writes).buffer_unordered(AT_ONCE);
    writes.collect::<Vec<()>>().await;
}

/// A client that notes when a StatefulSet is seen to be ready, and when a ConfigMap is asked for.
fn observed(client: &Client, log: &Arc<Log>) -> Client {
    let (client, log) = (client.clone(), Arc::clone(log));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, log) = (client.clone(), Arc::clone(&log));
        let path = request.uri().path().to_owned();
        let map = path.split_once("/configmaps/").map(|(_, name)| name);
        let map = map.filter(|name| log.made.contains_key(*name));
        let map = map.map(str::to_owned);
        if let Some(name) = &map {
            log.note(name, |times| &mut times.asked);
        }
        let watches = path.ends_with("/statefulsets")
            && request
                .uri()
                .query()
                .unwrap_or_default()
                .contains("watch=true");
        async move {
            let (parts, body) = client.send(request).await?.into_parts();
            if let Some(made) = map.and_then(|name| log.made.get(&name)) {
                made.notify_one();
            }
            let mut pending = Vec::new();
            let body = body.map_frame(move |frame| {
                if let Some(data) = frame.data_ref().filter(|_| watches) {
                    pending.extend_from_slice(data);
                    read_events(&mut pending, &log);
                }
                frame
            });
            Ok::<_, kube::Error>(Response::from_parts(parts, body))
        }
    });
    Client::new(service, "default")
}

/// Spares reading the events of StatefulSets that are not ready.
const READY: &[u8] = b"\"readyReplicas\":1";

fn read_events(pending: &mut Vec<u8>, log: &Log) {
    while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
        let line: Vec<u8> = pending.drain(..=end).collect();
        if !line.windows(READY.len()).any(|part| part == READY) {
            continue;
        }
        let event: Json = serde_json::from_slice(&line).unwrap_or_default();
        if event["object"]["status"]["readyReplicas"] == 1 {
            let name = event["object"]["metadata"]["name"]
                .as_str()
                .unwrap_or_default();
            log.note(name, |times| &mut times.seen);
        }
    }
}
