//! Embedded resources and who manages which of their fields: what leaves the list is removed, also after a pause, and
//! what belongs to another controller is left alone.

use serde_json::{Value as Json, json};

use super::fixture::{Fixture, on_kube_apiserver, on_simulator};
use super::manifests::{Cluster, NAMESPACE};
use crate::cluster::pipeline::apply;

const POLICY: &str = "serviceoperator.azure.com/reconcile-policy";
const BEFORE: &str = "sigs.k8s.io/cluster-api-provider-azure-pre-pause-reconcile-policy";

/// The place of a kind in the list of a small cluster.
const NETWORK: usize = 1;
const VAULT: usize = 3;

fn annotation(object: &Json, name: &str) -> Json {
    object["metadata"]["annotations"][name].clone()
}

/// Applies the infrastructure of a cluster with a change to its list.
async fn infrastructure(fixture: &Fixture, change: impl FnOnce(&mut Vec<Json>)) {
    let mut object = Cluster::new("one").infrastructure();
    change(object["spec"]["resources"].as_array_mut().expect("a list"));
    apply(&fixture.client, &object).await;
}

/// Waits until this holds of an object.
async fn until(
    fixture: &Fixture,
    (kind, name): (&str, &str),
    what: &str,
    holds: impl Fn(&Json) -> bool,
) {
    fixture
        .until(format!("{kind} {name}: {what}"), async || {
            holds(&fixture.live(kind, name).await)
        })
        .await;
}

async fn paused(fixture: &Fixture, paused: bool) {
    fixture
        .merge("Cluster", "one", &json!({"spec": {"paused": paused}}))
        .await;
    let vault = ("Vault", "one-kv");
    let is_paused =
        |vault: &Json| annotation(vault, POLICY) == "skip" && annotation(vault, BEFORE) == "";
    let what = if paused { "paused" } else { "resumed" };
    until(fixture, vault, what, |vault| is_paused(vault) == paused).await;
}

const KEPT: [(&str, &str); 2] = [("Vault", "one-kv"), ("VirtualNetwork", "one-vnet")];

async fn what_leaves_the_list_is_removed(fixture: &Fixture) {
    let (_actors, _ours) = (fixture.actors(), fixture.ours());
    fixture.apply(&Cluster::new("one")).await;
    let more = |list: &mut Vec<Json>| {
        list[VAULT]["spec"]["properties"] =
            json!({"enableSoftDelete": true, "sku": {"name": "standard"}});
        list[VAULT]["metadata"]["labels"] = json!({"team": "a"});
        list[NETWORK]["metadata"]["annotations"] = json!({POLICY: "detach-on-delete", "note": "b"});
    };
    infrastructure(fixture, more).await;
    fixture.until_ready(14).await;
    let [vault, network] = KEPT;
    until(fixture, vault, "it has all", |vault| {
        vault["spec"]["properties"]["enableSoftDelete"] == true
    })
    .await;

    // A pause sets the policy beside what was applied, and its end gives it back.
    paused(fixture, true).await;
    until(fixture, network, "its policy is remembered", |live| {
        annotation(live, POLICY) == "skip" && annotation(live, BEFORE) == "detach-on-delete"
    })
    .await;
    let live = fixture.live(vault.0, vault.1).await;
    assert_eq!(
        live["spec"]["properties"]["enableSoftDelete"], true,
        "nothing is given up"
    );
    let owner = &live["metadata"]["ownerReferences"][0]["controller"];
    assert_eq!(*owner, true);
    paused(fixture, false).await;
    until(fixture, network, "its policy is back", |live| {
        annotation(live, POLICY) == "detach-on-delete" && annotation(live, BEFORE).is_null()
    })
    .await;

    // Then fields leave the list, one of them the policy.
    let fewer = |list: &mut Vec<Json>| {
        list[VAULT]["spec"]["properties"] = json!({"sku": {"name": "standard"}});
        list[NETWORK]["metadata"]["annotations"] = json!({"note": "b"});
    };
    infrastructure(fixture, fewer).await;
    until(fixture, vault, "a field is gone", |live| {
        let properties = &live["spec"]["properties"];
        properties["enableSoftDelete"].is_null() && properties["sku"]["name"] == "standard"
    })
    .await;
    until(fixture, vault, "a label is gone", |live| {
        live["metadata"]["labels"]["team"].is_null()
    })
    .await;
    until(fixture, network, "the policy is gone", |live| {
        annotation(live, POLICY).is_null() && annotation(live, "note") == "b"
    })
    .await;
    fixture.until_ready(14).await;
    let tally = fixture.tally();
    assert!(tally.values().all(|counts| *counts == (1, 0)), "{tally:#?}");
}

/// A second pause, another policy, the end of a policy: what a pause wrote never sticks.
async fn what_another_controller_owns_is_left_alone(fixture: &Fixture) {
    let (_actors, _ours) = (fixture.actors(), fixture.ours());
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs", "namespace": NAMESPACE}});
    apply(&fixture.client, &map).await;
    let uid = fixture.live("ConfigMap", "theirs").await["metadata"]["uid"].clone();
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "uid": uid, "controller": true});
    let network = |prefix: &str| {
        json!({"apiVersion": "network.azure.com/v1api20201101", "kind": "VirtualNetwork",
            "metadata": {"name": "one-vnet", "namespace": NAMESPACE, "ownerReferences": [owner]},
            "spec": {"location": "uksouth", "owner": {"name": "one-rg"}, "addressSpace": {"addressPrefixes": [prefix]}}})
    };
    apply(&fixture.client, &network("172.16.0.0/16")).await;
    fixture.apply(&Cluster::new("one")).await;
    fixture
        .until("it is reported", async || {
            let Some(cluster) = fixture.get("AROCluster", "one").await else {
                return false;
            };
            let entries = cluster["status"]["resources"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            entries.iter().any(|entry| {
                let message = entry["message"].as_str().unwrap_or_default();
                entry["resource"]["name"] == "one-vnet"
                    && message.contains("ConfigMap/theirs controls")
            })
        })
        .await;
    // Not taken over, and not deleted when it leaves the list.
    infrastructure(fixture, |list| drop(list.drain(NETWORK..=NETWORK + 1))).await;
    fixture
        .until("the cluster is whole", async || {
            let cluster = fixture.live("AROCluster", "one").await;
            cluster["status"]["initialization"]["provisioned"] == true
        })
        .await;
    let live = fixture.live("VirtualNetwork", "one-vnet").await;
    assert_eq!(
        live["spec"]["addressSpace"]["addressPrefixes"],
        json!(["172.16.0.0/16"])
    );
    fixture.delete("Cluster", "one").await;
    fixture
        .until("only theirs is left", async || {
            let left = fixture.objects().await;
            left.keys().all(|(kind, _)| kind == "VirtualNetwork")
        })
        .await;
    let live = fixture.live("VirtualNetwork", "one-vnet").await;
    assert!(live["metadata"]["deletionTimestamp"].is_null(), "{live}");
}

#[test]
fn what_leaves_the_list_is_removed_on_the_simulator() {
    on_simulator(what_leaves_the_list_is_removed);
}

#[test]
fn what_leaves_the_list_is_removed_on_kube_apiserver() {
    on_kube_apiserver(what_leaves_the_list_is_removed);
}

#[test]
fn what_another_controller_owns_is_left_alone_on_the_simulator() {
    on_simulator(what_another_controller_owns_is_left_alone);
}

#[test]
fn what_another_controller_owns_is_left_alone_on_kube_apiserver() {
    on_kube_apiserver(what_another_controller_owns_is_left_alone);
}
