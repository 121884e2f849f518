//! A management cluster whose other systems are played, and an Azure that records what is done to it.
//!
//! On the simulator time is paused and jumps; on a real server it passes some times faster than outside.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use capstan::adapters::azure_sim::crds::foreign;
use capstan::adapters::azure_sim::{Azure, Deed, Options};
use capstan::adapters::kubernetes::controller::Running;
use capstan::api::kinds::KINDS;
use capstan::daemon::wall_time;
use capstan::health::health;
use capstan::model::Clock;
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube_sim::{Server, SimClock};
use serde_json::{Value as Json, json};

use super::manifests::{Cluster, NAMESPACE};
use crate::cluster::pipeline::{apply, established, expected};
use crate::cluster::shared;
use crate::kubernetes::{Kubernetes, if_asked};
use crate::patience::PATIENCE;
use crate::play::{actors, ours};

/// How much faster than outside time passes on a real server.
const SPEED: u32 = 600;
/// The same where a Lease is held: its holder renews it within 10 seconds.
const LEASED_SPEED: u32 = 60;
/// Longer than anything that works takes.
const LONGEST: Duration = Duration::from_secs(6 * 3600);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_secs(5);

/// The answer of an API server, which may ask to be asked later while it begins to serve a kind.
async fn answered<T>(ask: impl AsyncFn() -> kube::Result<T>) -> T {
    let start = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(kube::Error::Api(status)) if status.code == 429 && start.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Err(error) => panic!("no answer: {error}"),
        }
    }
}

/// A management cluster with Azure behind it.
pub(super) struct Fixture {
    pub(super) client: Client,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) azure: Azure,
    /// The simulator, unless it is a real one.
    pub(super) server: Option<Server>,
    real: Option<Kubernetes>,
}

/// Runs a test on the simulator.
pub(super) fn on_simulator(test: impl AsyncFnOnce(&Fixture)) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        test(&Fixture::simulated(Azure::default().recording()).await).await;
    });
}

/// Runs a test on the real server that tests share, if there is one: it is the only one of this folder that does, so
/// that the namespace is its own.
pub(super) fn on_shared_kube_apiserver(test: impl AsyncFnOnce(&Fixture)) {
    if let Some(server) = shared::server() {
        let runtime = crate::cluster::pipeline::runtime();
        runtime.block_on(async { test(&Fixture::shared(server).await).await });
    }
}

/// Runs a test on a real server of its own, if that is asked for.
pub(super) fn on_kube_apiserver(test: impl AsyncFnOnce(&Fixture)) {
    on_real(SPEED, test);
}

/// The same for a test in which processes hold a Lease.
pub(super) fn on_kube_apiserver_with_lease(test: impl AsyncFnOnce(&Fixture)) {
    on_real(LEASED_SPEED, test);
}

fn on_real(speed: u32, test: impl AsyncFnOnce(&Fixture)) {
    let runtime = crate::cluster::pipeline::runtime();
    runtime.block_on(async {
        if let Some(fixture) = Fixture::real_at(Azure::default().recording(), speed).await {
            test(&fixture).await;
        }
    });
}

impl Fixture {
    /// On a simulator of its own.
    pub(super) async fn simulated(azure: Azure) -> Self {
        let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
        let server = Server::new(Arc::new(time));
        let fixture = Self {
            client: server.client("default"),
            clock: Arc::new(time),
            azure,
            server: Some(server),
            real: None,
        };
        fixture.install().await;
        fixture
    }

    /// On the real server that tests share.
    async fn shared(server: &Kubernetes) -> Self {
        let client = shared::within(server.client().await, NAMESPACE);
        expected(&client, NAMESPACE).await;
        Self {
            client,
            clock: Arc::new(SimClock::new(wall_time(), SPEED)),
            azure: Azure::default().recording(),
            server: None,
            real: None,
        }
    }

    /// On a real server of its own; none unless one is asked for.
    pub(super) async fn real(azure: Azure) -> Option<Self> {
        Self::real_at(azure, SPEED).await
    }

    async fn real_at(azure: Azure, speed: u32) -> Option<Self> {
        let real = if_asked(Kubernetes::own)?;
        let fixture = Self {
            client: real.client().await,
            clock: Arc::new(SimClock::new(wall_time(), speed)),
            azure,
            server: None,
            real: Some(real),
        };
        fixture.install().await;
        Some(fixture)
    }

    async fn install(&self) {
        for definition in foreign().into_iter().chain(capstan::api::crds::crds()) {
            apply(&self.client, &definition).await;
        }
        established(&self.client).await;
        expected(&self.client, NAMESPACE).await;
    }

    /// The administrator's kubeconfig of a real server.
    pub(super) fn kubeconfig(&self) -> &Path {
        let real = self.real.as_ref().expect("a real server");
        real.kubeconfig()
    }

    /// The systems around our controllers.
    pub(super) fn actors(&self) -> Running {
        let options = Options {
            azure: self.azure.clone(),
            ..Options::default()
        };
        actors(&self.client, &self.clock, &options)
    }

    /// Our controllers.
    pub(super) fn ours(&self) -> Running {
        ours(&self.client, &self.clock)
    }

    /// Applies a cluster as it is now.
    pub(super) async fn apply(&self, cluster: &Cluster) {
        for object in cluster.objects() {
            apply(&self.client, &object).await;
        }
    }

    /// The API of a kind at the newest version that is known.
    pub(super) fn api(&self, kind: &str) -> Api<DynamicObject> {
        let (group, version, plural) = match KINDS.iter().find(|known| known.kind == kind) {
            Some(known) => (known.group, known.versions.last().copied(), known.plural),
            None => ("", Some("v1"), ""),
        };
        let named = GroupVersionKind::gvk(group, version.expect("a version"), kind);
        let resource = match plural {
            "" => ApiResource::from_gvk(&named),
            plural => ApiResource::from_gvk_with_plural(&named, plural),
        };
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
    }

    /// An object; none if it does not exist.
    pub(super) async fn get(&self, kind: &str, name: &str) -> Option<Json> {
        let found = answered(async || self.api(kind).get_opt(name).await).await;
        found.map(|object| serde_json::to_value(object).expect("JSON"))
    }

    /// An object that exists.
    pub(super) async fn live(&self, kind: &str, name: &str) -> Json {
        let found = self.get(kind, name).await;
        found.unwrap_or_else(|| panic!("{kind} {name} does not exist"))
    }

    /// Every object of Cluster API, the ARO provider and ASO, by kind and name.
    pub(super) async fn objects(&self) -> BTreeMap<(String, String), Json> {
        let mut all = BTreeMap::new();
        for known in KINDS
            .iter()
            .filter(|known| known.kind != "AzureClusterIdentity")
        {
            let all_of_kind = ListParams::default();
            for object in answered(async || self.api(known.kind).list(&all_of_kind).await).await {
                let name = object.metadata.name.clone().unwrap_or_default();
                let mut object = serde_json::to_value(object).expect("JSON");
                object["kind"] = json!(known.kind);
                object["apiVersion"] = json!(format!(
                    "{}/{}",
                    known.group,
                    known.versions.last().expect("a version")
                ));
                all.insert((known.kind.to_owned(), name), object);
            }
        }
        all
    }

    /// What is not ready, and why.
    pub(super) async fn unready(&self) -> Vec<String> {
        let all = self.objects().await.into_iter();
        let all = all.map(|((kind, name), object)| (format!("{kind}/{name}"), health(&object)));
        let unready = all.filter(|(_, health)| !health.is_ready());
        unready
            .map(|(id, health)| format!("{id}: {health:?}"))
            .collect()
    }

    /// Changes an object by a merge patch, as a person.
    pub(super) async fn merge(&self, kind: &str, name: &str, patch: &Json) {
        let params = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        let patched = self
            .api(kind)
            .patch(name, &params, &Patch::Merge(patch))
            .await;
        patched.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
    }

    /// Deletes an object, as a person.
    pub(super) async fn delete(&self, kind: &str, name: &str) {
        let deleted = self.api(kind).delete(name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
    }

    /// How long something takes that is on its way.
    pub(super) fn grace(&self) -> Duration {
        let second = Duration::from_secs(1);
        match self.server {
            Some(_) => second,
            None => second * LEASED_SPEED,
        }
    }

    /// Lets time pass for everybody who is played.
    pub(super) async fn pass(&self, time: Duration) {
        tokio::time::sleep(self.clock.real(time)).await;
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub(super) fn until(
        &self,
        what: impl std::fmt::Display,
        holds: impl AsyncFn() -> bool,
    ) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let (start, began) = (self.clock.now(), Instant::now());
            while !holds().await {
                let took = self.clock.now().duration_since(start);
                let over = match self.server {
                    Some(_) => took.unsigned_abs() > LONGEST,
                    None => began.elapsed() > PATIENCE,
                };
                if over {
                    let unready = self.unready().await;
                    panic!("{caller}: never: {what}: {unready:#?}");
                }
                self.pass(LOOK).await;
            }
        }
    }

    /// Waits until there are this many objects and all of them are ready.
    #[track_caller]
    pub(super) fn until_ready(&self, count: usize) -> impl Future<Output = ()> {
        self.until(format!("{count} are ready"), async move || {
            self.objects().await.len() == count && self.unready().await.is_empty()
        })
    }

    /// Waits until nothing is left of any cluster, in Kubernetes and in Azure.
    #[track_caller]
    pub(super) fn until_gone(&self) -> impl Future<Output = ()> {
        self.until("nothing is left", async || {
            self.objects().await.is_empty() && self.azure.ids().is_empty()
        })
    }

    /// How often each resource was created in Azure, and how often it was deleted.
    pub(super) fn tally(&self) -> BTreeMap<String, (usize, usize)> {
        let mut tally: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for deed in self.azure.deeds() {
            match deed {
                Deed::Created(id) => tally.entry(id).or_default().0 += 1,
                Deed::Deleted(id) => tally.entry(id).or_default().1 += 1,
                Deed::Updated(_) => {}
            }
        }
        tally
    }
}
