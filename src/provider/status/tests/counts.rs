//! Nodes, counted.

use super::*;

fn count(ready: u32, total: u32) -> NodeCount {
    NodeCount { ready, total }
}

#[test]
fn the_nodes_of_a_control_plane_are_those_requested_or_of_its_policy() {
    let cluster = |policy: Value, available: &str| {
        let mut cluster = live(&format!("Available={available}"));
        cluster["spec"] = json!({"controllerAvailabilityPolicy": policy});
        cluster
    };
    for (policy, requested, total) in [
        (Value::Null, None, 3),
        (json!("HighlyAvailable"), None, 3),
        (json!("SingleReplica"), None, 1),
        (json!("SingleReplica"), Some(5), 5),
        (json!(["odd"]), None, 3),
    ] {
        for (available, ready) in [("True", total), ("False", 0), ("Unknown", 0)] {
            let nodes = nodes(&cluster(policy.clone(), available), &[], requested);
            assert_eq!(
                nodes.control_plane,
                count(ready, total),
                "{policy} {available}"
            );
            assert_eq!(nodes.worker, count(0, 0));
        }
    }
}

#[test]
fn the_nodes_of_pools_are_added_up() {
    let info = |counts: [i64; 2]| {
        let of = counts.map(|count| json!({"ocpVersion": "4.17.3", "readyNodeCount": count}));
        json!({"nodesInfo": {"nodeVersions": of}})
    };
    let pool = |spec: Value, status: Value| json!({"spec": spec, "status": status});
    for (pool, expected) in [
        (
            pool(json!({"replicas": 3}), json!({"replicas": 2})),
            count(2, 3),
        ),
        (pool(json!({"replicas": 3}), json!({})), count(0, 3)),
        (pool(json!({"replicas": 4}), info([1, 2])), count(3, 4)),
        (pool(json!({}), json!({"replicas": 0})), count(0, 0)),
        (
            pool(
                json!({"autoScaling": {"min": 2, "max": 5}}),
                json!({"replicas": 4}),
            ),
            count(4, 4),
        ),
        (
            pool(json!({"autoScaling": {"min": 2, "max": 5}}), json!({})),
            count(0, 2),
        ),
        (
            pool(json!({"replicas": -3}), json!({"replicas": i64::MAX})),
            count(u32::MAX, 0),
        ),
        (pool(json!({"replicas": "3"}), info([-1, 1])), count(1, 0)),
        (json!(7), count(0, 0)),
    ] {
        assert_eq!(nodes(&json!({}), &[&pool], None).worker, expected, "{pool}");
    }
    let two = pool(json!({"replicas": 2}), json!({"replicas": 1}));
    assert_eq!(nodes(&json!({}), &[&two, &two], None).worker, count(2, 4));
}
