//! A management cluster on the in-process API with our controllers, whose credentials are real.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube_sim::{Server, SimClock};
use serde_json::{Value, json};

use super::manifests::{NAMESPACE, small_cluster};
use crate::adapters::azure::AzureKeys;
use crate::adapters::azure::authority::Authority;
use crate::adapters::azure::credentials::{
    AzureCredentials, DefaultIdentity, Files, Settings as Azure,
};
use crate::adapters::azure::vaults::Vaults;
use crate::adapters::azure_sim::{Options, SimulatedVaults, SimulatedWorkloads, controllers, crds};
use crate::adapters::kubernetes::KubeObjects;
use crate::adapters::kubernetes::controller::writer;
use crate::adapters::kubernetes::controller::{self, Connectors, Running};
use crate::api::fleet::FirstApply;
use crate::api::kinds::KINDS;
use crate::health::Live;
use crate::model::{Clock, KeyVaults};
use crate::reconcile::{self, ProcessIdentity, Settings};

/// How much faster the time of the cluster passes.
const SPEED: u32 = 4000;
/// The same where a vault must answer within a minute of the cluster.
const SLOWLY: u32 = 300;

struct RealTime;

impl Clock for RealTime {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn real(&self, pause: Duration) -> Duration {
        pause
    }
}

async fn apply(client: &Client, object: &Value) {
    let live = Live(object);
    let resource = writer::resource(live.group(), live.version(), live.kind());
    let api: Api<DynamicObject> = match live.namespace() {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let params = PatchParams::apply("somebody").force();
    let applied = api.patch(live.name(), &params, &Patch::Apply(object)).await;
    applied.unwrap_or_else(|error| panic!("{}: {error}", live.id()));
}

/// A management cluster with our controllers, whose credentials are real.
pub(super) struct Stage {
    pub(super) authority: Authority,
    pub(super) vaults: Vaults,
    server: Server,
    client: Client,
    pub(super) files: tempfile::TempDir,
    _running: Running,
}

impl Stage {
    /// Vaults are simulated.
    pub(super) async fn new() -> Self {
        Self::open(SPEED, None, |_, _, clock| {
            Arc::new(SimulatedVaults::new(clock))
        })
        .await
    }

    /// The same with an identity of the process.
    pub(super) async fn with_identity(identity: DefaultIdentity) -> Self {
        Self::open(SPEED, Some(identity), |_, _, clock| {
            Arc::new(SimulatedVaults::new(clock))
        })
        .await
    }

    /// Vaults are real to our program: it speaks to them over TLS.
    pub(super) async fn with_vaults() -> Self {
        Self::open(SLOWLY, None, |credentials, vaults, _| {
            let clock = Arc::new(RealTime);
            Arc::new(AzureKeys::through(credentials, clock, vaults.options()))
        })
        .await
    }

    async fn open(
        speed: u32,
        default: Option<DefaultIdentity>,
        connect: impl FnOnce(Arc<AzureCredentials>, &Vaults, Arc<dyn Clock>) -> Arc<dyn KeyVaults>,
    ) -> Self {
        let authority = Authority::start().await;
        let vaults = Vaults::start(authority.register()).await;
        let files = tempfile::tempdir().unwrap();
        let time = SimClock::new("2026-01-01T00:00:00Z".parse().unwrap(), speed);
        let server = Server::new(Arc::new(time));
        let client = server.client("default");
        for definition in KINDS.iter().map(crds::definition) {
            apply(&client, &definition).await;
        }
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        apply(&client, &namespace).await;
        let identity = default.as_ref().map(|_| ProcessIdentity::default());
        let settings = Azure {
            default,
            options: authority.options(),
            authority: Some(authority.url()),
            files: Files {
                directory: None,
                token: Some(files.path().join("token")),
            },
            ..Azure::default()
        };
        let clock: Arc<dyn Clock> = Arc::new(time);
        let objects = Arc::new(KubeObjects::new(client.clone()));
        let credentials = AzureCredentials::new(objects, Arc::new(RealTime), settings);
        let credentials = Arc::new(credentials);
        let connectors = Connectors {
            workloads: Arc::new(SimulatedWorkloads::new(client.clone(), &*clock)),
            keys: connect(Arc::clone(&credentials), &vaults, Arc::clone(&clock)),
            credentials,
            ..Connectors::default()
        };
        let mut all = controllers(&Options::default());
        all.extend(reconcile::aro(Settings {
            settle: Duration::from_secs(120),
            first_apply: FirstApply::default(),
            identity,
        }));
        let running = controller::spawn(client.clone(), clock, all, connectors);
        Self {
            authority,
            vaults,
            server,
            client,
            files,
            _running: running,
        }
    }

    /// Applies a cluster whose identity has this spec.
    pub(super) async fn cluster(&self, spec: &Value) {
        for mut object in small_cluster() {
            if object["kind"] == "AzureClusterIdentity" {
                object["spec"] = spec.clone();
            }
            apply(&self.client, &object).await;
        }
    }

    /// Applies a cluster that names no identity, and no subscription.
    pub(super) async fn cluster_without_identity(&self) {
        for mut object in small_cluster() {
            if object["kind"] == "AROControlPlane" {
                object["spec"] = json!({"resources": object["spec"]["resources"]});
                let resources = object["spec"]["resources"].as_array_mut().unwrap();
                let key = "/spec/properties/etcd/dataEncryption/customerManaged/kms/activeKey";
                // Without an identity a person creates the key.
                for key in resources.iter_mut().filter_map(|one| one.pointer_mut(key)) {
                    key["version"] = json!("1");
                }
            }
            if object["kind"] != "AzureClusterIdentity" {
                apply(&self.client, &object).await;
            }
        }
    }

    pub(super) async fn secret(&self, name: &str, key: &str, value: &str) {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE},
            "data": {key: BASE64_STANDARD.encode(value)}});
        apply(&self.client, &secret).await;
    }

    pub(super) fn find(&self, kind: &str, name: &str) -> Option<Value> {
        let all = self.server.snapshot().into_iter();
        let mut all = all.map(|object| json!(object));
        all.find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
    }

    /// Waits until an object is as it should be.
    pub(super) async fn until(
        &self,
        kind: &str,
        name: &str,
        done: impl Fn(Live<'_>) -> bool,
    ) -> Value {
        for _ in 0..3000 {
            if let Some(object) = self.find(kind, name)
                && done(Live(&object))
            {
                return object;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{kind} {name}: {:#?}", self.find(kind, name));
    }

    /// All that is not a Secret, as text.
    pub(super) fn public(&self) -> String {
        let all = self.server.snapshot().into_iter();
        let public = all.filter(|object| Live(object).kind() != "Secret");
        public.map(|object| object.to_string()).collect()
    }
}
