//! A cluster in this process and a plan that is carried out on it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use capstan::adapters::azure_sim as actors;
use capstan::adapters::azure_sim::crds::foreign;
use capstan::adapters::kubernetes::controller::Running;
use capstan::adapters::kubernetes::{Options, Target, run_once};
use capstan::apply::{Assignment, Progress, Report, State};
use capstan::compile::{Compiled, compile};
use capstan::model::{Clock, EmbeddedId};
use capstan::plan::{ApplySet, Plan, against_none};
use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use kube_sim::Server;
use kube_sim::SimClock;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::task::AbortOnDropHandle;

use crate::fleet::tree;
use crate::play::play;

/// Longer than any back-off.
const PATIENCE: Duration = Duration::from_secs(3600);

pub(super) struct Fixture {
    pub(super) server: Server,
    pub(super) clock: Arc<dyn Clock>,
    actors: Option<Running>,
}

impl Fixture {
    /// An API server with nothing but what it is born with.
    pub(super) fn new() -> Self {
        Self::at_speed(1)
    }

    /// The same, and its time passes `speed` times faster than outside.
    pub(super) fn at_speed(speed: u32) -> Self {
        let time = SimClock::new(Timestamp::UNIX_EPOCH, speed);
        let clock: Arc<dyn Clock> = Arc::new(time);
        Self {
            server: Server::new(Arc::new(time)),
            clock,
            actors: None,
        }
    }

    /// With the kinds of Cluster API and ASO, and their controllers at work.
    pub(super) async fn with_azure() -> Self {
        let mut fixture = Self::new();
        for crd in foreign().into_iter().chain(capstan::api::crds::crds()) {
            fixture.apply("somebody", &crd).await;
        }
        let options = actors::Options::default();
        fixture.actors = Some(play(&fixture.client(), &fixture.clock, &options));
        fixture
    }

    pub(super) fn client(&self) -> Client {
        self.server.client("default")
    }

    /// Writes an object as another manager.
    pub(super) async fn apply(&self, manager: &str, object: &Json) {
        let params = PatchParams::apply(manager).force();
        let name = text(object, &["metadata", "name"]);
        let patch = Patch::Apply(object);
        self.api(object)
            .patch(&name, &params, &patch)
            .await
            .expect("the server takes it");
    }

    pub(super) async fn delete(&self, object: &Json) {
        let name = text(object, &["metadata", "name"]);
        self.api(object)
            .delete(&name, &kube::api::DeleteParams::default())
            .await
            .expect("it is there");
    }

    fn api(&self, object: &Json) -> Api<DynamicObject> {
        let api_version = text(object, &["apiVersion"]);
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
        let kind = GroupVersionKind::gvk(group, version, &text(object, &["kind"]));
        let resource = ApiResource::from_gvk(&kind);
        match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client(), namespace, &resource),
            None => Api::all_with(self.client(), &resource),
        }
    }

    /// The live object.
    pub(super) fn live(&self, kind: &str, name: &str) -> Json {
        let all = self.server.snapshot();
        let found = all
            .into_iter()
            .find(|live| live["kind"] == kind && live["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    /// The names of what the fleet made, in the order it was made.
    pub(super) fn made(&self) -> Vec<String> {
        let mut made: BTreeMap<u64, String> = BTreeMap::new();
        for live in self.server.snapshot() {
            if live["metadata"]["labels"]["applyset.kubernetes.io/part-of"].is_string() {
                made.insert(version(&live), text(&live, &["metadata", "name"]));
            }
        }
        made.into_values().collect()
    }

    /// Carries out the fleet in `yaml`.
    pub(super) fn run(&self, yaml: &str) -> Run {
        self.run_through(self.server.router(), yaml, 32)
    }

    /// Applies the fleet in `yaml` through `router`, a layer before the server.
    pub(super) fn run_through(&self, router: Router, yaml: &str, concurrency: usize) -> Run {
        let compiled = fleet(yaml);
        let plan = Arc::new(against_none(&compiled.objects, &compiled.graph, &set()));
        self.start(router, plan, compiled.embedded(), concurrency)
    }

    /// Carries out `plan` and watches `embedded`.
    pub(super) fn start(
        &self,
        router: Router,
        plan: Arc<Plan>,
        embedded: Vec<EmbeddedId>,
        concurrency: usize,
    ) -> Run {
        let target = Target::new(Client::new(router, "default"), Arc::clone(&self.clock));
        let assignment = Assignment::new(plan, embedded);
        self.assign(target, assignment, concurrency)
    }

    /// Carries out `assignment`.
    pub(super) fn assign(&self, target: Target, assignment: Assignment, concurrency: usize) -> Run {
        let options = Options {
            concurrency,
            set: set(),
        };
        let (sender, progress) = unbounded_channel();
        let steps = assignment.plan.steps.len();
        let task = tokio::spawn(run_once(target, options, assignment, Vec::new(), sender));
        Run {
            steps,
            progress,
            seen: Vec::new(),
            others: Vec::new(),
            _task: AbortOnDropHandle::new(task),
        }
    }
}

/// Whether a request is about the parent of the set.
pub(super) fn is_of_the_parent(request: &http::Request<axum::body::Body>) -> bool {
    request.uri().path().ends_with("/configmaps/capstan-test")
}

/// The set of the test's fleet.
pub(crate) fn set() -> ApplySet {
    ApplySet::new("test", "default")
}

/// The fleet in one file.
pub(crate) fn fleet(yaml: &str) -> Compiled {
    let compiled = compile(&tree([("fleet.yaml", yaml)]), &[]);
    assert!(!compiled.has_errors(), "{:#?}", compiled.findings);
    compiled
}

/// A plan that is being carried out.
pub(super) struct Run {
    pub(super) steps: usize,
    progress: UnboundedReceiver<(u64, Report)>,
    /// The progress reported so far.
    pub(super) seen: Vec<Progress>,
    /// Reports that belong to no step.
    pub(super) others: Vec<Report>,
    _task: AbortOnDropHandle<()>,
}

impl Run {
    /// Waits until `name` reaches `state`.
    pub(super) async fn until(&mut self, name: &str, state: State) -> Progress {
        self.until_progress(|progress| progress.object.name == name && progress.state == state)
            .await
    }

    /// Waits for matching progress.
    pub(super) async fn until_progress(&mut self, is_it: impl Fn(&Progress) -> bool) -> Progress {
        loop {
            let progress = tokio::time::timeout(PATIENCE, self.progress.recv()).await;
            let Ok(Some((_, report))) = progress else {
                panic!("it was never reported; but this was: {:#?}", self.seen);
            };
            let Report::Object(progress) = report else {
                self.others.push(report);
                continue;
            };
            self.seen.push(progress.clone());
            assert!(
                self.seen.len() < 10_000,
                "{progress:?} is reported for ever"
            );
            if is_it(&progress) {
                return progress;
            }
        }
    }

    /// Waits until every step is ready.
    pub(super) async fn until_ready(&mut self) {
        while self.ready().len() < self.steps {
            self.until_progress(|progress| progress.state == State::Ready)
                .await;
        }
    }

    /// The names of the objects reported as ready.
    pub(super) fn ready(&self) -> Vec<&str> {
        let ready = self
            .seen
            .iter()
            .filter(|progress| progress.state == State::Ready);
        let mut names: Vec<&str> = ready
            .map(|progress| progress.object.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// When `name` first reached `state`.
    pub(super) fn when(&self, name: &str, state: State) -> Timestamp {
        let first = self
            .seen
            .iter()
            .find(|progress| progress.object.name == name && progress.state == state);
        first
            .unwrap_or_else(|| panic!("{name} was never {state:?}"))
            .at
    }
}

/// The definition of a custom kind; its `spec.size` is a number.
pub(crate) fn crd(kind: &str, scope: &str) -> Json {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.test.dev")},
        "spec": {
            "group": "test.dev",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "scope": scope,
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

pub(crate) fn namespace(name: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub(super) fn text(object: &Json, path: &[&str]) -> String {
    let found = path.iter().fold(object, |value, key| &value[*key]);
    found.as_str().unwrap_or_default().to_owned()
}

pub(super) fn version(live: &Json) -> u64 {
    text(live, &["metadata", "resourceVersion"])
        .parse()
        .expect("a number")
}
