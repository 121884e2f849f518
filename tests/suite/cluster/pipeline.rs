//! The main job on both servers: the shipped program, a kubeconfig, and the actors at work on the
//! other side, whose twenty minutes take seconds.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use capstan::adapters::azure_sim as actors;
use capstan::adapters::azure_sim::crds::foreign;
use capstan::adapters::kubernetes::controller::Running;
use capstan::adapters::kubernetes::{Access, connect};
use capstan::daemon::wall_time;
use capstan::model::{CheckState, Clock};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube_sim::SimClock;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::shared;
use crate::daemon::{DEFINITION, SYNC, World, identity};
use crate::kubernetes::{Kubernetes, if_asked};
use crate::play::play;
use crate::servers::{anonymous, serve};

/// How much faster than outside time passes for the actors.
const SPEED: u32 = 600;

/// Sets somebody to work on a management cluster.
pub(super) trait Play: FnOnce(&Client, &Arc<dyn Clock>) -> Running {}

impl<F: FnOnce(&Client, &Arc<dyn Clock>) -> Running> Play for F {}

/// A management cluster whose systems are played, and the kubeconfig to reach it.
pub(super) struct Management {
    pub(super) kubeconfig: PathBuf,
    pub(super) client: Client,
    pub(super) runtime: Runtime,
    _actors: Running,
    /// The simulator, unless it is a real one.
    pub(super) server: Option<kube_sim::Server>,
    _dir: TempDir,
    _real: Option<Kubernetes>,
}

impl Management {
    /// `speed` times faster than outside.
    pub(super) fn simulated(speed: u32, options: actors::Options) -> Self {
        Self::simulated_with(speed, move |client, clock| play(client, clock, &options))
    }

    /// The same with others at work.
    pub(super) fn simulated_with(speed: u32, play: impl Play) -> Self {
        let time = SimClock::new(wall_time(), speed);
        let clock: Arc<dyn Clock> = Arc::new(time);
        let runtime = runtime();
        let dir = tempfile::tempdir().expect("a directory");
        let kubeconfig = dir.path().join("kubeconfig");
        let server = kube_sim::Server::new(Arc::new(time));
        let address = runtime.block_on(serve(server.clone()));
        std::fs::write(&kubeconfig, anonymous(&address)).expect("written");
        let opened = Self::open(runtime, dir, kubeconfig, (clock, play), None);
        Self {
            server: Some(server),
            ..opened
        }
    }

    /// On a real server of its own; none unless one is asked for.
    pub(super) fn real(speed: u32, options: actors::Options) -> Option<Self> {
        Self::real_with(speed, move |client, clock| play(client, clock, &options))
    }

    /// The same with others at work.
    pub(super) fn real_with(speed: u32, play: impl Play) -> Option<Self> {
        let real = if_asked(Kubernetes::own)?;
        let clock: Arc<dyn Clock> = Arc::new(SimClock::new(wall_time(), speed));
        let dir = tempfile::tempdir().expect("a directory");
        let kubeconfig = real.kubeconfig().to_owned();
        let work = (clock, play);
        Some(Self::open(runtime(), dir, kubeconfig, work, Some(real)))
    }

    /// In a namespace of the real server that tests share; none when the machine has none.
    pub(super) fn shared(namespace: &str, speed: u32) -> Option<Self> {
        let kubeconfig = shared::server()?.kubeconfig().to_owned();
        let clock: Arc<dyn Clock> = Arc::new(SimClock::new(wall_time(), speed));
        let (runtime, dir) = (runtime(), tempfile::tempdir().expect("a directory"));
        let (client, actors) = runtime.block_on(async {
            let client = shared::within(Self::client(&kubeconfig).await, namespace);
            expected(&client, namespace).await;
            let actors = play(&client, &clock, &actors::Options::default());
            (client, actors)
        });
        Some(Self {
            kubeconfig,
            client,
            runtime,
            _actors: actors,
            server: None,
            _dir: dir,
            _real: None,
        })
    }

    async fn client(kubeconfig: &Path) -> Client {
        let access = Access {
            kubeconfig: Some(kubeconfig.to_owned()),
            context: None,
        };
        connect(&access).await.expect("the kubeconfig is whole")
    }

    /// Installs the kinds and what a fleet expects, and lets the actors play.
    fn open(
        runtime: Runtime,
        dir: TempDir,
        kubeconfig: PathBuf,
        (clock, play): (Arc<dyn Clock>, impl Play),
        real: Option<Kubernetes>,
    ) -> Self {
        let (client, actors) = runtime.block_on(async {
            let client = Self::client(&kubeconfig).await;
            for definition in foreign().into_iter().chain(capstan::api::crds::crds()) {
                apply(&client, &definition).await;
            }
            established(&client).await;
            expected(&client, "clusters").await;
            let actors = play(&client, &clock);
            (client, actors)
        });
        Self {
            kubeconfig,
            client,
            runtime,
            _actors: actors,
            server: None,
            _dir: dir,
            _real: real,
        }
    }

    pub(super) fn capstan(&self, arguments: &[&str]) -> Output {
        self.capstan_on(&self.kubeconfig, arguments)
    }

    /// The same by another way to the cluster.
    pub(super) fn capstan_on(&self, kubeconfig: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
        command.args(arguments).arg("--kubeconfig").arg(kubeconfig);
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        command.output().expect("it runs")
    }

    /// Which version the nodes of a node pool are asked to have.
    pub(super) fn pool_version(&self, name: &str) -> String {
        let live = self.live("infrastructure.cluster.x-k8s.io", "AROMachinePool", name);
        let at = "/spec/resources/0/spec/properties/version/id";
        let version = live.data.pointer(at).and_then(Json::as_str);
        version.expect("a version").to_owned()
    }

    /// The owner in the annotation of a node pool; empty without the annotation.
    pub(super) fn pool_owner(&self, name: &str) -> String {
        let live = self.live("cluster.x-k8s.io", "MachinePool", name);
        let annotations = live.metadata.annotations.unwrap_or_default();
        annotations.get("owner").cloned().unwrap_or_default()
    }

    fn live(&self, group: &str, kind: &str, name: &str) -> DynamicObject {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1beta2", kind));
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), "clusters", &resource);
        self.runtime.block_on(api.get(name)).expect("it is there")
    }

    /// How many objects there are of a kind of Cluster API.
    pub(super) fn count(&self, group: &str, kind: &str) -> usize {
        self.versions(group, "v1beta2", kind).len()
    }

    /// The uids of all objects of a kind.
    fn uids(&self, group: &str, version: &str, kind: &str) -> Vec<Option<String>> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let listed = self.runtime.block_on(api.list(&ListParams::default()));
        let listed = listed.expect("the kind is served").into_iter();
        listed.map(|object| object.metadata.uid).collect()
    }

    /// The versions of all objects of a kind, by name.
    fn versions(&self, group: &str, version: &str, kind: &str) -> Vec<(String, String)> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let listed = self.runtime.block_on(api.list(&ListParams::default()));
        let pair = |object: DynamicObject| {
            let metadata = object.metadata;
            Some((metadata.name?, metadata.resource_version?))
        };
        listed
            .expect("the kind is served")
            .into_iter()
            .filter_map(pair)
            .collect()
    }
}

pub(super) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Makes what a fleet expects in its namespace.
pub(super) async fn expected(client: &Client, namespace: &str) {
    let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    apply(client, &made).await;
    let mut identity = identity(&json!({}));
    identity["metadata"]["namespace"] = json!(namespace);
    apply(client, &identity).await;
}

pub(super) async fn apply(client: &Client, object: &Json) {
    apply_as("suite", client, object).await;
}

/// The same as a manager.
pub(super) async fn apply_as(manager: &str, client: &Client, object: &Json) {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let api_version = text(&object["apiVersion"]);
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
    let kind = GroupVersionKind::gvk(group, version, &text(&object["kind"]));
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let (name, params) = (
        text(&object["metadata"]["name"]),
        PatchParams::apply(manager).force(),
    );
    let applied = api.patch(&name, &params, &Patch::Apply(object)).await;
    applied.unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Waits until every definition is served.
pub(super) async fn established(client: &Client) {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    let is_served = |definition: &DynamicObject| {
        let conditions = definition.data["status"]["conditions"].as_array().cloned();
        let mut conditions = conditions.unwrap_or_default().into_iter();
        conditions.any(|one| one["type"] == "Established" && one["status"] == "True")
    };
    for _ in 0..600 {
        let all = api.list(&ListParams::default()).await.expect("definitions");
        if all.items.iter().all(is_served) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the definitions were never served");
}

/// Nothing is lost on the way, and a second time nothing is written.
fn a_fleet_becomes_ready(cluster: &Management) {
    let output = cluster.capstan(&["apply", "examples/quickstart", "--wait", "--timeout", "5m"]);
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{talk}");
    assert!(talk.contains("55/55 ready"), "{talk}");
    let kinds = [
        ("cluster.x-k8s.io", "v1beta2", "Cluster"),
        ("infrastructure.cluster.x-k8s.io", "v1beta2", "AROCluster"),
        (
            "controlplane.cluster.x-k8s.io",
            "v1beta2",
            "AROControlPlane",
        ),
        (
            "infrastructure.cluster.x-k8s.io",
            "v1beta2",
            "AROMachinePool",
        ),
    ];
    let versions = || kinds.map(|(group, version, kind)| cluster.versions(group, version, kind));
    let before = versions();
    assert!(
        before.iter().all(|objects| objects.len() == 1),
        "{before:?}"
    );
    let again = cluster.capstan(&["apply", "examples/quickstart", "--wait", "--timeout", "1m"]);
    assert!(
        again.status.success(),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );
    assert_eq!(
        before,
        versions(),
        "an unchanged fleet is not written again"
    );
}

/// A push, a broken push, and a kill in the middle of the next.
fn a_repository_is_followed(cluster: &Management) {
    let mut world = World::on(Some(&cluster.kubeconfig));
    let first = world.push("main", None, DEFINITION);
    world.start(SPEED);
    let success = world.wait(&first, SYNC, CheckState::Success);
    assert_eq!(success.title, "55/55 ready");
    let broken = world.push(
        "main",
        Some(&first),
        &DEFINITION.replace("vmSize", "vmsize"),
    );
    world.wait(&broken, SYNC, CheckState::Failure);
    assert_eq!(
        world.check(&first, SYNC).map(|check| check.state),
        Some(CheckState::Success),
        "what was applied stays"
    );
    let more =
        format!("{DEFINITION}  - name: mp2\n    version: 4.20.17\n    vmSize: Standard_D4s_v3\n");
    let second = world.push("main", Some(&broken), &more);
    world.wait_for_check(&second, SYNC);
    world.kill();
    world.start(SPEED);
    let success = world.wait(&second, SYNC, CheckState::Success);
    assert_eq!(success.title, "58/58 ready");
    another_api_version_replaces_nothing(cluster, &world, (&second, &more));
}

/// A push that changes `armAPIVersion`: the records of kinds follow, and every object is the one it was.
fn another_api_version_replaces_nothing(
    cluster: &Management,
    world: &World,
    (applied, definition): (&str, &str),
) {
    const KINDS: [&str; 2] = ["HcpOpenShiftCluster", "HcpOpenShiftClustersNodePool"];
    const NEWER: &str = "v1api20260630preview";
    let uids = || {
        let of = |kind: &str| cluster.uids("redhatopenshift.azure.com", NEWER, kind);
        KINDS.map(of)
    };
    let records = || {
        let parts = [
            ("controlplane.cluster.x-k8s.io", "AROControlPlane", "one"),
            (
                "infrastructure.cluster.x-k8s.io",
                "AROMachinePool",
                "one-mp1",
            ),
        ];
        parts.map(|(group, kind, name)| {
            let annotations = cluster.live(group, kind, name).metadata.annotations;
            let record = "sigs.k8s.io/cluster-api-provider-azure-owned-aso-kinds";
            annotations.and_then(|all| all.get(record).cloned())
        })
    };
    let (before, recorded) = (uids(), records());
    assert!(before.iter().all(|uids| !uids.is_empty()));
    let newer = definition.replace("spec:\n", "spec:\n  armAPIVersion: 2026-06-30-preview\n");
    let third = world.push("main", Some(applied), &newer);
    world.wait(&third, SYNC, CheckState::Success);
    assert_eq!(uids(), before, "nothing is deleted and made again");
    for (before, after) in recorded.into_iter().zip(records()) {
        let (before, after) = (before.expect("a record"), after.expect("a record"));
        assert!(!before.contains(NEWER), "{before}");
        let is_newer = |entry: &str| entry.contains(NEWER) || !entry.contains("redhatopenshift");
        assert!(after.split(';').all(is_newer), "{after}");
    }
}

#[test]
fn the_main_job_is_done_on_the_simulator() {
    let cluster = Management::simulated(SPEED, actors::Options::default());
    a_fleet_becomes_ready(&cluster);
    a_repository_is_followed(&cluster);
}

#[test]
fn the_main_job_is_done_on_kube_apiserver() {
    if let Some(cluster) = Management::shared("clusters", SPEED) {
        a_fleet_becomes_ready(&cluster);
        a_repository_is_followed(&cluster);
    }
}
