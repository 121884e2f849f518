//! What is being deleted, and what Azure is given time for.

use super::*;

#[test]
fn a_deletion_waits_for_what_is_still_there() {
    let [root, aro, plane] = cluster();
    let root = deleted(root, &["cluster.cluster.x-k8s.io"]);
    let plane = deleted(plane, &["arocontrolplanes/finalizer"]);
    let graph = StatusGraph::new(&found(&[
        namespace(),
        root,
        deleted(aro, &["a"]),
        plane,
        ready(rg("rg")),
    ]));
    let (name, cause) = blocker(&graph, "AROControlPlane/ns/c");
    assert_eq!(name, "AROControlPlane/ns/c", "its HCP cluster is gone");
    assert_eq!(
        cause.message,
        "being deleted, held by arocontrolplanes/finalizer"
    );
    assert_eq!(cause.since, LATER.parse().ok());
    let chain = graph.blocked(index(&graph, "AROCluster/ns/c")).unwrap();
    let path: Vec<&str> = chain
        .path
        .iter()
        .map(|at| graph.id(*at).name.as_str())
        .collect();
    assert_eq!(path, ["c", "rg"]);
}

#[test]
fn nothing_is_made_in_a_namespace_that_ends() {
    let mut going = deleted(namespace(), &[]);
    going["spec"] = json!({"finalizers": ["kubernetes"]});
    going["status"] = json!({"phase": "Terminating", "conditions": [
        {"type": "NamespaceContentRemaining", "status": "True", "message": "vaults.x has 1 resource instances"}]});
    let graph = StatusGraph::new(&found(&[going, rg("rg")]));
    let (name, cause) = blocker(&graph, "ResourceGroup/ns/rg");
    assert_eq!(name, "Namespace//ns");
    assert_eq!(
        cause.message,
        "being deleted, held by kubernetes: vaults.x has 1 resource instances"
    );
}

#[test]
fn azure_is_given_its_time() {
    let graph = StatusGraph::new(&found(&[
        namespace(),
        at_work(vault("rg")),
        ready(rg("rg")),
    ]));
    let at = index(&graph, "Vault/ns/kv");
    let began: Timestamp = LATER.parse().unwrap();
    let help = |seconds| graph.help(at, began + SignedDuration::from_secs(seconds));
    assert!(help(80).starts_with("nothing to do"), "{}", help(80));
    assert!(help(81).contains("activity log"), "{}", help(81));
}

#[test]
fn a_deletion_in_azure_is_given_its_time_too() {
    let aro = json!({"resources": [rg("rg"), vault("rg")]});
    let aro = deleted(object(INFRA, "AROCluster", "c", &aro), &["aro"]);
    let going = deleted(rg("rg"), &["serviceoperator.azure.com/finalizer"]);
    let kept = ready(vault("rg"));
    let graph = StatusGraph::new(&found(&[namespace(), aro.clone(), going, kept.clone()]));
    let at = index(&graph, "ResourceGroup/ns/rg");
    let began: Timestamp = LATER.parse().unwrap();
    let help = |seconds| graph.help(at, began + SignedDuration::from_secs(seconds));
    assert!(help(150).starts_with("nothing to do"), "{}", help(150));
    assert!(help(151).contains("activity log"), "{}", help(151));
    let graph = StatusGraph::new(&found(&[namespace(), aro, kept]));
    let (name, cause) = blocker(&graph, "AROCluster/ns/c");
    assert_eq!((name.as_str(), cause.phase), ("Vault/ns/kv", Phase::Ready));
    let help = graph.help(index(&graph, &name), began);
    assert!(help.contains("nobody has requested that yet"), "{help}");
}

#[test]
fn a_deletion_that_azure_refuses_is_not_taken_for_work() {
    let pool = object(HCP, "HcpOpenShiftClustersNodePool", "np", &json!({}));
    let machines = json!({"resources": [pool]});
    let machines = deleted(
        object(INFRA, "AROMachinePool", "np", &machines),
        &["aromachinepool/finalizer"],
    );
    let refused = |message: &str| {
        let pool = with_condition(pool.clone(), "Ready", "Failed", message);
        let pool = deleted(pool, &["serviceoperator.azure.com/finalizer"]);
        StatusGraph::new(&found(&[namespace(), machines.clone(), pool]))
    };
    let graph = refused(aso::LAST_NODE_POOL);
    let (name, cause) = blocker(&graph, "AROMachinePool/ns/np");
    assert_eq!(name, "HcpOpenShiftClustersNodePool/ns/np");
    assert_eq!(
        cause.words(),
        "Failed: being deleted, held by serviceoperator.azure.com/finalizer: The last node pool can not be deleted from a cluster"
    );
    let help = |graph: &StatusGraph| graph.help(index(graph, &name), LATER.parse().unwrap());
    assert_eq!(help(&graph), conditions::LAST_NODE_POOL_HELP);
    let other = refused("scope is locked");
    assert!(help(&other).contains("see what Azure answers"));
}
