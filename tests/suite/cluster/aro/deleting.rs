//! Deletions that Azure refuses, and that come in an order of their own.

use std::time::Duration;

use capstan::adapters::azure_sim::Deed;
use kube::api::DeleteParams;
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, on_kube_apiserver, on_simulator};
use super::manifests::Cluster;
use crate::cluster::pipeline::apply;

/// Objects of a cluster with one node pool.
const WHOLE: usize = 14;
const LAST: &str = "The last node pool can not be deleted from a cluster";

/// Somebody deletes the only node pool past admission, then the cluster.
async fn the_last_pool_stays_until_its_cluster_goes(fixture: &Fixture) {
    let _actors = fixture.actors();
    let _ours = fixture.ours();
    fixture.apply(&Cluster::new("one")).await;
    fixture.until_ready(WHOLE).await;
    fixture.delete("MachinePool", "one-mp1").await;
    fixture
        .until("Azure's words are in the condition", async || {
            let machines = fixture.live("AROMachinePool", "one-mp1").await;
            let conditions = machines["status"]["conditions"].as_array().cloned();
            let mut conditions = conditions.unwrap_or_default().into_iter();
            let deleting = conditions.find(|one| one["type"] == "Deleting");
            let says = |one: &Json| {
                one["message"]
                    .as_str()
                    .is_some_and(|text| text.contains(LAST))
            };
            deleting.is_some_and(|one| one["reason"] == "DeletionFailed" && says(&one))
        })
        .await;
    fixture.pass(Duration::from_secs(3600)).await;
    assert!(is_deleted(fixture, "nodePools").is_none());
    fixture.delete("Cluster", "one").await;
    fixture.until_gone().await;
    let [cluster, pool] =
        ["hcpOpenShiftClusters", "nodePools"].map(|kind| is_deleted(fixture, kind));
    assert!(
        cluster.is_some() && cluster < pool,
        "{:#?}",
        fixture.azure.deeds()
    );
}

/// Where a resource of a type was deleted in Azure.
fn is_deleted(fixture: &Fixture, kind: &str) -> Option<usize> {
    let of = |deed: &Deed| matches!(deed, Deed::Deleted(id) if id.rsplit('/').nth(1) == Some(kind));
    fixture.azure.deeds().iter().position(of)
}

/// Garbage collection deletes all that is below the Cluster at once, and holds each until what is below it is gone.
async fn a_cluster_goes_in_the_foreground(fixture: &Fixture) {
    let _actors = fixture.actors();
    let _ours = fixture.ours();
    let mut cluster = Cluster::new("one");
    cluster.pools.push(("one-mp2".to_owned(), 1));
    fixture.apply(&cluster).await;
    fixture.until_ready(WHOLE + 3).await;
    let (api, params) = (fixture.api("Cluster"), DeleteParams::foreground());
    api.delete("one", &params).await.expect("it is there");
    fixture.until_gone().await;
}

/// The list of a node pool has an identity, too, which Azure needs until the node pool is gone.
async fn what_a_pool_has_besides_goes_in_order(fixture: &Fixture) {
    let _actors = fixture.actors();
    let _ours = fixture.ours();
    for mut object in Cluster::new("one").objects() {
        let list = object["spec"]["resources"].as_array_mut();
        if let Some(list) = list.filter(|list| list[0]["metadata"]["name"] == "one-mp1") {
            list.push(
                json!({"apiVersion": "managedidentity.azure.com/v1api20230131",
                "kind": "UserAssignedIdentity", "metadata": {"name": "one-mp1-id"},
                "spec": {"location": "uksouth", "owner": {"name": "one-rg"}}}),
            );
        }
        apply(&fixture.client, &object).await;
    }
    fixture.until_ready(WHOLE + 1).await;
    fixture.delete("Cluster", "one").await;
    fixture.until_gone().await;
    let deeds = fixture.azure.deeds();
    let of = |name: &str| {
        let is_it = |deed: &Deed| matches!(deed, Deed::Deleted(id) if id.ends_with(name));
        deeds.iter().position(is_it).expect("it was deleted")
    };
    let order = ["/one", "/one-mp1-id", "/one-rg"].map(of);
    assert!(order.is_sorted(), "{deeds:#?}");
}

#[test]
fn what_a_pool_has_besides_goes_in_order_on_the_simulator() {
    on_simulator(what_a_pool_has_besides_goes_in_order);
}

#[test]
fn what_a_pool_has_besides_goes_in_order_on_kube_apiserver() {
    on_kube_apiserver(what_a_pool_has_besides_goes_in_order);
}

#[test]
fn the_last_pool_stays_until_its_cluster_goes_on_the_simulator() {
    on_simulator(the_last_pool_stays_until_its_cluster_goes);
}

#[test]
fn the_last_pool_stays_until_its_cluster_goes_on_kube_apiserver() {
    on_kube_apiserver(the_last_pool_stays_until_its_cluster_goes);
}

#[test]
fn a_cluster_goes_in_the_foreground_on_the_simulator() {
    on_simulator(a_cluster_goes_in_the_foreground);
}

#[test]
fn a_cluster_goes_in_the_foreground_on_kube_apiserver() {
    on_kube_apiserver(a_cluster_goes_in_the_foreground);
}
