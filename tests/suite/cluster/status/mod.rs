//! `status` and `why` on both servers: the shipped program, and a cluster that is half made, or fails.

mod left;
mod missing;
mod reads;

use std::process::Output;
use std::time::Duration;

use capstan::adapters::azure_sim::{self as actors, Failure};
use capstan::apply::Parent;
use capstan::plan::ApplySet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject};
use kube::core::GroupVersionKind;
use serde_json::{Value as Json, json};

use super::pipeline::{Management, apply};
use crate::patience;

/// So that the nine minutes of an HCP cluster take nine seconds, in which it must be seen.
const HALF_WAY: u32 = 60;
const HASTE: u32 = 600;
const FLEET: &str = "examples/quickstart";

/// Applies the example. The parent of its set has more kinds if there are to be.
fn begin(cluster: &Management, more: &[(&str, &str)]) {
    let output = cluster.capstan(&["apply", FLEET]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let set = ApplySet::new("local", "capstan-system");
    let name = set.parent().name;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "capstan-system");
    cluster.runtime.block_on(async {
        let live = maps.get(&name).await.expect("it was written");
        let live = serde_json::to_value(live).expect("JSON");
        let mut parent = Parent::read(&set, &live).expect("it is ours");
        let more = more.iter();
        let more = more.map(|(group, kind)| ((*group).to_owned(), (*kind).to_owned()));
        parent.kinds.extend(more);
        apply(&cluster.client, &parent.payload(&set)).await;
    });
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output of a command that exits with `code`.
fn printed(output: &Output, code: i32) -> String {
    let (data, talk) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{data}{talk}");
    data
}

fn status(cluster: &Management) -> Json {
    let output = cluster.capstan(&["status", "--format", "json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// The first status of which `done` holds.
fn until(cluster: &Management, done: impl Fn(&Json) -> bool) -> Json {
    let status = || status(cluster);
    patience::until(
        || Some(status()).filter(&done),
        || format!("{:#}", status()),
    )
}

fn blocker(status: &Json) -> &Json {
    &status["fleets"][0]["clusters"][0]["blocker"]
}

fn is_blocked_by(status: &Json, object: &str) -> bool {
    blocker(status)["object"] == object
}

/// Half way: Azure makes the HCP cluster. Then all of it is ready.
fn a_half_created_cluster_is_reported(cluster: &Management) {
    begin(cluster, &[]);
    let hcp = "HcpOpenShiftCluster/clusters/quickstart";
    let half = until(cluster, |status| {
        is_blocked_by(status, hcp) && blocker(status)["reason"] == "Reconciling"
    });
    assert_eq!(half["ready"], false);
    let fleet = &half["fleets"][0];
    assert_eq!(
        (&fleet["name"], &fleet["objects"]["total"]),
        (&json!("local"), &json!(55))
    );
    let root = &fleet["clusters"][0];
    assert_eq!(root["object"], "Cluster/clusters/quickstart");
    assert_eq!(
        (&root["state"], &root["total"]),
        (&json!("Progressing"), &json!(55))
    );
    assert_eq!(root["blocker"]["state"], "Progressing");
    let help = root["blocker"]["help"].as_str().unwrap_or_default();
    assert!(help.contains("usually takes up to 9 min"), "{help}");

    let why = printed(&cluster.capstan(&["why", "AROCluster/quickstart"]), 0);
    let way: Vec<&str> = why
        .lines()
        .skip_while(|line| *line != "waits for")
        .skip(1)
        .take(3)
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    let expected = [
        "AROCluster/clusters/quickstart",
        "AROControlPlane/clusters/quickstart",
        hcp,
    ];
    assert_eq!(way, expected, "{why}");
    assert!(
        why.contains(&format!("\nblocked by {hcp}\n  since ")),
        "{why}"
    );

    until(cluster, |status| status["ready"] == true);
    let all = printed(&cluster.capstan(&["status", "--name", "local"]), 0);
    assert!(
        all.contains("\n  source    examples/quickstart\n  revision  content-")
            && all.contains(", applied; last ready none\n"),
        "{all}"
    );
    assert!(all.contains("\n  objects   55 of 55 ready\n"), "{all}");
    assert!(
        all.contains("\n  Ready       clusters/quickstart  55/55 ready\n"),
        "{all}"
    );
    let why = printed(&cluster.capstan(&["why", "Cluster/clusters/quickstart"]), 0);
    assert_eq!(why, "Cluster/clusters/quickstart is ready\n");
    a_deletion_is_reported(cluster);
}

/// The root waits for what is deleted before it, and what is gone already is not missed.
fn a_deletion_is_reported(cluster: &Management) {
    let kind = GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "Cluster");
    let kind = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), "clusters", &kind);
    let params = DeleteParams::default();
    let deleted = api.delete("quickstart", &params);
    cluster.runtime.block_on(deleted).expect("it is there");
    let hcp = "HcpOpenShiftCluster/clusters/quickstart";
    let going = until(cluster, |status| {
        is_blocked_by(status, hcp) && blocker(status)["state"] == "Deleting"
    });
    let fleet = &going["fleets"][0];
    assert_eq!(fleet["clusters"][0]["state"], "Deleting");
    assert_eq!(
        fleet["objects"]["states"]["NotMade"],
        Json::Null,
        "{going:#}"
    );
    let why = printed(&cluster.capstan(&["why", "Cluster/quickstart"]), 0);
    assert!(
        why.contains("\n  message    being deleted, held by serviceoperator.azure.com/finalizer\n"),
        "{why}"
    );
    assert!(
        why.contains("\n  help       nothing to do: Azure is working on its deletion"),
        "{why}"
    );
}

#[test]
fn a_half_created_cluster_is_reported_on_the_simulator() {
    let cluster = Management::simulated(HALF_WAY, actors::Options::default());
    a_half_created_cluster_is_reported(&cluster);
}

#[test]
fn a_half_created_cluster_is_reported_on_kube_apiserver() {
    if let Some(cluster) = Management::real(HALF_WAY, actors::Options::default()) {
        a_half_created_cluster_is_reported(&cluster);
    }
}

fn failing(failure: &str) -> actors::Options {
    let failure: Failure = failure.parse().expect("a failure");
    actors::Options {
        failures: vec![failure],
        ..actors::Options::default()
    }
}

/// What Azure refuses for good is the cause of all that waits for it, and an exit code.
fn a_failure_is_reported(cluster: &Management) {
    begin(cluster, &[]);
    let hcp = "HcpOpenShiftCluster/clusters/quickstart";
    until(cluster, |status| {
        is_blocked_by(status, hcp) && blocker(status)["state"] == "Failed"
    });
    let all = printed(&cluster.capstan(&["status"]), 1);
    assert!(
        all.contains("\n  Failed      clusters/quickstart  "),
        "{all}"
    );
    assert!(
        all.contains("\n      InvalidRequestContent: Azure refused the request"),
        "{all}"
    );
    assert!(
        all.ends_with("the full chain: capstan why Cluster/clusters/quickstart\n"),
        "{all}"
    );
    for object in [
        "Cluster/quickstart",
        "HcpOpenShiftClustersNodePool/quickstart-np1",
        hcp,
    ] {
        let output = cluster.capstan(&["why", object, "--format", "json"]);
        let why: Json = serde_json::from_str(&printed(&output, 1)).expect("JSON");
        assert_eq!(
            (&why["kind"], &why["ready"]),
            (&json!("Why"), &json!(false))
        );
        assert_eq!(why["blocker"]["object"], hcp, "{object}");
        let help = why["blocker"]["help"].as_str().unwrap_or_default();
        assert!(help.contains("correct it in the definition"), "{help}");
        let chain = why["chain"].as_array().expect("a list");
        assert_eq!(chain.last().map(|link| &link["object"]), Some(&json!(hcp)));
    }
}

const REFUSED: &str = "HcpOpenShiftCluster/quickstart=InvalidRequestContent";

#[test]
fn a_failure_is_reported_on_the_simulator() {
    a_failure_is_reported(&Management::simulated(HASTE, failing(REFUSED)));
}

#[test]
fn a_failure_is_reported_on_kube_apiserver() {
    if let Some(cluster) = Management::real(HASTE, failing(REFUSED)) {
        a_failure_is_reported(&cluster);
    }
}

/// Ages are counted by the clock of the cluster, whose time passes faster than ours.
#[test]
fn ages_are_of_the_time_in_the_cluster() {
    let vault = "Vault/clusters/quickstart-kv-db37f9";
    let cluster = Management::simulated(HASTE, failing(&format!("{vault}=AuthorizationFailed")));
    begin(&cluster, &[]);
    let failed =
        |status: &Json| is_blocked_by(status, vault) && blocker(status)["state"] == "Retrying";
    let age = |status: &Json| blocker(status)["seconds"].as_u64().expect("a number");
    let first = until(&cluster, failed);
    std::thread::sleep(Duration::from_millis(500));
    let passed = age(&until(&cluster, failed)) - age(&first);
    assert!(passed >= 300, "{passed} s");
    assert_eq!(
        printed(&cluster.capstan(&["status"]), 0)
            .matches("AuthorizationFailed")
            .count(),
        2
    );
}
