//! What becomes of a machine pool, decision by decision. A test is named after the case of facts/aro-controllers.md that
//! it covers, where there is one.

#![allow(clippy::panic, clippy::needless_pass_by_value)]

mod deletion;
mod scaling;

use serde_json::{Value, json};

use super::super::bench::{Bench, HCP_API, deleted, object};
use super::super::links::owned_by;
use super::super::outcome::{Outcome, Write};
use super::names::{EXTERNAL_AUTH, HCP, NODE_POOL};
use crate::api::conditions as c;
use crate::api::kinds::{CAPI, INFRASTRUCTURE};
use crate::api::labels::{
    NODE_POOL as NODE_LABEL, RECONCILE_POLICY, REPLICAS_MANAGED_BY, REPLICAS_MANAGED_BY_ARO, SKIP,
};
use crate::health::Live;
use crate::model::{AdapterError, ErrorClass, ObjectId, WorkloadNode};

const KIND: &str = "AROMachinePool";

/// The embedded node pool `np1`.
fn node_pool(properties: Value) -> Value {
    let spec = json!({"azureName": "np1", "location": "uksouth", "properties": properties});
    object(HCP_API, NODE_POOL, "c-np1", spec)
}

/// A Cluster with a machine pool whose objects are both called `c`; the HCP cluster is not there yet.
fn bench() -> Bench {
    let mut bench = Bench::new();
    let spec = json!({"clusterName": "c", "replicas": 3});
    let mut pool = object(&format!("{CAPI}/v1beta2"), "MachinePool", "c", spec);
    let cluster = bench.live("Cluster", "c");
    pool["metadata"]["ownerReferences"] = json!([owned_by(Live(&cluster), false)]);
    bench.put(pool);
    let pool = bench.live("MachinePool", "c");
    let spec = json!({"resources": [node_pool(json!({"replicas": 3}))]});
    let mut machines = object(&format!("{INFRASTRUCTURE}/v1beta2"), KIND, "c", spec);
    machines["metadata"]["ownerReferences"] = json!([owned_by(Live(&pool), true)]);
    machines["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "c"});
    bench.put(machines);
    bench
}

/// The same once the HCP cluster is there, with its kubeconfig, and the node pool was applied.
fn applied() -> Bench {
    let mut bench = bench();
    bench.provision();
    bench
}

/// The same once the node pool has three nodes.
fn whole() -> Bench {
    let mut bench = applied();
    azure_has(&mut bench, "Succeeded");
    bench.ready(NODE_POOL, "c-np1");
    nodes(&mut bench, 3);
    bench.rest();
    bench
}

/// Azure reports this state of the node pool.
fn azure_has(bench: &mut Bench, state: &str) {
    bench.edit(NODE_POOL, "c-np1", |pool| {
        let properties =
            json!({"provisioningState": state, "replicas": 3, "version": {"id": "4.20.17"}});
        pool["status"]["id"] = json!("/pools/np1");
        pool["status"]["properties"] = properties;
    });
}

fn hear(bench: &mut Bench, nodes: Result<Vec<WorkloadNode>, AdapterError>) {
    let cluster = ObjectId::new(CAPI, "Cluster", "ns", "c");
    bench.fixture.snapshot.set_nodes(&cluster, Some(nodes));
}

/// The workload cluster has so many nodes of the pool, and one of another.
fn nodes(bench: &mut Bench, count: usize) {
    let node = |label: &str, number: usize| WorkloadNode {
        name: format!("{label}-{number}"),
        pool: label.to_owned(),
        provider_id: format!("azure:///{label}-{number}"),
        ready: true,
    };
    let mut all: Vec<WorkloadNode> = (0..count).map(|number| node("c-np1", number)).collect();
    all.push(node("c-other", 0));
    hear(bench, Ok(all));
}

fn machines(bench: &Bench) -> Value {
    bench.live(KIND, "c")
}

fn provider_ids(bench: &Bench) -> usize {
    Live(&machines(bench))
        .list(&["spec", "providerIDList"])
        .len()
}

/// Status, reason and generation of a condition.
fn condition(bench: &Bench, kind: &str) -> (String, String, i64) {
    let machines = machines(bench);
    let found = Live(&machines).condition(kind);
    found.map_or_else(Default::default, |found| {
        let generation = found.observed().unwrap_or(0);
        (
            found.status().to_owned(),
            found.reason().to_owned(),
            generation,
        )
    })
}

/// Whether an outcome writes to an object of a kind.
fn touches(outcome: &Outcome, kind: &str) -> bool {
    let mut objects = outcome.writes.iter().filter_map(Write::object);
    objects.any(|id| id.kind == kind)
}

/// Facts §8 (d), and §10 item 10: CAPZ waited for a control plane that waited for a node.
#[test]
fn case_8d_a_node_pool_waits_for_the_hcp_cluster_and_for_nothing_else() {
    let mut bench = bench();
    bench.build();
    assert_eq!(bench.find(NODE_POOL, "c-np1"), None);
    let waits = bench.condition(KIND, c::NODE_POOL_READY);
    assert_eq!(
        (waits.0.as_str(), waits.1.as_str()),
        ("False", c::WAITING_FOR_HCP_CLUSTER)
    );
    assert_eq!(bench.condition(KIND, c::AGENT_POOLS_READY), waits);
    let replicas = machines(&bench)["status"]["replicas"].clone();
    assert_eq!(replicas, 0, "section 3.3, item 3: no node pool was read");
    // Ready, but without a kubeconfig.
    bench.ready(HCP, "c");
    bench.rest();
    let plane = bench.live("AROControlPlane", "c");
    assert_eq!(plane["status"]["ready"], false);
    let pool = bench.live(NODE_POOL, "c-np1");
    assert_eq!(pool["spec"]["owner"], json!({"name": "c"}));
    assert_eq!(bench.condition(KIND, c::AGENT_POOLS_READY).0, "True");
    assert_eq!(condition(&bench, c::NODE_POOL_READY).1, c::PROVISIONING);
}

#[test]
fn it_is_ready_with_its_node_pool() {
    let mut bench = whole();
    let machines = machines(&bench);
    let status = &machines["status"];
    assert_eq!(status["ready"], true);
    assert_eq!(status["replicas"], 3);
    assert_eq!(status["id"], "/pools/np1");
    assert_eq!(status["version"], "4.20.17");
    assert_eq!(status["provisioningState"], "Succeeded");
    assert_eq!(status["initialization"]["provisioned"], true);
    assert_eq!(status["resources"][0]["ready"], true);
    assert_eq!(status.get("failureMessage"), None);
    for (kind, reason) in [
        (c::NODE_POOL_READY, c::SUCCEEDED),
        (c::ARO_MACHINE_POOL_READY, c::SUCCEEDED),
        (c::AGENT_POOLS_READY, c::SUCCEEDED),
        (c::READY, c::NODE_POOL_READY),
    ] {
        let generation = Live(&machines).generation();
        let expected = ("True".to_owned(), reason.to_owned(), generation);
        assert_eq!(condition(&bench, kind), expected, "{kind}");
    }
    let ids = json!(["azure:///c-np1-0", "azure:///c-np1-1", "azure:///c-np1-2"]);
    assert_eq!(machines["spec"]["providerIDList"], ids);
    assert_eq!(bench.live("MachinePool", "c")["spec"]["replicas"], 3);
    assert!(bench.decide(KIND).writes.is_empty(), "it rests");
    assert!(bench.warnings().is_empty());
}

/// Facts §3.3, item 6: in CAPZ it follows `provisioningState` alone.
#[test]
fn section_3_3_it_stays_ready_while_it_is_updated_and_not_when_it_failed() {
    for (state, expected) in [("Updating", true), ("Failed", false)] {
        let mut bench = whole();
        azure_has(&mut bench, state);
        bench.report(NODE_POOL, "c-np1", "False", "Reconciling", "working");
        bench.rest();
        let machines = machines(&bench);
        assert_eq!(machines["status"]["ready"], expected, "{state}");
        assert_eq!(machines["status"]["initialization"]["provisioned"], true);
        assert_eq!(condition(&bench, c::NODE_POOL_READY).1, "Reconciling");
        assert_eq!(condition(&bench, c::READY).0, "False");
    }
}

/// Facts §10, item 16: CAPZ never sets `failureMessage`.
#[test]
fn section_10_item_16_a_failure_for_good_is_in_the_status() {
    let mut bench = applied();
    bench.report(
        NODE_POOL,
        "c-np1",
        "False",
        "InvalidRequestContent",
        "[E]no such size",
    );
    bench.rest();
    assert_eq!(
        machines(&bench)["status"]["failureMessage"],
        "[Error] no such size"
    );
    assert_eq!(bench.warnings(), ["InvalidRequestContent"]);
    azure_has(&mut bench, "Succeeded");
    bench.ready(NODE_POOL, "c-np1");
    bench.rest();
    assert_eq!(machines(&bench)["status"].get("failureMessage"), None);
}

/// A change waits for an upgrade of the control plane, and the check must not take the old state for the new.
#[test]
fn a_change_waits_for_the_hcp_cluster_and_the_conditions_stay_about_the_old_spec() {
    let mut bench = whole();
    bench.report(HCP, "c", "False", "Reconciling", "upgrading");
    bench.rest();
    let fine = condition(&bench, c::NODE_POOL_READY);
    assert_eq!(
        fine.2,
        Live(&machines(&bench)).generation(),
        "nothing waits yet"
    );
    bench.edit(KIND, "c", |machines| {
        machines["spec"]["resources"] = json!([node_pool(json!({"replicas": 5}))]);
    });
    bench.rest();
    let replicas =
        |bench: &Bench| bench.live(NODE_POOL, "c-np1")["spec"]["properties"]["replicas"].clone();
    assert_eq!(replicas(&bench), 3);
    let waits = condition(&bench, c::NODE_POOL_READY);
    assert!(waits.2 < Live(&machines(&bench)).generation(), "{waits:?}");
    let message = bench.condition(KIND, c::NODE_POOL_READY).2;
    assert!(message.starts_with("a change waits: "), "{message}");
    // Its nodes are still looked after.
    nodes(&mut bench, 2);
    bench.rest();
    assert_eq!(provider_ids(&bench), 2);
    bench.ready(HCP, "c");
    bench.rest();
    assert_eq!(replicas(&bench), 5);
}

/// Facts §10, item 12: CAPZ repairs nothing that is ready.
#[test]
fn section_10_item_12_drift_is_repaired_after_it_is_ready() {
    let mut bench = whole();
    bench.edit(NODE_POOL, "c-np1", |pool| {
        pool["spec"]["properties"]["replicas"] = json!(9)
    });
    bench.rest();
    assert_eq!(
        bench.live(NODE_POOL, "c-np1")["spec"]["properties"]["replicas"],
        3
    );
}

/// Facts §8 (c): nothing is deleted because a pool is not ready any more.
#[test]
fn case_8c_a_pool_that_turns_unready_takes_nothing_with_it() {
    let mut bench = whole();
    assert!(bench.find(EXTERNAL_AUTH, "c-ea").is_some());
    bench.report(NODE_POOL, "c-np1", "False", "Failed", "[W]no capacity");
    bench.rest();
    for (kind, name) in [(EXTERNAL_AUTH, "c-ea"), (NODE_POOL, "c-np1"), (HCP, "c")] {
        let live = bench.live(kind, name);
        assert!(!Live(&live).is_deleting(), "{kind}");
    }
    assert_eq!(provider_ids(&bench), 3);
}

/// Facts §8 (e) and §3.3, item 4.
#[test]
fn case_8e_a_workload_cluster_that_cannot_be_reached_changes_no_provider_ids() {
    let mut bench = whole();
    let error = AdapterError::new(ErrorClass::Transient, "no route to the host");
    hear(&mut bench, Err(error));
    bench.rest();
    assert_eq!(provider_ids(&bench), 3);
    assert_eq!(machines(&bench)["status"]["ready"], true);
    for kind in [c::NODE_POOL_READY, c::READY] {
        let (status, _, message) = bench.condition(KIND, kind);
        assert_eq!(status, "True");
        assert!(message.contains("no route to the host"), "{message}");
    }
    nodes(&mut bench, 1);
    bench.rest();
    assert_eq!(provider_ids(&bench), 1);
    assert_eq!(bench.condition(KIND, c::READY).2, "");
}

#[test]
fn the_label_of_a_node_has_the_domain_prefix_of_the_hcp_cluster() {
    let mut bench = whole();
    bench.edit(HCP, "c", |hcp| {
        hcp["status"]["properties"]["dns"] = json!({"baseDomainPrefix": "c-other"});
    });
    hear(
        &mut bench,
        Ok(vec![WorkloadNode {
            name: "n".to_owned(),
            pool: "c-other-np1".to_owned(),
            provider_id: "azure:///n".to_owned(),
            ready: true,
        }]),
    );
    bench.rest();
    assert_eq!(
        machines(&bench)["spec"]["providerIDList"],
        json!(["azure:///n"])
    );
    assert_eq!(NODE_LABEL, "hypershift.openshift.io/nodePool");
}

/// Facts §8 (f).
#[test]
fn case_8f_azure_scales_and_the_machine_pool_follows() {
    let mut bench = applied();
    let autoscaled = json!([node_pool(json!({"autoScaling": {"min": 2, "max": 5}}))]);
    bench.edit(KIND, "c", |machines| {
        machines["spec"]["resources"] = autoscaled
    });
    for count in [5, 2] {
        nodes(&mut bench, count);
        bench.rest();
        let pool = bench.live("MachinePool", "c");
        assert_eq!(
            Live(&pool).annotation(REPLICAS_MANAGED_BY),
            REPLICAS_MANAGED_BY_ARO
        );
        assert_eq!(pool["spec"]["replicas"], json!(count));
    }
    // Only these two fields are written to it.
    bench.edit("MachinePool", "c", |pool| {
        pool["metadata"]["annotations"] = json!({})
    });
    let outcome = bench.decide(KIND);
    let mut writes = outcome.writes.iter();
    let write = writes.find_map(|write| match write {
        Write::Apply(patch) if Live(patch).kind() == "MachinePool" => Some(patch.clone()),
        _ => None,
    });
    let mut write = write.unwrap_or_default();
    assert_eq!(write["spec"], json!({"replicas": 2}));
    let identity = ["name", "namespace", "uid", "annotations"];
    let metadata = write["metadata"].as_object_mut();
    let fields: Vec<String> = metadata
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
        .collect();
    assert!(
        fields
            .iter()
            .all(|field| identity.contains(&field.as_str())),
        "{fields:?}"
    );

    let fixed = json!([node_pool(json!({"replicas": 3}))]);
    bench.rest();
    bench.edit(KIND, "c", |machines| machines["spec"]["resources"] = fixed);
    bench.rest();
    let pool = bench.live("MachinePool", "c");
    assert_eq!(Live(&pool).annotation(REPLICAS_MANAGED_BY), "");
    nodes(&mut bench, 4);
    bench.rest();
    assert!(!touches(&bench.decide(KIND), "MachinePool"));
}

#[test]
fn replicas_that_another_manages_are_left_to_it_and_said_so() {
    let mut bench = applied();
    bench.edit("MachinePool", "c", |pool| {
        pool["metadata"]["annotations"] = json!({REPLICAS_MANAGED_BY: "karpenter"});
    });
    bench.edit(KIND, "c", |machines| {
        machines["spec"]["resources"] = json!([node_pool(json!({"autoScaling": {"min": 2}}))]);
    });
    bench.rest();
    let failed = bench.condition(KIND, c::AGENT_POOLS_READY);
    let text = "failed to enable autoscaling, replicas are already being managed by karpenter according to MachinePool c's cluster.x-k8s.io/replicas-managed-by annotation";
    assert_eq!(
        (failed.0.as_str(), failed.1.as_str(), failed.2.as_str()),
        ("False", c::FAILED, text)
    );
    assert_eq!(condition(&bench, c::READY).0, "False");
    assert_eq!(bench.live("MachinePool", "c")["spec"]["replicas"], 3);
    assert_eq!(
        bench.live(NODE_POOL, "c-np1")["spec"]["properties"]["replicas"],
        3
    );
    assert!(bench.warnings().contains(&c::FAILED.to_owned()));
}

#[test]
fn what_a_person_has_to_change_is_said_on_the_object_and_nothing_is_written() {
    let mut other = node_pool(json!({}));
    other["spec"]["owner"] = json!({"name": "d"});
    let cases = [
        (json!([]), c::NODE_POOL_INVALID),
        (
            json!([
                node_pool(json!({})),
                object(HCP_API, NODE_POOL, "b", json!({}))
            ]),
            c::NODE_POOL_INVALID,
        ),
        (json!([other]), c::INCOMPATIBLE_VALUE),
        (json!([{"kind": NODE_POOL}]), c::NODE_POOL_INVALID),
    ];
    for (resources, reason) in cases {
        let mut bench = whole();
        bench.warnings();
        bench.edit(KIND, "c", |machines| {
            machines["spec"]["resources"] = resources.clone()
        });
        let outcome = bench.decide(KIND);
        assert!(
            !touches(&outcome, NODE_POOL) && deleted(&outcome).is_empty(),
            "{reason}"
        );
        bench.rest();
        let machines = machines(&bench);
        let failure = Live(&machines).text(&["status", "failureMessage"]);
        let said = |kind| bench.condition(KIND, kind);
        let refused = |text: &str| ("False".to_owned(), reason.to_owned(), text.to_owned());
        assert_eq!(said(c::NODE_POOL_READY), refused(failure));
        assert_eq!(said(c::READY), refused("NodePoolReady is False"));
        assert_eq!(condition(&bench, c::AGENT_POOLS_READY).1, c::FAILED);
        assert_eq!(condition(&bench, c::NODE_POOL_READY).1, reason);
        assert_eq!(machines["status"]["ready"], false);
        assert_eq!(machines["status"]["id"], "/pools/np1", "it is still there");
        assert!(bench.warnings().contains(&reason.to_owned()));
    }
}

#[test]
fn a_machine_pool_without_an_owner_says_what_it_waits_for() {
    let mut bench = bench();
    bench.edit(KIND, "c", |machines| {
        machines["metadata"]["ownerReferences"] = json!([])
    });
    bench.rest();
    assert_eq!(
        condition(&bench, c::READY).1,
        c::WAITING_FOR_OWNER_MACHINE_POOL
    );
    assert_eq!(machines(&bench)["status"]["ready"], false);
}

/// Facts §3.3, item 1: in CAPZ the gate comes before a pause and before a deletion.
#[test]
fn section_3_3_the_gate_holds_up_neither_a_pause_nor_a_deletion() {
    let mut bench = whole();
    bench.report(HCP, "c", "False", "Reconciling", "upgrading");
    bench.rest();
    bench.edit("Cluster", "c", |cluster| {
        cluster["spec"]["paused"] = json!(true)
    });
    bench.rest();
    assert_eq!(condition(&bench, c::PAUSED).0, "True");
    bench.edit("Cluster", "c", |cluster| {
        cluster["spec"]["paused"] = json!(false)
    });
    bench.rest();
    bench.delete(KIND, "c");
    bench.rest();
    assert_eq!(bench.find(NODE_POOL, "c-np1"), None);
    assert_eq!(bench.find(KIND, "c"), None);
}

#[test]
fn an_ignored_namespace_is_no_failure_of_a_pool() {
    let mut bench = bench();
    bench.edit(KIND, "c", |machines| {
        machines["spec"]["resources"][0]["metadata"]["namespace"] = json!("elsewhere");
    });
    bench.provision();
    bench.report(NODE_POOL, "c-np1", "False", "Reconciling", "working");
    bench.rest();
    assert_eq!(condition(&bench, c::NODE_POOL_READY).1, "Reconciling");
    assert_eq!(condition(&bench, c::AGENT_POOLS_READY).0, "True");
    let message = machines(&bench)["status"]["resources"][0]["message"].clone();
    assert!(
        message
            .as_str()
            .is_some_and(|text| text.contains("is ignored")),
        "{message}"
    );
}

#[test]
fn an_owner_that_does_not_exist_is_an_event() {
    for (missing, reason) in [
        ("MachinePool", c::MACHINE_POOL_NOT_FOUND),
        ("Cluster", c::CLUSTER_NOT_FOUND),
    ] {
        let mut bench = whole();
        bench.warnings();
        let id = Live(&bench.live(missing, "c")).id();
        bench.fixture.snapshot.remove(&id);
        bench.rest();
        assert_eq!(bench.reason(KIND, c::READY), reason);
        let warnings = bench.warnings();
        assert!(warnings.contains(&reason.to_owned()), "{warnings:?}");
    }
}

/// What is live was applied before, and is not to stay paused because of what cannot be.
#[test]
fn a_pause_ends_although_the_spec_is_refused() {
    let mut bench = whole();
    let pause = |bench: &mut Bench, is_paused: bool| {
        bench.edit("Cluster", "c", |cluster| {
            cluster["spec"]["paused"] = json!(is_paused)
        });
        bench.rest();
    };
    let live = [("ResourceGroup", "rg"), (HCP, "c"), (NODE_POOL, "c-np1")];
    pause(&mut bench, true);
    for (kind, name) in live {
        let policy = bench.live(kind, name);
        assert_eq!(Live(&policy).annotation(RECONCILE_POLICY), SKIP, "{kind}");
    }
    for kind in [KIND, "AROControlPlane"] {
        bench.edit(kind, "c", |owner| owner["spec"]["resources"] = json!([]));
    }
    bench.edit("Cluster", "c", |cluster| {
        cluster["spec"]["controlPlaneRef"]["apiGroup"] = json!("other.x-k8s.io");
    });
    pause(&mut bench, false);
    for (kind, name) in live {
        let policy = bench.live(kind, name);
        assert_eq!(Live(&policy).annotation(RECONCILE_POLICY), "", "{kind}");
    }
    assert_eq!(
        condition(&bench, c::NODE_POOL_READY).1,
        c::NODE_POOL_INVALID
    );
}
