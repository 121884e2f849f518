//! A fleet that is applied to the cluster of a kubeconfig in a Secret: the shipped program, a cluster
//! that holds the Secret, and another one, or the same.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use capstan::adapters::kubernetes::{Access, connect, connect_by_secret};
use capstan::daemon::wall_time;
use capstan::model::CheckState;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use kube_sim::SimClock;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::pipeline::apply;
use crate::daemon::World;
use crate::kubernetes::{Kubernetes, if_asked};
use crate::patience::PATIENCE;
use crate::servers::{anonymous, serve, serve_router};

const HOME: &str = "fleets";
const CHECK: &str = "capstan/prod/sync";
const REFERENCE: &str = "{kubeconfigSecretRef: {name: mgmt}}";
const FLEET: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: it, namespace: default}}\n";

/// A cluster, and the way to it.
struct Cluster {
    client: Client,
    kubeconfig: String,
}

impl Cluster {
    async fn of(kubeconfig: String) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("kubeconfig");
        std::fs::write(&file, &kubeconfig).expect("written");
        let access = Access {
            kubeconfig: Some(file),
            context: None,
        };
        let client = connect(&access).await.expect("the kubeconfig is whole");
        Self { client, kubeconfig }
    }

    /// With the namespace of the fleet.
    async fn home(self) -> Self {
        let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}});
        apply(&self.client, &home).await;
        self
    }

    async fn simulated() -> Self {
        let address = serve(simulator()).await;
        Self::of(anonymous(&address)).await.home().await
    }

    async fn real(server: &Kubernetes) -> Self {
        let kubeconfig = std::fs::read_to_string(server.kubeconfig()).expect("readable");
        Self::of(flat(&kubeconfig)).await.home().await
    }

    /// Makes the Secret say this, and nothing else.
    async fn hold(&self, key: &str, kubeconfig: &str) {
        let secret = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "mgmt", "namespace": HOME}, "stringData": {key: kubeconfig}});
        let api: Api<Secret> = Api::namespaced(self.client.clone(), HOME);
        let _ = api.delete("mgmt", &Default::default()).await;
        let secret = serde_json::from_value(secret).expect("a Secret");
        let created = api.create(&Default::default(), &secret).await;
        created.expect("it is new");
    }

    /// The names of the ConfigMaps that are ours.
    async fn maps(&self) -> Vec<String> {
        let api: Api<ConfigMap> = Api::all(self.client.clone());
        let all = api.list(&ListParams::default()).await.expect("a list");
        let names = all.iter().map(|map| map.name_any());
        let mut names: Vec<String> = names
            .filter(|name| name == "it" || name.starts_with("capstan-"))
            .collect();
        names.sort();
        names
    }
}

/// The same without files.
fn flat(kubeconfig: &str) -> String {
    let mut config: serde_yaml::Value = serde_yaml::from_str(kubeconfig).expect("a kubeconfig");
    let cluster = &mut config["clusters"][0]["cluster"];
    if let Some(file) = cluster["certificate-authority"].as_str() {
        let authority = std::fs::read(file).expect("readable");
        cluster["certificate-authority-data"] = BASE64_STANDARD.encode(authority).into();
        cluster["certificate-authority"] = "".into();
    }
    serde_yaml::to_string(&config).expect("YAML")
}

fn simulator() -> kube_sim::Server {
    kube_sim::Server::new(std::sync::Arc::new(SimClock::new(wall_time(), 1)))
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The daemon, which reaches `holder` by its flags. It ends with this.
struct Daemon {
    world: World,
    child: Option<Child>,
    _dir: TempDir,
}

impl Daemon {
    fn new(holder: &Cluster) -> (Self, Command) {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("kubeconfig");
        std::fs::write(&file, &holder.kubeconfig).expect("written");
        let world = World::on(Some(&file));
        let command = world.documented(HOME, REFERENCE);
        let daemon = Self {
            world,
            child: None,
            _dir: dir,
        };
        (daemon, command)
    }

    /// Applies the fleet to its end.
    fn applied(holder: &Cluster) -> Self {
        let (mut daemon, mut command) = Self::new(holder);
        let revision = daemon.world.push("main", None, FLEET);
        command.stderr(std::process::Stdio::null());
        daemon.child = Some(command.spawn().expect("it starts"));
        daemon.world.wait(&revision, CHECK, CheckState::Success);
        daemon
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The fleet goes to `target`, whose kubeconfig `holder` holds.
fn the_fleet_goes_there(runtime: &Runtime, holder: &Cluster, target: &Cluster) {
    let held = holder.hold("value", &target.kubeconfig);
    runtime.block_on(held);
    let daemon = Daemon::applied(holder);
    assert_eq!(
        runtime.block_on(target.maps()),
        ["capstan-prod", "it"],
        "the object and the parent of its set"
    );
    drop(daemon);
}

#[test]
fn a_fleet_is_applied_to_the_cluster_that_a_secret_names() {
    let runtime = runtime();
    let (holder, target) =
        runtime.block_on(async { (Cluster::simulated().await, Cluster::simulated().await) });
    the_fleet_goes_there(&runtime, &holder, &target);
    assert!(runtime.block_on(holder.maps()).is_empty());
}

#[test]
fn a_fleet_is_applied_to_a_kube_apiserver_that_a_secret_names() {
    let (Some(server), runtime) = (if_asked(Kubernetes::own), runtime()) else {
        return;
    };
    let (holder, target) =
        runtime.block_on(async { (Cluster::simulated().await, Cluster::real(&server).await) });
    the_fleet_goes_there(&runtime, &holder, &target);
    assert!(runtime.block_on(holder.maps()).is_empty());
}

#[test]
fn a_kube_apiserver_may_hold_its_own_kubeconfig() {
    let (Some(server), runtime) = (if_asked(Kubernetes::own), runtime()) else {
        return;
    };
    let cluster = runtime.block_on(Cluster::real(&server));
    the_fleet_goes_there(&runtime, &cluster, &cluster);
}

/// The stderr of a daemon that exits with 2.
fn refusal(holder: &Cluster) -> String {
    let (_daemon, mut command) = Daemon::new(holder);
    let output = command.output().expect("it runs");
    let message = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{message}");
    message
}

/// On whatever serves Secrets.
fn what_does_not_name_a_cluster_is_refused(runtime: &Runtime, holder: &Cluster) {
    let message = refusal(holder);
    assert!(
        message.contains("Secret/fleets/mgmt does not exist. It must contain the kubeconfig"),
        "{message}"
    );
    let run = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", "t0psecret"]});
    let mut program: Json = serde_json::from_str(&anonymous("127.0.0.1:1")).expect("JSON");
    program["users"][0]["user"]["exec"] = run;
    let cases = [
        (
            "a.txt",
            "t0psecret",
            "key a.txt: this is not a kubeconfig: it cannot be read at line 1, column 1;",
        ),
        (
            "value",
            &program.to_string(),
            "key value: users[0].user.exec is not allowed: a kubeconfig",
        ),
    ];
    for (key, text, expected) in cases {
        runtime.block_on(holder.hold(key, text));
        let message = refusal(holder);
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("t0psecret"), "{message}");
    }
}

#[test]
fn what_does_not_name_a_cluster_is_refused_on_the_simulator() {
    let runtime = runtime();
    let holder = runtime.block_on(Cluster::simulated());
    what_does_not_name_a_cluster_is_refused(&runtime, &holder);
}

#[test]
fn what_does_not_name_a_cluster_is_refused_on_kube_apiserver() {
    let (Some(server), runtime) = (if_asked(Kubernetes::own), runtime()) else {
        return;
    };
    let holder = runtime.block_on(Cluster::real(&server));
    what_does_not_name_a_cluster_is_refused(&runtime, &holder);
    // Somebody who may do nothing.
    let nobody = Cluster {
        client: holder.client.clone(),
        kubeconfig: as_user(&holder.kubeconfig, "nobody"),
    };
    let message = refusal(&nobody);
    assert!(
        message.contains("nobody may not get secrets in namespace fleets. Add this rule to a Role"),
        "{message}"
    );
}

#[test]
fn a_cluster_that_is_away_is_waited_for_until_the_daemon_is_stopped() {
    let runtime = runtime();
    let holder = runtime.block_on(Cluster::of(anonymous("127.0.0.1:1")));
    let (mut daemon, mut command) = Daemon::new(&holder);
    let mut child = command.spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut line = || lines.next().expect("a line").expect("UTF-8");
    let using = line();
    assert!(
        using.contains("fleet prod: using the cluster of Secret/fleets/mgmt"),
        "{using}"
    );
    let away = line();
    assert!(
        away.contains("Secret/fleets/mgmt: cannot reach the cluster: "),
        "{away}"
    );
    assert!(away.contains("; retrying"), "{away}");
    let pid = child.id().to_string();
    daemon.child = Some(child);
    let asked = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(asked.expect("a kill program").success());
    let ended = daemon.child.as_mut().expect("it is there").wait();
    assert_eq!(ended.expect("it ends").code(), Some(0));
}

/// A simulator that takes only who has the token `second`.
fn guarded() -> Router {
    simulator()
        .router()
        .layer(from_fn(|request: Request, next: Next| async {
            match request.headers().get("authorization") {
                Some(token) if token == "Bearer second" => next.run(request).await,
                _ => StatusCode::UNAUTHORIZED.into_response(),
            }
        }))
}

fn with_token(kubeconfig: &str, token: &str) -> String {
    with(kubeconfig, "token", token)
}

pub(super) fn as_user(kubeconfig: &str, user: &str) -> String {
    with(kubeconfig, "as", user)
}

fn with(kubeconfig: &str, field: &str, value: &str) -> String {
    let mut config: serde_yaml::Value = serde_yaml::from_str(kubeconfig).expect("a kubeconfig");
    config["users"][0]["user"][field] = value.into();
    serde_yaml::to_string(&config).expect("YAML")
}

/// Waits until `client`'s requests succeed or fail as expected.
async fn until(client: &Client, answers: bool) {
    let start = Instant::now();
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    loop {
        let answer = api.list(&ListParams::default()).await;
        if answer.is_ok() == answers {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{answer:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// `good` is a kubeconfig of a cluster that `bad` is turned away from; `reader` may read the Secret.
async fn a_changed_secret_takes_effect(holder: &Cluster, reader: &Client, good: &str, bad: &str) {
    holder.hold("value", bad).await;
    let client = connect_by_secret(reader, HOME, "mgmt", |_| {}).await;
    let client = client.expect("it is a kubeconfig");
    until(&client, false).await;
    holder.hold("value", good).await;
    until(&client, true).await;
    let other = Cluster::simulated().await;
    let mark = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    apply(&other.client, &mark).await;
    for useless in ["broken", &other.kubeconfig] {
        holder.hold("value", useless).await;
        // Time enough to take it up.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!namespaces(&client).await.contains(&"other".to_owned()));
    }
    holder.hold("value", bad).await;
    until(&client, false).await;
}

async fn namespaces(client: &Client) -> Vec<String> {
    let api: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    let all = api.list(&ListParams::default()).await.expect("a list");
    all.iter().map(|namespace| namespace.name_any()).collect()
}

#[test]
fn new_credentials_in_the_secret_are_taken_up_on_the_simulator() {
    runtime().block_on(async {
        let holder = Cluster::simulated().await;
        let target = anonymous(&serve_router(guarded()).await);
        let [good, bad] = ["second", "first"].map(|token| with_token(&target, token));
        a_changed_secret_takes_effect(&holder, &holder.client, &good, &bad).await;
    });
}

#[test]
fn new_credentials_in_the_secret_are_taken_up_on_kube_apiserver() {
    let Some(server) = if_asked(Kubernetes::own) else {
        return;
    };
    runtime().block_on(async {
        let holder = Cluster::real(&server).await;
        let reader = Cluster::of(as_user(&holder.kubeconfig, "reader")).await;
        // No more than this is needed.
        let rule = json!({"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mgmt"],
            "verbs": ["get", "list", "watch"]});
        let api = "rbac.authorization.k8s.io";
        let metadata = json!({"name": "reader", "namespace": HOME});
        let role = json!({"apiVersion": format!("{api}/v1"), "kind": "Role", "metadata": metadata,
            "rules": [rule]});
        let binding = json!({"apiVersion": format!("{api}/v1"), "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": api, "kind": "Role", "name": "reader"},
            "subjects": [{"apiGroup": api, "kind": "User", "name": "reader"}]});
        for object in [role, binding] {
            apply(&holder.client, &object).await;
        }
        let good = &holder.kubeconfig;
        let bad = with_token(good, "wrong");
        a_changed_secret_takes_effect(&holder, &reader.client, good, &bad).await;
    });
}
