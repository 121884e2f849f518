//! Of a rename that nobody approved, neither half happens, and the rest does.

use serde_json::{Value as Json, json};

use super::fixture::*;
use crate::apply::{PruneStatus, State};
use crate::model::ObjectId;

const PLANE: &str = "controlplane.cluster.x-k8s.io";

/// A cluster by hand: its root, its control plane in Azure, and a pool.
fn whole(name: &str, pool: &str) -> Vec<Json> {
    let metadata = |name: &str, cluster: &str| json!({"name": name, "namespace": "ns", "labels": {"cluster.x-k8s.io/cluster-name": cluster}});
    let plane = json!({"apiVersion": format!("{PLANE}/v1beta2"), "kind": "AROControlPlane", "metadata": metadata(name, name),
        "spec": {"aroClusterName": name, "subscriptionID": "s", "version": "4.20", "visibility": "Public"}});
    let machines = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROMachinePool", "metadata": metadata(pool, name),
        "spec": {"nodePoolName": pool, "version": "4.20.1", "size": "D4", "zone": "1"}});
    let root = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata(name, name)});
    vec![root, plane, machines]
}

fn plane(name: &str) -> ObjectId {
    ObjectId::new(PLANE, "AROControlPlane", "ns", name)
}

fn with(value: &str, cluster: Vec<Json>) -> Vec<Json> {
    [vec![map("a", value, "")], cluster].concat()
}

#[test]
fn a_rename_waits_as_a_whole_for_its_approval() {
    let mut fixture = Fixture::settled(&with("1", whole("one", "one-mp1")));
    fixture.assign("2", &with("2", whole("two", "two-mp1")));
    fixture.settle();
    assert_eq!(
        fixture.live[&id("a")]["data"]["k"],
        "2",
        "the rest is applied"
    );
    for (id, is_there) in [("one", true), ("two", false)].map(|(name, is)| (plane(name), is)) {
        assert_eq!(fixture.live.contains_key(&id), is_there, "{id}");
    }
    assert!(!fixture.live.contains_key(&cluster_id("two")));
    assert_eq!(fixture.states(&plane("two")).last(), Some(&State::Failed));
    let held = fixture.leaves(&cluster_id("one")).map(ToString::to_string);
    let held = held.unwrap_or_default();
    assert!(held.contains("Capstan-Approve: rename ns/one"), "{held}");
    assert!(!fixture.has_settled());

    // Neither a restart nor another revision changes that.
    fixture.crash();
    fixture.assign("3", &with("3", whole("two", "two-mp1")));
    fixture.settle();
    assert_eq!(fixture.live[&id("a")]["data"]["k"], "3");
    assert!(!fixture.live.contains_key(&plane("two")));

    fixture.approved_lines.push("rename ns/one".to_owned());
    let question = fixture.question.clone().unwrap();
    fixture.approve(question);
    fixture.settle();
    assert!(
        fixture.live.contains_key(&plane("two")),
        "{:?}",
        fixture.sent
    );
    assert_eq!(
        fixture.leaves(&cluster_id("one")),
        Some(&PruneStatus::Released)
    );
    assert!(fixture.has_settled());
}

/// Clusters of one fleet are often alike: one that stays is not the new name of one that leaves.
#[test]
fn the_approval_of_a_rename_approves_no_other_loss() {
    let both = [whole("one", "one-mp1"), whole("two", "two-mp1")].concat();
    let mut fixture = Fixture::settled(&with("1", both));
    fixture.approved_lines.push("rename ns/one".to_owned());
    fixture.assign("2", &with("1", whole("two", "two-mp1")));
    fixture.settle();
    let held = fixture.leaves(&cluster_id("one")).map(ToString::to_string);
    assert!(held.is_some_and(|held| held.contains("release ns/one")));
    assert!(fixture.live.contains_key(&plane("one")));
}

#[test]
fn another_cluster_is_made_although_one_leaves() {
    let mut fixture = Fixture::settled(&with("1", whole("one", "one-mp1")));
    let mut other = whole("two", "two-mp1");
    other[1]["spec"]["subscriptionID"] = json!("other");
    fixture.assign("2", &with("1", other));
    fixture.settle();
    assert!(fixture.live.contains_key(&plane("two")));
    assert!(fixture.live.contains_key(&plane("one")));
    let held = fixture.leaves(&cluster_id("one")).map(ToString::to_string);
    assert!(held.is_some_and(|held| held.contains("release ns/one")));
    assert!(fixture.has_settled());
}

#[test]
fn a_rename_of_a_pool_waits_as_a_whole() {
    let mut fixture = Fixture::settled(&with("1", whole("one", "one-mp1")));
    let new = with("2", whole("one", "one-mp2"));
    fixture.assign("2", &new);
    fixture.settle();
    let pool = |name: &str| {
        ObjectId::new(
            "infrastructure.cluster.x-k8s.io",
            "AROMachinePool",
            "ns",
            name,
        )
    };
    assert!(fixture.live.contains_key(&pool("one-mp1")));
    assert!(!fixture.live.contains_key(&pool("one-mp2")));
    let held = fixture.leaves(&pool("one-mp1")).map(ToString::to_string);
    assert!(held.is_some_and(|held| held.contains("rename ns/one/mp1")));
    fixture.approved_lines.push("rename ns/one/mp1".to_owned());
    fixture.assign("3", &new);
    fixture.settle();
    assert!(!fixture.live.contains_key(&pool("one-mp1")));
    assert!(fixture.live.contains_key(&pool("one-mp2")));
    assert!(fixture.has_settled());
}

/// What people write by hand need not name its cluster.
#[test]
fn a_rename_of_what_names_no_cluster_waits_as_a_whole() {
    let by_hand = |name: &str| {
        let mut objects = whole(name, &format!("{name}-mp1"));
        for object in &mut objects {
            object["metadata"]["labels"] = Json::Null;
        }
        objects[0]["spec"] = json!({"controlPlaneRef": {"kind": "AROControlPlane", "name": name}});
        objects.truncate(2);
        objects
    };
    let mut old = by_hand("one");
    // Cluster API adds it to what it has seen.
    old[1]["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "one"});
    let mut fixture = Fixture::settled(&with("1", old));
    fixture.assign("2", &with("2", by_hand("two")));
    fixture.settle();
    assert!(!fixture.live.contains_key(&cluster_id("two")));
    assert!(!fixture.live.contains_key(&plane("two")));
    let held = fixture.leaves(&cluster_id("one")).map(ToString::to_string);
    assert!(held.is_some_and(|held| held.contains("rename ns/one")));
}
