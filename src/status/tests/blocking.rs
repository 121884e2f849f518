//! What blocks an object: what it waits for, and which of several is the cause.

use super::*;
use crate::api::kinds::is_aso;

#[test]
fn the_deepest_that_waits_for_nothing_else_blocks() {
    let [root, aro, plane] = cluster();
    let failed = with_condition(rg("rg"), "Ready", "AuthorizationFailed", "no");
    let waiting = with_condition(vault("rg"), "Ready", "WaitingForOwner", "rg");
    let graph = StatusGraph::new(&found(&[namespace(), root, aro, plane, failed, waiting]));
    let expected = ["Cluster/ns/c", "AROCluster/ns/c", "ResourceGroup/ns/rg"];
    assert_eq!(path(&graph, "Cluster/ns/c"), expected);
    let expected = ["Vault/ns/kv", "ResourceGroup/ns/rg"];
    assert_eq!(path(&graph, "Vault/ns/kv"), expected);
    let (_, cause) = blocker(&graph, "AROControlPlane/ns/c");
    assert_eq!(
        (cause.phase, cause.condition.as_str()),
        (Phase::Retrying, "Ready")
    );
    assert_eq!(cause.since, LATER.parse().ok());
    assert_eq!(cause.words(), "AuthorizationFailed: no");
}

#[test]
fn the_blocker_most_in_need_of_a_person_comes_first_then_the_oldest() {
    let mut old = at_work(rg("z"));
    old["status"]["conditions"][0]["lastTransitionTime"] = json!(MADE);
    let carried = |names: &[&str]| json!({"resources": names.iter().map(|name| rg(name)).collect::<Vec<_>>()});
    let aro = object(INFRA, "AROCluster", "c", &carried(&["a", "b", "z"]));
    let mut objects = vec![namespace(), aro, at_work(rg("a")), at_work(rg("b")), old];
    let graph = StatusGraph::new(&found(&objects));
    let chain = graph.blocked(index(&graph, "AROCluster/ns/c")).unwrap();
    let names =
        |all: &[usize]| -> Vec<&str> { all.iter().map(|at| graph.id(*at).name.as_str()).collect() };
    assert_eq!(names(&chain.path), ["c", "z"]);
    assert_eq!(names(&chain.others), ["a", "b"]);
    objects[3] = with_condition(rg("b"), "Ready", "InvalidRequestContent", "no");
    objects[3]["status"]["conditions"][0]["severity"] = json!("Error");
    let graph = StatusGraph::new(&found(&objects));
    let (name, cause) = blocker(&graph, "AROCluster/ns/c");
    assert_eq!(
        (name.as_str(), cause.phase),
        ("ResourceGroup/ns/b", Phase::Failed)
    );
}

#[test]
fn a_failure_that_repeats_another_is_not_the_cause() {
    let [root, aro, plane] = cluster();
    let hcp = object(
        HCP,
        "HcpOpenShiftCluster",
        "c",
        &json!({"owner": {"name": "rg"}}),
    );
    let idle = hcp.clone();
    let hcp = with_condition(hcp, "Ready", "Conflict", "busy");
    let mirror = with_condition(
        plane.clone(),
        "HcpClusterReady",
        "Conflict",
        "[Warning] busy",
    );
    let ours = with_condition(
        plane.clone(),
        "EncryptionKeyReady",
        "KeyVersionMissing",
        "no version",
    );
    let groups = [ready(rg("rg")), ready(vault("rg"))];
    let base = [vec![namespace(), root, aro], groups.to_vec()].concat();
    let graph = StatusGraph::new(&found(&[base.clone(), vec![mirror, hcp]].concat()));
    assert_eq!(
        blocker(&graph, "AROControlPlane/ns/c").0,
        "HcpOpenShiftCluster/ns/c"
    );
    let echo = with_condition(plane.clone(), "HcpClusterReady", "Reconciling", "");
    let graph = StatusGraph::new(&found(&[base.clone(), vec![echo, at_work(idle)]].concat()));
    assert_eq!(
        blocker(&graph, "Cluster/ns/c").0,
        "HcpOpenShiftCluster/ns/c"
    );
    let graph = StatusGraph::new(&found(&[base, vec![ours]].concat()));
    let (name, cause) = blocker(&graph, "AROControlPlane/ns/c");
    assert_eq!(
        (name.as_str(), cause.phase),
        ("AROControlPlane/ns/c", Phase::Failed)
    );
    assert_eq!(
        blocker(&graph, "AROCluster/ns/c").0,
        "AROControlPlane/ns/c",
        "it gives the endpoint"
    );
}

#[test]
fn without_the_controllers_of_cluster_api_no_azure_resource_is_to_blame() {
    let [root, aro, plane] = cluster();
    let waiting = |object| with_condition(object, "Ready", "WaitingForCluster", "no owner yet");
    let graph = StatusGraph::new(&found(&[namespace(), root, waiting(aro), waiting(plane)]));
    let chain = graph.blocked(index(&graph, "Cluster/ns/c")).unwrap();
    let mut blockers = chain.others.clone();
    blockers.push(chain.blocker());
    let azure = blockers.iter().find(|at| is_aso(&graph.id(**at).group));
    assert_eq!(azure, None, "{:?}", azure.map(|at| graph.id(*at)));
    let help = graph.help(chain.blocker(), LATER.parse().unwrap());
    assert!(help.contains("capi-controller-manager"), "{help}");
}

#[test]
fn a_node_pool_that_cluster_api_has_not_taken_up_does_not_block_and_its_cluster_may() {
    let [root, aro, plane] = cluster();
    let nodes = json!({"owner": {"name": "c"}});
    let nodes = object(HCP, "HcpOpenShiftClustersNodePool", "np", &nodes);
    let pool = object(
        INFRA,
        "AROMachinePool",
        "np",
        &json!({"resources": [nodes]}),
    );
    let pool = with_condition(pool, "Ready", "WaitingForMachinePool", "no owner yet");
    let hcp = object(HCP, "HcpOpenShiftCluster", "c", &json!({}));
    let all = |hcp| {
        found(&[
            namespace(),
            root.clone(),
            aro.clone(),
            plane.clone(),
            hcp,
            pool.clone(),
        ])
    };
    let graph = StatusGraph::new(&all(ready(hcp.clone())));
    let (name, _) = blocker(&graph, "AROMachinePool/ns/np");
    assert_eq!(name, "AROMachinePool/ns/np");
    let graph = StatusGraph::new(&all(at_work(hcp)));
    let (name, _) = blocker(&graph, "AROMachinePool/ns/np");
    assert_eq!(name, "HcpOpenShiftCluster/ns/c");
}

#[test]
fn a_cluster_waits_for_its_machine_pools() {
    let [root, aro, plane] = cluster();
    let pool = object(CAPI, "MachinePool", "mp", &json!({"clusterName": "c"}));
    let graph = StatusGraph::new(&found(&[namespace(), root, aro, plane, pool]));
    let chain = graph.blocked(index(&graph, "Cluster/ns/c")).unwrap();
    let pool = index(&graph, "MachinePool/ns/mp");
    assert!(chain.others.contains(&pool));
}

#[test]
fn external_authentication_waits_for_one_node_pool_of_several() {
    let [root, aro, _] = cluster();
    let owner = json!({"owner": {"name": "c"}});
    let hcp = object(HCP, "HcpOpenShiftCluster", "c", &json!({}));
    let auth = object(HCP, "HcpOpenShiftClustersExternalAuth", "c-ea", &owner);
    let plane = json!({"resources": [hcp, auth]});
    let plane = object(PLANE, "AROControlPlane", "c", &plane);
    let pool = |name: &str| object(HCP, "HcpOpenShiftClustersNodePool", name, &owner);
    let mut objects = vec![namespace(), root, aro, plane, ready(hcp.clone())];
    for name in ["a", "b"] {
        let reference = json!({"apiGroup": "infrastructure.cluster.x-k8s.io",
            "kind": "AROMachinePool", "name": name});
        let spec =
            json!({"clusterName": "c", "template": {"spec": {"infrastructureRef": reference}}});
        objects.push(object(CAPI, "MachinePool", name, &spec));
        let carried = json!({"resources": [pool(name)]});
        objects.push(object(INFRA, "AROMachinePool", name, &carried));
        objects.push(at_work(pool(name)));
    }
    let auth = "HcpOpenShiftClustersExternalAuth/ns/c-ea";
    let blocking = |objects: &[Json]| blocker(&StatusGraph::new(&found(objects)), auth).0;
    assert_eq!(blocking(&objects), "HcpOpenShiftClustersNodePool/ns/a");
    *objects.last_mut().unwrap() = ready(pool("b"));
    assert_eq!(
        blocking(&objects),
        auth,
        "nothing holds its controller back"
    );
}

#[test]
fn what_azure_is_at_work_on_waits_for_nothing() {
    let failed = with_condition(rg("rg"), "Ready", "Conflict", "busy");
    let working = at_work(vault("rg"));
    let graph = StatusGraph::new(&found(&[namespace(), failed.clone(), working]));
    assert_eq!(path(&graph, "Vault/ns/kv"), ["Vault/ns/kv"]);
    let graph = StatusGraph::new(&found(&[namespace(), failed, vault("rg")]));
    assert_eq!(blocker(&graph, "Vault/ns/kv").0, "ResourceGroup/ns/rg");
}

#[test]
fn an_object_waits_for_what_it_controls() {
    let parent = with_condition(
        object("x.dev/v1", "Set", "s", &json!({})),
        "Ready",
        "No",
        "",
    );
    let child = with_condition(rg("child"), "Ready", "Conflict", "busy");
    let mut used = child.clone();
    used["metadata"]["ownerReferences"] = json!([{"uid": parent["metadata"]["uid"]}]);
    let controlled = owned_by(child, &parent);
    let graph = StatusGraph::new(&found(&[namespace(), parent.clone(), controlled]));
    assert_eq!(blocker(&graph, "Set/ns/s").0, "ResourceGroup/ns/child");
    let graph = StatusGraph::new(&found(&[namespace(), parent, used]));
    assert_eq!(blocker(&graph, "Set/ns/s").0, "Set/ns/s");
}

#[test]
fn objects_that_wait_for_each_other_are_reported() {
    let dependent = |name: &str, on: &str| {
        let mut object = rg(name);
        let on = format!("resources.azure.com/namespaces/ns/ResourceGroup/{on}");
        object["metadata"]["annotations"] = json!({"config.kubernetes.io/depends-on": on});
        object
    };
    let graph = StatusGraph::new(&found(&[
        namespace(),
        dependent("a", "b"),
        dependent("b", "a"),
    ]));
    assert_eq!(path(&graph, "ResourceGroup/ns/a"), ["ResourceGroup/ns/a"]);
}
