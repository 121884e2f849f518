//! A HostedCluster and its NodePool that are applied as they are, while somebody plays HyperShift.

use capstan::model::CheckState;
use serde_json::{Value as Json, json};

use super::fixture::Fixture;
use super::installing::capstan;
use crate::patience::until;

const GROUP: &str = "hypershift.openshift.io";
const FLEET: &str = "---
{apiVersion: hypershift.openshift.io/v1beta1, kind: NodePool, metadata: {name: c-a, namespace: NS}, spec: {clusterName: c, replicas: 2, release: {image: 'r:0'}, management: {upgradeType: Replace}, platform: {type: None}}}
---
{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {name: c, namespace: NS}, spec: {release: {image: 'r:1'}, platform: {type: None}, pullSecret: {}, services: [{service: APIServer, servicePublishingStrategy: {type: LoadBalancer}}, {service: OAuthServer, servicePublishingStrategy: {type: Route}}, {service: Konnectivity, servicePublishingStrategy: {type: Route}}, {service: Ignition, servicePublishingStrategy: {type: Route}}]}}
";

/// The definition of a kind with any content.
fn definition(kind: &str) -> Json {
    let plural = format!("{}s", kind.to_lowercase());
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": schema, "subresources": {"status": {}}}],
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
        },
    })
}

fn path(fixture: &Fixture, plural: &str, name: &str) -> String {
    let namespace = &fixture.namespace;
    format!("/apis/{GROUP}/v1beta1/namespaces/{namespace}/{plural}/{name}")
}

/// Reports a status as HyperShift does, with conditions that are true or false of the newest spec.
fn report(fixture: &Fixture, path: &str, conditions: &[(&str, bool)], mut status: Json) {
    let live = fixture.must("GET", path, &Json::Null);
    let generation = &live["metadata"]["generation"];
    let condition = |(kind, is_true): &(&str, bool)| {
        let is = if *is_true { "True" } else { "False" };
        json!({"type": kind, "status": is, "reason": "AsExpected", "message": "", "observedGeneration": generation,
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    status["conditions"] = conditions.iter().map(condition).collect();
    let patch = json!({"status": status});
    fixture.must("PATCH", &format!("{path}/status"), &patch);
}

/// The real server serves these kinds to no other test, since one shows what is said while they are missing.
#[test]
fn a_hosted_cluster_is_no_success_before_its_release_is_complete() {
    let fixture = &Fixture::simulated("hosted", |router| router);
    for kind in ["HostedCluster", "NodePool"] {
        fixture.put(&definition(kind));
    }
    let served = path(fixture, "hostedclusters", "");
    fixture.until("the kinds are served", || {
        fixture.ask("GET", &served, &Json::Null).0 == 200
    });
    let mut daemon = fixture.daemon(&fixture.kubeconfig, FLEET);
    let (cluster, pool) = (
        path(fixture, "hostedclusters", "c"),
        path(fixture, "nodepools", "c-a"),
    );
    fixture.until("the pool is applied", || fixture.has(&pool));
    daemon.until(CheckState::Pending, &["0/2 ready"]);

    let version = |state: &str, image: &str| json!({"version": {"history": [{"state": state, "image": image}]}});
    // The control plane is there, and nodes are not.
    let up = [("Available", true), ("Progressing", false)];
    report(fixture, &cluster, &up, version("Partial", "r:1"));
    report(fixture, &pool, &[("Ready", true)], json!({"replicas": 1}));
    let says = |object: &str, words: &str| {
        let why = || fixture.asked(&["why", object]).1;
        until(|| why().contains(words).then_some(()), why);
    };
    says("HostedCluster/c", "VersionNotComplete");
    daemon.until(CheckState::Pending, &[]);
    says("NodePool/c-a", "NodesNotAvailable");
    report(fixture, &pool, &[("Ready", true)], json!({"replicas": 2}));
    report(fixture, &cluster, &up, version("Completed", "r:1"));
    daemon.succeeds();

    // An upgrade that has not begun is not done.
    daemon.push(&FLEET.replace("r:1", "r:2"));
    let asked = || {
        let live = fixture.must("GET", &cluster, &Json::Null);
        live["spec"]["release"]["image"] == "r:2"
    };
    fixture.until("the upgrade is asked for", asked);
    report(fixture, &cluster, &up, version("Completed", "r:1"));
    says("HostedCluster/c", "VersionNotComplete");
    daemon.until(CheckState::Pending, &[]);
    report(fixture, &cluster, &up, version("Completed", "r:2"));
    daemon.succeeds();

    // It leaves with an approval only.
    daemon.push("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: NS}}\n");
    daemon.until(CheckState::Failure, &["Capstan-Approve: release"]);
    assert!(fixture.has(&cluster) && fixture.has(&pool));
}

#[test]
fn a_private_cluster_needs_a_management_cluster_in_azure() {
    let fixture = &Fixture::simulated("private", |router| router);
    let checked = || {
        let ended = capstan(
            fixture,
            &["check", "--pre", "--aro", "off", "--output", "json"],
        );
        let json: Json = serde_json::from_str(&ended.data).expect("JSON");
        let mut all = json["checks"].as_array().expect("a list").iter();
        let own = all.find(|check| check["id"] == "private-link");
        own.map(|check| (check["state"].clone(), check["message"].clone()))
    };
    assert_eq!(checked(), None, "HyperShift is not there");
    fixture.put(&definition("HostedCluster"));
    let served = path(fixture, "hostedclusters", "");
    fixture.until("the kind is served", || {
        fixture.ask("GET", &served, &Json::Null).0 == 200
    });
    assert_eq!(checked(), None, "no cluster is private");
    fixture.put(&json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "HostedCluster",
        "metadata": {"name": "c", "namespace": fixture.namespace}, "spec": {"platform": {"azure": {"topology": "Private"}}}}));
    let state = || checked().expect("it is private").0;
    assert_eq!(state(), "warning", "there are no nodes");
    let node = |name: &str, id: &str| {
        fixture.put(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"providerID": id}}));
    };
    node(
        "a",
        "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a",
    );
    assert_eq!(state(), "ok");
    node("b", "aws:///eu-west-1a/i-0a");
    let (state, message) = checked().expect("it is private");
    assert_eq!(state, "error");
    let message = message.as_str().expect("text");
    assert!(
        message.ends_with("is not in Azure: it has the node aws:///eu-west-1a/i-0a"),
        "{message}"
    );
}
