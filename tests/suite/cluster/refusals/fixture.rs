//! One server, a namespace in it, and the shipped program that works there.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use axum::Router;
use capstan::adapters::kubernetes::{Access, connect};
use capstan::model::{Check, CheckState};
use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use kube::config::Kubeconfig;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::cluster::pipeline::apply;
use crate::daemon::{SYNC, World};
use crate::kubernetes::Kubernetes;
use crate::patience::until;
use crate::servers::Server;
use crate::servers::{anonymous, serve_router};

pub(super) struct Fixture {
    /// Of somebody who may do everything.
    pub(super) client: Client,
    pub(super) runtime: Runtime,
    /// Of the same.
    pub(super) kubeconfig: PathBuf,
    pub(super) namespace: String,
    pub(super) is_real: bool,
    pub(super) dir: TempDir,
}

/// Proves it on both servers, at the same time; `name` is of the namespace.
pub(super) fn prove(name: &str, behaviour: impl Fn(&Fixture) + Send + Sync) {
    prove_before(name, |router| router, behaviour);
}

/// The same, with a layer before the simulator.
pub(super) fn prove_before(
    name: &str,
    front: impl Fn(Router) -> Router + Send + Sync,
    behaviour: impl Fn(&Fixture) + Send + Sync,
) {
    std::thread::scope(|scope| {
        scope.spawn(|| behaviour(&Fixture::simulated(name, front)));
        scope.spawn(|| prove_real(name, &behaviour));
    });
}

/// Proves it where there is a real server: the simulator cannot play it.
pub(super) fn prove_real(name: &str, behaviour: impl Fn(&Fixture)) {
    if let Some(real) = Kubernetes::orderly() {
        behaviour(&Fixture::real(name, real));
    }
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build();
    runtime.expect("a runtime")
}

impl Fixture {
    /// A server that is reached by this kubeconfig.
    pub(super) fn at(kubeconfig: &str, name: &str) -> Self {
        let (runtime, dir) = (runtime(), tempfile::tempdir().expect("a directory"));
        let file = dir.path().join("admin");
        std::fs::write(&file, kubeconfig).expect("written");
        let access = Access {
            kubeconfig: Some(file.clone()),
            context: None,
        };
        let client = runtime.block_on(connect(&access));
        let client = client.expect("the kubeconfig is whole");
        Self::open(name, client, runtime, file, dir, true)
    }

    /// The simulator, behind this layer.
    pub(super) fn simulated(name: &str, front: impl Fn(Router) -> Router) -> Self {
        let (runtime, dir) = (runtime(), tempfile::tempdir().expect("a directory"));
        let Server::Simulator(server) = Server::simulator() else {
            unreachable!("it is one");
        };
        let address = runtime.block_on(serve_router(front(server.router())));
        let kubeconfig = dir.path().join("admin");
        std::fs::write(&kubeconfig, anonymous(&address)).expect("written");
        let client = runtime.block_on(async { server.client("default") });
        Self::open(name, client, runtime, kubeconfig, dir, false)
    }

    /// A namespace of a real server.
    pub(super) fn real(name: &str, real: &Kubernetes) -> Self {
        let (runtime, dir) = (runtime(), tempfile::tempdir().expect("a directory"));
        let client = runtime.block_on(real.client());
        let kubeconfig = real.kubeconfig().to_owned();
        Self::open(name, client, runtime, kubeconfig, dir, true)
    }

    fn open(
        name: &str,
        client: Client,
        runtime: Runtime,
        kubeconfig: PathBuf,
        dir: TempDir,
        is_real: bool,
    ) -> Self {
        let fixture = Self {
            client,
            runtime,
            kubeconfig,
            namespace: format!("refusals-{name}"),
            is_real,
            dir,
        };
        fixture.put(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fixture.namespace}}));
        fixture
    }

    /// Applies an object as somebody who may.
    pub(super) fn put(&self, object: &Json) {
        self.runtime.block_on(apply(&self.client, object));
    }

    /// What the server answers somebody who may, and its number.
    pub(super) fn ask(&self, method: &str, path: &str, body: &Json) -> (u16, Json) {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", kind);
        let request = request.body(Body::from(body.to_string().into_bytes()));
        self.runtime.block_on(async {
            let answer = self.client.send(request.expect("a request")).await;
            let answer = answer.expect("the server can be reached");
            let code = answer.status().as_u16();
            let body = answer.into_body().collect().await.expect("it is whole");
            let body = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
            (code, body)
        })
    }

    /// The same, which must work.
    pub(super) fn must(&self, method: &str, path: &str, body: &Json) -> Json {
        let (code, answer) = self.ask(method, path, body);
        assert!(code < 300, "{method} {path}: {answer:#}");
        answer
    }

    /// The path of `resource` in the namespace.
    pub(super) fn path(&self, resource: &str) -> String {
        format!("/api/v1/namespaces/{}/{resource}", self.namespace)
    }

    /// Whether something is at `path`.
    pub(super) fn has(&self, path: &str) -> bool {
        self.ask("GET", path, &Json::Null).0 == 200
    }

    /// The output of a command about the cluster on both streams, and its exit code.
    pub(super) fn asked(&self, arguments: &[&str]) -> (Option<i32>, String) {
        self.asked_in(&self.namespace, arguments)
    }

    /// The same with another namespace in `CAPSTAN_NAMESPACE`.
    pub(super) fn asked_in(&self, namespace: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
            .args(arguments)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .env("CAPSTAN_NAMESPACE", namespace)
            .output()
            .expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }

    pub(super) fn until(&self, what: &str, holds: impl Fn() -> bool) {
        until(|| holds().then_some(()), || format!("never: {what}"));
    }

    /// A kubeconfig of another user of the same server.
    pub(super) fn kubeconfig_of(&self, user: &Json) -> PathBuf {
        let all = Kubeconfig::read_from(&self.kubeconfig).expect("it is readable");
        let cluster = all.clusters[0].cluster.as_ref().expect("a cluster");
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        });
        let file = self.dir.path().join("other");
        std::fs::write(&file, config.to_string()).expect("written");
        file
    }

    /// A token of a service account of the namespace, which is made if it is not there.
    pub(super) fn token(&self, account: &str) -> String {
        let body = json!({"metadata": {"name": account}});
        let made = self.ask("POST", &self.path("serviceaccounts"), &body).0;
        assert!(matches!(made, 201 | 409), "{made}");
        let path = self.path(&format!("serviceaccounts/{account}/token"));
        let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}});
        let answer = self.must("POST", &path, &body);
        answer["status"]["token"]
            .as_str()
            .expect("a token")
            .to_owned()
    }

    /// `apply`'s exit code and stderr for a fleet. NS in the fleet is the namespace.
    pub(super) fn applied(&self, kubeconfig: &Path, yaml: &str) -> (Option<i32>, String) {
        let fleet = tempfile::tempdir().expect("a directory");
        let yaml = yaml.replace("NS", &self.namespace);
        std::fs::write(fleet.path().join("fleet.yaml"), yaml).expect("written");
        let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
            .args([
                "apply",
                "--name",
                "config",
                "--timeout",
                "5s",
                "--kubeconfig",
            ])
            .args([kubeconfig, fleet.path()])
            .env("CAPSTAN_NAMESPACE", &self.namespace)
            .env("CAPSTAN_LOG", "off")
            .output()
            .expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), errors)
    }

    /// A daemon that follows a repository with this fleet.
    pub(super) fn daemon(&self, kubeconfig: &Path, yaml: &str) -> Daemon {
        let world = World::on(Some(kubeconfig));
        let yaml = yaml.replace("NS", &self.namespace);
        let revision = world.push("main", None, &yaml);
        let mut command = world.talking(&self.namespace);
        let child = command.stderr(Stdio::null()).spawn();
        Daemon {
            child: child.expect("the daemon starts"),
            world,
            revision,
            namespace: self.namespace.clone(),
        }
    }
}

pub(super) struct Daemon {
    child: Child,
    world: World,
    revision: String,
    namespace: String,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    pub(super) fn push(&mut self, yaml: &str) {
        let yaml = yaml.replace("NS", &self.namespace);
        self.revision = self.world.push("main", Some(&self.revision), &yaml);
    }

    /// The check of the newest revision once it has this state and contains all of these parts.
    pub(super) fn until(&self, state: CheckState, parts: &[&str]) -> Check {
        let check = || self.world.check(&self.revision, SYNC);
        let is_wanted = |check: &Check| {
            let message = format!("{}\n{}", check.title, unescaped(&check.summary));
            check.state == state && parts.iter().all(|part| message.contains(part))
        };
        until(
            || check().filter(is_wanted),
            || format!("{parts:?} is not in {:#?}", check()),
        )
    }

    pub(super) fn succeeds(&self) {
        self.until(CheckState::Success, &[]);
    }
}

/// The errors, which may be Markdown, contain `part` exactly once.
pub(super) fn once(errors: &str, part: &str) {
    let count = unescaped(errors).matches(part).count();
    assert_eq!(count, 1, "{part:?} in {errors}");
}

/// The text of escaped Markdown.
fn unescaped(markdown: &str) -> String {
    markdown.replace('\\', "")
}

/// A ConfigMap that nobody minds.
pub(super) const FREE: &str =
    "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: free, namespace: NS}, data: {k: v}}\n";

/// A Secret.
pub(super) const SECRET: &str =
    "---\n{apiVersion: v1, kind: Secret, metadata: {name: shut, namespace: NS}}\n";

/// The definition of a kind Widget in `group`, served at `versions`, the first of which is stored;
/// `spec.size` must not be negative.
pub(super) fn definition(group: &str, versions: &[&str]) -> Json {
    let spec = json!({"type": "object", "properties": {"size": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "!has(self.size) || self.size >= 0", "message": "a widget is not smaller than nothing"}]});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let version = |(at, name): (usize, &&str)| json!({"name": name, "served": true, "storage": at == 0, "schema": schema});
    let versions: Vec<Json> = versions.iter().enumerate().map(version).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "versions": versions,
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
        },
    })
}
