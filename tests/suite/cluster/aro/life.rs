//! The life of a cluster: created, given a pool, scaled, upgraded, robbed of resources, deleted.

use std::time::Duration;

use capstan::adapters::azure_sim::Deed;
use serde_json::json;

use super::fixture::{Fixture, on_shared_kube_apiserver, on_simulator};
use super::manifests::Cluster;

/// Objects of a cluster without pools: three on top, six and two embedded.
const WHOLE: usize = 11;
/// Objects of a pool: two on top, one embedded.
const POOL: usize = 3;

async fn a_cluster_lives(fixture: &Fixture) {
    let actors = fixture.actors();
    let _ours = fixture.ours();
    let mut cluster = Cluster::new("one");
    fixture.apply(&cluster).await;
    fixture.until_ready(WHOLE + POOL).await;
    it_was_made_once(fixture);
    it_grows(fixture, &mut cluster).await;
    it_is_upgraded(fixture, &mut cluster).await;
    it_gets_back_what_it_loses(fixture, &cluster).await;
    drop(actors);
    it_survives_the_loss_of_its_group(fixture).await;
}

fn it_was_made_once(fixture: &Fixture) {
    let tally = fixture.tally();
    assert_eq!(tally.len(), 9, "{tally:#?}");
    assert!(tally.values().all(|counts| *counts == (1, 0)), "{tally:#?}");
    // Azure is asked once for each: what was only looked for is not written a second time.
    let updated = fixture
        .azure
        .deeds()
        .into_iter()
        .filter(|deed| matches!(deed, Deed::Updated(_)));
    assert_eq!(updated.collect::<Vec<_>>(), []);
}

async fn it_grows(fixture: &Fixture, cluster: &mut Cluster) {
    cluster.pools.push(("one-mp2".to_owned(), 1));
    fixture.apply(cluster).await;
    fixture.until_ready(WHOLE + 2 * POOL).await;
    cluster.pools[1].1 = 3;
    fixture.apply(cluster).await;
    fixture
        .until("three nodes", async || {
            let pool = fixture.live("AROMachinePool", "one-mp2").await;
            let ids = pool["spec"]["providerIDList"]
                .as_array()
                .map_or(0, Vec::len);
            ids == 3 && pool["status"]["replicas"] == 3
        })
        .await;
    fixture.until_ready(WHOLE + 2 * POOL).await;
}

async fn it_is_upgraded(fixture: &Fixture, cluster: &mut Cluster) {
    cluster.version = "4.21".to_owned();
    fixture.apply(cluster).await;
    fixture
        .until("the new version", async || {
            let plane = fixture.live("AROControlPlane", "one").await;
            let pool = fixture.live("AROMachinePool", "one-mp1").await;
            plane["status"]["version"] == "4.21" && pool["status"]["version"] == "4.21.1"
        })
        .await;
    fixture.until_ready(WHOLE + 2 * POOL).await;
    let tally = fixture.tally();
    assert!(tally.values().all(|counts| *counts == (1, 0)), "{tally:#?}");
}

/// Somebody deletes objects of ASO, or resources in Azure.
async fn it_gets_back_what_it_loses(fixture: &Fixture, cluster: &Cluster) {
    let count = WHOLE + POOL * cluster.pools.len();
    for (kind, name) in [
        ("Vault", "one-kv"),
        ("HcpOpenShiftClustersNodePool", "one-mp2"),
        ("HcpOpenShiftClustersExternalAuth", "one-ea"),
        ("HcpOpenShiftCluster", "one"),
    ] {
        let before = fixture.live(kind, name).await["metadata"]["uid"].clone();
        fixture.delete(kind, name).await;
        fixture
            .until(format!("another {kind}"), async || {
                let now = fixture.get(kind, name).await;
                now.is_some_and(|now| now["metadata"]["uid"] != before)
            })
            .await;
        fixture.until_ready(count).await;
        fixture
            .until(format!("{kind} is in Azure again"), async || {
                let tally = fixture.tally();
                tally.values().all(|(made, gone)| *made == gone + 1)
            })
            .await;
        let cluster = fixture.live("AROCluster", "one").await;
        assert_eq!(
            cluster["status"]["initialization"],
            json!({"provisioned": true}),
            "{kind}"
        );
    }
}

/// Somebody deletes the resource group in Azure, with everything in it. ASO
/// notices by its next look at everything, which a restart stands for.
async fn it_survives_the_loss_of_its_group(fixture: &Fixture) {
    let count = fixture.objects().await.len();
    let group = fixture.azure.ids().into_iter().next().expect("it is first");
    fixture.azure.delete(&group);
    let _actors = fixture.actors();
    fixture
        .until("all of Azure is there again", async || {
            fixture.azure.ids().len() == 10
        })
        .await;
    fixture.until_ready(count).await;
    it_goes(fixture).await;
}

/// Azure refuses to delete the last node pool, so that it goes with the HCP cluster.
async fn it_goes(fixture: &Fixture) {
    let before = fixture.azure.deeds().len();
    fixture.delete("Cluster", "one").await;
    fixture.until_gone().await;
    let deeds = fixture.azure.deeds();
    let place = |part: &str| {
        let of = |deed: &Deed| matches!(deed, Deed::Deleted(id) if id.contains(part) && id.rsplit('/').nth(1).is_some_and(|kind| part.ends_with(kind)));
        deeds[before..]
            .iter()
            .rposition(of)
            .unwrap_or_else(|| panic!("{part}: {deeds:#?}"))
    };
    let order = [
        "/externalAuths",
        "/hcpOpenShiftClusters",
        "/nodePools",
        "/vaults",
        "/resourceGroups",
    ]
    .map(place);
    assert!(order.is_sorted(), "{order:?}: {deeds:#?}");
    let created = deeds[before..]
        .iter()
        .any(|deed| matches!(deed, Deed::Created(_)));
    assert!(!created, "{deeds:#?}");
    fixture.pass(Duration::from_secs(3600)).await;
    assert!(fixture.objects().await.is_empty());
}

#[test]
fn a_cluster_lives_on_the_simulator() {
    on_simulator(a_cluster_lives);
}

#[test]
fn a_cluster_lives_on_kube_apiserver() {
    on_shared_kube_apiserver(a_cluster_lives);
}
