//! The nodes of workload clusters, as HyperShift would create them.
//!
//! In: the node pools and HCP clusters of the management cluster, watched once for all workload clusters. Out: as many
//! nodes as each pool reports, with the label and the provider id that real ones have; all of them are ready. Their names
//! are made of the pool's, so that they are the same in every run. No kubeconfig is looked at: nobody refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt as _};
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tower::BoxError;

use crate::api::kinds::{self, Kind, RED_HAT_OPENSHIFT};
use crate::health::Live;
use crate::model::{AdapterError, Clock, ObjectId, WorkloadNode, Workloads};
use crate::reconcile::snapshot::Snapshot;
use crate::reconcile::world::{GroupKind, Parent, World};

const HCP_CLUSTER: &str = "HcpOpenShiftCluster";
const NODE_POOL: &str = "HcpOpenShiftClustersNodePool";

/// The most nodes of one pool: as many as Azure allows a whole cluster (facts/aro-rules.md N25).
const MOST_NODES: usize = 500;

/// The longest value of a label.
const LONGEST_LABEL: usize = 63;

/// How long a broken watch waits before it is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the management cluster may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The workload clusters of a management cluster.
#[derive(Clone)]
pub struct SimulatedWorkloads(Arc<Inner>);

struct Inner {
    client: Client,
    pause: Duration,
    known: Arc<Mutex<Known>>,
    /// Watches the management cluster once somebody asks.
    task: OnceLock<AbortOnDropHandle<()>>,
}

impl SimulatedWorkloads {
    /// The workload clusters of the management cluster behind `client`, whose time `clock` has.
    #[must_use]
    pub fn new(client: Client, clock: &dyn Clock) -> Self {
        Self(Arc::new(Inner {
            client: patient(client),
            pause: clock.real(PAUSE),
            known: Arc::default(),
            task: OnceLock::new(),
        }))
    }
}

impl fmt::Debug for SimulatedWorkloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedWorkloads").finish_non_exhaustive()
    }
}

impl Workloads for SimulatedWorkloads {
    fn nodes(
        &self,
        cluster: &ObjectId,
        _: &[u8],
    ) -> BoxStream<'static, Result<Vec<WorkloadNode>, AdapterError>> {
        let Inner {
            client,
            pause,
            known,
            task,
        } = &*self.0;
        task.get_or_init(|| {
            let watches = [HCP_CLUSTER, NODE_POOL].map(|kind| {
                let kind = kinds::find(RED_HAT_OPENSHIFT, kind);
                follow(client.clone(), kind, *pause, Arc::clone(known))
            });
            let both = async move { drop(futures::future::join_all(watches).await) };
            AbortOnDropHandle::new(tokio::spawn(both))
        });
        let receiver = known.lock().subscribe(cluster);
        let inner = Arc::clone(&self.0);
        let next = |(mut receiver, inner): (watch::Receiver<Nodes>, Arc<Inner>)| async move {
            loop {
                receiver.changed().await.ok()?;
                let nodes = receiver.borrow_and_update().clone();
                if let Some(nodes) = nodes {
                    return Some((Ok(nodes), (receiver, inner)));
                }
            }
        };
        stream::unfold((receiver, inner), next).boxed()
    }
}

/// The nodes of a cluster, once they are known.
type Nodes = Option<Vec<WorkloadNode>>;

/// What is known of the management cluster, and who wants to know of which workload cluster.
#[derive(Default)]
struct Known {
    snapshot: Snapshot,
    asked: BTreeMap<ObjectId, watch::Sender<Nodes>>,
}

impl Known {
    /// The nodes of a cluster, now and whenever they change; none as long as they are not known.
    fn subscribe(&mut self, cluster: &ObjectId) -> watch::Receiver<Nodes> {
        let sender = self.asked.entry(cluster.clone());
        let sender = sender.or_insert_with(|| watch::channel(None).0);
        let mut receiver = sender.subscribe();
        receiver.mark_changed();
        self.publish(&cluster.namespace, &cluster.name);
        receiver
    }

    /// Reports the nodes of a cluster, if somebody asked and all of them are known.
    fn publish(&self, namespace: &str, name: &str) {
        let kinds = [HCP_CLUSTER, NODE_POOL].map(|kind| GroupKind::new(RED_HAT_OPENSHIFT, kind));
        let cluster = ObjectId::new(kinds::CAPI, "Cluster", namespace, name);
        let Some(sender) = self.asked.get(&cluster) else {
            return;
        };
        if kinds.iter().all(|kind| self.snapshot.is_synced(kind)) {
            let nodes = Some(nodes(World::of(&self.snapshot), &cluster));
            sender.send_if_modified(|held| {
                let is_new = *held != nodes;
                *held = nodes;
                is_new
            });
        }
    }

    fn insert(&mut self, object: Value) {
        let live = Live(&object);
        let (namespace, cluster) = (live.namespace().to_owned(), cluster(live).to_owned());
        self.snapshot.insert(object);
        self.publish(&namespace, &cluster);
    }

    fn remove(&mut self, id: &ObjectId) {
        if let Some(object) = self.snapshot.remove(id) {
            self.publish(&id.namespace, cluster(Live(&object)));
        }
    }

    /// A list of a kind is complete.
    fn listed(&mut self, kind: &GroupKind, listed: &BTreeSet<ObjectId>) {
        let gone = self
            .snapshot
            .of_kind(kind)
            .filter(|id| !listed.contains(id));
        for id in gone.cloned().collect::<Vec<_>>() {
            self.snapshot.remove(&id);
        }
        self.snapshot.sync(kind, true);
        for asked in self.asked.keys() {
            self.publish(&asked.namespace, &asked.name);
        }
    }
}

/// A client that waits for no answer for ever: a list comes and a watch begins in time. Of a watch that has begun the
/// watcher sees by itself that nothing comes any more.
fn patient(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request| {
        let client = client.clone();
        async move {
            let answer = client.send(request);
            let answer = tokio::time::timeout(PATIENCE, answer).await;
            answer.map_err(BoxError::from)?.map_err(BoxError::from)
        }
    });
    Client::new(service, namespace)
}

/// Watches a kind, at the newest version that is served.
async fn follow(
    client: Client,
    kind: Option<&'static Kind>,
    pause: Duration,
    known: Arc<Mutex<Known>>,
) {
    let Some(kind) = kind else { return };
    for version in kind.versions.iter().rev().cycle() {
        let named = GroupVersionKind::gvk(kind.group, version, kind.kind);
        let resource = ApiResource::from_gvk_with_plural(&named, kind.plural);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let mut events = pin!(watcher::watcher(api, watcher::Config::default()));
        let mut listed = BTreeSet::new();
        while let Some(Ok(event)) = events.next().await {
            match event {
                Event::Init => listed.clear(),
                Event::InitApply(object) => {
                    let object = slim(kind, &object);
                    listed.insert(Live(&object).id());
                    known.lock().insert(object);
                }
                Event::InitDone => {
                    let kind = GroupKind::new(kind.group, kind.kind);
                    known.lock().listed(&kind, &listed);
                }
                Event::Apply(object) => known.lock().insert(slim(kind, &object)),
                Event::Delete(object) => known.lock().remove(&Live(&slim(kind, &object)).id()),
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// What nodes are made of.
fn slim(kind: &Kind, object: &DynamicObject) -> Value {
    let live = Live(&object.data);
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    json!({
        "apiVersion": format!("{}/x", kind.group),
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"owner": live.at(&["spec", "owner"]), "azureName": live.at(&["spec", "azureName"])},
        "status": {"id": live.at(&["status", "id"]), "properties": {
            "replicas": live.at(&["status", "properties", "replicas"]),
            "dns": live.at(&["status", "properties", "dns"]),
        }},
    })
}

/// The cluster that an HCP cluster or a node pool belongs to.
fn cluster(live: Live<'_>) -> &str {
    match live.kind() {
        HCP_CLUSTER => live.name(),
        _ => live.text(&["spec", "owner", "name"]),
    }
}

/// The nodes of a cluster: those of all its pools.
pub(super) fn nodes(world: World<'_>, cluster: &ObjectId) -> Vec<WorkloadNode> {
    let ObjectId {
        namespace, name, ..
    } = cluster;
    let hcp = ObjectId::new(
        RED_HAT_OPENSHIFT,
        HCP_CLUSTER,
        namespace.as_str(),
        name.as_str(),
    );
    let hcp = world.get(&hcp).present();
    let path = ["status", "properties", "dns", "baseDomainPrefix"];
    let prefix = hcp.map_or("", |hcp| hcp.text(&path));
    let prefix = if prefix.is_empty() { name } else { prefix };
    let pools = Parent::new(RED_HAT_OPENSHIFT, NODE_POOL, namespace, name);
    let pools = world.below(&pools);
    pools.flat_map(|pool| nodes_of(pool, prefix)).collect()
}

/// The nodes of a pool. It reports none before it was ready once, and those it had while it is updated.
fn nodes_of(pool: Live<'_>, prefix: &str) -> impl Iterator<Item = WorkloadNode> {
    let name = match pool.text(&["spec", "azureName"]) {
        "" => pool.name(),
        name => name,
    };
    let label = format!("{prefix}-{name}");
    let label: String = label.chars().take(LONGEST_LABEL).collect();
    let mut parts = pool.text(&["status", "id"]).split('/').skip(2);
    let subscription = parts.next().unwrap_or_default();
    let group = parts.nth(1).unwrap_or_default();
    let machines = format!(
        "azure:///subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute/virtualMachines"
    );
    let count = pool.count(&["status", "properties", "replicas"]);
    let count = usize::try_from(count).unwrap_or(0).min(MOST_NODES);
    (0..count).map(move |number| {
        let name = format!("{label}-{number:03}");
        WorkloadNode {
            provider_id: format!("{machines}/{name}"),
            name,
            pool: label.clone(),
            ready: true,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use jiff::Timestamp;
    use kube::api::{Patch, PatchParams};
    use kube_sim::{Server, SimClock};
    use tokio::time::Instant;

    use super::super::crds;
    use super::*;
    use crate::api::kinds::KINDS;

    fn pool(azure_name: &str, replicas: i64) -> Value {
        json!({"apiVersion": "redhatopenshift.azure.com/v1", "kind": NODE_POOL,
            "metadata": {"name": "c-np", "namespace": "ns"},
            "spec": {"owner": {"name": "c"}, "azureName": azure_name},
            "status": {"id": "/subscriptions/s/resourceGroups/rg/providers/x/hcpOpenShiftClusters/c/nodePools/np",
                "properties": {"replicas": replicas}}})
    }

    fn nodes_with(objects: Vec<Value>) -> Vec<WorkloadNode> {
        let mut snapshot = Snapshot::default();
        objects
            .into_iter()
            .for_each(|object| snapshot.insert(object));
        let cluster = ObjectId::new(kinds::CAPI, "Cluster", "ns", "c");
        nodes(World::of(&snapshot), &cluster)
    }

    #[test]
    fn a_pool_has_as_many_nodes_as_it_reports_and_azure_would_give() {
        let nodes = nodes_with(vec![pool("np", 2)]);
        let machines = "azure:///subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines";
        let ids: Vec<&str> = nodes.iter().map(|node| node.provider_id.as_str()).collect();
        assert_eq!(ids, ["000", "001"].map(|n| format!("{machines}/c-np-{n}")));
        for (replicas, count) in [(0, 0), (-1, 0), (100_000, 500)] {
            assert_eq!(nodes_with(vec![pool("np", replicas)]).len(), count);
        }
    }

    #[test]
    fn the_label_of_a_node_has_the_domain_prefix_and_is_cut() {
        let hcp = json!({"apiVersion": "redhatopenshift.azure.com/v1", "kind": HCP_CLUSTER,
            "metadata": {"name": "c", "namespace": "ns"},
            "status": {"properties": {"dns": {"baseDomainPrefix": "prefix"}}}});
        let label = |objects| nodes_with(objects)[0].pool.clone();
        assert_eq!(label(vec![pool("np", 1)]), "c-np");
        assert_eq!(label(vec![pool("", 1)]), "c-c-np");
        assert_eq!(label(vec![pool("np", 1), hcp]), "prefix-np");
        assert_eq!(label(vec![pool(&"x".repeat(80), 1)]).len(), 63);
    }

    async fn apply(client: &Client, object: &Value) {
        let live = Live(object);
        let known = KINDS.iter().find(|known| known.kind == live.kind());
        let plural = known.map_or("customresourcedefinitions", |known| known.plural);
        let named = GroupVersionKind::gvk(live.group(), live.version(), live.kind());
        let resource = ApiResource::from_gvk_with_plural(&named, plural);
        let api: Api<DynamicObject> = match live.namespace() {
            "" => Api::all_with(client.clone(), &resource),
            namespace => Api::namespaced_with(client.clone(), namespace, &resource),
        };
        let params = PatchParams::apply("somebody").force();
        let patch = Patch::Apply(object);
        api.patch(live.name(), &params, &patch)
            .await
            .expect("it is applied");
        if object.get("status").is_some() {
            api.patch_status(live.name(), &params, &patch)
                .await
                .expect("it has a status");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nodes_follow_the_pools_of_the_management_cluster() {
        let clock = SimClock::new(Timestamp::UNIX_EPOCH, 1);
        let client = Server::new(Arc::new(clock)).client("default");
        for kind in [HCP_CLUSTER, NODE_POOL] {
            let kind = kinds::find(RED_HAT_OPENSHIFT, kind).expect("it is known");
            apply(&client, &crds::definition(kind)).await;
        }
        let mut pool = pool("np", 2);
        pool["apiVersion"] = json!("redhatopenshift.azure.com/v1api20251223preview");
        pool["metadata"]["namespace"] = json!("default");
        pool["spec"]["location"] = json!("uksouth");
        apply(&client, &pool).await;
        let workloads = SimulatedWorkloads::new(client.clone(), &clock);
        let id = |name: &str| ObjectId::new(kinds::CAPI, "Cluster", "default", name);
        let mut ours = workloads.nodes(&id("c"), b"");
        let mut empty = workloads.nodes(&id("d"), b"");
        let count = |heard: Option<Result<Vec<WorkloadNode>, AdapterError>>| {
            heard.expect("it goes on").expect("nobody refuses").len()
        };
        assert_eq!(count(ours.next().await), 2);
        assert_eq!(count(empty.next().await), 0);
        pool["status"]["properties"]["replicas"] = json!(3);
        apply(&client, &pool).await;
        assert_eq!(count(ours.next().await), 3);
        let again = workloads.nodes(&id("c"), b"").next().await;
        assert_eq!(count(again), 3, "the watch is shared");
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_is_not_answered_within_30_seconds_is_asked_for_again() {
        let clock = SimClock::new(Timestamp::UNIX_EPOCH, 1);
        let server = Server::new(Arc::new(clock));
        let client = server.client("default");
        for kind in [HCP_CLUSTER, NODE_POOL] {
            let kind = kinds::find(RED_HAT_OPENSHIFT, kind).expect("it is known");
            apply(&client, &crds::definition(kind)).await;
        }
        let asked = Arc::new(AtomicUsize::new(0));
        let silent = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (client, number) = (client.clone(), asked.fetch_add(1, Ordering::SeqCst));
            async move {
                if number < 2 {
                    std::future::pending::<()>().await;
                }
                client.send(request).await
            }
        });
        let silent = Client::new(silent, "default");
        let start = Instant::now();
        let cluster = ObjectId::new(kinds::CAPI, "Cluster", "default", "c");
        let mut nodes = SimulatedWorkloads::new(silent, &clock).nodes(&cluster, b"");
        assert!(nodes.next().await.is_some());
        assert!(start.elapsed() >= PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_is_watched_at_the_version_that_is_served_a_second_after_each_that_is_not() {
        let clock = SimClock::new(Timestamp::UNIX_EPOCH, 1);
        let client = Server::new(Arc::new(clock)).client("default");
        let served = "v1api20251223preview";
        let mut newer = 0;
        for kind in [HCP_CLUSTER, NODE_POOL] {
            let kind = kinds::find(RED_HAT_OPENSHIFT, kind).expect("it is known");
            let mut definition = crds::definition(kind);
            let versions = definition["spec"]["versions"]
                .as_array_mut()
                .expect("versions");
            versions.retain(|version| version["name"] == served);
            versions[0]["storage"] = json!(true);
            apply(&client, &definition).await;
            newer = kind
                .versions
                .iter()
                .rev()
                .position(|one| *one == served)
                .expect("it is known");
        }
        let start = Instant::now();
        let cluster = ObjectId::new(kinds::CAPI, "Cluster", "default", "c");
        let mut nodes = SimulatedWorkloads::new(client, &clock).nodes(&cluster, b"");
        assert!(nodes.next().await.is_some());
        let newer = u32::try_from(newer).expect("a small number");
        assert!(newer > 0);
        assert_eq!(start.elapsed(), PAUSE * newer);
    }
}
