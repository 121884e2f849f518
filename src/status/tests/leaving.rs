//! What is being deleted, and what Azure is given time for.

use super::*;

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
