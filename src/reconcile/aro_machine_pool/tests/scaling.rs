//! Who decides how many nodes a pool has, and when they count.

use serde_json::json;

use super::{KIND, NODE_POOL, applied, azure_has, bench, machines, node_pool, nodes, whole};
use crate::api::conditions as c;
use crate::reconcile::bench::Bench;

fn asked(bench: &Bench) -> serde_json::Value {
    bench.live(NODE_POOL, "c-np1")["spec"]["properties"]["replicas"].clone()
}

fn scale(bench: &mut Bench, replicas: i64) {
    bench.edit("MachinePool", "c", |pool| {
        pool["spec"]["replicas"] = json!(replicas)
    });
    bench.rest();
}

#[test]
fn a_machine_pool_scales_a_node_pool_that_says_nothing() {
    for properties in [json!({}), json!({"replicas": null, "autoScaling": null})] {
        let mut bench = bench();
        bench.edit(KIND, "c", |machines| {
            machines["spec"]["resources"] = json!([node_pool(properties)]);
        });
        bench.provision();
        assert_eq!(asked(&bench), 3);
        scale(&mut bench, 5);
        assert_eq!(asked(&bench), 5);
        assert_eq!(bench.warnings(), [""; 0]);
    }
}

#[test]
fn a_node_pool_that_says_how_many_decides_and_says_so_once() {
    let mut bench = whole();
    bench.warnings();
    scale(&mut bench, 5);
    assert_eq!(asked(&bench), 3);
    let text = "MachinePool c has replicas: 5 but spec.resources[0].spec.properties.replicas is 3 and decides: change it there, or remove it so that the MachinePool decides";
    for kind in [c::AGENT_POOLS_READY, c::NODE_POOL_READY, c::READY] {
        let (status, _, message) = bench.condition(KIND, kind);
        assert_eq!(
            (status.as_str(), message.as_str()),
            ("True", text),
            "{kind}"
        );
    }
    assert_eq!(bench.warnings(), [c::REPLICAS_NOT_USED]);
    nodes(&mut bench, 2);
    bench.rest();
    assert_eq!(bench.warnings(), [""; 0]);
    scale(&mut bench, 3);
    assert_eq!(bench.condition(KIND, c::AGENT_POOLS_READY).2, "");
}

/// Cluster API's webhook sets it where nobody does.
#[test]
fn the_default_of_a_machine_pool_is_no_demand() {
    let mut bench = whole();
    bench.warnings();
    scale(&mut bench, 1);
    assert_eq!(asked(&bench), 3);
    let (status, _, message) = bench.condition(KIND, c::AGENT_POOLS_READY);
    assert_eq!(status, "True");
    assert!(
        message.contains("replicas: 1, the default of Cluster API, but"),
        "{message}"
    );
    assert_eq!(bench.warnings(), [""; 0]);
}

#[test]
fn a_pool_that_azure_scales_takes_no_number_from_its_machine_pool() {
    let mut bench = bench();
    bench.edit("MachinePool", "c", |pool| {
        pool["spec"]["replicas"] = json!(1)
    });
    bench.edit(KIND, "c", |machines| {
        let scaling = json!({"autoScaling": {"min": 2, "max": 4}});
        machines["spec"]["resources"] = json!([node_pool(scaling)]);
    });
    bench.provision();
    assert_eq!(asked(&bench), json!(null));
    for kind in [c::AGENT_POOLS_READY, c::NODE_POOL_READY, c::READY] {
        let (_, _, message) = bench.condition(KIND, kind);
        assert!(!message.contains("replicas"), "{kind}: {message}");
    }
    assert_eq!(bench.warnings(), [""; 0]);
}

#[test]
fn nodes_that_azure_is_still_making_do_not_count() {
    let mut bench = applied();
    for (state, count) in [("Provisioning", 0), ("Succeeded", 3)] {
        azure_has(&mut bench, state);
        bench.rest();
        assert_eq!(machines(&bench)["status"]["replicas"], count, "{state}");
    }
}
