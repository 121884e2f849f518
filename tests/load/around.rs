//! What is around the ARO controllers in a benchmark, each in a process of its own so that theirs can be measured: Cluster
//! API, ASO and Azure; the API server, if it is not a real one; and somebody who adds clusters.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use capstan::adapters::azure_sim;
use capstan::adapters::azure_sim::crds::foreign;
use capstan::adapters::kubernetes::controller::{self, Connectors};
use capstan::api::crds::crds;
use capstan::compile::compile;
use capstan::daemon::wall_time;
use capstan::model::Clock;
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use kube_sim::{Server, SimClock};
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;
use tokio::time::Instant;

use super::{AT_ONCE, generate};

/// How much faster than outside time passes on the simulated server.
pub(super) const SPEED: u32 = 20;
/// How much slower it passes for those that are played on a real server. A cluster takes them ten minutes at full speed,
/// and so 20 here, the least that Azure takes.
const SLOWNESS: u32 = 2;
/// How far behind the fast clock begins: what it reports must not lie in the future, in runs of up to an hour.
const BEHIND: Duration = Duration::from_secs(20 * 3600);

/// Plays Cluster API, ASO and Azure on the cluster of a kubeconfig.
pub(super) const PLAY: &str = "play";
/// Does so on a simulated server, whose kubeconfig it writes.
pub(super) const SERVE: &str = "serve";
/// Adds clusters to the cluster of a kubeconfig, and waits until they are ready. Further arguments: the pause between two of
/// them in milliseconds, the first number, and the number after the last.
const ADD: &str = "add";

/// A process that plays until this is dropped.
pub(super) struct Playing(Child);

impl Playing {
    pub(super) fn start(how: &str, kubeconfig: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        Self(command.arg(how).arg(kubeconfig).spawn().unwrap())
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Adds clusters, and waits until they are ready.
pub(super) fn add(kubeconfig: &Path, apart: Duration, indexes: Range<usize>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(ADD).arg(kubeconfig);
    command.args([apart.as_millis().to_string(), indexes.start.to_string()]);
    let status = command.arg(indexes.end.to_string()).status();
    assert!(status.unwrap().success());
}

/// Does what this process was started for, if that is something of this. Returns whether it was.
pub(super) fn act(runtime: &Runtime, asked: &[String]) -> bool {
    let words: Vec<&str> = asked.iter().map(String::as_str).collect();
    match words[..] {
        [PLAY, kubeconfig] => runtime.block_on(async {
            let clock = Arc::new(SlowClock::start());
            play(connect(kubeconfig.as_ref()).await, clock).await;
        }),
        [SERVE, kubeconfig] => runtime.block_on(serve(kubeconfig.into())),
        [ADD, kubeconfig, apart, from, to] => {
            let apart = Duration::from_millis(apart.parse().unwrap());
            let indexes = from.parse().unwrap()..to.parse().unwrap();
            runtime.block_on(async {
                let client = connect(kubeconfig.as_ref()).await;
                provision(&client, apart, indexes).await;
            });
        }
        _ => return false,
    }
    true
}

/// The time outside, slower.
struct SlowClock {
    epoch: Timestamp,
    start: Instant,
}

impl SlowClock {
    fn start() -> Self {
        let (epoch, start) = (wall_time(), Instant::now());
        Self { epoch, start }
    }
}

impl Clock for SlowClock {
    fn now(&self) -> Timestamp {
        self.epoch + self.start.elapsed() / SLOWNESS
    }

    fn real(&self, duration: Duration) -> Duration {
        duration * SLOWNESS
    }
}

async fn serve(kubeconfig: PathBuf) {
    let clock = Arc::new(SimClock::new(wall_time() - BEHIND, SPEED));
    let server = Server::new(Arc::<SimClock>::clone(&clock));
    let router = server.router();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "simulated",
        "clusters": [{"name": "simulated", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "simulated", "user": {}}],
        "contexts": [{"name": "simulated", "context": {"cluster": "simulated", "user": "simulated"}}],
    });
    // Whoever sees the file reads all of it.
    let unfinished = kubeconfig.with_extension("unfinished");
    std::fs::write(&unfinished, config.to_string()).unwrap();
    std::fs::rename(unfinished, kubeconfig).unwrap();
    play(server.client("default"), clock).await;
}

async fn play(client: Client, clock: Arc<dyn Clock>) {
    let actors = azure_sim::controllers(&azure_sim::Options::default());
    let _running = controller::spawn(client, clock, actors, Connectors::default());
    std::future::pending::<()>().await;
}

pub(super) async fn connect(kubeconfig: &Path) -> Client {
    let access = capstan::adapters::kubernetes::Access {
        kubeconfig: Some(kubeconfig.to_owned()),
        context: None,
    };
    let client = capstan::adapters::kubernetes::connect(&access).await;
    client.unwrap()
}

/// Applies these definitions, one `apart` after the other, and waits until every Cluster is provisioned and every node pool
/// is ready; each cluster has one.
async fn provision(client: &Client, apart: Duration, indexes: Range<usize>) {
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
        let next = Instant::now() + apart;
        let applied = objects.iter().map(|object| apply(client, object));
        let applied = futures::stream::iter(applied).buffer_unordered(AT_ONCE);
        applied.try_collect::<Vec<()>>().await.unwrap();
        tokio::time::sleep_until(next).await;
    }
    let is_provisioned =
        |one: &Json| one["status"]["initialization"]["infrastructureProvisioned"] == true;
    let is_ready = |one: &Json| {
        let conditions = one["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
    };
    let (capi, infrastructure) = ("cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io");
    wait(client, (capi, "Cluster"), indexes.end, is_provisioned).await;
    wait(
        client,
        (infrastructure, "AROMachinePool"),
        indexes.end,
        is_ready,
    )
    .await;
}

/// Waits until so many objects of a kind are done.
async fn wait(
    client: &Client,
    (group, kind): (&str, &str),
    count: usize,
    is_done: impl Fn(&Json) -> bool,
) {
    loop {
        match list(client, &format!("{group}/v1beta2"), kind).await {
            Ok(all) if all.iter().filter(|one| is_done(&one.data)).count() >= count => return,
            Ok(_) => {}
            Err(error) => eprintln!("cannot list {kind}: {error}"),
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

/// The kinds, the namespace, and the identity that the definitions name.
pub(super) async fn install(client: &Client) {
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

async fn list(client: &Client, api_version: &str, kind: &str) -> kube::Result<Vec<DynamicObject>> {
    let resource = resource(&json!({"apiVersion": api_version, "kind": kind}));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    Ok(api.list(&ListParams::default()).await?.items)
}

/// The name of the cluster in a text: `fleet-` and a number.
pub(super) fn cluster(text: &str) -> Option<&str> {
    let name = text.find("fleet-").and_then(|start| text.get(start..))?;
    let digits = name.bytes().skip(6).take_while(u8::is_ascii_digit).count();
    name.get(..6 + digits).filter(|_| digits > 0)
}
