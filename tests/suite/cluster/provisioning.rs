//! The example fleet from nothing to ready clusters and back, on both servers: the shipped program follows a
//! repository, our controllers make the clusters, and the actors play Cluster API, ASO and Azure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use capstan::adapters::azure_sim as actors;
use capstan::adapters::git::Files;
use capstan::model::CheckState;
use futures::StreamExt as _;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::Value as Json;

use super::pipeline::Management;
use crate::daemon::World;
use crate::patience::until;

/// How much faster than outside time passes for the actors.
const SPEED: u32 = 600;
const SYNC: &str = "capstan/prod/sync";
/// The controllers run in this process, so the program runs none.
const FLEET: &str = "{}, controllers: {aro: \"off\"}";
const ARO: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const PLANE: &str = "controlplane.cluster.x-k8s.io/v1beta2";
const HCP: &str = "redhatopenshift.azure.com/v1api20251223preview";

/// The steps of the proposal's dependency chain, in its order: a kind, and what of it shows the step.
const CHAIN: &[(&str, &str, &str)] = &[
    (ARO, "AROCluster", "ResourcesReady"),
    (HCP, "HcpOpenShiftCluster", "exists"),
    (PLANE, "AROControlPlane", "HcpClusterReady"),
    (PLANE, "AROControlPlane", "ready"),
    (ARO, "AROCluster", "ready"),
    (ARO, "AROCluster", "provisioned"),
    (
        "cluster.x-k8s.io/v1beta2",
        "Cluster",
        "infrastructureProvisioned",
    ),
];

/// Whether an object shows a step.
fn shows(object: &Json, step: &str) -> bool {
    let status = &object["status"];
    let initialization = &status["initialization"];
    match step {
        "exists" => true,
        "ready" => status["ready"] == true,
        "provisioned" | "infrastructureProvisioned" => initialization[step] == true,
        condition => {
            let conditions = status["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|held| held["type"] == condition && held["status"] == "True")
        }
    }
}

/// When each step was first seen of each cluster: the server's count of changes, which is in the order of time for all
/// kinds.
type Firsts = Arc<Mutex<BTreeMap<(String, usize), u64>>>;

/// Notes the steps from now on.
fn recorded(cluster: &Management) -> Firsts {
    let firsts = Firsts::default();
    let kinds: BTreeSet<_> = CHAIN
        .iter()
        .map(|(version, kind, _)| (*version, *kind))
        .collect();
    for (api_version, kind) in kinds {
        let (group, version) = api_version.split_once('/').expect("a group");
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &resource);
        let firsts = Arc::clone(&firsts);
        cluster.runtime.spawn(async move {
            let seen = watcher::watcher(api, watcher::Config::default());
            let mut seen = std::pin::pin!(seen.default_backoff().applied_objects());
            while let Some(seen) = seen.next().await {
                let Ok(seen) = seen else { continue };
                let object = serde_json::to_value(&seen).expect("plain data");
                let at = object["metadata"]["resourceVersion"].as_str();
                let at: u64 = at.and_then(|at| at.parse().ok()).expect("a number");
                let name = seen.metadata.name.unwrap_or_default();
                let mut firsts = firsts.lock().unwrap_or_else(PoisonError::into_inner);
                for (place, (_, of, step)) in CHAIN.iter().enumerate() {
                    if *of == kind && shows(&object, step) {
                        firsts.entry((name.clone(), place)).or_insert(at);
                    }
                }
            }
        });
    }
    firsts
}

fn files(directory: &Path, root: &Path, found: &mut Files) {
    for entry in std::fs::read_dir(directory).expect("readable") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, root, found);
        } else {
            let name = path
                .strip_prefix(root)
                .expect("below")
                .display()
                .to_string();
            found.insert(name, std::fs::read_to_string(&path).expect("text"));
        }
    }
}

/// The names of the objects of a kind in every namespace; none if the kind is not served.
fn names(cluster: &Management, api_version: &str, kind: &str) -> Vec<String> {
    let (group, version) = api_version.split_once('/').expect("a group");
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &resource);
    let all = cluster.runtime.block_on(api.list(&ListParams::default()));
    let names = all.expect("a list").into_iter();
    names.filter_map(|object| object.metadata.name).collect()
}

fn the_example_fleet_comes_and_goes(cluster: &Management) {
    let firsts = recorded(cluster);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut fleet = Files::default();
    files(&root.join("overlays"), root, &mut fleet);
    let example = root.join("examples/fleet");
    files(&example, &example, &mut fleet);
    // The namespace and the identity are there already; something stays when the clusters go.
    let stays = "{apiVersion: v1, kind: ConfigMap, metadata: {name: stays, namespace: clusters}}\n";
    fleet.insert("shared.yaml".to_owned(), stays.to_owned());
    let mut world = World::on(Some(&cluster.kubeconfig));
    let first = world.push_saying("the fleet", "main", None, &fleet);
    world.follow(FLEET);
    world.wait(&first, SYNC, CheckState::Success);

    let clusters = names(cluster, "cluster.x-k8s.io/v1beta2", "Cluster");
    assert_eq!(clusters.len(), 6, "{clusters:?}");
    let seen = firsts
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    for name in &clusters {
        let steps = (0..CHAIN.len()).map(|place| seen.get(&(name.clone(), place)).copied());
        let steps: Vec<Option<u64>> = steps.collect();
        assert!(
            steps.iter().all(Option::is_some) && steps.is_sorted(),
            "{name}: {steps:?}"
        );
    }

    // Nobody deletes a cluster by removing its file alone.
    let policy = "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {name: end}\nspec:\n  selector: {}\n  precedence: Enforced\n  order: 1000\n  merge: {deletionPolicy: Delete}\n";
    fleet.insert("overlays/end.yaml".to_owned(), policy.to_owned());
    let raw = "raw/stage-weu-1.yaml";
    let stage = fleet[raw].clone();
    fleet.insert(raw.to_owned(), marked(&stage));
    let second = world.push_saying("may go", "main", Some(&first), &fleet);
    world.wait(&second, SYNC, CheckState::Success);
    fleet.retain(|path, _| !path.starts_with("clusters/") && path != raw);
    let approvals = clusters
        .iter()
        .map(|name| format!("Capstan-Approve: delete clusters/{name}\n"));
    let message = format!("let them go\n\n{}", approvals.collect::<String>());
    let third = world.push_saying(&message, "main", Some(&second), &fleet);
    world.wait(&third, SYNC, CheckState::Success);
    let kinds = CHAIN.iter().map(|(version, kind, _)| (*version, *kind));
    let pools = [
        ("cluster.x-k8s.io/v1beta2", "MachinePool"),
        (ARO, "AROMachinePool"),
    ];
    let azure = [
        ("resources.azure.com/v1api20200601", "ResourceGroup"),
        ("keyvault.azure.com/v1api20230701", "Vault"),
        ("authorization.azure.com/v1api20220401", "RoleAssignment"),
    ];
    for (version, kind) in kinds.chain(pools).chain(azure) {
        let left = || names(cluster, version, kind);
        let is_gone = || left().is_empty().then_some(());
        until(is_gone, || format!("{kind}: {:?} stay", left()));
    }
}

/// With the annotation that lets the Cluster be deleted.
fn marked(text: &str) -> String {
    let policy = "  annotations: {capstan.dev/deletion-policy: Delete}\n";
    let mut lines = text.lines().map(|line| format!("{line}\n"));
    let mut marked = String::new();
    let mut is_cluster = false;
    for line in lines.by_ref() {
        is_cluster = match line.as_str() {
            "kind: Cluster\n" => true,
            "---\n" => false,
            _ => is_cluster,
        };
        let here = is_cluster && line == "metadata:\n";
        marked.push_str(&line);
        if here {
            marked.push_str(policy);
        }
    }
    marked
}

#[test]
fn the_example_fleet_comes_and_goes_on_the_simulator() {
    the_example_fleet_comes_and_goes(&Management::simulated(SPEED, actors::Options::default()));
}

#[test]
fn the_example_fleet_comes_and_goes_on_kube_apiserver() {
    if let Some(cluster) = Management::real(SPEED, actors::Options::default()) {
        the_example_fleet_comes_and_goes(&cluster);
    }
}
