//! How a machine pool is deleted: alone, with its Cluster, and when that is gone.

use serde_json::{Value, json};

use super::super::super::bench::{Bench, deleted, object, wakes_in};
use super::super::super::links::owned_by;
use super::super::names::{EXTERNAL_AUTH, FINALIZER, HCP, NODE_POOL};
use super::{KIND, condition, machines, node_pool, whole};
use crate::api::capi::{DELETE_FOR_MOVE, PAUSED};
use crate::api::conditions as c;
use crate::api::labels::{CLUSTER_DELETED, DELETE_IN_AZURE, KEEP_IN_AZURE, RECONCILE_POLICY, SKIP};
use crate::health::Live;

const ASO_FINALIZER: &str = "serviceoperator.azure.com/finalizer";

/// Azure Service Operator holds on to what it manages.
fn hold(bench: &mut Bench, kinds: &[(&str, &str)]) {
    for (kind, name) in kinds {
        bench.edit(kind, name, |object| {
            object["metadata"]["finalizers"] = json!([ASO_FINALIZER]);
        });
    }
}

/// Azure has deleted it.
fn gone(bench: &mut Bench, kind: &str, name: &str) {
    bench.edit(kind, name, |object| {
        object["metadata"]["finalizers"] = json!([])
    });
    bench.delete(kind, name);
    bench.rest();
}

/// Somebody asks for an object to be deleted that has other finalizers.
fn ask_to_delete(bench: &mut Bench, kind: &str) {
    bench.edit(kind, "c", |object| {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let finalizers = object["metadata"]["finalizers"].as_array().cloned();
        let mut finalizers = finalizers.unwrap_or_default();
        finalizers.push(json!("test/held"));
        object["metadata"]["finalizers"] = json!(finalizers);
    });
}

#[test]
fn section_3_3_neither_a_missing_control_plane_nor_a_missing_cluster_holds_up_a_deletion() {
    for missing in [
        &["AROControlPlane"][..],
        &["Cluster"],
        &["AROControlPlane", "Cluster", "MachinePool"],
    ] {
        let mut bench = whole();
        hold(&mut bench, &[(NODE_POOL, "c-np1")]);
        let cluster = bench.live("Cluster", "c")["metadata"]["uid"].clone();
        for kind in missing {
            let id = Live(&bench.live(kind, "c")).id();
            bench.fixture.snapshot.remove(&id);
        }
        // The Cluster was seen being deleted before it was gone.
        bench.edit(KIND, "c", |machines| {
            machines["metadata"]["annotations"][CLUSTER_DELETED] = cluster;
        });
        bench.delete(KIND, "c");
        bench.rest();
        let pool = bench.live(NODE_POOL, "c-np1");
        assert!(Live(&pool).is_deleting(), "{missing:?}");
        let machines = machines(&bench);
        assert!(
            Live(&machines)
                .list(&["metadata", "finalizers"])
                .contains(&json!(FINALIZER))
        );
        gone(&mut bench, NODE_POOL, "c-np1");
        assert_eq!(bench.find(KIND, "c"), None, "{missing:?}");
    }
}

#[test]
fn a_node_pool_stays_in_azure_when_its_cluster_just_disappears() {
    let mut bench = whole();
    hold(&mut bench, &[(NODE_POOL, "c-np1")]);
    for kind in ["Cluster", "MachinePool"] {
        let id = Live(&bench.live(kind, "c")).id();
        bench.fixture.snapshot.remove(&id);
    }
    bench.delete(KIND, "c");
    bench.rest();
    let pool = bench.live(NODE_POOL, "c-np1");
    assert!(!Live(&pool).is_deleting());
    assert_eq!(Live(&pool).annotation(RECONCILE_POLICY), SKIP);
    assert_eq!(condition(&bench, c::READY).1, c::CLUSTER_NOT_FOUND);
}

/// An object disappears without having been deleted.
fn lose(bench: &mut Bench, kind: &str) -> Value {
    let lost = bench.live(kind, "c");
    bench.fixture.snapshot.remove(&Live(&lost).id());
    lost
}

/// Somebody makes an object again as it was: another one of the same name.
fn make_again(bench: &mut Bench, mut lost: Value) {
    if let Some(metadata) = lost["metadata"].as_object_mut() {
        for part in ["uid", "deletionTimestamp", "finalizers"] {
            metadata.remove(part);
        }
    }
    if lost["kind"] == "MachinePool" {
        let cluster = bench.live("Cluster", "c");
        lost["metadata"]["ownerReferences"] = json!([owned_by(Live(&cluster), false)]);
    }
    bench.put(lost);
}

/// Whether the node pool stays in Azure, and a person is asked.
fn asserted_asked(bench: &Bench, reason: &str, what: &str) {
    let pool = bench.live(NODE_POOL, "c-np1");
    assert!(!Live(&pool).is_deleting(), "{what}");
    assert_eq!(Live(&pool).annotation(RECONCILE_POLICY), SKIP, "{what}");
    let (_, told, message) = bench.condition(KIND, c::READY);
    assert_eq!(told, reason, "{what}");
    for command in [KEEP_IN_AZURE, DELETE_IN_AZURE] {
        assert!(message.contains(command), "{what}: {message}");
    }
}

/// A person or a fleet makes both again, and garbage collection deletes what the first ones owned.
#[test]
fn a_node_pool_stays_in_azure_when_its_cluster_and_machine_pool_are_made_again() {
    let lost = |bench: &mut Bench| ["Cluster", "MachinePool"].map(|kind| lose(bench, kind));
    for (again, reason) in [
        (0, c::CLUSTER_NOT_FOUND),
        (1, c::MACHINE_POOL_NOT_FOUND),
        (2, c::MACHINE_POOL_NOT_FOUND),
    ] {
        let mut bench = whole();
        hold(&mut bench, &[(NODE_POOL, "c-np1")]);
        for lost in lost(&mut bench).into_iter().take(again) {
            make_again(&mut bench, lost);
        }
        bench.delete(KIND, "c");
        bench.rest();
        asserted_asked(&bench, reason, &again.to_string());
    }
}

/// The Cluster lives, and nobody can tell that the MachinePool was meant to go.
#[test]
fn a_node_pool_stays_in_azure_when_its_machine_pool_just_disappears() {
    let mut bench = whole();
    hold(&mut bench, &[(NODE_POOL, "c-np1")]);
    lose(&mut bench, "MachinePool");
    bench.delete(KIND, "c");
    bench.rest();
    asserted_asked(&bench, c::MACHINE_POOL_NOT_FOUND, "alone");
    bench.edit(KIND, "c", |machines| {
        let uid = machines["metadata"]["uid"].clone();
        machines["metadata"]["annotations"][DELETE_IN_AZURE] = uid;
    });
    bench.rest();
    let pool = bench.live(NODE_POOL, "c-np1");
    assert!(Live(&pool).is_deleting(), "a person says so");
    assert_eq!(Live(&pool).annotation(RECONCILE_POLICY), "");
}

/// A move broke off while it deleted what it had moved.
#[test]
fn a_paused_pool_whose_cluster_is_gone_asks() {
    for mark in [PAUSED, DELETE_FOR_MOVE] {
        let mut bench = whole();
        hold(&mut bench, &[(NODE_POOL, "c-np1")]);
        bench.edit(KIND, "c", |machines| {
            machines["metadata"]["annotations"][mark] = json!("");
        });
        bench.rest();
        lose(&mut bench, "Cluster");
        lose(&mut bench, "MachinePool");
        bench.delete(KIND, "c");
        bench.rest();
        asserted_asked(&bench, c::CLUSTER_NOT_FOUND, mark);
    }
}

#[test]
fn later_objects_of_the_same_names_say_nothing_of_a_deleted_cluster() {
    let mut bench = whole();
    hold(&mut bench, &[(NODE_POOL, "c-np1")]);
    ask_to_delete(&mut bench, "Cluster");
    bench.rest();
    let record = |bench: &Bench| {
        Live(&machines(bench))
            .annotation(CLUSTER_DELETED)
            .to_owned()
    };
    let recorded = record(&bench);
    assert!(!recorded.is_empty());
    for lost in ["Cluster", "MachinePool"].map(|kind| lose(&mut bench, kind)) {
        make_again(&mut bench, lost);
        bench.rest();
        assert_eq!(record(&bench), recorded);
    }
    bench.delete(KIND, "c");
    bench.rest();
    assert!(Live(&bench.live(NODE_POOL, "c-np1")).is_deleting());
}

/// Cluster API makes what it refers to its own, also what is being deleted.
#[test]
fn a_cluster_that_came_after_the_deletion_does_not_take_a_node_pool_along() {
    let mut bench = whole();
    hold(&mut bench, &[(NODE_POOL, "c-np1")]);
    let lost = ["Cluster", "MachinePool"].map(|kind| lose(&mut bench, kind));
    bench.delete(KIND, "c");
    let deleted = machines(&bench)["metadata"]["deletionTimestamp"].clone();
    for mut lost in lost {
        lost["metadata"]["creationTimestamp"] = deleted.clone();
        make_again(&mut bench, lost);
    }
    let pool = bench.live("MachinePool", "c");
    bench.edit(KIND, "c", |machines| {
        machines["metadata"]["ownerReferences"] = json!([owned_by(Live(&pool), true)]);
    });
    bench.rest();
    asserted_asked(&bench, c::CLUSTER_NOT_FOUND, "adopted");
}

/// Facts §3.4 and §10, item 18: with its Cluster, CAPZ lets a pool go at once, and looks again at nothing.
#[test]
fn section_3_4_a_pool_lets_go_after_external_authentication_and_goes_with_the_hcp_cluster() {
    let mut bench = whole();
    let held = [(EXTERNAL_AUTH, "c-ea"), (NODE_POOL, "c-np1"), (HCP, "c")];
    hold(&mut bench, &held);
    for kind in ["Cluster", KIND] {
        ask_to_delete(&mut bench, kind);
    }
    let outcome = bench.decide(KIND);
    assert!(deleted(&outcome).is_empty());
    assert_eq!(wakes_in(&bench, &outcome), Some(15));
    bench.rest();
    let waits = bench.condition(KIND, c::DELETING);
    assert_eq!(
        (waits.0.as_str(), waits.1.as_str()),
        ("True", c::WAITING_FOR_EXTERNAL_AUTH)
    );
    assert_eq!(machines(&bench)["status"]["ready"], false);
    gone(&mut bench, EXTERNAL_AUTH, "c-ea");
    assert!(!Live(&bench.live(NODE_POOL, "c-np1")).is_deleting());
    assert!(!Live(&bench.live(HCP, "c")).is_deleting());
    let finalizers = machines(&bench)["metadata"]["finalizers"].clone();
    assert_eq!(finalizers, json!(["test/held"]), "only ours is taken off");
}

/// The Cluster is gone, another one has its name, and Azure refuses to delete the last node pool before its HCP cluster.
#[test]
fn a_pool_whose_cluster_is_gone_lets_go_once_the_hcp_cluster_is_being_deleted() {
    let mut bench = whole();
    let held = [(EXTERNAL_AUTH, "c-ea"), (NODE_POOL, "c-np1"), (HCP, "c")];
    hold(&mut bench, &held);
    for kind in ["Cluster", KIND] {
        ask_to_delete(&mut bench, kind);
    }
    bench.delete("AROControlPlane", "c");
    bench.rest();
    for lost in ["Cluster", "MachinePool"].map(|kind| lose(&mut bench, kind)) {
        make_again(&mut bench, lost);
    }
    bench.rest();
    gone(&mut bench, EXTERNAL_AUTH, "c-ea");
    assert!(Live(&bench.live(HCP, "c")).is_deleting());
    let finalizers = machines(&bench)["metadata"]["finalizers"].clone();
    assert_eq!(finalizers, json!(["test/held"]));
}

/// Garbage collection leaves a control plane that its identity owns, too.
#[test]
fn a_pool_whose_cluster_is_gone_is_deleted_by_itself_while_the_hcp_cluster_stays() {
    let mut bench = whole();
    hold(&mut bench, &[(NODE_POOL, "c-np1"), (HCP, "c")]);
    ask_to_delete(&mut bench, "Cluster");
    bench.rest();
    lose(&mut bench, "Cluster");
    ask_to_delete(&mut bench, KIND);
    bench.wait(60);
    if bench.find(EXTERNAL_AUTH, "c-ea").is_some() {
        gone(&mut bench, EXTERNAL_AUTH, "c-ea");
    }
    assert!(Live(&bench.live(NODE_POOL, "c-np1")).is_deleting());
    let finalizers = machines(&bench)["metadata"]["finalizers"].clone();
    assert_eq!(finalizers, json!([FINALIZER, "test/held"]));
}

const IDENTITY: &str = "UserAssignedIdentity";

/// A pool that has an identity besides its node pool, and Azure Service Operator holds on to all.
fn with_identity() -> Bench {
    let mut bench = whole();
    let spec = json!({"location": "uksouth", "owner": {"name": "rg"}});
    let api = "managedidentity.azure.com/v1api20230131";
    let identity = object(api, IDENTITY, "c-np1-id", spec);
    bench.edit(KIND, "c", |machines| {
        let list = machines["spec"]["resources"].as_array_mut();
        list.expect("a list").push(identity);
    });
    bench.rest();
    bench.ready(IDENTITY, "c-np1-id");
    let held = [
        (EXTERNAL_AUTH, "c-ea"),
        (NODE_POOL, "c-np1"),
        (HCP, "c"),
        (IDENTITY, "c-np1-id"),
        ("ResourceGroup", "rg"),
    ];
    hold(&mut bench, &held);
    bench.rest();
    bench
}

/// Nobody else would delete it in Azure, nor wait for it with the credential of the cluster.
#[test]
fn what_a_pool_has_besides_its_node_pool_goes_with_the_infrastructure() {
    let mut bench = with_identity();
    for kind in ["Cluster", KIND] {
        ask_to_delete(&mut bench, kind);
    }
    bench.rest();
    gone(&mut bench, EXTERNAL_AUTH, "c-ea");
    let finalizers = machines(&bench)["metadata"]["finalizers"].clone();
    assert_eq!(finalizers, json!(["test/held"]));
    let identity = bench.live(IDENTITY, "c-np1-id");
    assert!(!Live(&identity).is_deleting(), "node pools need it");
    for kind in ["AROControlPlane", "AROCluster"] {
        bench.delete(kind, "c");
    }
    gone(&mut bench, KIND, "c");
    gone(&mut bench, HCP, "c");
    gone(&mut bench, NODE_POOL, "c-np1");
    bench.wait(60);
    let found = bench.condition("AROCluster", c::DELETING);
    let expected = "Waiting for the resources UserAssignedIdentity c-np1-id to be deleted";
    assert_eq!(found.2, expected);
    assert!(Live(&bench.live(IDENTITY, "c-np1-id")).is_deleting());
    assert!(!Live(&bench.live("ResourceGroup", "rg")).is_deleting());
    gone(&mut bench, IDENTITY, "c-np1-id");
    gone(&mut bench, "ResourceGroup", "rg");
    assert_eq!(bench.find("AROCluster", "c"), None);
}

/// Then nobody can take it over.
#[test]
fn what_a_pool_has_besides_its_node_pool_is_deleted_if_there_is_no_infrastructure() {
    let mut bench = with_identity();
    for kind in ["Cluster", KIND] {
        ask_to_delete(&mut bench, kind);
    }
    bench.rest();
    lose(&mut bench, "AROCluster");
    gone(&mut bench, EXTERNAL_AUTH, "c-ea");
    assert!(Live(&bench.live(IDENTITY, "c-np1-id")).is_deleting());
    assert!(!Live(&bench.live(NODE_POOL, "c-np1")).is_deleting());
    let finalizers = machines(&bench)["metadata"]["finalizers"].clone();
    assert_eq!(finalizers, json!(["test/held"]), "it waits for nothing");
}

#[test]
fn a_pool_alone_deletes_what_its_node_pool_needs_after_it() {
    let mut bench = with_identity();
    bench.delete(KIND, "c");
    bench.rest();
    assert!(Live(&bench.live(NODE_POOL, "c-np1")).is_deleting());
    assert!(!Live(&bench.live(IDENTITY, "c-np1-id")).is_deleting());
    gone(&mut bench, NODE_POOL, "c-np1");
    assert!(Live(&bench.live(IDENTITY, "c-np1-id")).is_deleting());
    let found = bench.condition(KIND, c::DELETING);
    let expected = "Waiting for the resources UserAssignedIdentity c-np1-id to be deleted";
    assert_eq!(found.2, expected);
    gone(&mut bench, IDENTITY, "c-np1-id");
    assert_eq!(bench.find(KIND, "c"), None);
}

/// Azure keeps the HCP cluster, and would keep its node pools with it.
#[test]
fn a_pool_of_an_hcp_cluster_that_stays_in_azure_is_deleted_by_itself() {
    for policy in [SKIP, "detach-on-delete"] {
        let mut bench = whole();
        hold(
            &mut bench,
            &[(EXTERNAL_AUTH, "c-ea"), (NODE_POOL, "c-np1"), (HCP, "c")],
        );
        bench.edit(HCP, "c", |hcp| {
            hcp["metadata"]["annotations"][RECONCILE_POLICY] = json!(policy);
        });
        for kind in ["Cluster", KIND] {
            ask_to_delete(&mut bench, kind);
        }
        bench.rest();
        gone(&mut bench, EXTERNAL_AUTH, "c-ea");
        assert!(
            Live(&bench.live(NODE_POOL, "c-np1")).is_deleting(),
            "{policy}"
        );
        assert_eq!(condition(&bench, c::DELETING).1, c::WAITING_FOR_RESOURCES);
        gone(&mut bench, NODE_POOL, "c-np1");
        let finalizers = machines(&bench)["metadata"]["finalizers"].clone();
        assert_eq!(finalizers, json!(["test/held"]), "{policy}");
    }
}

#[test]
fn a_deletion_that_azure_refuses_is_shown_and_told_once() {
    let mut bench = whole();
    hold(&mut bench, &[(NODE_POOL, "c-np1")]);
    bench.delete(KIND, "c");
    bench.rest();
    assert_eq!(condition(&bench, c::DELETING).1, c::WAITING_FOR_RESOURCES);
    bench.warnings();
    let words = format!("[W]{}.", crate::api::aso::LAST_NODE_POOL);
    bench.report(NODE_POOL, "c-np1", "False", "Failed", &words);
    bench.rest();
    let (_, reason, message) = bench.condition(KIND, c::DELETING);
    assert_eq!(reason, c::DELETION_FAILED);
    let expected = "Waiting for the node pool c-np1 to be deleted. HcpOpenShiftClustersNodePool/c-np1: [Warning] Failed: The last node pool can not be deleted from a cluster: add another node pool first, or delete the Cluster: Azure deletes its node pools with it";
    assert_eq!(message, expected);
    bench.wait(300);
    assert_eq!(bench.warnings(), [c::DELETION_FAILED]);
}

#[test]
fn a_pool_alone_does_not_wait_for_external_authentication() {
    let mut bench = whole();
    hold(&mut bench, &[(EXTERNAL_AUTH, "c-ea"), (NODE_POOL, "c-np1")]);
    bench.delete(KIND, "c");
    bench.rest();
    assert!(Live(&bench.live(NODE_POOL, "c-np1")).is_deleting());
    assert!(!Live(&bench.live(EXTERNAL_AUTH, "c-ea")).is_deleting());
}

#[test]
fn a_pool_of_a_cluster_that_is_on_its_way_out_is_left_as_it_is() {
    let mut bench = whole();
    ask_to_delete(&mut bench, "Cluster");
    bench.rest();
    bench.edit(KIND, "c", |machines| {
        machines["spec"]["resources"] = json!([node_pool(json!({"replicas": 5}))]);
    });
    assert!(bench.decide(KIND).writes.is_empty());
}
