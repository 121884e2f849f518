//! What a request costs on the simulator and on a real kube-apiserver, in the same run.
//!
//! `cargo bench --bench servers` prints a table. The real server's part is left out, with a line,
//! where it is not built.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used
)]

#[allow(dead_code, reason = "the suite uses the rest")]
#[path = "../../crates/kube-sim/tests/suite/kubernetes/mod.rs"]
mod kubernetes;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use kube_sim::Server;
use kube_sim::SimClock;
use serde_json::json;

use kubernetes::Kubernetes;

const APPLIED: usize = 10_000;
const WATCHED: usize = 1_000;
const HELD: usize = 50_000;
const AT_ONCE: usize = 32;

struct Figures {
    applied: Duration,
    median: Duration,
    worst: Duration,
    /// Bytes.
    memory: usize,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let simulated = runtime.block_on(async {
        let clock = SimClock::new(Timestamp::UNIX_EPOCH, 1);
        let server = Server::new(Arc::new(clock));
        figures(&server.client("default"), || resident("self")).await
    });
    let real = Kubernetes::own();
    let measured = real
        .as_ref()
        .and_then(|real| Some((real, real.pid()?.to_string())));
    let real = measured.map(|(real, pid)| {
        runtime.block_on(async { figures(&real.client().await, || resident(&pid)).await })
    });
    let real = real.as_ref();
    let row = |what: &str, simulated: String, real: Option<String>| {
        let real = real.unwrap_or_else(|| "not built".to_owned());
        println!("| {what} | {simulated} | {real} |");
    };
    println!("| what | simulator | kube-apiserver with etcd |\n|---|---|---|");
    let seconds = |figures: &Figures| format!("{:.2} s", figures.applied.as_secs_f64());
    let latency = |figures: &Figures| format!("{:?}, {:?}", figures.median, figures.worst);
    let memory = |figures: &Figures| format!("{} MiB", figures.memory >> 20);
    row(
        &format!("{APPLIED} ConfigMaps applied, {AT_ONCE} at a time"),
        seconds(&simulated),
        real.map(seconds),
    );
    row(
        "from a write to its watch event: median, 99th of 100",
        latency(&simulated),
        real.map(latency),
    );
    row(
        &format!("memory for {HELD} ConfigMaps"),
        memory(&simulated),
        real.map(memory),
    );
}

async fn figures(client: &Client, resident: impl Fn() -> usize) -> Figures {
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let before = resident();
    let held = |at: usize| {
        let (api, object) = (api.clone(), object(&format!("held-{at}"), "v"));
        async move { api.create(&PostParams::default(), &object).await.unwrap() }
    };
    many(HELD, held).await;
    let memory = resident().saturating_sub(before);

    let start = Instant::now();
    let applied = |at: usize| {
        let name = format!("applied-{at}");
        let (api, object) = (api.clone(), object(&name, "v"));
        async move {
            let params = PatchParams::apply("bench");
            api.patch(&name, &params, &Patch::Apply(&object))
                .await
                .unwrap()
        }
    };
    many(APPLIED, applied).await;
    let applied = start.elapsed();

    let mut latencies = latencies(&api).await;
    latencies.sort();
    Figures {
        applied,
        median: latencies[WATCHED / 2],
        worst: latencies[WATCHED * 99 / 100],
        memory,
    }
}

/// Runs `count` of what `one` makes, some at a time.
async fn many<F: Future>(count: usize, one: impl Fn(usize) -> F) {
    let all = futures::stream::iter((0..count).map(one));
    all.buffer_unordered(AT_ONCE).for_each(|_| async {}).await;
}

/// From sending a write to receiving its event, one after another.
async fn latencies(api: &Api<ConfigMap>) -> Vec<Duration> {
    let name = "watched";
    let made = api
        .create(&PostParams::default(), &object(name, "0"))
        .await
        .unwrap();
    let version = made.metadata.resource_version.unwrap();
    let only = WatchParams::default().fields("metadata.name=watched");
    let events = api.watch(&only, &version).await.unwrap();
    futures::pin_mut!(events);
    let mut latencies = Vec::new();
    for value in 1..=WATCHED {
        let value = value.to_string();
        let patch = json!({"data": {"k": value}});
        let start = Instant::now();
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let write = api.patch(name, &params, &patch);
        let seen = async {
            loop {
                let event = events.try_next().await.unwrap().unwrap();
                if let WatchEvent::Modified(live) = event
                    && live.data.unwrap_or_default().get("k") == Some(&value)
                {
                    return start.elapsed();
                }
            }
        };
        let (_, seen) = tokio::join!(async { write.await.unwrap() }, seen);
        latencies.push(seen);
    }
    latencies
}

fn object(name: &str, value: &str) -> ConfigMap {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "bench"}}, "data": {"k": value},
    });
    serde_json::from_value(object).unwrap()
}

/// The resident memory of a process, in bytes.
fn resident(pid: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<usize>().unwrap() * 1024
}
