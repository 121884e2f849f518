//! A cluster with its pools.

use super::super::State::*;
use super::*;

/// The conditions of a cluster that has a state by the table.
fn cluster(state: State) -> Value {
    let conditions = match state {
        Ready => "Available=True, Progressing=False",
        Provisioning => "Available=False, Progressing=True",
        Unavailable => "Available=False, Progressing=False",
        Failed => "Degraded=True",
        Pending => "Progressing=Unknown",
        Deleting | Deleted => return deleted(live("")),
    };
    live(conditions)
}

fn both() -> [Mapping; 2] {
    [Mapping::Strict, Mapping::Tolerant]
}

#[test]
fn every_condition_of_a_pool_has_its_state() {
    let cases = [
        ("Ready=True", Ready),
        ("Ready=False", Unavailable),
        ("UpdatingVersion=True", Provisioning),
        ("UpdatingConfig=True", Provisioning),
        // Nothing is known of it, so that the cluster alone counts.
        ("", Ready),
        ("UpdatingVersion=True, Ready=False", Provisioning),
        ("UpdatingVersion=True, Ready=True", Provisioning),
        ("UpdatingConfig=True, Ready=False", Provisioning),
        (
            "UpdatingVersion=False, UpdatingConfig=False, Ready=True",
            Ready,
        ),
        ("Ready=Unknown", Pending),
        ("ValidPlatformImage=True", Pending),
    ];
    for (conditions, expected) in cases {
        for mapping in both() {
            let pool = live(conditions);
            let told = told(&cluster(Ready), &[&pool], mapping, 0);
            assert_eq!(told.0, expected, "{conditions} {mapping:?}");
        }
    }
}

#[test]
fn the_worst_of_cluster_and_pool_counts() {
    let cases = [
        (Ready, "Ready=True", Ready),
        (Ready, "Ready=False", Unavailable),
        (Failed, "Ready=True", Failed),
        (Ready, "", Ready),
        (Ready, "UpdatingVersion=True", Provisioning),
        (Deleting, "Ready=False", Deleting),
        (Provisioning, "UpdatingVersion=True", Provisioning),
        (Failed, "Ready=False", Failed),
        (Unavailable, "UpdatingVersion=True", Unavailable),
        (Pending, "Ready=True", Pending),
        (Provisioning, "Ready=False", Unavailable),
    ];
    for (of_cluster, of_pool, expected) in cases {
        for mapping in both() {
            let pool = live(of_pool);
            let (state, _) = told(&cluster(of_cluster), &[&pool], mapping, 0);
            assert_eq!(state, expected, "{of_cluster} {of_pool} {mapping:?}");
        }
    }
    for mapping in both() {
        assert_eq!(state(&cluster(Ready), mapping, 0), Ready, "it has no pool");
    }
}

#[test]
fn the_message_is_of_what_is_worst() {
    let ready = cluster(Ready);
    let away = live("Ready=False/Nodes: 1 of 2 nodes");
    let update = live("UpdatingVersion=True: to 4.17.3, Ready=True");
    let config = live("UpdatingConfig=True: new config, Ready=False: 1 of 2 nodes");
    let failed = live("Degraded=True: etcd is broken");
    let busy = live("Progressing=True: busy");
    let text = |cluster: &Value, pools: &[&Value]| told(cluster, pools, Mapping::Strict, 0).1;
    assert_eq!(text(&ready, &[&away]), "NodePool: 1 of 2 nodes");
    assert_eq!(text(&ready, &[&update]), "NodePool: to 4.17.3");
    assert_eq!(text(&ready, &[&config]), "NodePool: new config");
    assert_eq!(text(&failed, &[&away]), "etcd is broken");
    assert_eq!(text(&busy, &[&update]), "NodePool: to 4.17.3");
    assert_eq!(text(&ready, &[&live("Ready=True: fine")]), "");
}

#[test]
fn of_several_pools_the_worst_counts_and_the_first_by_name_speaks() {
    let named = |name: &str, conditions: &str| {
        let mut pool = live(conditions);
        pool["metadata"]["name"] = json!(name);
        pool
    };
    let pools = [
        named("c", "Ready=False: c is away"),
        named("b", "Ready=False: b is away"),
        named("a", "UpdatingVersion=True: a is updated"),
        named("0", "Ready=False"),
    ];
    let mut order: Vec<&Value> = pools.iter().collect();
    for _ in 0..order.len() {
        order.rotate_left(1);
        let told = told(&cluster(Ready), &order, Mapping::Tolerant, 0);
        assert_eq!(told, (Unavailable, "NodePool: b is away".into()));
    }
}

#[test]
fn a_pool_that_goes_says_nothing_of_the_cluster() {
    let going = deleted(live("Ready=False: it goes"));
    for mapping in both() {
        assert_eq!(
            told(&cluster(Ready), &[&going], mapping, 0),
            (Ready, String::new())
        );
    }
}
