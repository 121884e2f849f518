//! Applying many objects to a real kube-apiserver: Capstan, `kubectl apply --server-side`, and a bare
//! loop of parallel PATCH requests, each on a server of its own, in the same run.
//!
//! `cargo bench --bench load` prints a table, then the cost of an unchanged fleet (`steady`), how
//! soon a step follows on what it waited for (`wake`), the ARO controllers with 200 clusters under way (`controllers`, which
//! takes 40 minutes), their memory with up to 500 clusters on a simulated server (`memory`), what many revisions take of
//! memory (`revisions`), what a check of up to 10,000 definitions costs (`fleets`; with the path of another program,
//! beside that), and what a daemon compiles again of them after a push (`looks`). `-- apply`, `-- steady` and so on is one of
//! them; `-- memory 20 50` takes other numbers of clusters, and so do `-- controllers`, `-- fleets` and `-- looks`. All but
//! `memory`, `fleets` and `looks` need the server and the kubectl of `tests/kubernetes/build`.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used
)]

mod around;
mod controllers;
mod fleets;
#[allow(dead_code, reason = "the pipeline benchmark uses the rest")]
#[path = "../bench/generate.rs"]
mod generate;
#[allow(dead_code, reason = "the suite uses the rest")]
#[path = "../../crates/kube-sim/tests/suite/kubernetes/mod.rs"]
mod kubernetes;
mod looks;
mod process;
mod revisions;
mod steady;
mod wake;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

use kubernetes::Kubernetes;
use mimalloc::MiMalloc;
use process::{Cost, timed};

/// As in the shipped program, since memory is measured.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const SETS: usize = 1_000;
const MAPS: usize = 10_000;
const AT_ONCE: usize = 32;
/// Objects in one file.
const IN_A_FILE: usize = 400;

/// What is applied.
#[derive(Clone, Copy)]
enum Load {
    /// 1,000 sets of a ServiceAccount, a Service, an Ingress and a Deployment without replicas.
    Sets,
    /// 10,000 ConfigMaps.
    Maps,
}

/// Who applies it.
#[derive(Clone, Copy)]
enum Who {
    Capstan,
    Kubectl,
    Loop,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    if around::act(&runtime, &asked) {
        return;
    }
    let is_asked = |part: &str| asked.is_empty() || asked.iter().any(|word| word == part);
    let with_fixture = |act: &dyn Fn(&Fixture<'_>)| {
        if let Some(server) = Kubernetes::own() {
            let dir = tempfile::tempdir().unwrap();
            act(&Fixture {
                runtime: &runtime,
                server: &server,
                dir,
            });
        }
    };
    if is_asked("apply") {
        println!("| what | who | time | CPU | peak memory | requests | of these writes |");
        println!("|---|---|---|---|---|---|---|");
        for load in [Load::Sets, Load::Maps] {
            for who in [Who::Loop, Who::Capstan, Who::Kubectl] {
                with_fixture(&|fixture| fixture.run(load, who));
            }
        }
    }
    if is_asked("steady") {
        with_fixture(&|fixture| fixture.steady());
    }
    if is_asked("wake") {
        with_fixture(&|fixture| fixture.wake());
    }
    let counts: Vec<usize> = asked.iter().filter_map(|word| word.parse().ok()).collect();
    if is_asked("controllers") {
        with_fixture(&|fixture| fixture.controllers(&counts));
    }
    if is_asked("memory") {
        controllers::memory(&runtime, &counts);
    }
    if is_asked("fleets") {
        let other = asked.iter().find(|word| word.contains('/'));
        fleets::fleets(&counts, other.map(Path::new));
    }
    if is_asked("looks") {
        looks::looks(&counts);
    }
    if is_asked("revisions") {
        with_fixture(&|fixture| fixture.revisions());
    }
}

struct Fixture<'a> {
    runtime: &'a Runtime,
    server: &'a Kubernetes,
    dir: tempfile::TempDir,
}

impl Fixture<'_> {
    fn run(&self, load: Load, who: Who) {
        let mut objects = objects(load);
        self.row(load, who, "first", &objects);
        if let Load::Maps = load {
            self.row(load, who, "unchanged", &objects);
            objects[MAPS / 2]["data"]["k"] = json!("changed");
            self.row(load, who, "one changed", &objects);
        }
    }

    fn row(&self, load: Load, who: Who, what: &str, objects: &[Json]) {
        write_files(self.dir.path(), objects);
        let before = self.requests();
        let cost = match who {
            Who::Capstan => self.program(
                load,
                Path::new(env!("CARGO_BIN_EXE_capstan")),
                &["apply", ".", "--wait"],
            ),
            Who::Kubectl => {
                let Some(kubectl) = kubernetes::kubectl() else {
                    return;
                };
                self.program(load, &kubectl, &["apply", "--server-side", "-f", "."])
            }
            Who::Loop => self.bare(load, objects),
        };
        let after = self.requests();
        let name = match load {
            Load::Sets => format!("{SETS} sets of 4, {what}, ready"),
            Load::Maps => format!("{MAPS} ConfigMaps, {what}"),
        };
        let who = match who {
            Who::Capstan => "Capstan",
            Who::Kubectl => "kubectl apply --server-side",
            Who::Loop => "32 PATCH at a time",
        };
        let own = cost.own.map_or_else(
            || "- | -".to_owned(),
            |(cpu, memory)| format!("{:.1} s | {} MiB", cpu.as_secs_f64(), memory >> 20),
        );
        println!(
            "| {name} | {who} | {:.1} s | {own} | {} | {} |",
            cost.wall.as_secs_f64(),
            after.0 - before.0,
            after.1 - before.1
        );
    }

    /// Runs a program in the directory, then waits until what it applied is ready.
    fn program(&self, load: Load, program: &Path, arguments: &[&str]) -> Cost {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.dir.path())
            .env("KUBECONFIG", self.server.kubeconfig());
        timed(command, || self.until_ready(load))
    }

    fn bare(&self, load: Load, objects: &[Json]) -> Cost {
        let start = Instant::now();
        self.runtime.block_on(async {
            let client = self.server.client().await;
            let requests = objects.iter().map(|object| apply(&client, object));
            let requests = futures::stream::iter(requests).buffer_unordered(AT_ONCE);
            requests.try_collect::<Vec<()>>().await.unwrap();
        });
        self.until_ready(load);
        Cost {
            wall: start.elapsed(),
            own: None,
        }
    }

    fn until_ready(&self, load: Load) {
        let Load::Sets = load else { return };
        self.runtime.block_on(async {
            let api: Api<Deployment> = Api::namespaced(self.server.client().await, "default");
            let is_ready = |one: &Deployment| {
                let conditions = one
                    .status
                    .as_ref()
                    .and_then(|status| status.conditions.as_ref());
                conditions.is_some_and(|all| {
                    all.iter()
                        .any(|one| one.type_ == "Available" && one.status == "True")
                })
            };
            loop {
                let all = api.list(&ListParams::default()).await.unwrap();
                if all.items.len() == SETS && all.iter().all(is_ready) {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        });
    }

    /// What the server was asked so far, by its own count, and how much of that were writes.
    fn requests(&self) -> (u64, u64) {
        let metrics = self.runtime.block_on(async {
            let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
            self.server
                .client()
                .await
                .request_text(request)
                .await
                .unwrap()
        });
        let (mut all, mut writes) = (0, 0);
        for line in metrics
            .lines()
            .filter(|line| line.starts_with("apiserver_request_total{"))
        {
            let count = line
                .rsplit(' ')
                .next()
                .and_then(|count| count.parse::<f64>().ok());
            let count = count.map_or(0, |count| format!("{count:.0}").parse().unwrap_or(0));
            let ours = [
                "configmaps",
                "deployments",
                "services",
                "serviceaccounts",
                "ingresses",
            ];
            if !ours
                .iter()
                .any(|kind| line.contains(&format!("resource=\"{kind}\"")))
            {
                continue;
            }
            all += count;
            if ["APPLY", "PATCH", "POST", "PUT", "DELETE"]
                .iter()
                .any(|verb| line.contains(&format!("verb=\"{verb}\"")))
            {
                writes += count;
            }
        }
        (all, writes)
    }
}

async fn apply(client: &Client, object: &Json) -> Result<(), kube::Error> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let api_version = text(&object["apiVersion"]);
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        group,
        version,
        &text(&object["kind"]),
    ));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    let name = text(&object["metadata"]["name"]);
    api.patch(&name, &PatchParams::apply("loop"), &Patch::Apply(object))
        .await
        .map(drop)
}

fn objects(load: Load) -> Vec<Json> {
    match load {
        Load::Sets => (0..SETS).flat_map(set).collect(),
        Load::Maps => (0..MAPS)
            .map(|at| object("v1", "ConfigMap", at, &json!({"data": {"k": "v"}})))
            .collect(),
    }
}

fn object(api_version: &str, kind: &str, at: usize, rest: &Json) -> Json {
    let mut object = rest.clone();
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    object["metadata"] = json!({"name": format!("app-{at}"), "namespace": "default"});
    object
}

fn set(at: usize) -> [Json; 4] {
    let name = format!("app-{at}");
    let labels = json!({"app": name});
    [
        object("v1", "ServiceAccount", at, &json!({})),
        object(
            "v1",
            "Service",
            at,
            &json!({"spec": {"selector": labels, "ports": [{"port": 80}]}}),
        ),
        object(
            "networking.k8s.io/v1",
            "Ingress",
            at,
            &json!({"spec": {"defaultBackend": {"service": {"name": name, "port": {"number": 80}}}}}),
        ),
        object(
            "apps/v1",
            "Deployment",
            at,
            &json!({"spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "example.invalid/app"}]}}}}),
        ),
    ]
}

fn write_files(dir: &Path, objects: &[Json]) {
    for (number, some) in objects.chunks(IN_A_FILE).enumerate() {
        let mut text = String::new();
        for object in some {
            let _ = writeln!(text, "---\n{object}");
        }
        std::fs::write(dir.join(format!("{number}.yaml")), text).unwrap();
    }
}
