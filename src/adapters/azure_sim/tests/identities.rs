//! From an identity of each type over a token of Entra ID and the Secret for Azure Service Operator to a cluster that is
//! ready; and that no secret gets anywhere else.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube_sim::{Server, SimClock};
use serde_json::{Value, json};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::manifests::{NAMESPACE, small_cluster};
use crate::adapters::azure::authority::{Authority, KEY, Known, certificate};
use crate::adapters::azure::credentials::{AzureCredentials, Files, Settings as Azure};
use crate::adapters::azure_sim::{Options, SimulatedVaults, SimulatedWorkloads, controllers, crds};
use crate::adapters::kubernetes::KubeObjects;
use crate::adapters::kubernetes::controller::writer;
use crate::adapters::kubernetes::controller::{self, Connectors, Running};
use crate::api::fleet::FirstApply;
use crate::api::kinds::KINDS;
use crate::health::Live;
use crate::model::Clock;
use crate::reconcile::{self, Settings};

/// How much faster the time of the cluster passes.
const SPEED: u32 = 4000;

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
struct Stage {
    authority: Authority,
    server: Server,
    client: Client,
    files: tempfile::TempDir,
    _running: Running,
}

impl Stage {
    async fn new() -> Self {
        let authority = Authority::start().await;
        let files = tempfile::tempdir().unwrap();
        let time = SimClock::new("2026-01-01T00:00:00Z".parse().unwrap(), SPEED);
        let server = Server::new(Arc::new(time));
        let client = server.client("default");
        for definition in KINDS.iter().map(crds::definition) {
            apply(&client, &definition).await;
        }
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        apply(&client, &namespace).await;
        let settings = Azure {
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
        let connectors = Connectors {
            workloads: Arc::new(SimulatedWorkloads::new(client.clone(), &*clock)),
            keys: Arc::new(SimulatedVaults::new(Arc::clone(&clock))),
            credentials: Arc::new(AzureCredentials::new(objects, Arc::new(RealTime), settings)),
        };
        let mut all = controllers(&Options::default());
        all.extend(reconcile::aro(Settings {
            settle: Duration::from_secs(120),
            first_apply: FirstApply::default(),
            identity: None,
        }));
        let running = controller::spawn(client.clone(), clock, all, connectors);
        Self {
            authority,
            server,
            client,
            files,
            _running: running,
        }
    }

    /// Applies a cluster whose identity has this spec.
    async fn cluster(&self, spec: &Value) {
        for mut object in small_cluster() {
            if object["kind"] == "AzureClusterIdentity" {
                object["spec"] = spec.clone();
            }
            apply(&self.client, &object).await;
        }
    }

    async fn secret(&self, name: &str, key: &str, value: &str) {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE},
            "data": {key: BASE64_STANDARD.encode(value)}});
        apply(&self.client, &secret).await;
    }

    fn find(&self, kind: &str, name: &str) -> Option<Value> {
        let all = self.server.snapshot().into_iter();
        let mut all = all.map(|object| json!(object));
        all.find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
    }

    /// Waits until an object is as it should be.
    async fn until(&self, kind: &str, name: &str, done: impl Fn(Live<'_>) -> bool) -> Value {
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
    fn public(&self) -> String {
        let all = self.server.snapshot().into_iter();
        let public = all.filter(|object| Live(object).kind() != "Secret");
        public.map(|object| object.to_string()).collect()
    }
}

fn spec(kind: &str, secret: bool) -> Value {
    let mut spec =
        json!({"type": kind, "clientID": "client", "tenantID": "tenant", "allowedNamespaces": {}});
    if secret {
        spec["clientSecret"] = json!({"name": "seeded"});
    }
    spec
}

/// Everybody's logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn assert_hidden(text: &str, pem: &str) {
    let lines = pem.lines().chain(KEY.lines());
    let lines = lines.filter(|line| line.len() > 30).map(str::to_owned);
    let seeded = ["seeded-password", "seeded-federated", "issued-token"];
    let encoded = seeded.map(|text| BASE64_STANDARD.encode(text));
    for secret in lines.chain(seeded.map(str::to_owned)).chain(encoded) {
        assert!(!text.contains(&secret), "{secret} is in public");
    }
}

#[tokio::test]
async fn issue_15_each_type_gets_a_token_a_secret_and_a_cluster_and_shows_nothing() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("trace"))
        .with_writer(move || writer.clone())
        .finish();
    let guard = subscriber.set_default();
    let (public, pem) = certificate(2020, 2090);
    let cases = [
        (
            "ServicePrincipal",
            Some(Known::Password("seeded-password".to_owned())),
            "AZURE_CLIENT_SECRET",
        ),
        (
            "ServicePrincipalCertificate",
            Some(Known::Certificate(public)),
            "AZURE_CLIENT_CERTIFICATE",
        ),
        (
            "WorkloadIdentity",
            Some(Known::Federated("seeded-federated".to_owned())),
            "AUTH_MODE",
        ),
        ("UserAssignedMSI", None, "AUTH_MODE"),
    ];
    for (kind, known, key) in cases {
        let stage = Stage::new().await;
        let secret = match &known {
            Some(Known::Password(password)) => Some(password.clone()),
            Some(Known::Certificate(_)) => Some(pem.clone()),
            _ => None,
        };
        if let Some(secret) = &secret {
            stage.secret("seeded", "clientSecret", secret).await;
        }
        std::fs::write(stage.files.path().join("token"), "seeded-federated").unwrap();
        match known {
            Some(known) => stage.authority.know("tenant", "client", known),
            None => stage.authority.assign("client"),
        }
        stage.cluster(&spec(kind, secret.is_some())).await;
        let is_ready = |plane: Live<'_>| plane.flag(&["status", "ready"]);
        stage.until("AROControlPlane", "c", is_ready).await;
        let made = stage.find("Secret", "c-aso-secret").unwrap();
        assert!(made["data"].get(key).is_some(), "{kind}");
        let hcp = stage.find("HcpOpenShiftCluster", "c").unwrap();
        let named = Live(&hcp).annotation("serviceoperator.azure.com/credential-from");
        assert_eq!(named, "c-aso-secret", "{kind}");
        assert_eq!(stage.authority.asked().len(), 1, "{kind}");
        assert_hidden(&stage.public(), &pem);
    }
    drop(guard);
    let text = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(text.contains("TRACE"));
    assert_hidden(&text, &pem);
}

#[tokio::test]
async fn issue_15_a_wrong_password_is_shown_without_it_and_a_new_one_helps() {
    let stage = Stage::new().await;
    let known = Known::Password("right".to_owned());
    stage.authority.know("tenant", "client", known);
    stage
        .secret("seeded", "clientSecret", "seeded-password")
        .await;
    stage.cluster(&spec("ServicePrincipal", true)).await;
    let is_refused = |live: Live<'_>, condition: &str| {
        let found = live.condition(condition);
        found.is_some_and(|found| found.reason() == "CredentialsRefused")
    };
    for (kind, name, condition) in [
        ("AzureClusterIdentity", "identity", "Ready"),
        ("AROControlPlane", "c", "IdentityReady"),
        ("AROCluster", "c", "IdentityReady"),
    ] {
        let object = stage
            .until(kind, name, |live| is_refused(live, condition))
            .await;
        let message = Live(&object)
            .condition(condition)
            .unwrap()
            .message()
            .to_owned();
        assert!(message.contains("AADSTS7000215"), "{message}");
    }
    assert!(stage.find("ResourceGroup", "rg").is_none());
    assert_hidden(&stage.public(), "");
    stage.secret("seeded", "clientSecret", "right").await;
    let is_ready = |plane: Live<'_>| plane.flag(&["status", "ready"]);
    stage.until("AROControlPlane", "c", is_ready).await;
}
