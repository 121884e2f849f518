//! `capstan controllers`: the shipped program on the simulator, and on a real kube-apiserver.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use capstan::adapters::azure_sim::Options;
use capstan::adapters::azure_sim::crds::foreign;
use capstan::adapters::kubernetes::{Access, connect};
use capstan::daemon::wall_time;
use capstan::model::Clock;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube_sim::SimClock;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::aro::manifests::{Cluster as Small, NAMESPACE as SMALL_IN};
use super::pipeline::{apply, established, runtime};
use super::shared;
use crate::kubernetes::{Kubernetes, if_asked};
use crate::patience::until;
use crate::play::actors;
use crate::running::Running;
use crate::servers::{anonymous, serve};

/// A cluster, and the way to it.
struct Cluster {
    runtime: Runtime,
    client: Client,
    dir: TempDir,
    kubeconfig: PathBuf,
    _real: Option<Kubernetes>,
}

impl Cluster {
    fn simulated() -> Self {
        Self::simulated_at(SimClock::new(wall_time(), 1))
    }

    fn simulated_at(clock: SimClock) -> Self {
        let runtime = runtime();
        let server = kube_sim::Server::new(Arc::new(clock));
        let address = runtime.block_on(serve(server));
        let dir = tempfile::tempdir().expect("a directory");
        let kubeconfig = dir.path().join("kubeconfig");
        std::fs::write(&kubeconfig, anonymous(&address)).expect("written");
        Self::at(runtime, dir, kubeconfig, None)
    }

    /// A real server of its own, as nothing is installed there; none unless one is asked for.
    fn real() -> Option<Self> {
        let real = if_asked(Kubernetes::own)?;
        let dir = tempfile::tempdir().expect("a directory");
        let kubeconfig = real.kubeconfig().to_owned();
        Some(Self::at(runtime(), dir, kubeconfig, Some(real)))
    }

    /// The real server that tests share; none when the machine has none.
    fn shared() -> Option<Self> {
        let kubeconfig = shared::server()?.kubeconfig().to_owned();
        let dir = tempfile::tempdir().expect("a directory");
        Some(Self::at(runtime(), dir, kubeconfig, None))
    }

    fn at(runtime: Runtime, dir: TempDir, kubeconfig: PathBuf, real: Option<Kubernetes>) -> Self {
        let access = Access {
            kubeconfig: Some(kubeconfig.clone()),
            context: None,
        };
        let client = runtime.block_on(connect(&access));
        Self {
            client: client.expect("the kubeconfig is whole"),
            runtime,
            dir,
            kubeconfig,
            _real: real,
        }
    }

    fn controllers(&self, more: &[&str]) -> Running {
        self.controllers_by(&self.kubeconfig, more)
    }

    fn controllers_by(&self, kubeconfig: &Path, more: &[&str]) -> Running {
        let file = kubeconfig.to_str().expect("UTF-8");
        let arguments = [&["--kubeconfig", file], more].concat();
        Running::command("controllers", self.dir.path(), &arguments)
    }

    /// Installs our kinds.
    fn install(&self) {
        self.runtime.block_on(async {
            for definition in capstan::api::crds::crds() {
                apply(&self.client, &definition).await;
            }
            established(&self.client).await;
        });
    }

    /// The first of `objects` of a kind, as it is now.
    fn find(&self, objects: &[Json], kind: &str) -> Json {
        let object = objects.iter().find(|object| object["kind"] == kind);
        let object = object.expect("there is one");
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let api_version = text(&object["apiVersion"]);
        let (group, version) = api_version.split_once('/').expect("a group");
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), SMALL_IN, &resource);
        let name = text(&object["metadata"]["name"]);
        let found = self.runtime.block_on(api.get(&name));
        serde_json::to_value(found.expect("it is there")).expect("plain data")
    }

    /// Who holds the Lease; empty if nobody does.
    fn holder(&self) -> String {
        let kind = GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease");
        let resource = ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), "capstan-system", &resource);
        let lease = self.runtime.block_on(api.get("capstan-aro-controllers"));
        let lease = lease.expect("there is one").data;
        let holder = lease["spec"]["holderIdentity"].as_str();
        holder.unwrap_or_default().to_owned()
    }

    /// Writes the status of an AROCluster as CAPZ does.
    fn write_as_capz(&self) {
        let (group, kind) = ("infrastructure.cluster.x-k8s.io", "AROCluster");
        let object = json!({"apiVersion": format!("{group}/v1beta2"), "kind": kind,
            "metadata": {"name": "prod", "namespace": "default"},
            // Writes to an object of which nobody holds anything are not recorded.
            "spec": {"resources": []}});
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1beta2", kind));
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), "default", &resource);
        self.runtime.block_on(async {
            apply(&self.client, &object).await;
            let params = PatchParams {
                field_manager: Some("manager".to_owned()),
                ..PatchParams::default()
            };
            let patch: Patch<Json> = Patch::Merge(json!({"status": {"ready": false}}));
            let patched = api.patch_status("prod", &params, &patch).await;
            patched.expect("it is there");
        });
    }
}

/// Azure Service Operator of somebody else, which installs other kinds and has no ready pod.
fn an_operator_of_others_is_reported(cluster: &Cluster) {
    let labels = json!({"control-plane": "controller-manager"});
    let metadata = |name: &str| json!({"name": name, "namespace": "theirs"});
    let pod = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager",
        "image": "example.com/aso:v2.13.0", "args": ["--crd-pattern=cache.azure.com/*"],
        "env": [{"name": "AZURE_TARGET_NAMESPACES", "value": "theirs"}]}]}});
    let objects = [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "theirs"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata("aso-controller-settings"),
            "stringData": {"AZURE_CLIENT_ID": "", "AZURE_OPERATOR_MODE": "hunter2"}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": metadata("azureserviceoperator-controller-manager"),
            "spec": {"selector": {"matchLabels": labels}, "template": pod}}),
    ];
    cluster.runtime.block_on(async {
        for object in objects {
            apply(&cluster.client, &object).await;
        }
    });
    let running = cluster.controllers(&[]);
    for words in [
        "Azure Service Operator v2.13.0 in theirs, does not run",
        "does not run: it has no ready pod",
        "set its argument to --crd-pattern=cache.azure.com/*;authorization.azure.com/*;",
        "it reconciles only the namespaces theirs, not default, where clusters are",
        "AZURE_OPERATOR_MODE must be empty or both",
    ] {
        running.wait(words);
    }
    let (code, said) = running.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

/// The answer of a process to GET, from the port that it named.
fn get(running: &Running, path: &str) -> String {
    let port = || {
        let said = running.said();
        let (_, after) = said.split_once("health and metrics on http://")?;
        Some(after.split_whitespace().next()?.to_owned())
    };
    let mut stream = TcpStream::connect(until(port, || running.said())).expect("connected");
    let request = format!("GET {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("read");
    answer
}

/// On an empty cluster.
fn they_name_what_is_missing_and_stop_in_order(cluster: &Cluster) {
    let running = cluster.controllers(&["--serve", "127.0.0.1:0"]);
    running.wait(
        "the ARO controllers wait until the cluster serves their kinds: install Capstan's CRDs",
    );
    let [alive, ready] = ["/healthz", "/readyz"].map(|path| get(&running, path));
    assert!(alive.starts_with("HTTP/1.1 200 "), "{alive}");
    assert!(
        ready.starts_with("HTTP/1.1 503 ") && ready.contains("install Capstan's CRDs"),
        "{ready}"
    );
    cluster.install();
    running.wait("the ARO controllers run");
    let [ready, metrics] = ["/readyz", "/metrics"].map(|path| get(&running, path));
    assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");
    assert!(
        metrics.contains("\ncapstan_controllers_acting{controllers=\"aro\"} 1\n")
            && metrics
                .contains("capstan_controllers_info{controllers=\"aro\",standing=\"acting\"} 1\n"),
        "{metrics}"
    );
    running.wait("Azure Service Operator: it is not installed");
    assert!(cluster.holder().contains("_controllers_"));
    let (code, said) = running.stop();
    assert_eq!(code, Some(0), "{said}");
    for words in [
        "running the ARO controllers on the cluster http",
        "unless CAPZ does",
        "AROCluster, AROMachinePool, AROControlPlane: install Capstan's CRDs (capstan crds | kubectl apply",
        "authorization.azure.com/*;redhatopenshift.azure.com/*' (cert-manager",
        "Azure Service Operator needs: crdPattern (--crd-pattern): resources.azure.com/*;",
        "the cluster does not serve Cluster, MachinePool: install Cluster API",
        "stopped",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(cluster.holder(), "", "others need not wait");
}

fn two_of_them_take_turns(cluster: &Cluster) {
    let first = cluster.controllers(&[]);
    first.wait("the ARO controllers run");
    let second = cluster.controllers(&["--aro", "on"]);
    second.wait("the ARO controllers wait: ");
    assert_eq!(first.stop().0, Some(0));
    second.wait("the ARO controllers run");
}

fn they_step_back_for_capz(cluster: &Cluster) {
    let running = cluster.controllers(&[]);
    running.wait("the ARO controllers run");
    cluster.write_as_capz();
    running.wait(
        "the ARO controllers step back: CAPZ's controllers act: the field manager manager wrote",
    );
    let another = cluster.controllers(&[]);
    another.wait("the ARO controllers step back: CAPZ's");
    assert!(
        !another.said().contains("the ARO controllers run"),
        "it looks before it acts"
    );
    assert_eq!(another.stop().0, Some(0));
    let forced = cluster.controllers(&["--aro", "on"]);
    forced.wait("the ARO controllers run");
}

#[test]
fn controllers_alone_on_the_simulator() {
    let cluster = Cluster::simulated();
    they_name_what_is_missing_and_stop_in_order(&cluster);
    two_of_them_take_turns(&cluster);
    they_step_back_for_capz(&cluster);
    an_operator_of_others_is_reported(&cluster);
}

#[test]
fn controllers_alone_on_kube_apiserver() {
    let Some(cluster) = Cluster::real() else {
        return;
    };
    they_name_what_is_missing_and_stop_in_order(&cluster);
    two_of_them_take_turns(&cluster);
    they_step_back_for_capz(&cluster);
    an_operator_of_others_is_reported(&cluster);
}

/// A cluster whose key a person made, with the systems around our controllers played, and without Azure. Their time lies in
/// the past, so that nothing they report is in the future of the program.
#[test]
fn the_program_s_own_controllers_make_a_cluster_ready_on_the_simulator() {
    const SPEED: u32 = 200;
    let start = wall_time() - Duration::from_secs(12 * 3600);
    let clock = SimClock::new(start, SPEED);
    let cluster = Cluster::simulated_at(clock);
    let _actors = cluster.runtime.block_on(async {
        for definition in foreign().into_iter().chain(capstan::api::crds::crds()) {
            apply(&cluster.client, &definition).await;
        }
        established(&cluster.client).await;
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SMALL_IN}});
        apply(&cluster.client, &namespace).await;
        let clock: Arc<dyn Clock> = Arc::new(clock);
        actors(&cluster.client, &clock, &Options::default())
    });
    let running = cluster.controllers(&[]);
    running.wait("the ARO controllers run");
    let mut objects = Small::new("one").objects();
    let plane = &mut objects[1]["spec"];
    plane.as_object_mut().expect("a map").remove("identityRef");
    let hcp = &mut plane["resources"][0]["spec"]["properties"];
    hcp["etcd"]["dataEncryption"]["customerManaged"]["kms"]["activeKey"]["version"] = json!("1");
    cluster.runtime.block_on(async {
        for object in &objects {
            apply(&cluster.client, object).await;
        }
    });
    for (kind, path) in [
        ("AROCluster", "/status/initialization/provisioned"),
        ("AROControlPlane", "/status/ready"),
        ("Cluster", "/status/initialization/controlPlaneInitialized"),
        ("AROMachinePool", "/status/initialization/provisioned"),
    ] {
        let find = || cluster.find(&objects, kind);
        let is_so = || {
            find()
                .pointer(path)
                .is_some_and(|held| held == true)
                .then_some(())
        };
        until(is_so, || {
            format!("{kind}: no {path}: {:#}\n{}", find(), running.said())
        });
    }
    let plane = cluster.find(&objects, "AROControlPlane");
    let conditions = plane["status"]["conditions"].as_array().cloned();
    let mut conditions = conditions.unwrap_or_default().into_iter();
    assert!(conditions.any(|one| one["reason"] == "ManualKeyManagement"));
    assert_eq!(running.stop().0, Some(0));
}

/// Somebody who may do nothing learns which rules are missing.
#[test]
fn missing_rights_are_named_on_kube_apiserver() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let text = std::fs::read_to_string(&cluster.kubeconfig).expect("readable");
    let mut config: serde_yaml::Value = serde_yaml::from_str(&text).expect("a kubeconfig");
    config["users"][0]["user"]["as"] = "nobody".into();
    let file = cluster.dir.path().join("nobody");
    std::fs::write(&file, serde_yaml::to_string(&config).expect("YAML")).expect("written");
    let running = cluster.controllers_by(&file, &[]);
    running.wait("it cannot be seen whether CAPZ's controllers run: ");
    running.wait("nobody may not list ");
    assert!(!running.said().contains("the ARO controllers run"));
    let forced = cluster.controllers_by(&file, &["--aro", "on"]);
    forced.wait("the ARO controllers run without their Lease");
    forced.wait("nobody may not get leases");
}

#[test]
fn what_cannot_run_exits_with_2() {
    let dir = tempfile::tempdir().expect("a directory");
    let kubeconfig = dir.path().join("kubeconfig");
    std::fs::write(&kubeconfig, anonymous("127.0.0.1:1")).expect("written");
    let file = kubeconfig.to_str().expect("UTF-8");
    let cases = [
        (
            &["--kubeconfig", "/nowhere"][..],
            "cannot read the kubeconfig",
        ),
        (&["--kubeconfig", file], "cannot reach the cluster"),
        (
            &["--kubeconfig", file, "--aro", "off"],
            "--aro off: there is nothing to run",
        ),
    ];
    for (arguments, words) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
        let output = command.arg("controllers").args(arguments).output();
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
