//! Many clusters at once: all of them become ready, and one that is broken delays no other.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use capstan::adapters::azure_sim::Options;
use kube::api::ListParams;
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, on_kube_apiserver, on_simulator};
use super::manifests::Cluster;
use crate::cluster::pipeline::apply;
use crate::play::actors;

/// After how many seconds each Cluster was provisioned and has its control plane, if it ever was.
async fn provisioned(fixture: &Fixture, look: Duration, names: &[String]) -> BTreeMap<String, i64> {
    let start = fixture.clock.now();
    let began = std::time::Instant::now();
    let mut seconds = BTreeMap::new();
    while seconds.len() < names.len() {
        let all = fixture
            .api("Cluster")
            .list(&ListParams::default())
            .await
            .expect("a list");
        let at = fixture.clock.now().duration_since(start).as_secs();
        for cluster in all {
            let done = &cluster.data["status"]["initialization"];
            let name = cluster.metadata.name.unwrap_or_default();
            let is_done = done["infrastructureProvisioned"] == true
                && done["controlPlaneInitialized"] == true;
            if is_done && names.contains(&name) {
                seconds.entry(name).or_insert(at);
            }
        }
        let is_late =
            at > 4 * 3600 && began.elapsed() > crate::patience::PATIENCE || at > 1_000_000;
        assert!(
            !is_late,
            "{seconds:?} of {names:?}: {:#?}",
            fixture.unready().await
        );
        fixture.pass(look).await;
    }
    seconds
}

/// Clusters that can never be made, each for a reason of its own.
fn broken() -> Vec<Json> {
    let resources = |cluster: &mut Vec<Json>, place: usize, change: &dyn Fn(&mut Vec<Json>)| {
        change(
            cluster[place]["spec"]["resources"]
                .as_array_mut()
                .expect("a list"),
        );
    };
    let mut all = Vec::new();
    let mut add = |name: &str, place: usize, change: &dyn Fn(&mut Vec<Json>)| {
        let mut objects = Cluster::new(name).objects();
        resources(&mut objects, place, change);
        all.extend(objects);
    };
    // Azure refuses its vault, see the options.
    add("vaultless", 0, &|_| {});
    // The server refuses a vault without a location, again and again.
    add("refused", 0, &|list| {
        list[3]["spec"] = json!({"owner": {"name": "refused-rg"}})
    });
    add("nameless", 0, &|list| list[3]["metadata"] = json!({}));
    add("unserved", 0, &|list| {
        list.push(json!({"apiVersion": "compute.azure.com/v1api20220301", "kind": "Disk", "metadata": {"name": "d"}}));
    });
    add("double", 1, &|list| {
        let mut another = list[0].clone();
        another["metadata"]["name"] = json!("another");
        list.push(another);
    });
    // It waits for a reference that never comes.
    add("lost", 0, &|list| {
        list[1]["spec"]["owner"] = json!({"name": "nowhere"})
    });
    all
}

fn healthy() -> Vec<Cluster> {
    ["one", "two", "three", "four"].map(Cluster::new).into()
}

fn names(clusters: &[Cluster]) -> Vec<String> {
    clusters
        .iter()
        .map(|cluster| cluster.name.clone())
        .collect()
}

#[test]
fn a_broken_cluster_delays_no_other() {
    let look = Duration::from_secs(1);
    let alone = std::sync::Mutex::default();
    on_simulator(async |fixture| {
        let (_actors, _ours) = (fixture.actors(), fixture.ours());
        for cluster in healthy() {
            fixture.apply(&cluster).await;
        }
        *alone.lock().expect("no panic") = provisioned(fixture, look, &names(&healthy())).await;
    });
    on_simulator(async |fixture| {
        let options = Options {
            azure: fixture.azure.clone(),
            failures: vec![
                "Vault/vaultless-kv=SkuNotAvailable"
                    .parse()
                    .expect("a failure"),
            ],
            ..Options::default()
        };
        let _actors = actors(&fixture.client, &fixture.clock, &options);
        let _ours = fixture.ours();
        for object in broken() {
            apply(&fixture.client, &object).await;
        }
        fixture.pass(Duration::from_secs(1800)).await;
        for cluster in healthy() {
            fixture.apply(&cluster).await;
        }
        let among = provisioned(fixture, look, &names(&healthy())).await;
        for (name, alone) in &*alone.lock().expect("no panic") {
            // It is looked at once in a second.
            assert!(
                (among[name] - alone).abs() <= 2,
                "{name}: {alone} s alone, {} s among others",
                among[name]
            );
        }
        // And none of the broken ones has come further than it may.
        for name in [
            "vaultless",
            "refused",
            "nameless",
            "unserved",
            "double",
            "lost",
        ] {
            assert!(
                fixture.get("HcpOpenShiftCluster", name).await.is_none(),
                "{name}"
            );
            let plane = fixture.live("AROControlPlane", name).await;
            let conditions = plane["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let says_why = conditions
                .iter()
                .any(|one| one["status"] == "False" && one["message"] != "");
            assert!(says_why, "{name}: {conditions:?}");
        }
    });
}

async fn all_become_ready(fixture: &Fixture, count: usize, look: Duration) {
    let began = std::time::Instant::now();
    let (_actors, _ours) = (fixture.actors(), fixture.ours());
    let clusters: Vec<Cluster> = (0..count)
        .map(|number| Cluster::new(&format!("c{number}")))
        .collect();
    for cluster in &clusters {
        fixture.apply(cluster).await;
    }
    provisioned(fixture, look, &names(&clusters)).await;
    fixture.pass(Duration::from_secs(3600)).await;
    fixture
        .until("all are ready", async || fixture.unready().await.is_empty())
        .await;
    assert_eq!(fixture.objects().await.len(), 14 * count);
    let tally = fixture.tally();
    assert_eq!(tally.len(), 9 * count);
    assert!(tally.values().all(|counts| *counts == (1, 0)));
    let _ = writeln!(
        std::io::stderr(),
        "many: {count} clusters, {:.1?}",
        began.elapsed()
    );
}

#[test]
#[ignore = "it takes minutes in a debug build; `.ci/deep` runs it"]
fn two_hundred_clusters_at_once_on_the_simulator() {
    on_simulator(async |fixture| all_become_ready(fixture, 200, Duration::from_secs(120)).await);
}

#[test]
fn eight_clusters_at_once_on_the_simulator() {
    on_simulator(async |fixture| all_become_ready(fixture, 8, Duration::from_secs(60)).await);
}

#[test]
fn twenty_clusters_at_once_on_kube_apiserver() {
    on_kube_apiserver(async |fixture| all_become_ready(fixture, 20, Duration::from_secs(60)).await);
}
