//! `clusterctl move`: a cluster goes to another management cluster, and Azure does not notice.

use std::collections::BTreeMap;

use capstan::adapters::azure_sim::{Azure, Deed};
use capstan::api::kinds::{KINDS, Kind, is_aso};
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, on_kube_apiserver, on_simulator};
use super::manifests::Cluster;
use crate::cluster::pipeline::apply;

const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
const MOVE_HIERARCHY: &str = "clusterctl.cluster.x-k8s.io/move-hierarchy";
const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";

/// An object to move, and how to reach it.
struct Moved {
    kind: &'static str,
    name: String,
    object: Json,
}

impl Moved {
    fn uid(&self) -> String {
        self.object["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Whether something else than ASO's owns it.
    fn has_other_owner(&self) -> bool {
        let owners = self.object["metadata"]["ownerReferences"].as_array();
        let groups = owners.into_iter().flatten();
        let mut groups = groups.filter_map(|owner| owner["apiVersion"].as_str()?.split('/').next());
        groups.any(|group| !is_aso(group))
    }

    fn owners(&self) -> Vec<String> {
        let owners = self.object["metadata"]["ownerReferences"].as_array();
        let owners = owners.into_iter().flatten();
        owners
            .map(|owner| owner["uid"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

/// Whether the definitions of ASO's kinds have clusterctl's label. Otherwise what is of these kinds, and what only they own,
/// stays behind, and garbage collection deletes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Aso {
    Moves,
    Stays,
}

/// Everything that belongs to clusters, owners first. Identities, Secrets and ConfigMaps belong to them if something of
/// theirs owns them, or if their labels say so.
async fn owners_first(source: &Fixture, aso: Aso) -> Vec<Moved> {
    let moves = |known: &&Kind| aso == Aso::Moves || !is_aso(known.group);
    let kinds = KINDS.iter().filter(moves).map(|known| known.kind);
    let mut left = Vec::new();
    for kind in kinds.chain(["Secret", "ConfigMap"]) {
        for object in source
            .api(kind)
            .list(&ListParams::default())
            .await
            .expect("a list")
        {
            let name = object.metadata.name.clone().unwrap_or_default();
            let object = serde_json::to_value(object).expect("JSON");
            let moved = Moved { kind, name, object };
            let labels = &moved.object["metadata"]["labels"];
            let is_marked = [MOVE, MOVE_HIERARCHY]
                .iter()
                .any(|label| !labels[*label].is_null());
            let may_stay = matches!(kind, "AzureClusterIdentity" | "Secret" | "ConfigMap");
            let has_owner = match aso {
                Aso::Moves => !moved.owners().is_empty(),
                Aso::Stays => moved.has_other_owner(),
            };
            if !may_stay || is_marked || has_owner {
                left.push(moved);
            }
        }
    }
    let mut sorted: Vec<Moved> = Vec::new();
    while !left.is_empty() {
        let known: Vec<String> = sorted.iter().map(Moved::uid).collect();
        let (next, later): (Vec<Moved>, Vec<Moved>) = left
            .into_iter()
            .partition(|one| one.owners().iter().all(|owner| known.contains(owner)));
        assert!(!next.is_empty(), "owners are missing");
        sorted.extend(next);
        left = later;
    }
    sorted
}

/// Creates a copy with the uids that the owners have in the target. What ASO has exported there already is replaced, as
/// clusterctl does.
async fn copy(target: &Fixture, moved: &Moved, uids: &mut BTreeMap<String, String>) {
    let mut object = moved.object.clone();
    let metadata = object["metadata"].as_object_mut().expect("a map");
    for part in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
    ] {
        metadata.remove(part);
    }
    let owners = metadata
        .get_mut("ownerReferences")
        .and_then(Json::as_array_mut);
    for owner in owners.into_iter().flatten() {
        let uid = owner["uid"].as_str().unwrap_or_default();
        owner["uid"] = json!(uids[uid]);
    }
    let params = PostParams {
        field_manager: Some("clusterctl".to_owned()),
        ..PostParams::default()
    };
    let mut object: DynamicObject = serde_json::from_value(object).expect("an object");
    let api = target.api(moved.kind);
    let is_about = |error: &kube::Error, reason| matches!(error, kube::Error::Api(status) if status.reason == reason);
    let copied = loop {
        let answer = match object.metadata.resource_version {
            None => api.create(&params, &object).await,
            Some(_) => api.replace(&moved.name, &params, &object).await,
        };
        match answer {
            Ok(copied) => break copied,
            Err(error) if is_about(&error, "AlreadyExists") || is_about(&error, "Conflict") => {
                let there = api.get(&moved.name).await.expect("it is there");
                object.metadata.uid = there.metadata.uid;
                object.metadata.resource_version = there.metadata.resource_version;
            }
            Err(error) => panic!("{} {}: {error}", moved.kind, moved.name),
        }
    };
    uids.insert(moved.uid(), copied.metadata.uid.expect("a uid"));
}

/// Deletes it where it was, with its finalizers off.
async fn remove(source: &Fixture, moved: &Moved) {
    let api: Api<DynamicObject> = source.api(moved.kind);
    let patch = |patch: Json| {
        let api = api.clone();
        async move {
            let patched = api
                .patch(&moved.name, &PatchParams::default(), &Patch::Merge(patch))
                .await;
            patched.unwrap_or_else(|error| panic!("{} {}: {error}", moved.kind, moved.name));
        }
    };
    if source.get(moved.kind, &moved.name).await.is_none() {
        // It went with its owner.
        return;
    }
    patch(json!({"metadata": {"annotations": {DELETE_FOR_MOVE: ""}}})).await;
    patch(json!({"metadata": {"finalizers": null}})).await;
    source.delete(moved.kind, &moved.name).await;
}

/// As clusterctl does it.
pub(super) async fn relocate(source: &Fixture, target: &Fixture, cluster: &str, aso: Aso) {
    let paused = |paused: bool| json!({"spec": {"paused": paused}});
    source.merge("Cluster", cluster, &paused(true)).await;
    source
        .until("nothing blocks the move", async || {
            let all = source.objects().await.into_values();
            let mut all = all.map(|object| object["metadata"]["annotations"][BLOCK_MOVE].clone());
            all.all(|blocks| blocks.is_null())
        })
        .await;
    let sorted = owners_first(source, aso).await;
    let mut uids = BTreeMap::new();
    for moved in &sorted {
        copy(target, moved, &mut uids).await;
    }
    for moved in sorted.iter().rev() {
        remove(source, moved).await;
    }
    target.merge("Cluster", cluster, &paused(false)).await;
}

async fn a_cluster_moves(source: &Fixture, target: &Fixture) {
    let _ours = [source.ours(), target.ours()];
    let actors = [source.actors(), target.actors()];
    let mut cluster = Cluster::new("one");
    // It comes with the cluster.
    target
        .delete("AzureClusterIdentity", "cluster-identity")
        .await;
    source.apply(&cluster).await;
    source.until_ready(14).await;
    let deeds = source.azure.deeds().len();
    relocate(source, target, "one", Aso::Moves).await;
    source
        .until("nothing is left at the source", async || {
            source.objects().await.is_empty()
        })
        .await;
    target.until_ready(14).await;
    target.pass(std::time::Duration::from_secs(7200)).await;
    assert!(source.objects().await.is_empty());
    assert_eq!(target.unready().await, [""; 0]);
    let since = target.azure.deeds().split_off(deeds);
    assert!(
        since.iter().all(|deed| matches!(deed, Deed::Updated(_))),
        "{since:#?}"
    );
    assert_eq!(target.azure.ids().len(), 9);
    for (kind, name) in [
        ("AzureClusterIdentity", "cluster-identity"),
        ("Secret", "one-aso-secret"),
    ] {
        assert!(source.get(kind, name).await.is_none(), "{kind}");
        assert!(target.get(kind, name).await.is_some(), "{kind}");
    }
    for (kind, name) in [
        ("AROCluster", "one"),
        ("AROControlPlane", "one"),
        ("AROMachinePool", "one-mp1"),
    ] {
        let owner = target.live(kind, name).await;
        assert_eq!(
            owner["metadata"]["annotations"][BLOCK_MOVE], "true",
            "{kind}"
        );
    }
    for ((kind, name), object) in target.objects().await {
        let policy =
            &object["metadata"]["annotations"]["serviceoperator.azure.com/reconcile-policy"];
        assert!(
            policy.is_null() || policy == "manage",
            "{kind}/{name}: {policy}"
        );
    }

    // It lives on there, whatever becomes of the source.
    drop(actors);
    let _actors = target.actors();
    cluster.version = "4.21".to_owned();
    cluster.pools[0].1 = 4;
    target.apply(&cluster).await;
    target
        .until("it is upgraded and scaled", async || {
            let plane = target.live("AROControlPlane", "one").await;
            let pool = target.live("AROMachinePool", "one-mp1").await;
            plane["status"]["version"] == "4.21" && pool["status"]["replicas"] == 4
        })
        .await;
    target.delete("Cluster", "one").await;
    target.until_gone().await;
    let tally = target.tally();
    assert!(tally.values().all(|counts| *counts == (1, 1)), "{tally:#?}");
}

#[test]
fn a_cluster_moves_to_another_management_cluster_on_the_simulator() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let azure = Azure::default().recording();
        let source = Fixture::simulated(azure.clone()).await;
        let target = Fixture::simulated(azure).await;
        a_cluster_moves(&source, &target).await;
    });
}

#[test]
fn a_cluster_moves_to_another_management_cluster_on_kube_apiserver() {
    let runtime = crate::cluster::pipeline::runtime();
    runtime.block_on(async {
        let azure = Azure::default().recording();
        let Some(source) = Fixture::real(azure.clone()).await else {
            return;
        };
        let target = Fixture::real(azure).await.expect("another one");
        a_cluster_moves(&source, &target).await;
    });
}

/// The objects of the ARO provider.
const PARTS: [(&str, &str); 3] = [
    ("AROCluster", "one"),
    ("AROControlPlane", "one"),
    ("AROMachinePool", "one-mp1"),
];

/// Waits until each of the parts asks a person, with these reasons.
async fn until_asked(fixture: &Fixture, reasons: &[&str; 3]) {
    for ((kind, name), reason) in PARTS.into_iter().zip(reasons) {
        fixture
            .until("a person is asked", async || {
                let part = fixture.live(kind, name).await;
                let conditions = part["status"]["conditions"].as_array().cloned();
                let mut asked = conditions.unwrap_or_default().into_iter();
                asked.any(|one| {
                    let message = one["message"].as_str().unwrap_or_default();
                    one["reason"] == *reason && message.contains("keep-in-azure")
                })
            })
            .await;
    }
}

/// Takes the finalizers off the Cluster and its MachinePool, and deletes them.
async fn lose_cluster(fixture: &Fixture) {
    for (kind, name) in [("MachinePool", "one-mp1"), ("Cluster", "one")] {
        let gone = json!({"metadata": {"finalizers": null}});
        fixture.merge(kind, name, &gone).await;
        fixture.delete(kind, name).await;
    }
}

/// The Cluster and the MachinePool disappear and are made again; garbage collection deletes what the first ones owned.
async fn what_an_earlier_cluster_had_stays_in_azure(fixture: &Fixture) {
    let others = (fixture.actors(), fixture.ours());
    fixture.apply(&Cluster::new("one")).await;
    fixture.until_ready(14).await;
    let deeds = fixture.azure.deeds();
    drop(others);
    lose_cluster(fixture).await;
    for (kind, name) in PARTS {
        fixture.delete(kind, name).await;
    }
    for object in Cluster::new("one").objects() {
        if object["kind"] == "Cluster" || object["kind"] == "MachinePool" {
            apply(&fixture.client, &object).await;
        }
    }
    let _others = (fixture.actors(), fixture.ours());
    let [cluster, pool] = ["ClusterNotFound", "MachinePoolNotFound"];
    until_asked(fixture, &[cluster, cluster, pool]).await;
    fixture.pass(std::time::Duration::from_secs(7200)).await;
    assert_eq!(fixture.azure.deeds(), deeds);
    assert!(fixture.get("Cluster", "one").await.is_some());
}

#[test]
fn what_an_earlier_cluster_had_stays_in_azure_on_the_simulator() {
    on_simulator(what_an_earlier_cluster_had_stays_in_azure);
}

#[test]
fn what_an_earlier_cluster_had_stays_in_azure_on_kube_apiserver() {
    on_kube_apiserver(what_an_earlier_cluster_had_stays_in_azure);
}

/// As clusterctl does it where the definitions of the ARO provider lack its label: the Cluster and the MachinePool are
/// moved, and what they own is left to garbage collection. A person lets it go.
async fn what_a_move_leaves_behind_stays_in_azure(fixture: &Fixture) {
    let (_actors, _ours) = (fixture.actors(), fixture.ours());
    fixture.apply(&Cluster::new("one")).await;
    fixture.until_ready(14).await;
    let deeds = fixture.azure.deeds();
    fixture
        .merge("Cluster", "one", &json!({"spec": {"paused": true}}))
        .await;
    for (kind, name) in PARTS {
        fixture
            .until("nothing blocks the move", async || {
                let part = fixture.live(kind, name).await;
                part["metadata"]["annotations"][BLOCK_MOVE].is_null()
            })
            .await;
    }
    lose_cluster(fixture).await;
    until_asked(fixture, &["ClusterNotFound"; 3]).await;
    // Its identity owns it, too, so that garbage collection leaves it.
    let plane = fixture.live("AROControlPlane", "one").await;
    assert!(plane["metadata"]["deletionTimestamp"].is_null());
    fixture.pass(std::time::Duration::from_secs(7200)).await;
    assert_eq!(fixture.azure.deeds(), deeds);
    for ((kind, name), object) in fixture.objects().await {
        if !PARTS.iter().any(|(part, _)| *part == kind) {
            let policy =
                &object["metadata"]["annotations"]["serviceoperator.azure.com/reconcile-policy"];
            assert_eq!(policy, "skip", "{kind}/{name}");
        }
    }
    for (kind, name) in PARTS {
        let uid = fixture.live(kind, name).await["metadata"]["uid"].clone();
        let keep = json!({"metadata": {"annotations": {"capstan.dev/keep-in-azure": uid}}});
        fixture.merge(kind, name, &keep).await;
    }
    fixture.delete("AROControlPlane", "one").await;
    fixture
        .until("nothing is left", async || {
            fixture.objects().await.is_empty()
        })
        .await;
    assert_eq!(fixture.azure.deeds(), deeds);
    assert!(fixture.get("Secret", "one-aso-secret").await.is_none());
}

#[test]
fn what_a_move_leaves_behind_stays_in_azure_on_the_simulator() {
    on_simulator(what_a_move_leaves_behind_stays_in_azure);
}

#[test]
fn what_a_move_leaves_behind_stays_in_azure_on_kube_apiserver() {
    on_kube_apiserver(what_a_move_leaves_behind_stays_in_azure);
}
