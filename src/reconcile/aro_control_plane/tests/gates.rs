//! What waits for what.

use serde_json::json;

use super::super::super::bench::{Bench, HCP_API, SETTLE, applied, object, wakes_in};
use super::super::super::outcome::Need;
use super::KIND;
use crate::api::conditions as c;
use crate::api::labels::RECONCILE_POLICY;
use crate::health::Live;

fn pool(name: &str, cluster: &str) -> serde_json::Value {
    let spec = json!({"owner": {"name": cluster}});
    object(HCP_API, "HcpOpenShiftClustersNodePool", name, spec)
}

/// CAPZ waits for the infrastructure without a condition.
#[test]
fn section_3_2_step_4_the_condition_says_which_infrastructure_is_awaited() {
    let mut bench = Bench::new();
    bench.edit("Cluster", "c", |cluster| {
        cluster["spec"]["infrastructureRef"]["name"] = json!("other")
    });
    bench.rest();
    let found = bench.condition(KIND, c::HCP_CLUSTER_READY);
    assert_eq!(found.1, c::WAITING_FOR_INFRASTRUCTURE);
    assert!(
        found.2.contains("other, which does not exist"),
        "{}",
        found.2
    );
    bench.edit("Cluster", "c", |cluster| {
        cluster["spec"]["infrastructureRef"]["name"] = json!("c")
    });
    bench.rest();
    let found = bench.condition(KIND, c::HCP_CLUSTER_READY);
    assert_eq!(found.2, "Waiting for the resources of AROCluster c");
    assert_eq!(bench.find("HcpOpenShiftCluster", "c"), None);
    assert_eq!(bench.live(KIND, "c")["status"]["ready"], false);
    bench.build();
    assert!(bench.find("HcpOpenShiftCluster", "c").is_some());
}

#[test]
fn an_infrastructure_without_resources_is_not_waited_for() {
    let mut bench = Bench::new();
    bench.edit("AROCluster", "c", |object| {
        object["spec"]["resources"] = json!([])
    });
    bench.rest();
    assert!(bench.find("HcpOpenShiftCluster", "c").is_some());
}

/// Without settled role assignments the cluster fails after ten minutes, and cannot be updated any more.
#[test]
fn section_8_a_role_assignments_settle_before_the_cluster() {
    let mut bench = Bench::new();
    bench.edit("AROCluster", "c", |cluster| {
        let role = object(
            "authorization.azure.com/v1api20220401",
            "RoleAssignment",
            "role",
            json!({}),
        );
        cluster["spec"]["resources"] = json!([role]);
    });
    bench.rest();
    bench.ready("RoleAssignment", "role");
    bench.rest();
    assert_eq!(
        bench.reason(KIND, c::HCP_CLUSTER_READY),
        c::WAITING_FOR_ROLE_ASSIGNMENTS
    );
    assert_eq!(bench.find("HcpOpenShiftCluster", "c"), None);
    let settle = i64::try_from(SETTLE.as_secs()).unwrap_or_default();
    assert_eq!(wakes_in(&bench, &bench.decide(KIND)), Some(settle));
    bench.wait(settle);
    assert!(bench.find("HcpOpenShiftCluster", "c").is_some());
    bench.report("RoleAssignment", "role", "False", "Reconciling", "");
    bench.rest();
    bench.ready("RoleAssignment", "role");
    bench.rest();
    assert_ne!(
        bench.reason(KIND, c::HCP_CLUSTER_READY),
        c::WAITING_FOR_ROLE_ASSIGNMENTS
    );
}

#[test]
fn a_change_of_a_cluster_that_exists_waits_for_the_infrastructure_and_is_not_taken_for_applied() {
    let mut bench = Bench::new();
    bench.provision();
    bench.report("Vault", "vault", "False", "Reconciling", "");
    bench.edit(KIND, "c", |plane| {
        plane["spec"]["resources"][0]["spec"]["location"] = json!("elsewhere")
    });
    bench.rest();
    assert_eq!(
        bench.live("HcpOpenShiftCluster", "c")["spec"]["location"],
        "uksouth"
    );
    let plane = bench.live(KIND, "c");
    let condition = crate::health::Live(&plane).condition(c::HCP_CLUSTER_READY);
    assert_eq!(condition.and_then(|found| found.observed()), Some(1));
    assert!(
        bench
            .condition(KIND, c::HCP_CLUSTER_READY)
            .2
            .contains("not applied: Waiting for the resources of AROCluster c")
    );
    assert_eq!(plane["status"]["ready"], true, "the cluster runs");
    assert!(!bench.fixture.health(KIND, "c").is_ready());
    bench.ready("Vault", "vault");
    bench.rest();
    assert_eq!(
        bench.live("HcpOpenShiftCluster", "c")["spec"]["location"],
        "elsewhere"
    );
}

/// CAPZ counts the node pools of the whole namespace.
#[test]
fn section_3_2_step_7_only_a_node_pool_of_this_cluster_opens_the_gate() {
    let mut bench = Bench::new();
    bench.provision();
    assert_eq!(
        bench.reason(KIND, c::EXTERNAL_AUTH_READY),
        c::WAITING_FOR_NODE_POOL
    );
    bench.put(pool("other-mp1", "other"));
    bench.ready("HcpOpenShiftClustersNodePool", "other-mp1");
    bench.rest();
    assert_eq!(bench.find("HcpOpenShiftClustersExternalAuth", "c-ea"), None);
    bench.put(pool("c-mp1", "c"));
    bench.rest();
    assert_eq!(bench.find("HcpOpenShiftClustersExternalAuth", "c-ea"), None);
    bench.ready("HcpOpenShiftClustersNodePool", "c-mp1");
    bench.rest();
    assert!(
        bench
            .find("HcpOpenShiftClustersExternalAuth", "c-ea")
            .is_some()
    );
}

/// ARO-25406: it was deleted when the pool turned unready.
#[test]
fn section_8_c_external_authentication_is_kept_once_it_exists() {
    let mut bench = Bench::new();
    bench.provision();
    bench.put(pool("c-mp1", "c"));
    bench.ready("HcpOpenShiftClustersNodePool", "c-mp1");
    bench.rest();
    bench.ready("HcpOpenShiftClustersExternalAuth", "c-ea");
    bench.report(
        "HcpOpenShiftClustersNodePool",
        "c-mp1",
        "False",
        "Reconciling",
        "",
    );
    bench.rest();
    assert!(
        bench
            .find("HcpOpenShiftClustersExternalAuth", "c-ea")
            .is_some()
    );
    assert_eq!(bench.condition(KIND, c::EXTERNAL_AUTH_READY).0, "True");
}

/// A node pool needs the cluster, and the kubeconfig may need a node: the condition that node pools wait for is true before
/// there is a kubeconfig.
#[test]
fn section_8_d_the_cluster_is_ready_for_node_pools_without_a_kubeconfig() {
    let mut bench = Bench::new();
    bench.build();
    bench.ready("HcpOpenShiftCluster", "c");
    bench.rest();
    assert_eq!(bench.condition(KIND, c::HCP_CLUSTER_READY).0, "True");
    assert_eq!(bench.live(KIND, "c")["status"]["ready"], false);
    assert_eq!(bench.reason(KIND, c::READY), c::KUBECONFIG_AWAITED);
}

/// The key vault bombardment: a decision about a world that is as wanted writes nothing (ARO-25403).
#[test]
fn section_8_b_nothing_is_written_twice() {
    let mut bench = Bench::new();
    bench.provision();
    for kind in [KIND, "AROCluster"] {
        let outcome = bench.decide(kind);
        assert_eq!(outcome.writes, [], "{kind}");
        assert_eq!(outcome.events, [], "{kind}");
    }
}

#[test]
fn a_cluster_that_is_lost_behind_our_back_is_made_again() {
    let mut bench = Bench::new();
    bench.provision();
    bench.delete("HcpOpenShiftCluster", "c");
    let outcome = bench.decide(KIND);
    assert_eq!(applied(&outcome), ["HcpOpenShiftCluster"]);
    bench.rest();
    assert_eq!(
        bench.live(KIND, "c")["status"]["initialization"]["controlPlaneInitialized"],
        true
    );
    assert_eq!(bench.live(KIND, "c")["status"]["ready"], false);
}

fn is_needed(bench: &Bench, kind: &str) -> bool {
    let needs = bench.decide(KIND).needs;
    let is_it = |need: &Need| matches!(need, Need::Object(id) if id.kind == kind);
    needs.iter().any(is_it)
}

/// Otherwise a restart reports that a cluster that runs does not exist.
#[test]
fn a_spec_that_waits_needs_the_cluster_that_is_reported() {
    let mut bench = Bench::new();
    bench.rest();
    assert_eq!(
        bench.reason(KIND, c::HCP_CLUSTER_READY),
        c::WAITING_FOR_INFRASTRUCTURE
    );
    for kind in ["HcpOpenShiftCluster", "HcpOpenShiftClustersExternalAuth"] {
        assert!(is_needed(&bench, kind), "{kind}");
    }
}

/// A gate that is asked before the role assignments are known is open, and a probe must not keep it open.
#[test]
fn section_8_a_a_probe_is_not_managed_before_the_role_assignments_settle() {
    let mut bench = Bench::new();
    bench.edit("AROCluster", "c", |cluster| {
        let api = "authorization.azure.com/v1api20220401";
        let role = object(api, "RoleAssignment", "role", json!({}));
        cluster["spec"]["resources"] = json!([role]);
    });
    bench.rest();
    bench.ready("RoleAssignment", "role");
    bench.rest();
    assert!(is_needed(&bench, "RoleAssignment"));
    let mut probe = object(HCP_API, "HcpOpenShiftCluster", "c", json!({}));
    probe["metadata"]["annotations"][RECONCILE_POLICY] = json!("skip");
    bench.put(probe);
    let found = bench.decide(KIND);
    assert!(applied(&found).is_empty(), "{found:?}");
    let settle = i64::try_from(SETTLE.as_secs()).unwrap_or_default();
    assert_eq!(wakes_in(&bench, &found), Some(settle));
    bench.edit("HcpOpenShiftCluster", "c", |hcp| {
        hcp["status"]["id"] = json!("/subscriptions/s/c")
    });
    assert_eq!(applied(&bench.decide(KIND)), ["HcpOpenShiftCluster"]);
}

/// Azure takes one, and Azure Service Operator would not ask again for the second.
#[test]
fn another_external_authentication_waits_until_the_first_is_gone() {
    const AUTH: &str = "HcpOpenShiftClustersExternalAuth";
    let mut bench = whole_with_pool();
    assert!(bench.find(AUTH, "c-ea").is_some());
    bench.edit(AUTH, "c-ea", |auth| {
        auth["metadata"]["finalizers"] = json!(["serviceoperator.azure.com/finalizer"]);
    });
    bench.edit(KIND, "c", |plane| {
        plane["spec"]["resources"][1]["metadata"]["name"] = json!("other");
    });
    bench.rest();
    assert!(Live(&bench.live(AUTH, "c-ea")).is_deleting());
    assert_eq!(bench.find(AUTH, "other"), None);
    let (_, reason, message) = bench.condition(KIND, c::EXTERNAL_AUTH_READY);
    assert_eq!(reason, c::WAITING_FOR_EXTERNAL_AUTH);
    assert_eq!(message, c::one_external_auth(&["c-ea"]));
    bench.edit(AUTH, "c-ea", |auth| {
        auth["metadata"]["finalizers"] = json!([]);
    });
    bench.delete(AUTH, "c-ea");
    bench.rest();
    assert!(bench.find(AUTH, "other").is_some());
}

/// A cluster with a node pool that is ready, and external authentication.
fn whole_with_pool() -> Bench {
    let mut bench = Bench::new();
    bench.provision();
    bench.put(pool("c-mp1", "c"));
    bench.ready("HcpOpenShiftClustersNodePool", "c-mp1");
    bench.rest();
    bench
}
