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

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const ROLES: &str = "authorization.azure.com/v1api20220401";

/// A step: a kind, and what of it shows the step.
type Step = (&'static str, &'static str, &'static str);

const ASSIGNED: Step = (ROLES, "RoleAssignment", "Ready");
const BUILT: Step = (ARO, "AROCluster", "ResourcesReady");
const HCP_EXISTS: Step = (HCP, "HcpOpenShiftCluster", "exists");
const HCP_READY: Step = (PLANE, "AROControlPlane", "HcpClusterReady");
const KUBECONFIG: Step = ("v1", "Secret", "exists");
const PLANE_READY: Step = (PLANE, "AROControlPlane", "ready");
const POOL_EXISTS: Step = (HCP, "HcpOpenShiftClustersNodePool", "exists");
const POOL_READY: Step = (HCP, "HcpOpenShiftClustersNodePool", "Ready");
const AUTH_EXISTS: Step = (HCP, "HcpOpenShiftClustersExternalAuth", "exists");

/// The proposal's dependency chain, and what branches off it: each step after the one before.
const CHAINS: &[&[Step]] = &[
    &[
        ASSIGNED,
        BUILT,
        HCP_EXISTS,
        HCP_READY,
        PLANE_READY,
        (ARO, "AROCluster", "ready"),
        (ARO, "AROCluster", "provisioned"),
        (CAPI, "Cluster", "infrastructureProvisioned"),
    ],
    &[
        HCP_EXISTS,
        KUBECONFIG,
        PLANE_READY,
        (CAPI, "Cluster", "controlPlaneInitialized"),
    ],
    &[HCP_READY, POOL_EXISTS, POOL_READY],
];

/// The same of the clusters that have external authentication.
const AUTH: &[Step] = &[POOL_READY, AUTH_EXISTS];

/// All steps.
fn steps() -> BTreeSet<Step> {
    let chains = CHAINS.iter().chain([&AUTH]);
    chains.flat_map(|chain| chain.iter().copied()).collect()
}

/// Whether an object shows a step.
fn shows(object: &Json, step: &str) -> bool {
    let status = &object["status"];
    let initialization = &status["initialization"];
    match step {
        "exists" => true,
        "ready" => status["ready"] == true,
        "provisioned" | "infrastructureProvisioned" | "controlPlaneInitialized" => {
            initialization[step] == true
        }
        condition => {
            let conditions = status["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|held| held["type"] == condition && held["status"] == "True")
        }
    }
}

/// The cluster that an object is about, if any.
fn cluster_of(object: &Json) -> Option<String> {
    let name = object["metadata"]["name"].as_str()?;
    let owners = object["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten();
    let of = match object["kind"].as_str()? {
        "Secret" => name.strip_suffix("-kubeconfig"),
        "RoleAssignment" => owners.find(|owner| owner["kind"] == "AROCluster")?["name"].as_str(),
        "HcpOpenShiftClustersNodePool" | "HcpOpenShiftClustersExternalAuth" => {
            object["spec"]["owner"]["name"].as_str()
        }
        _ => Some(name),
    };
    of.map(str::to_owned)
}

/// When each step was first seen of each object of a cluster: the server's count of changes, which is in the order of time
/// for all kinds.
type Firsts = Arc<Mutex<BTreeMap<(String, Step), BTreeMap<String, u64>>>>;

/// Notes the steps from now on.
fn recorded(cluster: &Management) -> Firsts {
    let firsts = Firsts::default();
    let steps = steps().into_iter();
    let kinds: BTreeSet<_> = steps.map(|(version, kind, _)| (version, kind)).collect();
    for (api_version, kind) in kinds {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &resource);
        let firsts = Arc::clone(&firsts);
        cluster.runtime.spawn(async move {
            let seen = watcher::watcher(api, watcher::Config::default());
            let mut seen = std::pin::pin!(seen.default_backoff().applied_objects());
            while let Some(seen) = seen.next().await {
                let Ok(seen) = seen else { continue };
                let mut object = serde_json::to_value(&seen).expect("plain data");
                object["kind"] = kind.into();
                let Some(of) = cluster_of(&object) else {
                    continue;
                };
                let at = object["metadata"]["resourceVersion"].as_str();
                let at: u64 = at.and_then(|at| at.parse().ok()).expect("a number");
                let name = seen.metadata.name.unwrap_or_default();
                let mut firsts = firsts.lock().unwrap_or_else(PoisonError::into_inner);
                let steps = self::steps().into_iter();
                for step in steps.filter(|step| step.1 == kind && shows(&object, step.2)) {
                    let first = firsts.entry((of.clone(), step)).or_default();
                    first.entry(name.clone()).or_insert(at);
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
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
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
    // Every role assignment, and the first of the others.
    let time = |name: &str, step: Step| {
        let times = seen.get(&(name.to_owned(), step))?.values().copied();
        if step == ASSIGNED {
            times.max()
        } else {
            times.min()
        }
    };
    let has_auth = |name: &&String| time(name, AUTH_EXISTS).is_some();
    assert!(clusters.iter().any(|name| has_auth(&name)));
    for name in &clusters {
        let auth = has_auth(&name).then_some(&AUTH);
        for chain in CHAINS.iter().chain(auth) {
            let times: Vec<_> = chain.iter().map(|step| (time(name, *step), step)).collect();
            let is_whole = times.iter().all(|(time, _)| time.is_some());
            let is_ordered = times.is_sorted_by_key(|(time, _)| *time);
            assert!(is_whole && is_ordered, "{name}: {times:#?}");
        }
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
    let steps = steps().into_iter().filter(|step| step.1 != "Secret");
    let kinds = steps.map(|(version, kind, _)| (version, kind));
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
