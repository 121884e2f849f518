//! The order of a deletion.

use serde_json::json;

use super::super::super::bench::{Bench, HCP_API, applied, deleted, object, wakes_in};
use super::super::super::links::owned_by;
use super::super::super::outcome::{Need, Outcome};
use super::super::super::world::{GroupKind, World};
use super::KIND;
use crate::api::capi::DELETE_FOR_MOVE;
use crate::api::conditions as c;
use crate::api::labels::{CLUSTER_DELETED, PRE_PAUSE_POLICY, RECONCILE_POLICY, SKIP};
use crate::health::Live;

/// A cluster with external authentication and a node pool of an AROMachinePool, which ASO holds on to.
fn whole() -> Bench {
    let mut bench = Bench::new();
    bench.provision();
    let api = "infrastructure.cluster.x-k8s.io/v1beta2";
    bench.put(object(
        "cluster.x-k8s.io/v1beta2",
        "MachinePool",
        "c-mp1",
        json!({"clusterName": "c"}),
    ));
    let owner = |bench: &Bench, kind| json!([owned_by(Live(&bench.live(kind, "c-mp1")), true)]);
    let mut machines = object(api, "AROMachinePool", "c-mp1", json!({}));
    machines["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "c"});
    machines["metadata"]["ownerReferences"] = owner(&bench, "MachinePool");
    machines["metadata"]["finalizers"] = json!(["test/held"]);
    bench.put(machines);
    let mut pool = object(
        HCP_API,
        "HcpOpenShiftClustersNodePool",
        "c-mp1",
        json!({"owner": {"name": "c"}}),
    );
    pool["metadata"]["ownerReferences"] = owner(&bench, "AROMachinePool");
    bench.put(pool);
    bench.ready("HcpOpenShiftClustersNodePool", "c-mp1");
    bench.rest();
    for (kind, name) in [
        ("HcpOpenShiftClustersExternalAuth", "c-ea"),
        ("HcpOpenShiftClustersNodePool", "c-mp1"),
        ("HcpOpenShiftCluster", "c"),
    ] {
        bench.edit(kind, name, |object| {
            object["metadata"]["finalizers"] = json!(["serviceoperator.azure.com/finalizer"])
        });
    }
    bench.ready("HcpOpenShiftClustersExternalAuth", "c-ea");
    bench.rest();
    bench
}

/// Azure has deleted it.
fn gone(bench: &mut Bench, kind: &str, name: &str) {
    bench.edit(kind, name, |object| {
        object["metadata"]["finalizers"] = json!([])
    });
    bench.delete(kind, name);
    bench.rest();
}

fn is_leaving(bench: &Bench, kind: &str, name: &str) -> bool {
    Live(&bench.live(kind, name)).is_deleting()
}

/// CAPZ deletes everything at once and leaves the order to Azure.
#[test]
fn section_10_item_18_external_authentication_then_node_pools_then_the_cluster() {
    let mut bench = whole();
    bench.edit(KIND, "c", |plane| {
        plane["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")
    });
    let first = bench.decide(KIND);
    assert_eq!(deleted(&first), ["HcpOpenShiftClustersExternalAuth"]);
    assert_eq!(wakes_in(&bench, &first), Some(15));
    bench.rest();
    assert_eq!(
        bench.condition(KIND, c::DELETING).1,
        c::WAITING_FOR_EXTERNAL_AUTH
    );
    assert!(!is_leaving(&bench, "HcpOpenShiftCluster", "c"));
    gone(&mut bench, "HcpOpenShiftClustersExternalAuth", "c-ea");
    let found = bench.condition(KIND, c::DELETING);
    assert_eq!(found.1, c::WAITING_FOR_NODE_POOLS);
    assert_eq!(
        found.2,
        "Waiting for the node pools HcpOpenShiftClustersNodePool c-mp1, AROMachinePool c-mp1 to be deleted"
    );
    assert!(deleted(&bench.decide(KIND)).is_empty());
    assert_eq!(wakes_in(&bench, &bench.decide(KIND)), Some(15));
    gone(&mut bench, "HcpOpenShiftClustersNodePool", "c-mp1");
    assert!(!is_leaving(&bench, "HcpOpenShiftCluster", "c"));
    gone(&mut bench, "AROMachinePool", "c-mp1");
    assert!(is_leaving(&bench, "HcpOpenShiftCluster", "c"));
    assert_eq!(
        bench.condition(KIND, c::DELETING).1,
        c::WAITING_FOR_RESOURCES
    );
    assert_eq!(bench.live(KIND, "c")["status"]["ready"], false);
    gone(&mut bench, "HcpOpenShiftCluster", "c");
    assert_eq!(bench.find(KIND, "c"), None);
}

/// Azure refuses to delete the last node pool, and deletes it with the HCP cluster.
#[test]
fn with_its_cluster_a_control_plane_waits_for_no_node_pool_that_is_on_its_way_out() {
    let mut bench = whole();
    bench.edit("Cluster", "c", |cluster| {
        cluster["metadata"]["finalizers"] = json!(["cluster.cluster.x-k8s.io"]);
    });
    bench.delete("Cluster", "c");
    bench.delete(KIND, "c");
    bench.rest();
    gone(&mut bench, "HcpOpenShiftClustersExternalAuth", "c-ea");
    let found = bench.condition(KIND, c::DELETING);
    let expected = "Waiting for the node pools AROMachinePool c-mp1 to be deleted";
    assert_eq!(
        (found.1.as_str(), found.2.as_str()),
        (c::WAITING_FOR_NODE_POOLS, expected)
    );
    // Garbage collection deletes both at once, and something else holds the AROMachinePool.
    for kind in ["AROMachinePool", "HcpOpenShiftClustersNodePool"] {
        bench.delete(kind, "c-mp1");
    }
    bench.rest();
    assert!(is_leaving(&bench, "HcpOpenShiftCluster", "c"));
}

/// Somebody took the finalizers off the Cluster, and made it again while the rest was being deleted.
#[test]
fn a_later_cluster_of_the_same_name_holds_up_no_deletion() {
    let mut bench = whole();
    bench.edit("Cluster", "c", |cluster| {
        cluster["metadata"]["finalizers"] = json!(["cluster.cluster.x-k8s.io"]);
    });
    for kind in ["Cluster", KIND] {
        bench.delete(kind, "c");
    }
    bench.rest();
    let mut later = bench.live("Cluster", "c");
    bench.fixture.snapshot.remove(&Live(&later).id());
    let metadata = json!({"name": "c", "namespace": "ns"});
    later["metadata"] = metadata;
    bench.put(later);
    gone(&mut bench, "HcpOpenShiftClustersExternalAuth", "c-ea");
    for kind in ["AROMachinePool", "HcpOpenShiftClustersNodePool"] {
        bench.delete(kind, "c-mp1");
    }
    bench.rest();
    assert!(is_leaving(&bench, "HcpOpenShiftCluster", "c"));
}

/// A move may have left it behind: its node pool is in use elsewhere.
#[test]
fn what_is_left_of_node_pools_stays_in_azure_if_the_cluster_just_disappeared() {
    let mut bench = whole();
    let hcp = bench.live("HcpOpenShiftCluster", "c");
    bench.edit("HcpOpenShiftClustersNodePool", "c-mp1", |pool| {
        pool["metadata"]["ownerReferences"] = json!([owned_by(Live(&hcp), false)]);
        pool["metadata"]["annotations"] = json!({RECONCILE_POLICY: SKIP, PRE_PAUSE_POLICY: ""});
    });
    for (kind, name) in [
        ("Cluster", "c"),
        ("AROMachinePool", "c-mp1"),
        ("HcpOpenShiftCluster", "c"),
        ("HcpOpenShiftClustersExternalAuth", "c-ea"),
    ] {
        let id = Live(&bench.live(kind, name)).id();
        bench.fixture.snapshot.remove(&id);
    }
    bench.delete(KIND, "c");
    bench.rest();
    let pool = bench.live("HcpOpenShiftClustersNodePool", "c-mp1");
    assert!(Live(&pool).is_deleting());
    assert_eq!(Live(&pool).annotation(RECONCILE_POLICY), SKIP);
}

#[test]
fn what_is_left_of_node_pools_goes_after_the_hcp_cluster_and_before_the_control_plane() {
    let mut bench = whole();
    let hcp = bench.live("HcpOpenShiftCluster", "c");
    bench.edit("HcpOpenShiftClustersNodePool", "c-mp1", |pool| {
        if let Some(owners) = pool["metadata"]["ownerReferences"].as_array_mut() {
            owners.push(owned_by(Live(&hcp), false));
        }
    });
    bench.edit("Cluster", "c", |cluster| {
        cluster["metadata"]["finalizers"] = json!(["cluster.cluster.x-k8s.io"]);
    });
    for kind in ["Cluster", KIND] {
        bench.delete(kind, "c");
    }
    gone(&mut bench, "AROMachinePool", "c-mp1");
    gone(&mut bench, "HcpOpenShiftClustersExternalAuth", "c-ea");
    assert!(is_leaving(&bench, "HcpOpenShiftCluster", "c"));
    assert!(!is_leaving(&bench, "HcpOpenShiftClustersNodePool", "c-mp1"));
    gone(&mut bench, "HcpOpenShiftCluster", "c");
    assert!(is_leaving(&bench, "HcpOpenShiftClustersNodePool", "c-mp1"));
    let found = bench.condition(KIND, c::DELETING);
    let expected = "Waiting for what is left of the node pools c-mp1 to be deleted";
    assert_eq!(
        (found.1.as_str(), found.2.as_str()),
        (c::WAITING_FOR_NODE_POOLS, expected)
    );
    assert_eq!(wakes_in(&bench, &bench.decide(KIND)), Some(15));
    gone(&mut bench, "HcpOpenShiftClustersNodePool", "c-mp1");
    assert_eq!(bench.find(KIND, "c"), None);
}

/// One that another control plane has.
#[test]
fn node_pools_of_an_hcp_cluster_that_is_there_are_left_alone() {
    let mut bench = whole();
    bench.edit("HcpOpenShiftCluster", "c", |hcp| {
        hcp["metadata"]["ownerReferences"] = json!([{"apiVersion": "x/v1", "kind": "AROControlPlane",
            "name": "other", "uid": "other", "controller": true}]);
    });
    let hcp = bench.live("HcpOpenShiftCluster", "c");
    bench.edit("HcpOpenShiftClustersNodePool", "c-mp1", |pool| {
        pool["metadata"]["ownerReferences"] = json!([owned_by(Live(&hcp), false)]);
    });
    gone(&mut bench, "AROMachinePool", "c-mp1");
    bench.edit("Cluster", "c", |cluster| {
        cluster["metadata"]["finalizers"] = json!(["cluster.cluster.x-k8s.io"]);
    });
    for kind in ["Cluster", KIND] {
        bench.delete(kind, "c");
    }
    bench.rest();
    gone(&mut bench, "HcpOpenShiftClustersExternalAuth", "c-ea");
    assert!(!is_leaving(&bench, "HcpOpenShiftClustersNodePool", "c-mp1"));
    assert_eq!(bench.find(KIND, "c"), None);
}

#[test]
fn external_authentication_goes_as_soon_as_the_cluster_is_deleted() {
    let mut bench = whole();
    bench.edit("Cluster", "c", |cluster| {
        cluster["metadata"]["finalizers"] = json!(["cluster.cluster.x-k8s.io"]);
        cluster["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    let outcome = bench.decide(KIND);
    assert_eq!(deleted(&outcome), ["HcpOpenShiftClustersExternalAuth"]);
    assert!(applied(&outcome).is_empty());
    bench.rest();
    gone(&mut bench, "HcpOpenShiftClustersExternalAuth", "c-ea");
    assert_eq!(
        bench.condition(KIND, c::DELETING).1,
        c::WAITING_FOR_NODE_POOLS
    );
    assert_eq!(bench.find("HcpOpenShiftClustersExternalAuth", "c-ea"), None);
    assert!(!is_leaving(&bench, "HcpOpenShiftCluster", "c"));
    assert!(
        applied(&bench.decide(KIND)).is_empty(),
        "nothing is made again"
    );
}

/// In the foreground, garbage collection takes the Cluster off the owners, since the identity is one, too.
#[test]
fn external_authentication_goes_although_the_cluster_is_no_owner_any_more() {
    for (refers, expected) in [("c", &["HcpOpenShiftClustersExternalAuth"][..]), ("d", &[])] {
        let mut bench = whole();
        bench.edit("Cluster", "c", |cluster| {
            cluster["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
            cluster["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            cluster["spec"]["controlPlaneRef"]["name"] = json!(refers);
        });
        bench.edit(KIND, "c", |plane| {
            plane["metadata"]["ownerReferences"] = json!([]);
        });
        assert_eq!(deleted(&bench.decide(KIND)), expected, "{refers}");
    }
}

/// CAPZ loads the identity before it deletes: without it the deletion never ends. Nor does it without a location.
#[test]
fn section_3_4_a_deletion_needs_no_identity_no_cluster_and_no_location() {
    let mut bench = whole();
    bench.edit(KIND, "c", |plane| {
        plane["spec"]["identityRef"] = json!({"name": "gone"});
        plane["spec"]["resources"][0]["spec"]["location"] = json!(null);
        // The Cluster was seen being deleted before it was gone.
        let cluster = plane["metadata"]["ownerReferences"][0]["uid"].clone();
        plane["metadata"]["annotations"][CLUSTER_DELETED] = cluster;
        plane["metadata"]["ownerReferences"][0]["name"] = json!("gone");
        plane["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    bench.rest();
    for (kind, name) in [
        ("HcpOpenShiftClustersExternalAuth", "c-ea"),
        ("HcpOpenShiftClustersNodePool", "c-mp1"),
        ("AROMachinePool", "c-mp1"),
        ("HcpOpenShiftCluster", "c"),
    ] {
        gone(&mut bench, kind, name);
        bench.wait(15);
    }
    assert_eq!(bench.find(KIND, "c"), None);
}

#[test]
fn a_node_pool_that_nobody_would_delete_goes_with_its_cluster() {
    let mut bench = Bench::new();
    bench.provision();
    let mut pool = object(
        HCP_API,
        "HcpOpenShiftClustersNodePool",
        "raw",
        json!({"owner": {"name": "c"}}),
    );
    pool["metadata"]["ownerReferences"] =
        json!([{"apiVersion": HCP_API, "kind": "HcpOpenShiftCluster", "name": "c", "uid": "u"}]);
    bench.put(pool);
    bench.delete(KIND, "c");
    bench.wait(30);
    assert_eq!(bench.find(KIND, "c"), None);
}

/// CAPZ's AROMachinePool is gone as soon as its Cluster is deleted; the HCP cluster, which ASO made an owner too, keeps the
/// node pool.
#[test]
fn a_node_pool_whose_owner_is_gone_is_not_waited_for() {
    let mut bench = whole();
    bench.edit("HcpOpenShiftClustersNodePool", "c-mp1", |pool| {
        let hcp =
            json!({"apiVersion": HCP_API, "kind": "HcpOpenShiftCluster", "name": "c", "uid": "u"});
        if let Some(owners) = pool["metadata"]["ownerReferences"].as_array_mut() {
            owners.push(hcp);
        }
    });
    bench.edit("AROMachinePool", "c-mp1", |machines| {
        machines["metadata"]["finalizers"] = json!([])
    });
    bench.delete("AROMachinePool", "c-mp1");
    bench.delete(KIND, "c");
    bench.rest();
    gone(&mut bench, "HcpOpenShiftClustersExternalAuth", "c-ea");
    assert!(!is_leaving(&bench, "HcpOpenShiftClustersNodePool", "c-mp1"));
    assert!(is_leaving(&bench, "HcpOpenShiftCluster", "c"));
}

/// Another tool owns the node pool: whether it will delete it is known once its own kind is.
#[test]
fn an_owner_of_a_node_pool_is_looked_at_before_the_cluster_is_deleted() {
    let composition = GroupKind::new("example.com", "Composition");
    let mut bench = Bench::new();
    bench.provision();
    let mut pool = object(
        HCP_API,
        "HcpOpenShiftClustersNodePool",
        "raw",
        json!({"owner": {"name": "c"}}),
    );
    pool["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "example.com/v1", "kind": "Composition", "name": "own", "uid": "u"}]);
    bench.put(pool);
    bench.edit("HcpOpenShiftCluster", "c", |hcp| {
        hcp["metadata"]["finalizers"] = json!(["serviceoperator.azure.com/finalizer"]);
    });
    bench.delete(KIND, "c");
    bench.rest();
    let outcome = bench.decide(KIND);
    assert!(deleted(&outcome).is_empty());
    let kinds: Vec<_> = outcome.needs.iter().filter_map(Need::kind).collect();
    assert!(kinds.contains(&composition));
    let ends = |bench: &Bench, outcome: &Outcome| {
        let needed: Vec<_> = outcome.needs.iter().filter_map(Need::kind).collect();
        let is_blocked = |kind: &GroupKind| !World::of(&bench.fixture.snapshot).is_synced(kind);
        !needed.iter().any(is_blocked) && deleted(outcome) == ["HcpOpenShiftCluster"]
    };
    // The kind may not be watched: nobody would ever know.
    let denied = &mut bench.fixture.snapshot.denied;
    denied.insert(composition.clone(), String::new());
    assert!(ends(&bench, &bench.decide(KIND)));
    bench.fixture.snapshot.denied.clear();
    // It is watched, or not served.
    for is_served in [true, false] {
        bench.fixture.snapshot.sync(&composition, is_served);
        assert!(ends(&bench, &bench.decide(KIND)), "{is_served}");
    }
    for namespace in ["ns", ""] {
        let own = json!({"apiVersion": "example.com/v1", "kind": "Composition",
            "metadata": {"name": "own", "namespace": namespace, "uid": "u"}});
        let id = Live(&own).id();
        bench.fixture.snapshot.insert(own);
        let outcome = bench.decide(KIND);
        assert!(deleted(&outcome).is_empty(), "{namespace}");
        assert!(outcome.needs.contains(&Need::Object(id.clone())));
        bench.fixture.snapshot.remove(&id);
    }
    bench.rest();
    assert!(is_leaving(&bench, "HcpOpenShiftCluster", "c"));
}

#[test]
fn what_clusterctl_has_moved_elsewhere_is_deleted_here_alone() {
    let mut bench = whole();
    bench.edit(KIND, "c", |plane| {
        plane["metadata"]["annotations"][DELETE_FOR_MOVE] = json!("");
        plane["metadata"]["ownerReferences"][0]["name"] = json!("gone");
    });
    bench.delete(KIND, "c");
    bench.wait(30);
    assert!(!is_leaving(
        &bench,
        "HcpOpenShiftClustersExternalAuth",
        "c-ea"
    ));
    assert!(!is_leaving(&bench, "HcpOpenShiftCluster", "c"));
}

#[test]
fn a_paused_control_plane_deletes_nothing() {
    let mut bench = whole();
    bench.edit("Cluster", "c", |cluster| {
        cluster["spec"]["paused"] = json!(true)
    });
    bench.delete(KIND, "c");
    bench.rest();
    assert!(!is_leaving(
        &bench,
        "HcpOpenShiftClustersExternalAuth",
        "c-ea"
    ));
}
