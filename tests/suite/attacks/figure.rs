//! How long a push to `main` takes while ten forks attack a fleet of 500 clusters at once, and how much memory the daemon
//! and the process that plans forks take together.
//!
//! `CAPSTAN_PROGRAM` names another build of the program, such as the one that is shipped.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use capstan::adapters::azure_sim::crds::foreign;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::json;

use super::world::{Over, World};
use crate::fleet::DEFINITION;

const CLUSTERS: usize = 500;

/// The bytes of memory that a process holds, by the kernel.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    number.unwrap_or(0) << 10
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let of_task =
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let all: Vec<String> = of_task.collect();
    all.iter()
        .flat_map(|line| line.split_whitespace())
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Watches a process and its children until this is dropped.
struct Watch {
    peak: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Watch {
    fn on(pid: u32) -> Self {
        let watch = Self {
            peak: Arc::default(),
            ended: Arc::default(),
        };
        let (peak, ended) = (Arc::clone(&watch.peak), Arc::clone(&watch.ended));
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let together = resident(pid) + children(pid).into_iter().map(resident).sum::<u64>();
                peak.fetch_max(together, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        watch
    }

    fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed) >> 20
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

async fn create(world: &World, kind: &GroupVersionKind, object: serde_json::Value) {
    let client = world.simulator.client("default");
    let api: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(kind));
    let object = serde_json::from_value(object).expect("an object");
    let created = api.create(&PostParams::default(), &object).await;
    created.expect("it is new");
}

/// The kinds of the fleet, and its namespace.
async fn prepare(world: &World) {
    let crd = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    for definition in foreign().into_iter().chain(capstan::api::crds::crds()) {
        create(world, &crd, definition).await;
    }
    let namespace = GroupVersionKind::gvk("", "v1", "Namespace");
    create(
        world,
        &namespace,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "clusters"}}),
    )
    .await;
}

fn figure(over: Over) {
    let Some(mut world) = World::new(over) else {
        return;
    };
    world.forks = json!({});
    let program = std::env::var_os("CAPSTAN_PROGRAM").map(PathBuf::from);
    let program = program.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_capstan")));
    world.runtime.block_on(prepare(&world));
    let fleet: Vec<(String, String)> = (0..CLUSTERS)
        .map(|at| {
            (
                format!("c{at}.yaml"),
                DEFINITION.replace("name: one", &format!("name: cluster-{at}")),
            )
        })
        .collect();
    let fleet: Vec<(&str, &str)> = fleet
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    world.push_files(&fleet);
    world.push("before");
    let daemon = world.start_program(Path::new(&program));
    world.applied("before");
    // The first apply is under way for a while.
    std::thread::sleep(Duration::from_secs(20));
    let quiet = push_and_wait(&world, "quiet");
    let watch = Watch::on(daemon.id());
    let mut stranger = world.stranger();
    let mut heads = stranger.odd_commits();
    heads.truncate(1);
    for _ in 0..3 {
        heads.push(stranger.many_names(18_000));
        heads.push(stranger.inflating(450));
        heads.push(stranger.expensive_patterns(2000));
    }
    assert_eq!(heads.len(), 10);
    let mut waits = Vec::new();
    for at in 0..10 {
        waits.push(push_and_wait(&world, &format!("urgent{at}")));
        std::thread::sleep(Duration::from_secs(3));
    }
    let longest = waits.iter().max().copied().unwrap_or_default();
    eprintln!(
        "{over:?}: before the attack {quiet:?}, during it {waits:?}; peak of daemon and child {} MiB",
        watch.peak()
    );
    for head in &heads {
        eprintln!("{}", world.planned(head).title);
    }
    eprintln!("peak of daemon and child in the end {} MiB", watch.peak());
    assert!(longest < Duration::from_secs(5), "{}", daemon.said());
}

fn push_and_wait(world: &World, name: &str) -> Duration {
    let start = Instant::now();
    world.push(name);
    world.applied(name);
    start.elapsed()
}

#[test]
#[ignore = "takes minutes, and a release build"]
fn a_push_arrives_within_five_seconds_while_ten_forks_attack_by_path() {
    figure(Over::Path);
}

#[test]
#[ignore = "takes minutes, and a release build"]
fn a_push_arrives_within_five_seconds_while_ten_forks_attack_over_https() {
    figure(Over::Https);
}
