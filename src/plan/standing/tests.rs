#![allow(clippy::unwrap_used)]

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value as Json, json};

use super::*;
use crate::api::labels::PART_OF;
use crate::plan::ApplySet;

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const INFRA: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const PLANE: &str = "controlplane.cluster.x-k8s.io/v1beta2";
const GROUP: &str = "resources.azure.com/v1api20200601";
const VAULT: &str = "keyvault.azure.com/v1api20230701";
const NETWORK: &str = "network.azure.com/v1api20201101";
const HCP: &str = "redhatopenshift.azure.com/v1api20251223preview";
const MADE: &str = "2026-01-01T00:00:00Z";
const LATER: &str = "2026-01-01T00:10:00Z";

/// An object `Kind/name` in namespace `ns` with a spec.
fn object(api_version: &str, kind: &str, name: &str, spec: &Json) -> Json {
    json!({"apiVersion": api_version, "kind": kind, "spec": spec, "metadata": {
        "name": name, "namespace": "ns", "generation": 1, "creationTimestamp": MADE,
        "uid": format!("uid-{kind}-{name}")}})
}

/// With a condition of a type that is not true.
fn says(mut object: Json, kind: &str, reason: &str, message: &str) -> Json {
    object["status"]["observedGeneration"] = json!(1);
    object["status"]["conditions"] = json!([{"type": kind, "status": "False", "reason": reason,
        "message": message, "severity": "Warning", "observedGeneration": 1, "lastTransitionTime": LATER}]);
    object
}

fn ready(mut object: Json) -> Json {
    object["status"]["conditions"] = json!([{"type": "Ready", "status": "True", "reason": "Succeeded", "observedGeneration": 1}]);
    object
}

fn at_work(object: Json) -> Json {
    let mut object = says(object, "Ready", "Reconciling", "");
    object["status"]["conditions"][0]["severity"] = json!("Info");
    object
}

fn deleted(mut object: Json, finalizers: &[&str]) -> Json {
    object["metadata"]["deletionTimestamp"] = json!(LATER);
    object["metadata"]["finalizers"] = json!(finalizers);
    object
}

fn owned_by(mut object: Json, owner: &Json) -> Json {
    object["metadata"]["ownerReferences"] =
        json!([{"uid": owner["metadata"]["uid"], "controller": true}]);
    object
}

fn rg(name: &str) -> Json {
    object(GROUP, "ResourceGroup", name, &json!({}))
}

fn vault(owner: &str) -> Json {
    object(VAULT, "Vault", "kv", &json!({"owner": {"name": owner}}))
}

/// What a survey brings of these objects: all that they name was looked for.
fn found(objects: &[Json]) -> Found {
    let mut found = Found::default();
    objects
        .iter()
        .for_each(|object| found.insert(object.clone()));
    let wanted = found.wanted();
    found.asked.extend(wanted);
    found
}

fn namespace() -> Json {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})
}

fn index(scene: &Scene, text: &str) -> usize {
    let mut ids = scene.ids();
    ids.find(|(_, id)| id.to_string() == text).unwrap().0
}

/// The way from `start` to what blocks it.
fn way(scene: &Scene, start: &str) -> Vec<String> {
    let chain = scene.blocked(index(scene, start)).unwrap();
    let way = chain.way.iter();
    way.map(|at| scene.id(*at).to_string()).collect()
}

fn blocker<'a>(scene: &'a Scene, start: &str) -> (String, &'a Standing) {
    let at = scene.blocked(index(scene, start)).unwrap().blocker();
    (scene.id(at).to_string(), scene.standing(at))
}

/// A cluster of one carried Vault in a carried group, and of an HCP cluster.
fn cluster() -> [Json; 3] {
    let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": "c"});
    let refs = json!({
        "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "AROCluster"),
        "controlPlaneRef": reference("controlplane.cluster.x-k8s.io", "AROControlPlane")});
    let root = object(CAPI, "Cluster", "c", &refs);
    let aro = json!({"resources": [rg("rg"), vault("rg")]});
    let hcp = object(
        HCP,
        "HcpOpenShiftCluster",
        "c",
        &json!({"owner": {"name": "rg"}}),
    );
    let aro = owned_by(object(INFRA, "AROCluster", "c", &aro), &root);
    let plane = json!({"resources": [hcp]});
    let plane = owned_by(object(PLANE, "AROControlPlane", "c", &plane), &root);
    [root, aro, plane]
}

#[test]
fn the_deepest_that_waits_for_nothing_else_blocks() {
    let [root, aro, plane] = cluster();
    let failed = says(rg("rg"), "Ready", "AuthorizationFailed", "no");
    let waiting = says(vault("rg"), "Ready", "WaitingForOwner", "rg");
    let scene = Scene::new(&found(&[namespace(), root, aro, plane, failed, waiting]));
    let expected = ["Cluster/ns/c", "AROCluster/ns/c", "ResourceGroup/ns/rg"];
    assert_eq!(way(&scene, "Cluster/ns/c"), expected);
    let expected = ["Vault/ns/kv", "ResourceGroup/ns/rg"];
    assert_eq!(way(&scene, "Vault/ns/kv"), expected);
    let (_, cause) = blocker(&scene, "AROControlPlane/ns/c");
    assert_eq!(
        (cause.phase, cause.condition.as_str()),
        (Phase::Retrying, "Ready")
    );
    assert_eq!(cause.since, LATER.parse().ok());
    assert_eq!(cause.words(), "AuthorizationFailed: no");
}

#[test]
fn who_most_needs_somebody_blocks_then_the_oldest() {
    let mut old = at_work(rg("z"));
    old["status"]["conditions"][0]["lastTransitionTime"] = json!(MADE);
    let carried = |names: &[&str]| json!({"resources": names.iter().map(|name| rg(name)).collect::<Vec<_>>()});
    let aro = object(INFRA, "AROCluster", "c", &carried(&["a", "b", "z"]));
    let mut objects = vec![namespace(), aro, at_work(rg("a")), at_work(rg("b")), old];
    let scene = Scene::new(&found(&objects));
    let chain = scene.blocked(index(&scene, "AROCluster/ns/c")).unwrap();
    let names =
        |all: &[usize]| -> Vec<&str> { all.iter().map(|at| scene.id(*at).name.as_str()).collect() };
    assert_eq!(names(&chain.way), ["c", "z"]);
    assert_eq!(names(&chain.others), ["a", "b"]);
    objects[3] = says(rg("b"), "Ready", "InvalidRequestContent", "no");
    objects[3]["status"]["conditions"][0]["severity"] = json!("Error");
    let scene = Scene::new(&found(&objects));
    let (name, cause) = blocker(&scene, "AROCluster/ns/c");
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
    let hcp = says(hcp, "Ready", "Conflict", "busy");
    let mirror = says(
        plane.clone(),
        "HcpClusterReady",
        "Conflict",
        "[Warning] busy",
    );
    let ours = says(
        plane.clone(),
        "EncryptionKeyReady",
        "KeyVersionMissing",
        "no version",
    );
    let groups = [ready(rg("rg")), ready(vault("rg"))];
    let base = [vec![namespace(), root, aro], groups.to_vec()].concat();
    let scene = Scene::new(&found(&[base.clone(), vec![mirror, hcp]].concat()));
    assert_eq!(
        blocker(&scene, "AROControlPlane/ns/c").0,
        "HcpOpenShiftCluster/ns/c"
    );
    let echo = says(plane.clone(), "HcpClusterReady", "Reconciling", "");
    let scene = Scene::new(&found(&[base.clone(), vec![echo, at_work(idle)]].concat()));
    assert_eq!(
        blocker(&scene, "Cluster/ns/c").0,
        "HcpOpenShiftCluster/ns/c"
    );
    let scene = Scene::new(&found(&[base, vec![ours]].concat()));
    let (name, cause) = blocker(&scene, "AROControlPlane/ns/c");
    assert_eq!(
        (name.as_str(), cause.phase),
        ("AROControlPlane/ns/c", Phase::Failed)
    );
    assert_eq!(
        blocker(&scene, "AROCluster/ns/c").0,
        "AROControlPlane/ns/c",
        "it gives the endpoint"
    );
}

#[test]
fn a_cluster_waits_for_its_machine_pools() {
    let [root, aro, plane] = cluster();
    let pool = object(CAPI, "MachinePool", "mp", &json!({"clusterName": "c"}));
    let scene = Scene::new(&found(&[namespace(), root, aro, plane, pool]));
    let chain = scene.blocked(index(&scene, "Cluster/ns/c")).unwrap();
    let pool = index(&scene, "MachinePool/ns/mp");
    assert!(chain.others.contains(&pool));
}

#[test]
fn what_is_not_made_says_what_its_controller_waits_for() {
    let [root, aro, plane] = cluster();
    let plane = says(
        plane,
        "HcpClusterReady",
        "WaitingForRoleAssignments",
        "soon",
    );
    let mut objects = vec![
        namespace(),
        root,
        aro,
        plane,
        ready(rg("rg")),
        ready(vault("rg")),
    ];
    let scene = Scene::new(&found(&objects));
    let (name, cause) = blocker(&scene, "HcpOpenShiftCluster/ns/c");
    assert_eq!(
        (name.as_str(), cause.phase),
        ("HcpOpenShiftCluster/ns/c", Phase::NotMade)
    );
    assert_eq!(cause.reason, "WaitingForRoleAssignments");
    assert_eq!(
        cause.message,
        "soon (AROControlPlane/ns/c has not made it yet)"
    );
    objects[5] = at_work(vault("rg"));
    let scene = Scene::new(&found(&objects));
    let (name, _) = blocker(&scene, "HcpOpenShiftCluster/ns/c");
    assert_eq!(name, "Vault/ns/kv", "not before its infrastructure stands");
}

#[test]
fn what_does_not_exist_is_named() {
    let mut group = says(rg("rg"), "Ready", "SecretNotFound", "no secret");
    group["metadata"]["annotations"] = json!({"serviceoperator.azure.com/credential-from": "cred"});
    let subnet = object(
        NETWORK,
        "VirtualNetworksSubnet",
        "s",
        &json!({"owner": {"name": "gone"}}),
    );
    let scene = Scene::new(&found(&[namespace(), group, subnet]));
    assert_eq!(
        way(&scene, "ResourceGroup/ns/rg"),
        ["ResourceGroup/ns/rg", "Secret/ns/cred"]
    );
    let (name, cause) = blocker(&scene, "VirtualNetworksSubnet/ns/s");
    assert_eq!(
        (name.as_str(), cause.phase),
        ("VirtualNetwork/ns/gone", Phase::Missing)
    );
    let help = |text: &str| scene.help(index(&scene, text), Timestamp::UNIX_EPOCH);
    assert!(help("Secret/ns/cred").starts_with("make the Secret"));
    assert!(help("VirtualNetwork/ns/gone").contains("correct the name"));
}

#[test]
fn what_could_not_be_read_is_blamed_for_nothing() {
    let gap = |kind: &str, group: &str, lack| Gap {
        group: group.to_owned(),
        kind: kind.to_owned(),
        namespace: None,
        name: None,
        lack,
    };
    let aro = object(
        INFRA,
        "AROCluster",
        "c",
        &json!({"resources": [rg("rg"), vault("rg")]}),
    );
    let mut found = found(&[namespace(), aro]);
    found
        .gaps
        .push(gap("Vault", "keyvault.azure.com", Lack::NotServed));
    let denied = Lack::Denied("list", "resourcegroups.resources.azure.com".to_owned());
    found
        .gaps
        .push(gap("ResourceGroup", "resources.azure.com", denied));
    let said: Vec<String> = found.gaps.iter().map(ToString::to_string).collect();
    assert_eq!(
        said[0],
        "Vault of keyvault.azure.com: the cluster does not serve it"
    );
    assert_eq!(
        said[1],
        "ResourceGroup: no permission to list resourcegroups.resources.azure.com in all namespaces"
    );
    let scene = Scene::new(&found);
    let chain = scene.blocked(index(&scene, "AROCluster/ns/c")).unwrap();
    assert_eq!(scene.id(chain.blocker()).name, "kv");
    assert!(chain.others.is_empty(), "the group may well be ready");
    let help = scene.help(chain.blocker(), Timestamp::UNIX_EPOCH);
    assert!(help.contains("keyvault.azure.com/*"), "{help}");
}

#[test]
fn a_deletion_waits_for_what_is_still_there() {
    let [root, aro, plane] = cluster();
    let root = deleted(root, &["cluster.cluster.x-k8s.io"]);
    let plane = deleted(plane, &["arocontrolplanes/finalizer"]);
    let scene = Scene::new(&found(&[
        namespace(),
        root,
        deleted(aro, &["a"]),
        plane,
        ready(rg("rg")),
    ]));
    let (name, cause) = blocker(&scene, "AROControlPlane/ns/c");
    assert_eq!(name, "AROControlPlane/ns/c", "its HCP cluster is gone");
    assert_eq!(
        cause.message,
        "being deleted, held by arocontrolplanes/finalizer"
    );
    assert_eq!(cause.since, LATER.parse().ok());
    let chain = scene.blocked(index(&scene, "AROCluster/ns/c")).unwrap();
    let way: Vec<&str> = chain
        .way
        .iter()
        .map(|at| scene.id(*at).name.as_str())
        .collect();
    assert_eq!(way, ["c", "rg"]);
}

#[test]
fn nothing_is_made_in_a_namespace_that_ends() {
    let mut going = deleted(namespace(), &[]);
    going["spec"] = json!({"finalizers": ["kubernetes"]});
    going["status"] = json!({"phase": "Terminating", "conditions": [
        {"type": "NamespaceContentRemaining", "status": "True", "message": "vaults.x has 1 resource instances"}]});
    let scene = Scene::new(&found(&[going, rg("rg")]));
    let (name, cause) = blocker(&scene, "ResourceGroup/ns/rg");
    assert_eq!(name, "Namespace//ns");
    assert_eq!(
        cause.message,
        "being deleted, held by kubernetes: vaults.x has 1 resource instances"
    );
}

#[test]
fn azure_is_given_its_time() {
    let scene = Scene::new(&found(&[
        namespace(),
        at_work(vault("rg")),
        ready(rg("rg")),
    ]));
    let at = index(&scene, "Vault/ns/kv");
    let began: Timestamp = LATER.parse().unwrap();
    let help = |seconds| scene.help(at, began + SignedDuration::from_secs(seconds));
    assert!(help(80).starts_with("nothing to do"), "{}", help(80));
    assert!(help(81).contains("activity log"), "{}", help(81));
}

#[test]
fn a_deletion_in_azure_is_given_its_time_too() {
    let aro = json!({"resources": [rg("rg"), vault("rg")]});
    let aro = deleted(object(INFRA, "AROCluster", "c", &aro), &["aro"]);
    let going = deleted(rg("rg"), &["serviceoperator.azure.com/finalizer"]);
    let kept = ready(vault("rg"));
    let scene = Scene::new(&found(&[namespace(), aro.clone(), going, kept.clone()]));
    let at = index(&scene, "ResourceGroup/ns/rg");
    let began: Timestamp = LATER.parse().unwrap();
    let help = |seconds| scene.help(at, began + SignedDuration::from_secs(seconds));
    assert!(help(150).starts_with("nothing to do"), "{}", help(150));
    assert!(help(151).contains("activity log"), "{}", help(151));
    let scene = Scene::new(&found(&[namespace(), aro, kept]));
    let (name, cause) = blocker(&scene, "AROCluster/ns/c");
    assert_eq!((name.as_str(), cause.phase), ("Vault/ns/kv", Phase::Ready));
    let help = scene.help(index(&scene, &name), began);
    assert!(help.contains("nobody has asked for that yet"), "{help}");
}

#[test]
fn what_is_gone_before_its_owner_is_not_counted() {
    let set = ApplySet::new("prod", "capstan-system");
    let member = |mut object: Json| {
        object["metadata"]["labels"] = json!({PART_OF: set.id()});
        object
    };
    let [root, aro, _] = cluster().map(|part| member(deleted(part, &["x"])));
    let scene = Scene::new(&found(&[namespace(), root.clone(), aro, ready(rg("rg"))]));
    let view = scene.fleet(&set);
    assert_eq!(view.total(), 3, "the vault is gone");
    assert_eq!(view.clusters[0].phase, Phase::Deleting);
    let view = Scene::new(&found(&[namespace(), root])).fleet(&set);
    assert_eq!(view.total(), 1);
    assert_eq!((view.clusters.len(), view.strays.len()), (1, 0));
}

#[test]
fn parts_without_their_cluster_miss_it() {
    let set = ApplySet::new("prod", "capstan-system");
    let part = |mut object: Json| {
        object["metadata"]["labels"] =
            json!({PART_OF: set.id(), "cluster.x-k8s.io/cluster-name": "c"});
        object
    };
    let [_, aro, plane] = cluster().map(part);
    let scene = Scene::new(&found(&[namespace(), aro, plane]));
    for start in ["AROCluster/ns/c", "HcpOpenShiftCluster/ns/c", "Vault/ns/kv"] {
        let (name, cause) = blocker(&scene, start);
        assert_eq!(
            (name.as_str(), cause.phase),
            ("Cluster/ns/c", Phase::Missing)
        );
    }
    let view = scene.fleet(&set);
    let parts = ["AROCluster/ns/c", "AROControlPlane/ns/c"].map(|part| index(&scene, part));
    let mut expected = Stray {
        blocker: index(&scene, "Cluster/ns/c"),
        objects: parts.to_vec(),
    };
    expected.objects.sort_unstable();
    assert_eq!(view.strays, [expected]);
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
    let said = |objects: &[Json]| blocker(&Scene::new(&found(objects)), auth).0;
    assert_eq!(said(&objects), "HcpOpenShiftClustersNodePool/ns/a");
    *objects.last_mut().unwrap() = ready(pool("b"));
    assert_eq!(said(&objects), auth, "nothing holds its controller back");
}

#[test]
fn what_azure_is_at_work_on_waits_for_nothing() {
    let failed = says(rg("rg"), "Ready", "Conflict", "busy");
    let working = at_work(vault("rg"));
    let scene = Scene::new(&found(&[namespace(), failed.clone(), working]));
    assert_eq!(way(&scene, "Vault/ns/kv"), ["Vault/ns/kv"]);
    let scene = Scene::new(&found(&[namespace(), failed, vault("rg")]));
    assert_eq!(blocker(&scene, "Vault/ns/kv").0, "ResourceGroup/ns/rg");
}

#[test]
fn an_object_waits_for_what_it_controls() {
    let parent = says(
        object("x.dev/v1", "Set", "s", &json!({})),
        "Ready",
        "No",
        "",
    );
    let child = says(rg("child"), "Ready", "Conflict", "busy");
    let mut used = child.clone();
    used["metadata"]["ownerReferences"] = json!([{"uid": parent["metadata"]["uid"]}]);
    let controlled = owned_by(child, &parent);
    let scene = Scene::new(&found(&[namespace(), parent.clone(), controlled]));
    assert_eq!(blocker(&scene, "Set/ns/s").0, "ResourceGroup/ns/child");
    let scene = Scene::new(&found(&[namespace(), parent, used]));
    assert_eq!(blocker(&scene, "Set/ns/s").0, "Set/ns/s");
}

#[test]
fn things_that_wait_for_each_other_are_told() {
    let dependent = |name: &str, on: &str| {
        let mut object = rg(name);
        let on = format!("resources.azure.com/namespaces/ns/ResourceGroup/{on}");
        object["metadata"]["annotations"] = json!({"config.kubernetes.io/depends-on": on});
        object
    };
    let scene = Scene::new(&found(&[
        namespace(),
        dependent("a", "b"),
        dependent("b", "a"),
    ]));
    assert_eq!(way(&scene, "ResourceGroup/ns/a"), ["ResourceGroup/ns/a"]);
}

#[test]
fn only_what_belongs_to_the_objects_found_is_adopted() {
    let [root, aro, _] = cluster();
    let mut found = found(std::slice::from_ref(&root));
    let child = owned_by(rg("child"), &aro);
    let carried = rg("rg");
    found.adopt(vec![rg("stranger"), child, carried.clone(), aro]);
    let names: Vec<&str> = found.objects.keys().map(|id| id.name.as_str()).collect();
    assert_eq!(names, ["c", "c", "child"]);
    found.adopt(vec![carried]);
    assert!(
        found.objects.keys().any(|id| id.name == "rg"),
        "the AROCluster carries it"
    );
}

#[test]
fn what_an_object_makes_is_not_looked_for() {
    let exports =
        json!({"operatorSpec": {"configMaps": {"principalId": {"name": "ids", "key": "p"}}}});
    let identity = object(
        "managedidentity.azure.com/v1api20230131",
        "UserAssignedIdentity",
        "i",
        &exports,
    );
    let role =
        json!({"principalIdFromConfig": {"name": "ids", "key": "p"}, "owner": {"armId": "/x"}});
    let role = object(
        "authorization.azure.com/v1api20220401",
        "RoleAssignment",
        "r",
        &role,
    );
    let mut found = Found::default();
    [identity, role]
        .into_iter()
        .for_each(|object| found.insert(object));
    let wanted: Vec<String> = found.wanted().iter().map(ToString::to_string).collect();
    assert_eq!(wanted, ["Namespace//ns"]);
    let kinds = found.made_kinds();
    assert!(kinds.contains(&("keyvault.azure.com".to_owned(), "Vault".to_owned())));
    let plain = Found::default();
    assert!(
        plain.made_kinds().is_empty(),
        "nobody makes anything of nothing"
    );
}

#[test]
fn a_fleet_is_its_members_and_what_they_carry() {
    let set = ApplySet::new("prod", "capstan-system");
    let member = |mut object: Json| {
        object["metadata"]["labels"] = json!({PART_OF: set.id()});
        object
    };
    let [root, aro, plane] = cluster().map(member);
    let stray = member(says(rg("stray"), "Ready", "AuthorizationFailed", "no"));
    let alien = says(rg("alien"), "Ready", "AuthorizationFailed", "no");
    let objects = [
        namespace(),
        root,
        aro,
        plane,
        ready(rg("rg")),
        at_work(vault("rg")),
        stray,
        alien,
    ];
    let scene = Scene::new(&found(&objects));
    let view = scene.fleet(&set);
    assert_eq!((view.total(), view.count(Phase::Ready)), (7, 1));
    assert_eq!(
        (view.count(Phase::Retrying), view.count(Phase::NotMade)),
        (1, 1)
    );
    let stray = index(&scene, "ResourceGroup/ns/stray");
    let expected = Stray {
        blocker: stray,
        objects: vec![stray],
    };
    assert_eq!(view.strays, [expected]);
    let [cluster] = view.clusters.as_slice() else {
        unreachable!("one cluster");
    };
    assert_eq!(
        (cluster.ready, cluster.total, cluster.phase),
        (1, 6, Phase::Progressing)
    );
    let blocker = cluster.chain.as_ref().unwrap().blocker();
    assert_eq!(scene.id(blocker).to_string(), "Vault/ns/kv");
    assert!(!view.is_ready());
    assert_eq!(
        scene.fleet(&ApplySet::new("other", "x")),
        FleetView::default()
    );
}
