//! Each rule with the case in which data would be lost without it.

use super::*;
use crate::apply::{DriftState, Owner};
use crate::model::{Health, HealthState};

/// Members of a set, and which of them the fleet still has.
#[derive(Default)]
struct Stage {
    members: BTreeMap<ObjectId, Member>,
    leaving: BTreeMap<ObjectId, Vec<ObjectId>>,
    steps: HashMap<ObjectId, usize>,
    unapplied: BTreeMap<ObjectId, String>,
    needed: BTreeSet<ObjectId>,
    guard: DeletionGuard,
}

fn member(uid: &str) -> Member {
    let mut member = Member::read(&serde_json::Value::Null, None, None);
    member.uid = uid.to_owned();
    member.health = Health::ready();
    assert_eq!(member.drift, DriftState::Outdated);
    member
}

fn map(name: &str) -> ObjectId {
    ObjectId::new("", "ConfigMap", "ns", name)
}

fn cluster(name: &str) -> ObjectId {
    ObjectId::new(CAPI, "Cluster", "ns", name)
}

impl Stage {
    /// A fleet that has one ConfigMap, `stays`, and prunes.
    fn new() -> Self {
        let mut stage = Self::default();
        stage.guard.prune = true;
        stage.has(&map("stays"));
        stage
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
            guard: &self.guard,
        };
        prune(&input).remove(id).expect("it leaves")
    }

    fn held(&self, id: &ObjectId) -> String {
        match self.decision(id) {
            PruneDecision::Held(why) => why,
            decision => unreachable!("{id}: {decision:?}"),
        }
    }
}

#[test]
fn what_leaves_is_deleted_or_released_as_it_was_last_applied() {
    let mut stage = Stage::new();
    stage.leaves(&map("a"));
    stage.leaves(&map("b")).policy = "Orphan".to_owned();
    let namespace = ObjectId::new("", "Namespace", "", "other");
    stage.leaves(&namespace);
    assert_eq!(stage.decision(&map("a")), PruneDecision::Delete);
    assert_eq!(stage.decision(&map("b")), PruneDecision::Orphan);
    assert_eq!(
        stage.decision(&namespace),
        PruneDecision::Orphan,
        "unless it says otherwise"
    );
}

#[test]
fn nothing_is_deleted_before_everything_near_it_was_applied() {
    let mut stage = Stage::new();
    stage.leaves(&map("old"));
    stage.unapplied.insert(map("new"), String::new());
    assert_eq!(
        stage.decision(&map("old")),
        PruneDecision::Until(map("new"))
    );
    let elsewhere = ObjectId::new("", "ConfigMap", "elsewhere", "x");
    stage.unapplied = BTreeMap::from([(elsewhere, String::new())]);
    assert_eq!(stage.decision(&map("old")), PruneDecision::Delete);
}

#[test]
fn an_empty_fleet_deletes_nothing() {
    let mut stage = Stage::new();
    stage.leaves(&map("a"));
    stage.steps.clear();
    assert!(stage.held(&map("a")).contains("probably a mistake"));
}

#[test]
fn an_object_that_goes_by_two_names_stays() {
    let mut stage = Stage::new();
    let (old, new) = (
        ObjectId::new("extensions", "Ingress", "ns", "i"),
        ObjectId::new("networking.k8s.io", "Ingress", "ns", "i"),
    );
    stage.leaves(&old).uid = "one".to_owned();
    stage.has(&new).uid = "one".to_owned();
    assert!(stage.held(&old).contains("networking.k8s.io"));
}

#[test]
fn what_another_controls_stays_and_what_the_set_s_own_controls_does_not() {
    let mut stage = Stage::new();
    let owner = |uid: &str, controller| Owner {
        kind: "Operator".to_owned(),
        name: "o".to_owned(),
        uid: uid.to_owned(),
        controller,
    };
    stage.leaves(&map("a")).owners = vec![owner("foreign", true)];
    assert!(
        stage
            .held(&map("a"))
            .contains("Operator o, which is not part of the fleet, controls it")
    );
    stage.leaves(&map("a")).owners = vec![owner("foreign", false)];
    assert_eq!(
        stage.decision(&map("a")),
        PruneDecision::Delete,
        "CAPI adds such owners to what is ours"
    );
    let own = stage.member(&map("stays")).uid.clone();
    stage.leaves(&map("a")).owners = vec![owner(&own, true)];
    assert_eq!(stage.decision(&map("a")), PruneDecision::Delete);
}

#[test]
fn what_the_fleet_still_refers_to_stays() {
    let mut stage = Stage::new();
    stage.leaves(&map("a"));
    stage.needed.insert(map("a"));
    assert!(stage.held(&map("a")).contains("still refers to it"));
}

#[test]
fn a_namespace_in_use_stays_and_an_emptied_one_goes_last() {
    let mut stage = Stage::new();
    let namespace = ObjectId::new("", "Namespace", "", "ns");
    stage.leaves(&namespace).policy = "Delete".to_owned();
    assert!(
        stage
            .held(&namespace)
            .contains("ConfigMap/ns/stays, which is kept")
    );
    let other = ObjectId::new("", "Namespace", "", "other");
    let inside = ObjectId::new("", "ConfigMap", "other", "a");
    stage.leaves(&other).policy = "Delete".to_owned();
    stage.leaves(&inside);
    assert_eq!(stage.decision(&other), PruneDecision::After(inside.clone()));
    assert_eq!(stage.decision(&inside), PruneDecision::Delete);
    stage.members.remove(&inside);
    assert_eq!(stage.decision(&other), PruneDecision::Delete);
}

#[test]
fn dependents_go_first() {
    let (mut stage, vault, group) = a_vault_and_its_group();
    assert_eq!(stage.decision(&vault), PruneDecision::Delete);
    assert_eq!(stage.decision(&group), PruneDecision::After(vault.clone()));
    stage.members.remove(&vault);
    assert_eq!(stage.decision(&group), PruneDecision::Delete);
}

/// Once the vault was released nobody knows of it any more, and its group would be deleted.
#[test]
fn what_a_released_object_needs_is_released_before_it() {
    let (mut stage, vault, group) = a_vault_and_its_group();
    stage.member(&vault).policy = "Orphan".to_owned();
    assert_eq!(stage.decision(&group), PruneDecision::Orphan);
    assert_eq!(stage.decision(&vault), PruneDecision::After(group.clone()));
    // Also when something else that needs the group is deleted.
    let other = ObjectId::new("keyvault.azure.com", "Vault", "ns", "w");
    stage.leaves(&other);
    stage.leaving.insert(other.clone(), vec![group.clone()]);
    assert_eq!(stage.decision(&group), PruneDecision::Orphan);
    stage.members.remove(&group);
    assert_eq!(stage.decision(&vault), PruneDecision::Orphan);
}

#[test]
fn a_namespace_is_not_deleted_around_what_was_released() {
    let mut stage = Stage::new();
    let other = ObjectId::new("", "Namespace", "", "other");
    let inside = ObjectId::new("", "ConfigMap", "other", "a");
    stage.leaves(&other).policy = "Delete".to_owned();
    stage.leaves(&inside).policy = "Orphan".to_owned();
    assert_eq!(stage.decision(&other), PruneDecision::Orphan);
    assert_eq!(stage.decision(&inside), PruneDecision::After(other));
}

#[test]
fn what_a_released_cluster_leans_on_is_released_with_it() {
    let mut stage = Stage::new();
    stage.cluster_leaves("c", "Orphan");
    let secret = ObjectId::new("", "Secret", "ns", "aso-credential");
    stage.leaves(&secret);
    assert_eq!(stage.decision(&secret), PruneDecision::Orphan);
    assert_eq!(stage.decision(&cluster("c")), PruneDecision::After(secret));
}

fn a_vault_and_its_group() -> (Stage, ObjectId, ObjectId) {
    let mut stage = Stage::new();
    let vault = ObjectId::new("keyvault.azure.com", "Vault", "ns", "v");
    let group = ObjectId::new(RESOURCES, "ResourceGroup", "ns", "rg");
    stage.leaves(&group);
    stage.leaves(&vault);
    stage.leaving.insert(vault.clone(), vec![group.clone()]);
    (stage, vault, group)
}

#[test]
fn a_cluster_is_deleted_only_with_approval_and_through_its_root() {
    let mut stage = Stage::new();
    let parts = stage.cluster_leaves("c", "Delete");
    let approval = "\"Capstan-Approve: delete ns/c\"";
    assert!(stage.held(&cluster("c")).contains(approval));
    assert!(parts.iter().all(|part| stage.held(part).contains(approval)));
    stage.guard.approved.insert("ns/c".to_owned());
    assert_eq!(stage.decision(&cluster("c")), PruneDecision::Delete);
    assert!(
        parts
            .iter()
            .all(|part| stage.decision(part) == PruneDecision::After(cluster("c")))
    );
}

#[test]
fn so_many_clusters_go_without_approval_and_no_more() {
    let mut stage = Stage::new();
    for name in ["a", "b", "c"] {
        stage.cluster_leaves(name, "Delete");
    }
    stage.guard.max_clusters = 1;
    stage.guard.approved.insert("ns/a".to_owned());
    let decisions =
        ["a", "b", "c"].map(|name| stage.decision(&cluster(name)) == PruneDecision::Delete);
    assert_eq!(decisions, [true, true, false]);
}

#[test]
fn a_cluster_is_released_with_all_its_parts() {
    let mut stage = Stage::new();
    let parts = stage.cluster_leaves("c", "");
    assert!(
        parts
            .iter()
            .all(|part| stage.decision(part) == PruneDecision::Orphan)
    );
    // A part without its root would belong to nobody.
    assert!(
        matches!(stage.decision(&cluster("c")), PruneDecision::After(part) if parts.contains(&part))
    );
    for part in &parts {
        stage.members.remove(part);
    }
    assert_eq!(stage.decision(&cluster("c")), PruneDecision::Orphan);
}

#[test]
fn what_clusters_lean_on_goes_after_them() {
    let mut stage = Stage::new();
    stage.cluster_leaves("c", "Delete");
    stage.guard.approved.insert("ns/c".to_owned());
    let secret = ObjectId::new("", "Secret", "ns", "aso-credential");
    stage.leaves(&secret);
    assert!(matches!(stage.decision(&secret), PruneDecision::After(_)));
    stage.member(&cluster("c")).deleting = true;
    assert!(matches!(stage.decision(&secret), PruneDecision::After(_)));
    stage
        .members
        .retain(|id, _| id.kind == "ConfigMap" || id.kind == "Secret");
    assert_eq!(stage.decision(&secret), PruneDecision::Delete);
}

#[test]
fn a_node_pool_goes_once_another_of_its_cluster_is_ready() {
    let mut stage = Stage::new();
    stage.has(&cluster("c"));
    let old = stage.pool("c-old", true);
    let own = ObjectId::new(INFRASTRUCTURE, "AROMachinePool", "ns", "c-old");
    stage.leaves(&own).cluster = "c".to_owned();
    assert!(stage.held(&old).contains("no other node pool"));
    assert!(stage.held(&own).contains("no other node pool"));
    let new = stage.pool("c-new", false);
    stage.member(&new).health = Health::new(HealthState::Progressing, "", "");
    assert!(stage.held(&old).contains("no other node pool"));
    stage.member(&new).health = Health::ready();
    assert_eq!(stage.decision(&old), PruneDecision::Delete);
    assert_eq!(stage.decision(&own), PruneDecision::After(old));
}

#[test]
fn parts_of_a_cluster_that_stays_or_is_not_ours_stay() {
    let mut stage = Stage::new();
    let plane = ObjectId::new(CONTROL_PLANE, "AROControlPlane", "ns", "c");
    stage.leaves(&plane).cluster = "c".to_owned();
    assert!(stage.held(&plane).contains("is not part of the fleet"));
    stage.has(&cluster("c"));
    assert!(stage.held(&plane).contains("which is kept"));
}

#[test]
fn another_binary_deletes_nothing() {
    let mut stage = Stage::new();
    stage.leaves(&map("a"));
    stage.leaves(&map("b")).policy = "Orphan".to_owned();
    stage.guard.unchanged = true;
    assert!(stage.held(&map("a")).contains("the revision is unchanged"));
    assert_eq!(stage.decision(&map("b")), PruneDecision::Orphan);
}

#[test]
fn a_fleet_that_does_not_prune_removes_nothing() {
    let mut stage = Stage::new();
    stage.leaves(&map("a"));
    stage.guard.prune = false;
    assert!(stage.held(&map("a")).contains("pruning is disabled"));
}

#[test]
fn what_would_wait_for_what_is_held_is_held() {
    let mut stage = Stage::new();
    stage.cluster_leaves("c", "Delete");
    stage.leaves(&map("a"));
    stage.leaves(&map("b"));
    stage.leaving.insert(map("b"), vec![map("a")]);
    let held = stage.held(&map("b"));
    assert!(held.ends_with(", which is kept, needs it"), "{held}");
    let held = stage.held(&map("a"));
    assert_eq!(held, "ConfigMap/ns/b, which is kept, needs it");
}
