//! The daemon killed at every step it announces, and started again: the end is the same as if nothing
//! had happened. On the simulator, and at every third step on a real server.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use capstan::adapters::azure_sim as actors;
use capstan::model::CheckState;
use capstan::plan::ApplySet;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde_json::{Value as Json, json};

use super::pipeline::Management;
use crate::daemon::{SYNC, World};
use crate::patience::{PATIENCE, until};

/// The fleet at first, in `namespace`.
fn first(namespace: &str) -> String {
    let objects = [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
        map(namespace, "changes", "1", &json!({})),
        map(namespace, "stays", "1", &after(namespace)),
        map(namespace, "goes", "1", &after(namespace)),
        map(
            namespace,
            "released",
            "1",
            &json!({"capstan.dev/deletion-policy": "Orphan"}),
        ),
    ];
    objects.map(|object| format!("---\n{object}\n")).concat()
}

/// And then.
fn second(namespace: &str) -> String {
    let objects = [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
        map(namespace, "changes", "2", &json!({})),
        map(namespace, "stays", "1", &after(namespace)),
        map(namespace, "comes", "1", &after(namespace)),
    ];
    objects.map(|object| format!("---\n{object}\n")).concat()
}

fn after(namespace: &str) -> Json {
    json!({"config.kubernetes.io/depends-on": format!("/namespaces/{namespace}/ConfigMap/changes")})
}

fn map(namespace: &str, name: &str, value: &str, annotations: &Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": value},
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations}})
}

/// A daemon that is killed when it has announced so many steps; never, for none.
struct Daemon {
    child: Arc<Mutex<Child>>,
    announced: Arc<AtomicUsize>,
}

impl Daemon {
    fn start(mut command: Command, kill_at: Option<usize>) -> Self {
        let mut child = command.spawn().expect("the daemon starts");
        let stderr = child.stderr.take().expect("it is piped");
        let (child, announced) = (Arc::new(Mutex::new(child)), Arc::new(AtomicUsize::new(0)));
        let (killed, count) = (Arc::clone(&child), Arc::clone(&announced));
        std::thread::spawn(move || {
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            // Reports to people come this way, too.
            let is_step = |line: &String| line.contains(" DEBUG ") || line.contains(" INFO ");
            for _ in lines.filter(is_step) {
                if kill_at == Some(count.fetch_add(1, Ordering::SeqCst) + 1) {
                    killed.lock().unwrap().kill().expect("it can be killed");
                }
            }
        });
        Self { child, announced }
    }

    fn is_over(&self) -> bool {
        let mut child = self.child.lock().unwrap();
        child.try_wait().expect("it can be waited for").is_some()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// What happened in a run, and how it ended.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// Everything that was made or deleted, as often as it was.
    deeds: BTreeMap<String, usize>,
    /// The objects in the end, the parent among them.
    objects: BTreeMap<String, Json>,
}

/// Pushes both revisions, and kills the daemon once on the way. The outcome, and how many steps the
/// first daemon announced.
fn live(cluster: &Management, namespace: &str, kill_at: Option<usize>) -> (Outcome, usize) {
    let api: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), namespace);
    let deeds = Arc::new(Mutex::new(BTreeMap::new()));
    let watcher = cluster
        .runtime
        .spawn(watch(api.clone(), Arc::clone(&deeds)));
    let world = World::on(Some(&cluster.kubeconfig));
    let home = format!("{namespace}-home");
    let mut daemon = Daemon::start(world.talking(&home), kill_at);
    let announced = Arc::clone(&daemon.announced);
    let mut onto: Option<String> = None;
    let mut killed = false;
    for text in [first(namespace), second(namespace)] {
        let revision = world.push("main", onto.as_deref(), &text);
        let began = Instant::now();
        while world
            .check(&revision, SYNC)
            .is_none_or(|check| check.state != CheckState::Success)
        {
            if daemon.is_over() {
                assert!(kill_at.is_some() && !killed, "the daemon ended by itself");
                killed = true;
                daemon = Daemon::start(world.talking(&home), None);
            }
            let check = world.check(&revision, SYNC);
            assert!(began.elapsed() < PATIENCE, "{namespace}: {check:#?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        onto = Some(revision);
    }
    // The watch may be a moment behind.
    let seen = |deeds: &BTreeMap<String, usize>| deeds.contains_key("DELETED goes");
    until(
        || seen(&deeds.lock().unwrap()).then_some(()),
        || format!("{namespace}: {:?}", deeds.lock().unwrap()),
    );
    let announced = announced.load(Ordering::SeqCst);
    drop(daemon);
    watcher.abort();
    let set = ApplySet::new("config", &*home);
    let listed = cluster.runtime.block_on(api.list(&ListParams::default()));
    let objects = listed.expect("a list").items.into_iter();
    let objects = objects
        .map(|map| normalized(&map, namespace, &set.id()))
        .collect();
    let deeds = deeds.lock().unwrap().clone();
    let mut outcome = Outcome { deeds, objects };
    let parent: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &home);
    let parent = cluster
        .runtime
        .block_on(parent.get("capstan-config"))
        .expect("a parent");
    let data = parent.data.unwrap_or_default();
    let last = onto.unwrap_or_default();
    let data = ["applying", "applied"].map(|part| data.get(part) == Some(&last));
    outcome.objects.insert("the parent".to_owned(), json!(data));
    (outcome, announced)
}

/// Counts what is made and deleted.
async fn watch(api: Api<ConfigMap>, deeds: Arc<Mutex<BTreeMap<String, usize>>>) {
    let params = WatchParams::default().timeout(290);
    let events = api.watch(&params, "0").await.expect("a watch");
    let mut events = events.boxed();
    while let Some(Ok(event)) = events.next().await {
        let deed = match event {
            WatchEvent::Added(map) => format!("ADDED {}", map.metadata.name.unwrap_or_default()),
            WatchEvent::Deleted(map) => {
                format!("DELETED {}", map.metadata.name.unwrap_or_default())
            }
            _ => continue,
        };
        *deeds.lock().unwrap().entry(deed).or_default() += 1;
    }
}

/// The object without what differs from run to run. What it is part of, and by whom it was made, does
/// not.
fn normalized(map: &ConfigMap, namespace: &str, set: &str) -> (String, Json) {
    let mut live = serde_json::to_value(map).expect("JSON");
    let annotations = live["metadata"]["annotations"].as_object_mut();
    if let Some(applied) = annotations.and_then(|all| all.get_mut("capstan.dev/applied")) {
        *applied = json!("a hash");
    }
    let managers = live["metadata"]["managedFields"].as_array_mut();
    for entry in managers.into_iter().flatten() {
        entry["time"] = Json::Null;
    }
    for part in ["uid", "resourceVersion", "creationTimestamp"] {
        live["metadata"][part] = Json::Null;
    }
    let text = live
        .to_string()
        .replace(set, "the set")
        .replace(namespace, "the namespace");
    let name = map.metadata.name.clone().unwrap_or_default();
    (name, serde_json::from_str(&text).expect("JSON"))
}

/// Every `step`th announcement, each in a namespace of its own.
fn killed_anywhere(cluster: &Management, step: usize) {
    let began = Instant::now();
    let (expected, count) = live(cluster, "crash-none", None);
    let seen: Vec<&str> = expected.deeds.keys().map(String::as_str).collect();
    let deeds = [
        "ADDED changes",
        "ADDED comes",
        "ADDED goes",
        "ADDED released",
        "ADDED stays",
        "DELETED goes",
    ];
    assert_eq!(seen, deeds);
    assert!((15..40).contains(&count), "{count} steps");
    let (next, kills) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || loop {
        let at = 1 + next.fetch_add(step, Ordering::SeqCst);
        if at > count {
            return;
        }
        let (outcome, announced) = live(cluster, &format!("crash-{at}"), Some(at));
        assert_eq!(outcome, expected, "killed at step {at} of {count}");
        if announced >= at {
            kills.fetch_add(1, Ordering::SeqCst);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    // The number of writes to the parent varies, so the last steps may not come.
    let (kills, all) = (kills.into_inner(), count.div_ceil(step));
    assert!(kills + 2 >= all, "{kills} kills, of {all}");
    let _ = writeln!(
        std::io::stderr(),
        "crash: {kills} kills in {count} steps, {:.1?}",
        began.elapsed()
    );
}

#[test]
fn a_kill_at_any_step_changes_nothing_in_the_end_on_the_simulator() {
    killed_anywhere(&Management::simulated(1, actors::Options::default()), 1);
}

#[test]
fn a_kill_at_any_step_changes_nothing_in_the_end_on_kube_apiserver() {
    if let Some(cluster) = Management::shared("crash", 1) {
        killed_anywhere(&cluster, 3);
    }
}
