//! Each rule with the case in which data would be lost without it.

use super::*;
use crate::api::kinds::{CONTROL_PLANE, RESOURCES};
use crate::apply::{DriftState, Owner};
use crate::model::{Health, HealthState};

/// Members of a set, and which of them the fleet still has.
#[derive(Default)]
struct Fixture {
    members: BTreeMap<ObjectId, Member>,
    leaving: BTreeMap<ObjectId, Vec<ObjectId>>,
    steps: HashMap<ObjectId, usize>,
    unapplied: BTreeMap<ObjectId, String>,
    needed: BTreeSet<ObjectId>,
    renamed: BTreeMap<Unit, Unit>,
    guard: DeletionGuard,
}

fn member(uid: &str) -> Member {
    let mut member = Member::read(&serde_json::Value::Null, None, None);
    member.uid = uid.to_owned();
    member.health = Health::ready();
    member.applied_by_us = true;
    assert_eq!(member.drift, DriftState::Outdated);
    member
}

fn map(name: &str) -> ObjectId {
    ObjectId::new("", "ConfigMap", "ns", name)
}

fn cluster(name: &str) -> ObjectId {
    ObjectId::new(CAPI, "Cluster", "ns", name)
}

impl Fixture {
    /// A fleet that has one ConfigMap, `stays`, and prunes.
    fn new() -> Self {
        let mut fixture = Self::default();
        fixture.guard.prune = true;
        fixture.has(&map("stays"));
        fixture
    }

    fn approve(&mut self, cluster: &str) {
        self.approves(&format!("delete {cluster}"));
    }

    fn approves(&mut self, what: &str) {
        let what = What::parse(what).expect("an approval");
        self.guard.approvals.push(Approval::flag(what));
    }

    fn has(&mut self, id: &ObjectId) -> &mut Member {
        self.steps.insert(id.clone(), self.steps.len());
        self.member(id)
    }

    fn member(&mut self, id: &ObjectId) -> &mut Member {
        let uid = format!("uid of {id} in {}", id.group);
        self.members
            .entry(id.clone())
            .or_insert_with(|| member(&uid))
    }

    fn leaves(&mut self, id: &ObjectId) -> &mut Member {
        self.leaving.insert(id.clone(), Vec::new());
        self.member(id)
    }

    /// A cluster that leaves, with one node pool.
    fn cluster_leaves(&mut self, name: &str, policy: &str) -> Vec<ObjectId> {
        self.leaves(&cluster(name)).policy = policy.to_owned();
        let parts = [
            (INFRASTRUCTURE, "AROCluster", name.to_owned()),
            (CONTROL_PLANE, "AROControlPlane", name.to_owned()),
            (CAPI, "MachinePool", format!("{name}-mp1")),
            (INFRASTRUCTURE, "AROMachinePool", format!("{name}-mp1")),
        ];
        let parts = parts.map(|(group, kind, part)| ObjectId::new(group, kind, "ns", part));
        for part in &parts {
            self.leaves(part).cluster = name.to_owned();
        }
        parts.into()
    }

    fn pool(&mut self, name: &str, leaves: bool) -> ObjectId {
        let id = ObjectId::new(CAPI, "MachinePool", "ns", name);
        let pool = if leaves {
            self.leaves(&id)
        } else {
            self.has(&id)
        };
        pool.cluster = "c".to_owned();
        id
    }

    fn decision(&self, id: &ObjectId) -> PruneDecision {
        let input = PruneInput {
            members: &self.members,
            leaving: &self.leaving,
            steps: &self.steps,
            unapplied: &self.unapplied,
            needed: &self.needed,
            renamed: &self.renamed,
            guard: &self.guard,
        };
        prune(&input).remove(id).expect("it leaves")
    }

    fn held(&self, id: &ObjectId) -> String {
        match self.decision(id) {
            PruneDecision::Held(why) => why,
            PruneDecision::Unapproved(loss) => loss.to_string(),
            decision => unreachable!("{id}: {decision:?}"),
        }
    }
}

#[test]
fn a_member_that_leaves_follows_the_policy_it_was_last_applied_with() {
    let mut fixture = Fixture::new();
    fixture.leaves(&map("a"));
    fixture.leaves(&map("b")).policy = "Orphan".to_owned();
    let namespace = ObjectId::new("", "Namespace", "", "other");
    fixture.leaves(&namespace);
    assert_eq!(fixture.decision(&map("a")), PruneDecision::Delete);
    assert_eq!(fixture.decision(&map("b")), PruneDecision::Orphan);
    assert_eq!(
        fixture.decision(&namespace),
        PruneDecision::Orphan,
        "unless its policy differs"
    );
}

#[test]
fn nothing_is_deleted_before_everything_near_it_was_applied() {
    let mut fixture = Fixture::new();
    fixture.leaves(&map("old"));
    fixture.unapplied.insert(map("new"), String::new());
    assert_eq!(
        fixture.decision(&map("old")),
        PruneDecision::Until(map("new"))
    );
    let elsewhere = ObjectId::new("", "ConfigMap", "elsewhere", "x");
    fixture.unapplied = BTreeMap::from([(elsewhere, String::new())]);
    assert_eq!(fixture.decision(&map("old")), PruneDecision::Delete);
}

#[test]
fn an_empty_fleet_deletes_nothing() {
    let mut fixture = Fixture::new();
    fixture.leaves(&map("a"));
    fixture.steps.clear();
    assert!(fixture.held(&map("a")).contains("probably a mistake"));
}

#[test]
fn an_object_with_two_names_stays() {
    let mut fixture = Fixture::new();
    let (old, new) = (
        ObjectId::new("extensions", "Ingress", "ns", "i"),
        ObjectId::new("networking.k8s.io", "Ingress", "ns", "i"),
    );
    fixture.leaves(&old).uid = "one".to_owned();
    fixture.has(&new).uid = "one".to_owned();
    assert!(fixture.held(&old).contains("networking.k8s.io"));
}

#[test]
fn what_another_controls_stays_and_what_the_set_s_own_controls_does_not() {
    let mut fixture = Fixture::new();
    let owner = |uid: &str, controller| Owner {
        kind: "Operator".to_owned(),
        name: "o".to_owned(),
        uid: uid.to_owned(),
        controller,
    };
    fixture.leaves(&map("a")).owners = vec![owner("foreign", true)];
    assert!(
        fixture
            .held(&map("a"))
            .contains("Operator o, which is not part of the fleet, controls it")
    );
    fixture.leaves(&map("a")).owners = vec![owner("foreign", false)];
    assert_eq!(
        fixture.decision(&map("a")),
        PruneDecision::Delete,
        "CAPI adds such owners to what is ours"
    );
    let own = fixture.member(&map("stays")).uid.clone();
    fixture.leaves(&map("a")).owners = vec![owner(&own, true)];
    assert_eq!(fixture.decision(&map("a")), PruneDecision::Delete);
}

#[test]
fn what_the_fleet_still_refers_to_stays() {
    let mut fixture = Fixture::new();
    fixture.leaves(&map("a"));
    fixture.needed.insert(map("a"));
    assert!(fixture.held(&map("a")).contains("still refers to it"));
}

#[test]
fn a_namespace_in_use_stays_and_an_emptied_one_goes_last() {
    let mut fixture = Fixture::new();
    let namespace = ObjectId::new("", "Namespace", "", "ns");
    fixture.leaves(&namespace).policy = "Delete".to_owned();
    assert!(
        fixture
            .held(&namespace)
            .contains("ConfigMap/ns/stays, which is kept")
    );
    let other = ObjectId::new("", "Namespace", "", "other");
    let inside = ObjectId::new("", "ConfigMap", "other", "a");
    fixture.leaves(&other).policy = "Delete".to_owned();
    fixture.leaves(&inside);
    assert_eq!(
        fixture.decision(&other),
        PruneDecision::After(inside.clone())
    );
    assert_eq!(fixture.decision(&inside), PruneDecision::Delete);
    fixture.members.remove(&inside);
    assert_eq!(fixture.decision(&other), PruneDecision::Delete);
}

#[test]
fn dependents_are_deleted_first() {
    let (mut fixture, vault, group) = a_vault_and_its_group();
    assert_eq!(fixture.decision(&vault), PruneDecision::Delete);
    assert_eq!(
        fixture.decision(&group),
        PruneDecision::After(vault.clone())
    );
    fixture.members.remove(&vault);
    assert_eq!(fixture.decision(&group), PruneDecision::Delete);
}

/// Once the vault was released it is not a member any more, and its group would be deleted.
#[test]
fn what_a_released_object_needs_is_released_before_it() {
    let (mut fixture, vault, group) = a_vault_and_its_group();
    fixture.member(&vault).policy = "Orphan".to_owned();
    assert_eq!(fixture.decision(&group), PruneDecision::Orphan);
    assert_eq!(
        fixture.decision(&vault),
        PruneDecision::ReleaseAfter(group.clone())
    );
    // Also when something else that needs the group is deleted.
    let other = ObjectId::new("keyvault.azure.com", "Vault", "ns", "w");
    fixture.leaves(&other);
    fixture.leaving.insert(other.clone(), vec![group.clone()]);
    assert_eq!(fixture.decision(&group), PruneDecision::Orphan);
    fixture.members.remove(&group);
    assert_eq!(fixture.decision(&vault), PruneDecision::Orphan);
}

#[test]
fn a_namespace_is_not_deleted_around_what_was_released() {
    let mut fixture = Fixture::new();
    let other = ObjectId::new("", "Namespace", "", "other");
    let inside = ObjectId::new("", "ConfigMap", "other", "a");
    fixture.leaves(&other).policy = "Delete".to_owned();
    fixture.leaves(&inside).policy = "Orphan".to_owned();
    assert_eq!(fixture.decision(&other), PruneDecision::Orphan);
    assert_eq!(
        fixture.decision(&inside),
        PruneDecision::ReleaseAfter(other)
    );
}

#[test]
fn what_a_released_cluster_leans_on_is_released_with_it() {
    let mut fixture = Fixture::new();
    fixture.cluster_leaves("c", "Orphan");
    fixture.approves("release ns/c");
    let secret = ObjectId::new("", "Secret", "ns", "aso-credential");
    fixture.leaves(&secret);
    assert_eq!(fixture.decision(&secret), PruneDecision::Orphan);
    assert_eq!(
        fixture.decision(&cluster("c")),
        PruneDecision::ReleaseAfter(secret)
    );
}

fn a_vault_and_its_group() -> (Fixture, ObjectId, ObjectId) {
    let mut fixture = Fixture::new();
    let vault = ObjectId::new("keyvault.azure.com", "Vault", "ns", "v");
    let group = ObjectId::new(RESOURCES, "ResourceGroup", "ns", "rg");
    fixture.leaves(&group);
    fixture.leaves(&vault);
    fixture.leaving.insert(vault.clone(), vec![group.clone()]);
    (fixture, vault, group)
}

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
fn what_clusters_depend_on_is_deleted_after_them() {
    let mut fixture = Fixture::new();
    fixture.cluster_leaves("c", "Delete");
    fixture.approve("ns/c");
    let secret = ObjectId::new("", "Secret", "ns", "aso-credential");
    fixture.leaves(&secret);
    assert!(matches!(fixture.decision(&secret), PruneDecision::After(_)));
    fixture.member(&cluster("c")).deleting = true;
    assert!(matches!(fixture.decision(&secret), PruneDecision::After(_)));
    fixture
        .members
        .retain(|id, _| id.kind == "ConfigMap" || id.kind == "Secret");
    assert_eq!(fixture.decision(&secret), PruneDecision::Delete);
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
fn another_binary_deletes_nothing() {
    let mut fixture = Fixture::new();
    fixture.leaves(&map("a"));
    fixture.leaves(&map("b")).policy = "Orphan".to_owned();
    fixture.guard.unchanged = true;
    assert!(
        fixture
            .held(&map("a"))
            .contains("the revision is unchanged")
    );
    assert_eq!(fixture.decision(&map("b")), PruneDecision::Orphan);
}

/// Somebody pressed the button of the revision's check after it was applied.
#[test]
fn what_was_approved_after_the_revision_was_applied_goes_with_what_is_beside_it() {
    let mut fixture = Fixture::new();
    let parts = fixture.cluster_leaves("c", "Delete");
    let other = ObjectId::new("", "Secret", "other", "s");
    for id in [&map("a"), &other, &cluster("d")] {
        fixture.leaves(id).policy = "Delete".to_owned();
    }
    fixture.has(&cluster("e"));
    let pools = [fixture.pool("e-mp1", false), fixture.pool("e-mp2", true)];
    for pool in &pools {
        fixture.member(pool).cluster = "e".to_owned();
    }
    fixture.guard.unchanged = true;
    for id in [&cluster("c"), &parts[0], &map("a")] {
        assert_ne!(fixture.held(id), "");
    }
    fixture.approve("ns/c");
    assert_eq!(fixture.decision(&cluster("c")), PruneDecision::Delete);
    let after = PruneDecision::After(cluster("c"));
    assert_eq!(fixture.decision(&parts[0]), after);
    assert_eq!(fixture.decision(&map("a")), after, "it leaves after it");
    for id in [&cluster("d"), &pools[1]] {
        assert!(fixture.held(id).contains("needs approval"));
    }
    assert!(fixture.held(&other).contains("the revision is unchanged"));
}

#[test]
fn a_fleet_that_does_not_prune_removes_nothing() {
    let mut fixture = Fixture::new();
    fixture.leaves(&map("a"));
    fixture.guard.prune = false;
    assert!(fixture.held(&map("a")).contains("pruning is disabled"));
}

#[test]
fn what_waits_for_a_held_object_is_held() {
    let mut fixture = Fixture::new();
    fixture.cluster_leaves("c", "Delete");
    fixture.leaves(&map("a"));
    fixture.leaves(&map("b"));
    fixture.leaving.insert(map("b"), vec![map("a")]);
    let held = fixture.held(&map("b"));
    assert!(held.ends_with(", which is kept, needs it"), "{held}");
    let held = fixture.held(&map("a"));
    assert_eq!(held, "ConfigMap/ns/b, which is kept, needs it");
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
    fixture.unapplied.insert(cluster("d"), String::new());
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
