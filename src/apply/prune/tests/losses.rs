//! Clusters and node pools go with an approval only.

use super::*;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::api::platform::HYPERSHIFT;

#[test]
fn a_cluster_is_deleted_only_with_approval_and_through_its_root() {
    let mut fixture = Fixture::new();
    let parts = fixture.cluster_leaves("c", "Delete");
    let approval = "\"Capstan-Approve: delete ns/c\"";
    assert!(fixture.held(&cluster("c")).contains(approval));
    assert!(
        parts
            .iter()
            .all(|part| fixture.held(part).contains(approval))
    );
    fixture.guard.without_commits = true;
    let held = fixture.held(&cluster("c"));
    assert!(
        held.contains("maxClusters") && !held.contains(approval),
        "{held}"
    );
    fixture.approve("ns/c");
    assert_eq!(fixture.decision(&cluster("c")), PruneDecision::Delete);
    assert!(
        parts
            .iter()
            .all(|part| fixture.decision(part) == PruneDecision::After(cluster("c")))
    );
}

#[test]
fn the_number_of_clusters_deleted_without_approval_is_limited() {
    let mut fixture = Fixture::new();
    for name in ["a", "b", "c"] {
        fixture.cluster_leaves(name, "Delete");
    }
    let limit = Approval::setting(What::Clusters(1));
    fixture.guard.approvals.push(limit);
    fixture.approve("ns/a");
    let decisions =
        ["a", "b", "c"].map(|name| fixture.decision(&cluster(name)) == PruneDecision::Delete);
    assert_eq!(decisions, [true, true, false]);
}

/// Else they would all go, one after the other.
#[test]
fn a_cluster_that_goes_or_is_gone_uses_up_the_limit() {
    let mut fixture = Fixture::new();
    for name in ["a", "b"] {
        fixture.cluster_leaves(name, "Delete");
    }
    let limit = Approval::setting(What::Clusters(1));
    fixture.guard.approvals.push(limit);
    assert_eq!(fixture.decision(&cluster("a")), PruneDecision::Delete);
    // The one whose turn comes later goes already.
    fixture.leaves(&cluster("b")).deleting = true;
    fixture.held(&cluster("a"));
    fixture.approve("ns/b");
    assert_eq!(fixture.decision(&cluster("a")), PruneDecision::Delete);
    // Another is gone.
    fixture.guard.begun.insert(cluster("c"));
    fixture.held(&cluster("a"));
    fixture.guard.begun = [cluster("a")].into();
    assert_eq!(
        fixture.decision(&cluster("a")),
        PruneDecision::Delete,
        "it is tried again"
    );
}

#[test]
fn a_cluster_is_released_with_all_its_parts() {
    let mut fixture = Fixture::new();
    let parts = fixture.cluster_leaves("c", "");
    fixture.approves("release ns/c");
    assert!(
        parts
            .iter()
            .all(|part| fixture.decision(part) == PruneDecision::Orphan)
    );
    // A part without its root would have no owner.
    assert!(
        matches!(fixture.decision(&cluster("c")), PruneDecision::ReleaseAfter(part) if parts.contains(&part))
    );
    for part in &parts {
        fixture.members.remove(part);
    }
    assert_eq!(fixture.decision(&cluster("c")), PruneDecision::Orphan);
}

#[test]
fn a_node_pool_is_deleted_once_another_of_its_cluster_is_ready() {
    let mut fixture = Fixture::new();
    fixture.has(&cluster("c"));
    let old = fixture.pool("c-old", true);
    let own = ObjectId::new(INFRASTRUCTURE, "AROMachinePool", "ns", "c-old");
    fixture.leaves(&own).cluster = "c".to_owned();
    for id in [&old, &own] {
        let held = fixture.held(id);
        assert!(
            held.ends_with("\"Capstan-Approve: delete ns/c/old\""),
            "{held}"
        );
    }
    fixture.approves("delete ns/c/old");
    assert!(fixture.held(&old).contains("no other node pool"));
    assert!(fixture.held(&own).contains("no other node pool"));
    let new = fixture.pool("c-new", false);
    fixture.member(&new).health = Health::new(HealthState::Progressing, "", "");
    assert!(fixture.held(&old).contains("no other node pool"));
    fixture.member(&new).health = Health::ready();
    assert_eq!(fixture.decision(&old), PruneDecision::Delete);
    assert_eq!(fixture.decision(&own), PruneDecision::After(old));
}

#[test]
fn parts_of_a_cluster_that_stays_or_is_not_ours_stay() {
    let mut fixture = Fixture::new();
    let plane = ObjectId::new(CONTROL_PLANE, "AROControlPlane", "ns", "c");
    fixture.leaves(&plane).cluster = "c".to_owned();
    assert!(fixture.held(&plane).contains("is not part of the fleet"));
    fixture.has(&cluster("c"));
    assert!(fixture.held(&plane).contains("which is kept"));
}

#[test]
fn a_release_of_a_cluster_needs_approval_and_keeps_what_it_needs() {
    let mut fixture = Fixture::new();
    let parts = fixture.cluster_leaves("c", "");
    let namespace = ObjectId::new("", "Namespace", "", "ns");
    let identity = ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", "ns", "i");
    let secret = ObjectId::new("", "Secret", "ns", "s");
    for id in [&namespace, &identity, &secret] {
        fixture.leaves(id);
    }
    let held = fixture.held(&cluster("c"));
    let line = "the release of cluster ns/c needs approval: push a commit whose message ends in \"Capstan-Approve: release ns/c\"";
    assert_eq!(held, line);
    for id in parts.iter().chain([&namespace, &identity, &secret]) {
        assert_ne!(fixture.held(id), "", "{id}");
    }
    // What is approved is what happens.
    fixture.approves("delete ns/c");
    assert_eq!(fixture.held(&cluster("c")), line);
    fixture.approves("release ns/c");
    for id in parts
        .iter()
        .chain([&cluster("c"), &namespace, &identity, &secret])
    {
        assert!(fixture.decision(id).is_release(), "{id}");
    }
}

#[test]
fn released_and_renamed_clusters_use_up_the_limit() {
    let mut fixture = Fixture::new();
    for name in ["a", "b", "c"] {
        fixture.cluster_leaves(name, "Orphan");
    }
    let limit = Approval::setting(What::Clusters(2));
    fixture.guard.approvals.push(limit);
    fixture.renamed = [(Unit::new("ns", "a"), Unit::new("ns", "z"))].into();
    let goes = ["a", "b", "c"].map(|name| fixture.decision(&cluster(name)).is_release());
    assert_eq!(goes, [true, true, false]);
    fixture.guard.begun = [cluster("d")].into();
    let goes = ["a", "b", "c"].map(|name| fixture.decision(&cluster(name)).is_release());
    assert_eq!(goes, [true, false, false], "another is gone");
    fixture.guard.unchanged = true;
    assert!(
        fixture
            .held(&cluster("a"))
            .contains("the rename of cluster ns/a needs approval")
    );
}

#[test]
fn the_settings_let_pools_go() {
    let mut fixture = Fixture::new();
    fixture.has(&cluster("c"));
    let old = fixture.pool("c-old", true);
    fixture.pool("c-new", false);
    assert!(
        fixture
            .held(&old)
            .contains("the deletion of node pool ns/c/old needs approval")
    );
    fixture.guard.approvals.push(Approval::setting(What::Pools));
    assert_eq!(fixture.decision(&old), PruneDecision::Delete);
    fixture.guard.unchanged = true;
    assert!(fixture.held(&old).contains("needs approval"));
}

/// They are written by hand, and have no root in Cluster API.
#[test]
fn clusters_and_pools_of_azure_service_operator_are_lost_with_approval_only() {
    let mut fixture = Fixture::new();
    let hcp = ObjectId::new(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster", "ns", "raw");
    let pool = ObjectId::new(RED_HAT_OPENSHIFT, "HcpOpenShiftClustersNodePool", "ns", "p");
    fixture.leaves(&pool).cluster = "raw".to_owned();
    fixture.has(&hcp);
    assert!(
        fixture
            .held(&pool)
            .contains("\"Capstan-Approve: delete ns/raw/p\"")
    );
    fixture.approves("delete ns/raw/p");
    assert_eq!(fixture.decision(&pool), PruneDecision::Delete);
    fixture.steps.remove(&hcp);
    fixture.leaves(&hcp);
    for id in [&hcp, &pool] {
        assert!(
            fixture
                .held(id)
                .contains("\"Capstan-Approve: release ns/raw\""),
            "{id}"
        );
    }
    fixture.approves("release ns/raw");
    assert!(fixture.decision(&hcp).is_release() && fixture.decision(&pool).is_release());
}

/// A control plane that is written by hand need not name its cluster.
#[test]
fn a_part_that_names_no_cluster_is_never_deleted_for_that() {
    let mut fixture = Fixture::new();
    let plane = ObjectId::new(CONTROL_PLANE, "AROControlPlane", "ns", "plane");
    fixture.leaves(&plane);
    assert!(fixture.held(&plane).contains("does not say which cluster"));
    fixture.leaves(&cluster("c"));
    fixture.leaving.insert(cluster("c"), vec![plane.clone()]);
    fixture.member(&cluster("c")).cluster = "c".to_owned();
    assert!(fixture.held(&plane).contains("release ns/c"));
    fixture.approves("release ns/c");
    assert_eq!(fixture.decision(&plane), PruneDecision::Orphan);
}

/// Who approves a rename approves nothing else.
#[test]
fn a_rename_that_is_none_approves_nothing() {
    let mut fixture = Fixture::new();
    fixture.cluster_leaves("c", "Delete");
    fixture.approves("rename ns/c");
    assert!(
        fixture
            .held(&cluster("c"))
            .contains("the deletion of cluster ns/c")
    );
    fixture.renamed = [(Unit::new("ns", "c"), Unit::new("ns", "d"))].into();
    assert_eq!(fixture.decision(&cluster("c")), PruneDecision::Delete);
    // The new one comes first.
    fixture.unapplied.insert(cluster("d").into(), String::new());
    assert_eq!(
        fixture.decision(&cluster("c")),
        PruneDecision::Until(cluster("d"))
    );
}

/// Azure deletes what a cluster needs with the object that made it.
#[test]
fn what_a_cluster_needs_in_azure_stays_as_long_as_it_does() {
    let mut fixture = Fixture::new();
    let hcp = ObjectId::new(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster", "ns", "raw");
    let vault = ObjectId::new("keyvault.azure.com", "Vault", "ns", "keys");
    for id in [&hcp, &vault] {
        fixture.leaves(id);
    }
    assert_eq!(
        fixture.held(&vault),
        format!("{hcp}, which is kept, needs it")
    );
    fixture.approves("release ns/raw");
    assert!(fixture.decision(&vault).is_release());
}

#[test]
fn clusters_of_hypershift_are_lost_with_approval_only() {
    let mut fixture = Fixture::new();
    let hosted = ObjectId::new(HYPERSHIFT, "HostedCluster", "ns", "h");
    let pool = ObjectId::new(HYPERSHIFT, "NodePool", "ns", "h-p");
    fixture.leaves(&pool).cluster = "h".to_owned();
    fixture.has(&hosted);
    assert!(fixture.held(&pool).contains("delete ns/h/p"));
    fixture.steps.remove(&hosted);
    fixture.leaves(&hosted);
    assert!(fixture.held(&hosted).contains("release ns/h"));
}
