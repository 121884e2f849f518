//! Pause and resume: nothing is written to Azure meanwhile, and nothing is free to move before ASO skips all of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value as Json, json};
use tokio_util::task::AbortOnDropHandle;

use super::fixture::{Fixture, on_kube_apiserver, on_simulator};
use super::manifests::Cluster;

const HOUR: Duration = Duration::from_secs(3600);
const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
const POLICY: &str = "serviceoperator.azure.com/reconcile-policy";

/// The kinds that have embedded resources, with an object of each.
const OWNERS: [(&str, &str); 3] = [
    ("AROCluster", "one"),
    ("AROControlPlane", "one"),
    ("AROMachinePool", "one-mp1"),
];

fn annotation<'a>(object: &'a Json, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][name].as_str()
}

async fn pause(fixture: &Fixture, paused: bool) {
    let patch = json!({"spec": {"paused": paused}});
    fixture.merge("Cluster", "one", &patch).await;
}

/// The embedded resources of an owner that exist and that ASO does not skip.
async fn managed(fixture: &Fixture, owner: &Json) -> Vec<String> {
    let items = owner["spec"]["resources"].as_array().expect("a list");
    let mut managed = Vec::new();
    for item in items {
        let [kind, name] =
            [&item["kind"], &item["metadata"]["name"]].map(|part| part.as_str().expect("text"));
        let live = fixture.get(kind, name).await;
        if live.is_some_and(|live| annotation(&live, POLICY) != Some("skip")) {
            managed.push(format!("{kind}/{name}"));
        }
    }
    managed
}

/// What ASO did not skip of an owner when the owner became free to move. Looked up whenever an owner changes.
type Early = Arc<Mutex<Vec<String>>>;

/// Notes it from now on, in the order in which a watch shows it.
fn noted(fixture: &Fixture) -> (Early, Vec<AbortOnDropHandle<()>>) {
    let early = Early::default();
    let watches = OWNERS.map(|(kind, _)| {
        let (early, api) = (Arc::clone(&early), fixture.api(kind));
        let items = [
            "ResourceGroup",
            "VirtualNetwork",
            "VirtualNetworksSubnet",
            "Vault",
            "UserAssignedIdentity",
            "RoleAssignment",
            "HcpOpenShiftCluster",
            "HcpOpenShiftClustersExternalAuth",
            "HcpOpenShiftClustersNodePool",
        ];
        let apis: Vec<_> = items.map(|kind| (kind, fixture.api(kind))).into();
        AbortOnDropHandle::new(tokio::spawn(async move {
            let seen = watcher::watcher(api, watcher::Config::default());
            let mut seen = std::pin::pin!(seen.default_backoff().applied_objects());
            while let Some(seen) = seen.next().await {
                let Ok(owner) = seen else { continue };
                let owner = serde_json::to_value(owner).expect("JSON");
                if annotation(&owner, BLOCK_MOVE).is_some()
                    || owner["metadata"]["finalizers"].is_null()
                {
                    continue;
                }
                for item in owner["spec"]["resources"].as_array().into_iter().flatten() {
                    let name = item["metadata"]["name"].as_str().unwrap_or_default();
                    let (kind, api) = apis
                        .iter()
                        .find(|(kind, _)| item["kind"] == *kind)
                        .expect("it is known");
                    let Ok(Some(live)) = api.get_opt(name).await else {
                        continue;
                    };
                    let live = serde_json::to_value(live).expect("JSON");
                    if annotation(&live, POLICY) != Some("skip") {
                        early
                            .lock()
                            .expect("no panic")
                            .push(format!("{kind}/{name}"));
                    }
                }
            }
        }))
    });
    (early, watches.into())
}

async fn until_free(fixture: &Fixture) {
    for (kind, name) in OWNERS {
        fixture
            .until(format!("{kind} is free to move"), async || {
                let owner = fixture.get(kind, name).await;
                owner.is_none_or(|owner| annotation(&owner, BLOCK_MOVE).is_none())
            })
            .await;
        let owner = fixture.live(kind, name).await;
        assert_eq!(managed(fixture, &owner).await, [""; 0], "{kind}");
    }
}

/// A ready cluster is paused, changed, and resumed.
async fn a_pause_keeps_azure_as_it_is(fixture: &Fixture) {
    let (_actors, _ours) = (fixture.actors(), fixture.ours());
    let mut cluster = Cluster::new("one");
    fixture.apply(&cluster).await;
    fixture.until_ready(14).await;
    let (early, _watches) = noted(fixture);
    pause(fixture, true).await;
    until_free(fixture).await;
    assert_eq!(
        *early.lock().expect("no panic"),
        [""; 0],
        "free to move, and not skipped"
    );
    let before = fixture.azure.deeds();
    cluster.version = "4.21".to_owned();
    cluster.pools[0].1 = 5;
    let mut objects = cluster.objects();
    let resources = objects[0]["spec"]["resources"]
        .as_array_mut()
        .expect("a list");
    resources.retain(|item| item["kind"] != "RoleAssignment");
    for object in &objects {
        crate::cluster::pipeline::apply(&fixture.client, object).await;
    }
    fixture.pass(2 * HOUR).await;
    assert_eq!(fixture.azure.deeds(), before, "nothing happens in Azure");
    drop(early);
    pause(fixture, false).await;
    fixture
        .until("the changes are there", async || {
            let plane = fixture.live("AROControlPlane", "one").await;
            let pool = fixture.live("AROMachinePool", "one-mp1").await;
            plane["status"]["version"] == "4.21" && pool["status"]["replicas"] == 5
        })
        .await;
    // The only role assignment stays: the HCP cluster needs it.
    fixture.until_ready(14).await;
    for (kind, name) in OWNERS {
        let owner = fixture.live(kind, name).await;
        assert_eq!(annotation(&owner, BLOCK_MOVE), Some("true"), "{kind}");
    }
    let tally = fixture.tally();
    assert!(tally.values().all(|counts| *counts == (1, 0)), "{tally:#?}");
}

/// A cluster is paused on its way, whenever that is, and goes on where it stopped.
async fn a_pause_on_the_way_stops_it_there(fixture: &Fixture) {
    let (_actors, _ours) = (fixture.actors(), fixture.ours());
    fixture.apply(&Cluster::new("one")).await;
    // Nothing, infrastructure, role assignments settling, the HCP cluster and its node pool under way.
    for seconds in [3, 20, 60, 120, 300, 500] {
        fixture.pass(Duration::from_secs(seconds)).await;
        pause(fixture, true).await;
        until_free(fixture).await;
        // What Azure is at it goes on with; nothing new begins.
        let before = fixture.azure.deeds();
        fixture.pass(HOUR).await;
        assert_eq!(fixture.azure.deeds(), before, "after {seconds} s more");
        pause(fixture, false).await;
    }
    fixture.until_ready(14).await;
    let tally = fixture.tally();
    assert!(tally.values().all(|counts| *counts == (1, 0)), "{tally:#?}");
}

#[test]
fn a_pause_keeps_azure_as_it_is_on_the_simulator() {
    on_simulator(a_pause_keeps_azure_as_it_is);
}

#[test]
fn a_pause_keeps_azure_as_it_is_on_kube_apiserver() {
    on_kube_apiserver(a_pause_keeps_azure_as_it_is);
}

#[test]
fn a_pause_on_the_way_stops_a_cluster_there() {
    on_simulator(a_pause_on_the_way_stops_it_there);
}
