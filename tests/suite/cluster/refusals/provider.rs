//! A service provider as `install` prepares it: its rights are enough for all that it does, and it uses each of them.
//!
//! The shipped program runs with the arguments and the document that `install` prints, as the account that it prints, while others play
//! HyperShift. The real server refuses what the printed roles do not grant.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use capstan::adapters::azure_sim::crds::{foreign, hub, hyper_shift, image_sets};
use capstan::adapters::azure_sim::{Options, Role};
use capstan::adapters::kubernetes::controller;
use capstan::api::crds::crds;
use capstan::daemon::wall_time;
use capstan::model::{Clock, hex};
use kube_sim::SimClock;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::audit::{no_right_is_unneeded, refused};
use super::fixture::Fixture;
use super::installing::{capstan, printed};
use super::tenants::{Remote, map};
use crate::cluster::pipeline::{apply, established};
use crate::kubernetes::Kubernetes;
use crate::patience::until;
use crate::play::actors;
use crate::running::Running;
use crate::service_provider::api::{bare_metal, kube_virt};
use crate::service_provider::nats_server::NatsServer;

const ACCOUNT: &str = "capstan-service-provider";
const TOKEN: &str = "t0ken";
/// How much faster than outside time passes for HyperShift.
const SPEED: u32 = 600;

/// Rights that a provider has in both modes and does not use here, with the reason.
const UNUSED: [(&str, &str); 3] = [
    (
        "capstan-service-provider: delete configmaps",
        "the only file of the fleet stays",
    ),
    (
        "capstan-service-provider: list customresourcedefinitions.apiextensions.k8s.io",
        "they are watched once a kind of the fleet is not served",
    ),
    (
        "capstan-service-provider: watch customresourcedefinitions.apiextensions.k8s.io",
        "the same",
    ),
];
/// The same of one that writes to the hub.
const UNUSED_DIRECT: [(&str, &str); 2] = [
    (
        "capstan-service-provider: get hostedclusters.hypershift.openshift.io",
        "only a cluster that somebody made since the last snapshot is looked at",
    ),
    (
        "capstan-service-provider: get nodepools.hypershift.openshift.io",
        "only a node pool that was there before its cluster is looked at",
    ),
];

/// The same of one whose daemon writes to the hub.
const UNUSED_COMMIT: [(&str, &str); 1] = [(
    "capstan-service-provider: delete nodepools.hypershift.openshift.io",
    "only a node pool that leaves a cluster is deleted alone, which takes a person's commit",
)];

/// A provider in a namespace of its own, with a namespace of its clusters and one of the machines.
struct Provider<'a> {
    fixture: &'a Fixture,
    /// Its repository.
    _remote: Remote,
    /// What `install` prints.
    objects: Vec<Json>,
    port: u16,
    running: Option<Running>,
}

impl<'a> Provider<'a> {
    /// Installs it, and starts its pod.
    fn start(fixture: &'a Fixture, mode: &str, nats: &NatsServer) -> Self {
        let namespace = &fixture.namespace;
        let [clusters, agents] = ["clusters", "agents"].map(|part| format!("{namespace}-{part}"));
        for name in [&clusters, &agents] {
            let metadata = json!({"name": name});
            fixture.put(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}));
        }
        let remote = Remote::start();
        // A fleet without any object is not applied.
        let kept = map(namespace, "kept");
        remote.repository.push("main", &kept);
        let dir = fixture.dir.path().join("fleet");
        std::fs::create_dir_all(&dir).expect("made");
        std::fs::write(dir.join("one.yaml"), kept).expect("written");
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("it has an address").port();
        drop(free);
        let mut source = remote.source();
        source["git"]["ref"] = json!({"branch": "main"});
        let spec = json!({
            "source": source, "controllers": {"aro": "off"},
            "serviceProvider": {
                "writeMode": mode, "namespace": clusters, "bareMetal": {"agentNamespace": agents},
                "secretRef": {"name": "provider"}, "messaging": {"url": nats.url()},
            },
            "serve": {"serviceProvider": {"address": format!(":{port}")}},
        });
        let fleet = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "provider"}, "spec": spec});
        let file = fixture.dir.path().join("provider.yaml");
        std::fs::write(&file, fleet.to_string()).expect("written");
        let [file, dir] = [&file, &dir].map(|path| path.to_str().expect("UTF-8"));
        let flags = ["--component", "service-provider", "--fleet", file, dir];
        let objects = printed(fixture, &flags);
        let secrets = json!({
            "tokens": format!("tests {}\n", hex(&Sha256::digest(TOKEN))),
            ".dockerconfigjson": r#"{"auths": {"quay.io": {"auth": "YTpi"}}}"#,
        });
        fixture.put(
            &json!({"apiVersion": "v1", "kind": "Secret", "stringData": secrets,
            "metadata": {"name": "provider", "namespace": namespace}}),
        );
        fixture.put(&remote.secret(namespace, "s3cret"));
        for object in &objects {
            fixture.put(object);
        }
        let whole = format!("{namespace}:{ACCOUNT} has all ");
        fixture.until("`check` finds all rights", || {
            let checked = capstan(fixture, &[&["check"], &flags[..]].concat());
            checked.data.contains(&whole)
        });
        let mut provider = Self {
            fixture,
            _remote: remote,
            objects,
            port,
            running: None,
        };
        provider.running = Some(provider.pod());
        provider
    }

    /// The program with the arguments of its Deployment and the file of its ConfigMap, as its account.
    fn pod(&self) -> Running {
        let printed = |kind: &str| {
            let mut own = self.objects.iter().filter(|object| object["kind"] == kind);
            own.next().expect("it is printed").clone()
        };
        let config = self.fixture.dir.path().join("fleet.yaml");
        let map = printed("ConfigMap");
        let document = map["data"]["fleet.yaml"].as_str().expect("text");
        std::fs::write(&config, document).expect("written");
        let container = &printed("Deployment")["spec"]["template"]["spec"]["containers"][0];
        let arguments = container["args"].as_array().expect("a list");
        let arguments = arguments.iter().filter_map(Json::as_str);
        let arguments = arguments.map(|argument| match argument {
            "/etc/capstan/fleet.yaml" => config.to_str().expect("UTF-8"),
            port if port.starts_with("--serve=") => "--serve=127.0.0.1:0",
            other => other,
        });
        let user = json!({"token": self.fixture.token(ACCOUNT)});
        let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
        command
            .args(arguments)
            .arg("--kubeconfig")
            .arg(self.fixture.kubeconfig_of(&user))
            .env("CAPSTAN_NAMESPACE", &self.fixture.namespace)
            .env("CAPSTAN_CACHE", self.fixture.dir.path().join("cache"));
        Running::spawn(command)
    }

    fn said(&self) -> String {
        self.running.as_ref().map(Running::said).unwrap_or_default()
    }

    /// The status of an answer of its API, and its body; 0 without an answer.
    fn ask(&self, method: &str, path: &str, body: Option<&Json>) -> (u16, Json) {
        let url = format!("http://127.0.0.1:{}/api/v1alpha1{path}", self.port);
        let method = method.parse().expect("a method");
        self.fixture.runtime.block_on(async {
            let request = reqwest::Client::new()
                .request(method, url)
                .bearer_auth(TOKEN);
            let request = match body {
                Some(body) => request
                    .header("content-type", "application/json")
                    .body(body.to_string()),
                None => request,
            };
            let Ok(answer) = request.send().await else {
                return (0, Json::Null);
            };
            let status = answer.status().as_u16();
            let text = answer.text().await.unwrap_or_default();
            (status, serde_json::from_str(&text).unwrap_or_default())
        })
    }

    /// Waits until this holds.
    #[track_caller]
    fn until(&self, what: &str, holds: impl Fn() -> bool) {
        until(
            || holds().then_some(()),
            || format!("never: {what}\n{}", self.said()),
        );
    }

    fn clusters(&self) -> String {
        format!("{}-clusters", self.fixture.namespace)
    }

    /// The path of an object in the namespace of the clusters.
    fn path(&self, resource: &str) -> String {
        format!("/api/v1/namespaces/{}/{resource}", self.clusters())
    }

    /// A cluster of each platform comes and goes over the API, and the ManagedCluster of one with it.
    fn lives(&self) {
        let name = |part: &str| format!("{}-{part}", self.fixture.namespace);
        let bodies = [
            ("one", kube_virt(&name("c"))),
            ("two", bare_metal(&name("d"))),
        ];
        let mut unknown = kube_virt("unknown");
        unknown["version"] = json!("9.99");
        self.until("it knows what the hub offers", || {
            self.ask("POST", "/clusters", Some(&unknown)).0 == 422
        });
        self.until("it is healthy", || {
            self.ask("GET", "/health", None).1["status"] == "healthy"
        });
        for (id, body) in &bodies {
            let made = self.ask("POST", &format!("/clusters?id={id}"), Some(body));
            assert_eq!(made.0, 201, "{}\n{}", made.1, self.said());
        }
        let read = |id: &str| self.ask("GET", &format!("/clusters/{id}"), None);
        for (id, _) in &bodies {
            self.until("it is ready", || {
                let (_, cluster) = read(id);
                let kubeconfig = cluster["kubeconfig"].as_str();
                cluster["status"] == "READY" && kubeconfig.is_some_and(|it| !it.is_empty())
            });
        }
        for kept in [
            "secrets/acm-cluster-sp-pull-secret",
            "configmaps/acm-cluster-sp-delivered",
        ] {
            self.until(kept, || self.fixture.has(&self.path(kept)));
        }
        let managed = self.manage(&name("c"));
        for (id, _) in &bodies {
            let removed = self.ask("DELETE", &format!("/clusters/{id}"), None);
            assert_eq!(removed.0, 204, "{}\n{}", removed.1, self.said());
        }
        for (id, _) in &bodies {
            self.until("it is gone", || read(id).0 == 404);
        }
        self.until("its ManagedCluster is gone", || !self.fixture.has(&managed));
    }

    /// Makes the ManagedCluster as ACM does, once the cluster is recorded; returns its path.
    fn manage(&self, name: &str) -> String {
        let labels =
            json!({"dcm-instance-id": "one", "managed-by": "dcm", "dcm-service-type": "cluster"});
        let annotations =
            json!({"import.open-cluster-management.io/klusterlet-deploy-mode": "Hosted"});
        let group = "cluster.open-cluster-management.io/v1";
        self.fixture
            .put(&json!({"apiVersion": group, "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": labels, "annotations": annotations}}));
        let record = self.path("configmaps/acm-cluster-sp-clusters");
        self.until("the cluster is recorded", || {
            let (_, map) = self.fixture.ask("GET", &record, &Json::Null);
            map["data"].to_string().contains(name)
        });
        format!("/apis/{group}/managedclusters/{name}")
    }

    /// Stops it in order, and compares its rights with what it did.
    fn stops(&mut self, log: &Path, unused: &[(&str, &str)]) {
        let (code, said) = self.running.take().expect("it runs").stop();
        assert_eq!(code, Some(0), "{said}");
        let user = format!("system:serviceaccount:{}:{ACCOUNT}", self.fixture.namespace);
        assert_eq!(refused(log, &user), [""; 0], "{said}");
        no_right_is_unneeded(&self.objects, log, unused);
    }

    /// Its roles go with it, also those in the namespaces that nobody names to `uninstall`.
    fn goes(&self) {
        let flags = [
            "uninstall",
            "--component",
            "service-provider",
            "--timeout",
            "1s",
        ];
        let gone = capstan(self.fixture, &flags);
        assert_eq!(gone.code, Some(0), "{}", gone.messages);
        let kinds = ["ConfigMap", "Deployment", "Role", "RoleBinding", "Service"];
        let made = self.objects.iter();
        for object in made.filter(|object| kinds.iter().any(|kind| object["kind"] == *kind)) {
            let [kind, namespace, name] =
                ["/kind", "/metadata/namespace", "/metadata/name"].map(|pointer| {
                    object
                        .pointer(pointer)
                        .and_then(Json::as_str)
                        .expect("text")
                });
            let removed = format!("{kind}/{namespace}/{name} removed\n");
            assert!(gone.data.contains(&removed), "{removed}{}", gone.data);
        }
    }
}

/// Plays HyperShift, with the kinds of a hub and its releases.
pub(super) fn play_a_hub(fixture: &Fixture) -> controller::Running {
    let clock: Arc<dyn Clock> = Arc::new(SimClock::new(wall_time(), SPEED));
    let options = Options {
        roles: vec![Role::HyperShift, Role::Lab],
        ..Options::default()
    };
    fixture.runtime.block_on(async {
        let definitions = foreign().into_iter().chain(hyper_shift());
        for definition in definitions.chain(hub()).chain(crds()) {
            apply(&fixture.client, &definition).await;
        }
        established(&fixture.client).await;
        for set in image_sets() {
            apply(&fixture.client, &set).await;
        }
        actors(&fixture.client, &clock, &options)
    })
}

/// The rights are the API server's to refuse, so this needs a real one.
#[test]
fn a_service_provider_has_the_rights_that_it_needs_and_no_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("audit.log");
    let (Some(nats), Some(server)) = (NatsServer::with_jetstream(), Kubernetes::audited(&log))
    else {
        return;
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let hub = &Fixture::real("provider-hub", &server);
    let _actors = play_a_hub(hub);
    let prove = |mode: &str, more: &[(&str, &str)]| {
        let fixture = &Fixture::real(&format!("provider-{mode}"), &server);
        let mut provider = Provider::start(fixture, mode, &nats);
        provider.lives();
        provider.stops(&log, &[&UNUSED, more].concat());
        provider.goes();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| prove("direct", &UNUSED_DIRECT));
        prove("commit", &UNUSED_COMMIT);
    });
}
