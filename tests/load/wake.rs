//! How long a step waits that nothing keeps any more: 1,000 ConfigMaps depend on 1,000 StatefulSets.
//! 32 writers make one after the other ready, and wait for its ConfigMap before the next. The time runs
//! from the event on our watch to our first request about the ConfigMap, and from before the write of the
//! status to the PATCH, before which the ConfigMap is looked for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use capstan::adapters::kubernetes::{Assignment, Options, Target, run_once};
use capstan::compile::compile;
use capstan::daemon::WallClock;
use capstan::model::Tree;
use capstan::plan::{ApplySet, Report, State, against_none};
use futures::StreamExt as _;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Patch, PatchParams};
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value as Json, json};

use super::{AT_ONCE, Stage, object};

const PAIRS: usize = 1_000;

/// When something happened to a pair.
#[derive(Clone, Copy, Default)]
struct Times {
    written: Option<Instant>,
    seen: Option<Instant>,
    asked: Option<Instant>,
    sent: Option<Instant>,
}

type Log = Arc<Mutex<BTreeMap<String, Times>>>;

impl Stage<'_> {
    /// Prints the median and the 99th of 100.
    pub(super) fn wake(&self) {
        let log = Log::default();
        self.runtime.block_on(self.pairs(&log));
        let log = log.lock().unwrap();
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
            "\nfrom the event on the watch to the first request: {}",
            spans(|times| times.seen, |times| times.asked)
        );
        println!(
            "from before the write of the status to the PATCH: {}",
            spans(|times| times.written, |times| times.sent)
        );
    }

    async fn pairs(&self, log: &Log) {
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
        let target = Target {
            client: observed(&client, log),
            clock: Arc::new(WallClock::start()),
        };
        let options = Options {
            concurrency: AT_ONCE,
            set,
        };
        let (sender, mut reports) = tokio::sync::mpsc::unbounded_channel();
        let runs = tokio::spawn(run_once(target, options, assignment, sender));
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
            if gates == PAIRS {
                gates += 1;
                let (client, log) = (client.clone(), Arc::clone(log));
                tokio::spawn(async move { open_all(&client, &log).await });
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

/// Makes all of them ready.
async fn open_all(client: &Client, log: &Log) {
    let api: Api<StatefulSet> = Api::namespaced(client.clone(), "default");
    let writes = (0..PAIRS).map(|at| {
        let (api, name) = (api.clone(), format!("app-{at}"));
        async move {
            let status = json!({"status": {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1,
                "currentReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1}});
            let patch = Patch::Merge(&status);
            note(log, &name, |times| &mut times.written);
            api.patch_status(&name, &PatchParams::default(), &patch)
                .await
                .unwrap();
            let is_sent = || log.lock().unwrap()[&name].sent.is_some();
            while !is_sent() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    futures::stream::iter(writes)
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<()>>()
        .await;
}

fn note(log: &Log, name: &str, which: fn(&mut Times) -> &mut Option<Instant>) {
    let mut log = log.lock().unwrap();
    which(log.entry(name.to_owned()).or_default()).get_or_insert_with(Instant::now);
}

/// A client that notes when a StatefulSet is seen to be ready, and when a ConfigMap is sent.
fn observed(client: &Client, log: &Log) -> Client {
    let (client, log) = (client.clone(), Arc::clone(log));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, log) = (client.clone(), Arc::clone(&log));
        let path = request.uri().path().to_owned();
        if path.contains("/configmaps/app-") {
            let name = path.rsplit('/').next().unwrap_or_default();
            note(&log, name, |times| &mut times.asked);
            if request.method() == "PATCH" {
                note(&log, name, |times| &mut times.sent);
            }
        }
        let watches = path.ends_with("/statefulsets")
            && request
                .uri()
                .query()
                .unwrap_or_default()
                .contains("watch=true");
        async move {
            let (parts, body) = client.send(request).await?.into_parts();
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

fn read_events(pending: &mut Vec<u8>, log: &Log) {
    while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
        let line: Vec<u8> = pending.drain(..=end).collect();
        let event: Json = serde_json::from_slice(&line).unwrap_or_default();
        if event["object"]["status"]["readyReplicas"] == 1 {
            let name = event["object"]["metadata"]["name"]
                .as_str()
                .unwrap_or_default();
            note(log, name, |times| &mut times.seen);
        }
    }
}
