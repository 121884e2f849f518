//! Another version of embedded resources: applied in place, recorded instead of the one before, and nothing is deleted.

use capstan::adapters::azure_sim::Deed;
use serde_json::Value as Json;

use super::fixture::{Fixture, on_kube_apiserver, on_simulator};
use super::manifests::{Cluster, HCP_VERSION};

const NEWER: &str = "redhatopenshift.azure.com/v1api20260630preview";
const LEDGER: &str = "sigs.k8s.io/cluster-api-provider-azure-owned-aso-kinds";

/// The uids of the objects that have the version.
async fn uids(fixture: &Fixture) -> Vec<Json> {
    let all = fixture.objects().await.into_values();
    all.map(|object| object["metadata"]["uid"].clone())
        .collect()
}

/// The recorded kinds of Red Hat OpenShift.
async fn recorded(fixture: &Fixture, kind: &str, name: &str) -> Vec<String> {
    let owner = fixture.live(kind, name).await;
    let ledger = owner["metadata"]["annotations"][LEDGER]
        .as_str()
        .unwrap_or_default();
    ledger.split(';').map(str::to_owned).collect()
}

/// A ready cluster gets another version, and loses a field with it.
async fn another_version_is_applied_in_place(fixture: &Fixture) {
    let (_actors, _ours) = (fixture.actors(), fixture.ours());
    let mut cluster = Cluster::new("one");
    let mut objects = cluster.objects();
    objects[1]["spec"]["resources"][0]["spec"]["tags"] = serde_json::json!({"team": "a"});
    for object in &objects {
        crate::cluster::pipeline::apply(&fixture.client, object).await;
    }
    fixture.until_ready(14).await;
    let hcp = fixture.live("HcpOpenShiftCluster", "one").await;
    assert_eq!(hcp["spec"]["tags"]["team"], "a");
    let (before, deeds) = (uids(fixture).await, fixture.azure.deeds().len());
    let older = HCP_VERSION.rsplit('/').next().expect("a version");
    assert_eq!(
        recorded(fixture, "AROControlPlane", "one").await,
        [
            format!("HcpOpenShiftCluster.{older}.redhatopenshift.azure.com"),
            format!("HcpOpenShiftClustersExternalAuth.{older}.redhatopenshift.azure.com"),
        ]
    );

    cluster.api = NEWER.to_owned();
    fixture.apply(&cluster).await;
    let newer = NEWER.rsplit('/').next().expect("a version");
    fixture
        .until("the new version is recorded", async || {
            let plane = recorded(fixture, "AROControlPlane", "one").await;
            let pool = recorded(fixture, "AROMachinePool", "one-mp1").await;
            plane
                == [
                    format!("HcpOpenShiftCluster.{newer}.redhatopenshift.azure.com"),
                    format!("HcpOpenShiftClustersExternalAuth.{newer}.redhatopenshift.azure.com"),
                ]
                && pool
                    == [format!(
                        "HcpOpenShiftClustersNodePool.{newer}.redhatopenshift.azure.com"
                    )]
        })
        .await;
    fixture
        .until("the field is gone", async || {
            let hcp = fixture.live("HcpOpenShiftCluster", "one").await;
            hcp["spec"]["tags"]["team"].is_null()
        })
        .await;
    fixture.until_ready(14).await;
    assert_eq!(
        uids(fixture).await,
        before,
        "every object is the one it was"
    );
    let since = fixture.azure.deeds().split_off(deeds);
    assert!(
        since.iter().all(|deed| matches!(deed, Deed::Updated(_))),
        "{since:#?}"
    );
    let reported = fixture.live("AROControlPlane", "one").await["status"]["resources"].clone();
    for resource in reported.as_array().expect("a list") {
        assert_eq!(resource["resource"]["version"], newer, "{resource}");
    }
}

/// The version changes while the cluster waits for its infrastructure, and while it waits for the HCP cluster.
async fn the_gates_hold_for_another_version(fixture: &Fixture) {
    let (_actors, _ours) = (fixture.actors(), fixture.ours());
    let mut cluster = Cluster::new("one");
    fixture.apply(&cluster).await;
    fixture
        .until("the vault is there", async || {
            fixture.get("Vault", "one-kv").await.is_some()
        })
        .await;
    cluster.api = NEWER.to_owned();
    fixture.apply(&cluster).await;
    fixture
        .until("the HCP cluster is there", async || {
            let there = fixture.get("HcpOpenShiftCluster", "one").await.is_some();
            let assigned = fixture.get("RoleAssignment", "one-kms-kv").await;
            let is_ready = assigned.is_some_and(|it| capstan::health::health(&it).is_ready());
            assert!(!there || is_ready, "it waits for role assignments");
            there
        })
        .await;
    cluster.api = HCP_VERSION.to_owned();
    fixture.apply(&cluster).await;
    fixture
        .until("the node pool is there", async || {
            let there = fixture
                .get("HcpOpenShiftClustersNodePool", "one-mp1")
                .await
                .is_some();
            let hcp = fixture.live("HcpOpenShiftCluster", "one").await;
            assert!(
                !there || capstan::health::health(&hcp).is_ready(),
                "it waits for the HCP cluster"
            );
            there
        })
        .await;
    fixture.until_ready(14).await;
    let tally = fixture.tally();
    assert!(tally.values().all(|counts| *counts == (1, 0)), "{tally:#?}");
}

#[test]
fn another_version_is_applied_in_place_on_the_simulator() {
    on_simulator(another_version_is_applied_in_place);
}

#[test]
fn another_version_is_applied_in_place_on_kube_apiserver() {
    on_kube_apiserver(another_version_is_applied_in_place);
}

#[test]
fn the_gates_hold_for_another_version_on_the_simulator() {
    on_simulator(the_gates_hold_for_another_version);
}
