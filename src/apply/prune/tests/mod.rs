//! Each rule with the case in which data would be lost without it.

mod losses;

use super::*;
use crate::api::kinds::{CONTROL_PLANE, RESOURCES};
use crate::apply::{DriftState, Owner};
use crate::model::{Health, HealthState};
use crate::plan::approvals::{Approval, What};

/// Members of a set, and which of them the fleet still has.
#[derive(Default)]
struct Fixture {
    members: BTreeMap<ObjectId, Member>,
    leaving: BTreeMap<ObjectId, Vec<ObjectId>>,
    steps: HashMap<Arc<ObjectId>, usize>,
    unapplied: BTreeMap<Arc<ObjectId>, String>,
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
        self.steps.insert(id.clone().into(), self.steps.len());
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
    fixture.unapplied.insert(map("new").into(), String::new());
    assert_eq!(
        fixture.decision(&map("old")),
        PruneDecision::Until(map("new"))
    );
    let elsewhere = ObjectId::new("", "ConfigMap", "elsewhere", "x");
    fixture.unapplied = BTreeMap::from([(elsewhere.into(), String::new())]);
    assert_eq!(fixture.decision(&map("old")), PruneDecision::Delete);
}

#[test]
fn an_empty_fleet_deletes_nothing() {
    let mut fixture = Fixture::new();
    fixture.leaves(&map("a"));
    fixture.steps.clear();
    assert!(fixture.held(&map("a")).contains("probably a mistake"));
    fixture.guard.is_end = true;
    assert_eq!(fixture.decision(&map("a")), PruneDecision::Delete);
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
