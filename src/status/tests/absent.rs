//! What is not there, or could not be read.

use super::*;

#[test]
fn a_missing_object_reports_what_its_controller_waits_for() {
    let [root, aro, plane] = cluster();
    let plane = with_condition(
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
    let graph = StatusGraph::new(&found(&objects));
    let (name, cause) = blocker(&graph, "HcpOpenShiftCluster/ns/c");
    assert_eq!(
        (name.as_str(), cause.phase),
        ("HcpOpenShiftCluster/ns/c", Phase::NotMade)
    );
    assert_eq!(cause.reason, "WaitingForRoleAssignments");
    assert_eq!(
        cause.message,
        "soon (AROControlPlane/ns/c has not created it yet)"
    );
    objects[5] = at_work(vault("rg"));
    let graph = StatusGraph::new(&found(&objects));
    let (name, _) = blocker(&graph, "HcpOpenShiftCluster/ns/c");
    assert_eq!(
        name, "Vault/ns/kv",
        "not before its infrastructure is ready"
    );
}

#[test]
fn what_does_not_exist_is_named() {
    let mut group = with_condition(rg("rg"), "Ready", "SecretNotFound", "no secret");
    group["metadata"]["annotations"] = json!({"serviceoperator.azure.com/credential-from": "cred"});
    let subnet = object(
        NETWORK,
        "VirtualNetworksSubnet",
        "s",
        &json!({"owner": {"name": "gone"}}),
    );
    let graph = StatusGraph::new(&found(&[namespace(), group, subnet]));
    assert_eq!(
        path(&graph, "ResourceGroup/ns/rg"),
        ["ResourceGroup/ns/rg", "Secret/ns/cred"]
    );
    let (name, cause) = blocker(&graph, "VirtualNetworksSubnet/ns/s");
    assert_eq!(
        (name.as_str(), cause.phase),
        ("VirtualNetwork/ns/gone", Phase::Missing)
    );
    let help = |text: &str| graph.help(index(&graph, text), Timestamp::UNIX_EPOCH);
    assert!(help("Secret/ns/cred").starts_with("create the Secret"));
    assert!(help("VirtualNetwork/ns/gone").contains("correct the name"));
}

#[test]
fn what_could_not_be_read_is_blamed_for_nothing() {
    let error = |kind: &str, group: &str, reason| ReadError {
        group: group.to_owned(),
        kind: kind.to_owned(),
        namespace: None,
        name: None,
        reason,
    };
    let aro = object(
        INFRA,
        "AROCluster",
        "c",
        &json!({"resources": [rg("rg"), vault("rg")]}),
    );
    let mut found = found(&[namespace(), aro]);
    found.errors.push(error(
        "Vault",
        "keyvault.azure.com",
        ReadErrorReason::NotServed,
    ));
    let denied = ReadErrorReason::Denied("list", "resourcegroups.resources.azure.com".to_owned());
    found
        .errors
        .push(error("ResourceGroup", "resources.azure.com", denied));
    let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors[0],
        "Vault of keyvault.azure.com: the cluster does not serve it"
    );
    assert_eq!(
        errors[1],
        "ResourceGroup: no permission to list resourcegroups.resources.azure.com in all namespaces"
    );
    let graph = StatusGraph::new(&found);
    let chain = graph.blocked(index(&graph, "AROCluster/ns/c")).unwrap();
    assert_eq!(graph.id(chain.blocker()).name, "kv");
    assert!(chain.others.is_empty(), "the group may well be ready");
    let help = graph.help(chain.blocker(), Timestamp::UNIX_EPOCH);
    assert!(help.contains("keyvault.azure.com/*"), "{help}");
}

#[test]
fn what_is_gone_before_its_owner_is_not_counted() {
    let set = ApplySet::new("prod", "capstan-system");
    let [root, aro, _] = cluster().map(|part| member(deleted(part, &["x"]), &set));
    let graph = StatusGraph::new(&found(&[namespace(), root.clone(), aro, ready(rg("rg"))]));
    let view = graph.fleet(&set, &Parent::default());
    assert_eq!(view.total(), 3, "the vault is gone");
    assert_eq!(view.clusters[0].phase, Phase::Deleting);
    let view = StatusGraph::new(&found(&[namespace(), root])).fleet(&set, &Parent::default());
    assert_eq!(view.total(), 1);
    assert_eq!((view.clusters.len(), view.strays.len()), (1, 0));
}

#[test]
fn parts_without_their_cluster_miss_it() {
    let set = ApplySet::new("prod", "capstan-system");
    let part = |mut object: Json| {
        object["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "c"});
        member(object, &set)
    };
    let [_, aro, plane] = cluster().map(part);
    let graph = StatusGraph::new(&found(&[namespace(), aro, plane]));
    for start in ["AROCluster/ns/c", "HcpOpenShiftCluster/ns/c", "Vault/ns/kv"] {
        let (name, cause) = blocker(&graph, start);
        assert_eq!(
            (name.as_str(), cause.phase),
            ("Cluster/ns/c", Phase::Missing)
        );
    }
    let view = graph.fleet(&set, &Parent::default());
    let parts = ["AROCluster/ns/c", "AROControlPlane/ns/c"].map(|part| index(&graph, part));
    let mut expected = Stray {
        blocker: index(&graph, "Cluster/ns/c"),
        objects: parts.to_vec(),
    };
    expected.objects.sort_unstable();
    assert_eq!(view.strays, [expected]);
}
