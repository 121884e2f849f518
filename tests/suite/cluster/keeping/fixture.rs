//! A fleet kept on one server or the other, and everything that is asked of that server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use capstan::adapters::kubernetes::{Options, Target, compare, run_once};
use capstan::apply::{Assignment, DeletionGuard, Parent, Progress, PruneStatus, Report, State};
use capstan::compile::{Compiled, compile};
use capstan::daemon::WallClock;
use capstan::model::{Clock, ObjectId};
use capstan::plan::approvals::{Approval, What};
use capstan::plan::{ApplySet, Plan, against_none};
use http::Request;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::task::AbortOnDropHandle;

use crate::fleet::tree;
use crate::kubernetes::Kubernetes;
use crate::patience::PATIENCE;
use crate::servers::Server;

/// One server, and a namespace in it.
pub(super) struct Fixture {
    pub(super) client: Client,
    clock: Arc<dyn Clock>,
    pub(super) namespace: String,
    /// Whether a Deployment becomes ready: the simulator has no controllers.
    pub(super) has_controllers: bool,
    requests: Arc<Mutex<Vec<(String, String)>>>,
}

/// A fleet that is being kept.
pub(super) struct Kept {
    reports: UnboundedReceiver<(u64, Report)>,
    pub(super) seen: Vec<Progress>,
    pub(super) leaving: BTreeMap<String, PruneStatus>,
    _task: AbortOnDropHandle<()>,
}

/// What a revision is, besides its objects.
#[derive(Clone, Default)]
pub(super) struct Revision {
    pub(super) fleet: &'static str,
    pub(super) name: &'static str,
    pub(super) approved: &'static [&'static str],
}

/// Revision `name` of the fleet `one`.
pub(super) fn revision(name: &'static str) -> Revision {
    Revision {
        fleet: "one",
        name,
        approved: &[],
    }
}

/// Proves it on the simulator, and on a real server where there is one. `name` is of the namespace.
pub(super) fn prove(name: &str, behaviour: &impl AsyncFn(&Fixture)) {
    on_real(name, behaviour);
    on_simulator(name, behaviour);
}

/// Proves it on a real server alone, where there is one: of what the simulator does not have.
pub(super) fn on_real(name: &str, behaviour: &impl AsyncFn(&Fixture)) {
    if let Some(real) = Kubernetes::orderly() {
        on(&Server::Real(real), name, behaviour);
    }
}

/// Proves it on the simulator alone, whose time passes at once.
pub(super) fn on_simulator(name: &str, behaviour: &impl AsyncFn(&Fixture)) {
    on(&Server::simulator(), name, behaviour);
}

fn on(server: &Server, name: &str, behaviour: &impl AsyncFn(&Fixture)) {
    server.runtime().block_on(async {
        let fixture = Fixture::open(server, &name.replace('_', "-")).await;
        behaviour(&fixture).await;
    });
}

impl Fixture {
    async fn open(server: &Server, namespace: &str) -> Self {
        let client = server.client().await;
        let made =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let made = serde_json::from_value(made).expect("a namespace");
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
        namespaces
            .create(&PostParams::default(), &made)
            .await
            .expect("it is new");
        let clock: Arc<dyn Clock> = match server {
            Server::Simulator(_) => {
                Arc::new(kube_sim::SimClock::new(jiff::Timestamp::UNIX_EPOCH, 1))
            }
            Server::Real(_) => Arc::new(WallClock::start()),
        };
        Self {
            client,
            clock,
            namespace: namespace.to_owned(),
            has_controllers: matches!(server, Server::Real(_)),
            requests: Arc::default(),
        }
    }

    /// A client whose requests are counted.
    fn counted(&self) -> Client {
        let (client, requests) = (self.client.clone(), Arc::clone(&self.requests));
        let service = tower::service_fn(move |request: Request<Body>| {
            let asked = (request.method().to_string(), request.uri().to_string());
            requests.lock().expect("nobody panicked").push(asked);
            let client = client.clone();
            async move { client.send(request).await }
        });
        Client::new(service, "default")
    }

    /// The requests so far that are no watch; they are forgotten.
    pub(super) fn asked(&self) -> Vec<(String, String)> {
        let mut requests = self.requests.lock().expect("nobody panicked");
        let mut asked = std::mem::take(&mut *requests);
        asked.retain(|(_, uri)| !uri.contains("watch=true"));
        asked
    }

    /// The writes among them.
    pub(super) fn writes(&self) -> Vec<(String, String)> {
        let mut asked = self.asked();
        asked.retain(|(method, _)| method != "GET");
        asked
    }

    pub(super) fn set(&self, fleet: &str) -> ApplySet {
        ApplySet::new(fleet, self.namespace.as_str())
    }

    /// The data of the parent of a fleet's set.
    pub(super) async fn parent(&self, fleet: &str) -> Parent {
        let set = self.set(fleet);
        let live = self.config_map(&set.parent().name).await;
        Parent::read(&set, &live.expect("it was written")).expect("it is ours")
    }

    /// The fleet of `yaml`; NS in it is the namespace.
    fn planned(&self, yaml: &str, set: &ApplySet) -> (Compiled, Plan) {
        let yaml = yaml.replace("NS", &self.namespace);
        let compiled = compile(&tree([("fleet.yaml", yaml)]), &[]);
        assert!(!compiled.has_errors(), "{:#?}", compiled.findings);
        let plan = against_none(&compiled.objects, &compiled.graph, set);
        (compiled, plan)
    }

    /// The fields of the ConfigMap `name` that applying `yaml` would change, as a plan says beforehand.
    pub(super) async fn would_change(&self, yaml: &str, name: &str) -> Vec<String> {
        let set = self.set("one");
        let (_, plan) = self.planned(yaml, &set);
        let guard = DeletionGuard::default();
        let compared = compare(&self.client, &set, plan, guard, &BTreeSet::new()).await;
        let mut compared = compared.expect("the server answers");
        let id = ObjectId::new("", "ConfigMap", self.namespace.as_str(), name);
        compared.fields.remove(&id).unwrap_or_default()
    }

    /// Begins to keep `yaml`; NS in it is the namespace.
    pub(super) fn begin(&self, yaml: &str, revision: &Revision) -> Kept {
        let set = self.set(revision.fleet);
        let (compiled, plan) = self.planned(yaml, &set);
        let approved = revision.approved.iter();
        let approved = approved.map(|name| name.replace("NS", &self.namespace));
        let approvals = approved.map(|name| Approval::flag(What::deletion(&name).unwrap()));
        let approvals: Vec<Approval> = approvals.collect();
        let assignment = Assignment {
            revision: revision.name.to_owned(),
            prune: true,
            ..Assignment::new(Arc::new(plan), compiled.embedded())
        };
        let target = Target::new(self.counted(), Arc::clone(&self.clock));
        let (sender, reports) = unbounded_channel();
        let options = Options {
            concurrency: 8,
            set,
        };
        let task = tokio::spawn(run_once(target, options, assignment, approvals, sender));
        Kept {
            reports,
            seen: Vec::new(),
            leaving: BTreeMap::new(),
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// Keeps `yaml` until everything was applied and removed what was to be.
    pub(super) async fn keep(&self, yaml: &str, revision: &Revision) -> Kept {
        let mut kept = self.begin(yaml, revision);
        kept.settles().await;
        kept
    }

    fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    pub(super) async fn live(&self, api_version: &str, kind: &str, name: &str) -> Option<Json> {
        let live = self
            .api(api_version, kind)
            .get_opt(name)
            .await
            .expect("it is served");
        live.map(|live| serde_json::to_value(live).expect("JSON"))
    }

    pub(super) async fn config_map(&self, name: &str) -> Option<Json> {
        self.live("v1", "ConfigMap", name).await
    }

    /// The ConfigMaps of the namespace that are neither a parent nor the cluster's own.
    pub(super) async fn config_maps(&self) -> Vec<String> {
        let all = self
            .api("v1", "ConfigMap")
            .list(&Default::default())
            .await
            .expect("listed");
        let names = all.iter().map(ResourceExt::name_any);
        names
            .filter(|name| !name.starts_with("capstan-") && !name.starts_with("kube-"))
            .collect()
    }

    /// Makes an object of the whole cluster.
    pub(super) async fn create_wide(&self, object: &Json) {
        let text = |key: &str| object[key].as_str().expect("a text");
        let (group, version) = text("apiVersion").rsplit_once('/').expect("a group");
        let kind = GroupVersionKind::gvk(group, version, text("kind"));
        let api: Api<DynamicObject> =
            Api::all_with(self.client.clone(), &ApiResource::from_gvk(&kind));
        let made = serde_json::from_value(object.clone()).expect("an object");
        let made = api.create(&PostParams::default(), &made).await;
        made.expect("it is new");
    }

    /// A ConfigMap as the cluster would make it.
    pub(super) async fn would_be(&self, map: &Json) -> Json {
        let params = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let map = serde_json::from_value(map.clone()).expect("an object");
        let would_be = self.api("v1", "ConfigMap").create(&params, &map).await;
        serde_json::to_value(would_be.expect("it is taken")).expect("JSON")
    }

    /// Applies an object as somebody else.
    pub(super) async fn apply_as(&self, manager: &str, object: &Json) {
        let params = PatchParams::apply(manager).force();
        self.patch(object, &params, &Patch::Apply(object)).await;
    }

    /// Makes an object as somebody else.
    pub(super) async fn create_as(&self, manager: &str, object: &Json) {
        let params = PostParams {
            field_manager: Some(manager.to_owned()),
            ..PostParams::default()
        };
        let made = serde_json::from_value(object.clone()).expect("an object");
        let api = self.api("v1", "ConfigMap");
        api.create(&params, &made).await.expect("it is new");
    }

    /// Changes an object as somebody else.
    pub(super) async fn change_as(&self, manager: &str, object: &Json) {
        let params = PatchParams {
            field_manager: Some(manager.to_owned()),
            ..PatchParams::default()
        };
        self.patch(object, &params, &Patch::Merge(object)).await;
    }

    async fn patch(&self, object: &Json, params: &PatchParams, patch: &Patch<&Json>) {
        let text = |key: &str| object[key].as_str().expect("a text");
        let api = self.api(text("apiVersion"), text("kind"));
        let name = object["metadata"]["name"].as_str().expect("a name");
        api.patch(name, params, patch).await.expect("it is taken");
    }

    pub(super) async fn delete(&self, name: &str) {
        let api = self.api("v1", "ConfigMap");
        api.delete(name, &Default::default())
            .await
            .expect("it is there");
    }
}

impl Kept {
    async fn next(&mut self) -> Report {
        let next = tokio::time::timeout(PATIENCE, self.reports.recv()).await;
        let Ok(Some((_, report))) = next else {
            panic!(
                "nothing more was reported after {:#?} {:#?}",
                self.seen, self.leaving
            );
        };
        match &report {
            Report::Object(progress) => self.seen.push(progress.clone()),
            Report::Prune(id, leaving) => {
                drop(self.leaving.insert(id.to_string(), leaving.clone()))
            }
            Report::Settled
            | Report::Stuck(_)
            | Report::Away(_)
            | Report::Begun
            | Report::Applied(..)
            | Report::Denied
            | Report::Unseen(..)
            | Report::Recording(_)
            | Report::Suspended(_) => {}
        }
        report
    }

    pub(super) async fn settles(&mut self) {
        while self.next().await != Report::Settled {}
    }

    /// The next progress of `name` in `state`.
    pub(super) async fn until(&mut self, name: &str, state: State) -> Progress {
        loop {
            if let Report::Object(progress) = self.next().await
                && progress.object.name == name
                && progress.state == state
            {
                return progress;
            }
        }
    }

    /// Receives the next report; false when none arrives in time.
    pub(super) async fn reports_within(&mut self, while_: Duration) -> bool {
        let next = tokio::time::timeout(while_, self.reports.recv()).await;
        matches!(next, Ok(Some(_)))
    }

    /// Waits until a condition of the reports and the live objects holds.
    pub(super) async fn until_so(&mut self, holds: impl AsyncFn() -> bool) {
        assert!(comes(holds).await, "it never came to be: {:#?}", self.seen);
    }

    /// How `name` leaves, by the last word.
    pub(super) fn left(&self, kind: &str, namespace: &str, name: &str) -> Option<&PruneStatus> {
        let id = ObjectId::new("", kind, namespace, name);
        self.leaving.get(&id.to_string())
    }
}

/// Whether something comes to hold.
pub(super) async fn comes(holds: impl AsyncFn() -> bool) -> bool {
    let end = tokio::time::Instant::now() + PATIENCE;
    while !holds().await {
        if tokio::time::Instant::now() > end {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    true
}

/// A ConfigMap in a fleet.
pub(super) fn map(name: &str, value: &str) -> String {
    annotated(name, value, "{}")
}

/// The same with annotations.
pub(super) fn annotated(name: &str, value: &str, annotations: &str) -> String {
    format!(
        "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: NS, annotations: {annotations}}}, data: {{k: {value}}}}}\n"
    )
}

/// The same as somebody else writes it.
pub(super) fn theirs(name: &str, data: &Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}
