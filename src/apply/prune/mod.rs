//! Decides about members that the fleet no longer has. Nothing is deleted by accident.
//!
//! In: the members of the set, which of them leave, how far the applies have come, what was approved.
//! Out: a [`PruneDecision`] for each that leaves. Asked again whenever one of those changes. It does not know:
//! how an object is deleted or released.

mod guard;
mod order;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value as Json;

pub use self::guard::{DeletionGuard, LeftBehind, Unapproved};
use super::Member;
use crate::api::deletion_policy::default_deletion_policy;
use crate::api::kinds::{CAPI, INFRASTRUCTURE, is_aso};
use crate::api::platform::{CLUSTER_API, HYPERSHIFT, Platform, Role, is_root};
use crate::graph::{self, Executor, Place};
use crate::model::{Node, Object, ObjectId, Origin, Span};
use crate::plan::approvals::Verb;
use crate::plan::losses::Unit;

/// What is to be done with a member that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PruneDecision {
    /// It is to be deleted now.
    Delete,
    /// It is to be released from the set now, and stays.
    Orphan,
    /// It is being deleted already.
    Going,
    /// It is deleted with another object, or after it.
    After(ObjectId),
    /// It is released from the set after another object, and stays.
    ReleaseAfter(ObjectId),
    /// It is removed once this step was applied.
    Until(ObjectId),
    /// It stays until somebody approves this loss.
    Unapproved(Unapproved),
    /// It stays until a person acts.
    Held(String),
}

/// What each of these live objects refers to.
#[must_use]
pub fn references(live: &[Json]) -> BTreeMap<ObjectId, Vec<ObjectId>> {
    let origin = Origin::new(Span::top(&Arc::from("live")));
    let objects = live.iter().filter_map(|live| {
        let mut live = live.clone();
        live["metadata"]["managedFields"] = Json::Null;
        Object::from_node(Node::from_json(&live, &origin), "")
    });
    let objects: Vec<Object> = objects.collect();
    let graph = graph::build(&objects).0;
    let refers = |at: usize| {
        let parts = std::iter::once(at).chain(graph.carried(at));
        let edges = parts.flat_map(|part| graph.needs(part));
        let edges = edges.filter(|edge| edge.executor != Executor::Nobody);
        let mut ids: Vec<ObjectId> = edges
            .map(|edge| ObjectId::clone(&graph.vertices[edge.to].id))
            .collect();
        ids.sort();
        ids.dedup();
        ids
    };
    let vertices = graph.vertices.iter().enumerate();
    let own = vertices.filter(|(_, vertex)| matches!(vertex.place, Place::TopLevel(_)));
    own.map(|(at, vertex)| (ObjectId::clone(&vertex.id), refers(at)))
        .collect()
}

/// The input of the decisions.
pub struct PruneInput<'a> {
    /// All members of the set, those that leave among them.
    pub members: &'a BTreeMap<ObjectId, Member>,
    /// Those that leave, each with what it refers to.
    pub leaving: &'a BTreeMap<ObjectId, Vec<ObjectId>>,
    /// What the fleet has, with its step.
    pub steps: &'a HashMap<Arc<ObjectId>, usize>,
    /// The objects of steps that were not applied yet, each with the cluster it belongs to.
    pub unapplied: &'a BTreeMap<Arc<ObjectId>, String>,
    /// What the fleet names and does not apply: what its objects refer to, and what is encrypted.
    pub needed: &'a BTreeSet<ObjectId>,
    /// The clusters and pools that leave under one name and come under another.
    pub renamed: &'a BTreeMap<Unit, Unit>,
    /// See [`DeletionGuard`].
    pub guard: &'a DeletionGuard,
}

/// The decision of every member that leaves.
#[must_use]
pub fn prune(input: &PruneInput<'_>) -> BTreeMap<ObjectId, PruneDecision> {
    let mut decisions = BTreeMap::new();
    // Roots first: what belongs to them follows. What others refer to comes last.
    let mut order: Vec<&ObjectId> = input.leaving.keys().collect();
    order.sort_by_key(|id| (rank(id), *id));
    for id in order {
        if let Some(member) = input.members.get(id) {
            let decision = input.decision(id, member, &decisions);
            decisions.insert(id.clone(), decision);
        }
    }
    input.in_order(decisions)
}

/// Clusters, then their pools as Cluster API has them, then their parts, then the rest.
fn rank(id: &ObjectId) -> u8 {
    match Role::of(id) {
        Some(Role::Root) => 0,
        Some(Role::Pool) if id.group == CAPI => 1,
        Some(Role::Pool | Role::Part) => 2,
        None => 3,
    }
}

/// Whether it is reached from a cluster, and deleted with it.
fn is_part(id: &ObjectId) -> bool {
    matches!(Role::of(id), Some(Role::Pool | Role::Part))
}

/// What clusters depend on: it is deleted only after them.
fn carries_clusters(id: &ObjectId) -> bool {
    matches!(
        (id.group.as_str(), id.kind.as_str()),
        ("", "Secret" | "ConfigMap") | (INFRASTRUCTURE, "AzureClusterIdentity")
    ) || is_aso(&id.group) && Role::of(id).is_none()
}

/// Whether objects that do not refer to it may live in it or depend on it.
fn holds_others(id: &ObjectId) -> bool {
    id.is("", "Namespace") || id.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

impl PruneDecision {
    /// Whether the object stays in the cluster and leaves only the set.
    #[must_use]
    pub const fn is_release(&self) -> bool {
        matches!(self, Self::Orphan | Self::ReleaseAfter(_))
    }
}

impl PruneInput<'_> {
    fn decision(
        &self,
        id: &ObjectId,
        member: &Member,
        known: &BTreeMap<ObjectId, PruneDecision>,
    ) -> PruneDecision {
        if member.deleting {
            return PruneDecision::Going;
        }
        if let Some(why) = self.stays(id, member) {
            return PruneDecision::Held(why);
        }
        match self.goes(id, member, known) {
            stays @ (PruneDecision::Held(_) | PruneDecision::Unapproved(_)) => stays,
            goes => match self.is_early(id, member) {
                Some(step) => PruneDecision::Until(step.clone()),
                None => goes,
            },
        }
    }

    /// What becomes of it when its time has come.
    fn goes(
        &self,
        id: &ObjectId,
        member: &Member,
        known: &BTreeMap<ObjectId, PruneDecision>,
    ) -> PruneDecision {
        if is_part(id) {
            return self.part(id, member, known);
        }
        let policy = match member.policy.as_str() {
            "" => default_deletion_policy(id),
            policy => policy,
        };
        match policy {
            _ if is_root(id) => self.cluster(id, policy == "Delete", known),
            "Delete" => self.delete(self.goes_with_approved(id)),
            _ => PruneDecision::Orphan,
        }
    }

    /// Why it is not touched, whatever its policy.
    fn stays(&self, id: &ObjectId, member: &Member) -> Option<String> {
        if !self.guard.prune {
            return Some("pruning is disabled: set spec.apply.prune in the Fleet document, or use --prune, to delete it".to_owned());
        }
        if self.steps.is_empty() && !self.guard.is_end {
            return Some("the fleet has no objects, which is probably a mistake; nothing is removed until it has one".to_owned());
        }
        let same = |(other, one): (&ObjectId, &Member)| {
            (other != id && one.uid == member.uid && self.steps.contains_key(other))
                .then(|| other.clone())
        };
        if let Some(other) = self.members.iter().find_map(same) {
            return Some(format!(
                "it is the same object as {other} of {}",
                other.group
            ));
        }
        let controller = member.controller();
        let foreign =
            controller.filter(|owner| !self.members.values().any(|one| one.uid == owner.uid));
        if let Some(owner) = foreign {
            return Some(format!(
                "{} {}, which is not part of the fleet, controls it",
                owner.kind, owner.name
            ));
        }
        self.needed.contains(id).then(|| {
            "an object in the fleet still refers to it, or it is in the fleet but encrypted"
                .to_owned()
        })
    }

    fn root(&self, id: &ObjectId) -> Option<ObjectId> {
        self.members.get(id).and_then(|member| root(id, member))
    }

    /// A step that must be applied first: one of the same cluster, else of the same namespace.
    fn is_early(&self, id: &ObjectId, member: &Member) -> Option<&ObjectId> {
        // Its new name comes before the old one goes.
        let unit = Unit::of(id, &member.cluster);
        let new = unit.and_then(|unit| self.renamed.get(&unit));
        let first = |(step, cluster): &(&Arc<ObjectId>, &String)| {
            let is_new = Unit::of(step, cluster).as_ref() == new;
            if new.is_some() && is_new {
                return true;
            }
            let near = id.namespace.is_empty() || step.namespace == id.namespace;
            near && match root(id, member) {
                Some(root) if root.group == CAPI => root.name == **cluster,
                // It may need what says of no cluster that it is its own.
                Some(root) if root.group == HYPERSHIFT => {
                    cluster.is_empty() || root.name == **cluster
                }
                _ => true,
            }
        };
        self.unapplied.iter().find(first).map(|(step, _)| &**step)
    }

    /// A cluster goes once that is approved.
    fn cluster(
        &self,
        id: &ObjectId,
        is_deleted: bool,
        known: &BTreeMap<ObjectId, PruneDecision>,
    ) -> PruneDecision {
        let unit = Unit::new(&id.namespace, &id.name);
        let (verb, goes) = match is_deleted {
            true => (Verb::Delete, PruneDecision::Delete),
            false => (Verb::Release, PruneDecision::Orphan),
        };
        let is_within = self.unnamed(id, known) < self.guard.unnamed_clusters();
        if is_within && self.guard.is_within_reach(id) {
            return goes;
        }
        self.loss(verb, unit).unwrap_or(goes)
    }

    /// What keeps a loss from happening, if nobody approved it.
    fn loss(&self, verb: Verb, unit: Unit) -> Option<PruneDecision> {
        let renamed = self.renamed.get(&unit);
        let verb = renamed.map_or(verb, |_| Verb::Rename);
        let is_made = |to: &Unit| {
            let mut members = self.members.iter();
            members.any(|(id, member)| Unit::of(id, &member.cluster).as_ref() == Some(to))
        };
        let to = renamed.filter(|to| !is_made(to)).cloned().map(Box::new);
        let is_approved = self.guard.approves(verb, &unit);
        (!is_approved).then_some(PruneDecision::Unapproved(Unapproved {
            verb,
            unit,
            to,
            without_commits: self.guard.without_commits,
        }))
    }

    /// Counts the clusters beside `id` that go although nobody named them: those that go already, also before their turn
    /// comes, and those that are gone.
    fn unnamed(&self, id: &ObjectId, known: &BTreeMap<ObjectId, PruneDecision>) -> usize {
        let is_going = |id: &&ObjectId| self.members.get(*id).is_some_and(|member| member.deleting);
        let goes = |decision: &PruneDecision| {
            matches!(decision, PruneDecision::Delete | PruneDecision::Orphan)
        };
        let decided = known.iter().filter(|(_, decision)| goes(decision));
        let decided = decided.map(|(id, _)| id);
        let going = self.leaving.keys().filter(is_going);
        let is_unnamed = |other: &&ObjectId| {
            let unit = Unit::new(&other.namespace, &other.name);
            is_root(other) && *other != id && !self.guard.names(&unit)
        };
        let all = decided.chain(going).chain(&self.guard.begun);
        all.filter(is_unnamed).collect::<BTreeSet<_>>().len()
    }

    /// A part of a cluster follows its root; a node pool may go alone.
    fn part(
        &self,
        id: &ObjectId,
        member: &Member,
        known: &BTreeMap<ObjectId, PruneDecision>,
    ) -> PruneDecision {
        let Some(cluster) = self.cluster_of(id, member) else {
            return PruneDecision::Held("it does not say which cluster it belongs to; delete it by hand if it is no longer needed".to_owned());
        };
        let root = root_of(id, &cluster);
        match known.get(&root) {
            Some(PruneDecision::Orphan) => return PruneDecision::Orphan,
            Some(PruneDecision::Delete | PruneDecision::Going) => {
                return PruneDecision::After(root);
            }
            Some(decision) => return decision.clone(),
            None => {}
        }
        let is_alone = !self.steps.contains_key(&root);
        if is_alone && root.group == CAPI {
            return PruneDecision::Held(format!(
                "{root}, which it belongs to, is not part of the fleet; delete it by hand if it is no longer needed"
            ));
        }
        let machines = known.iter().find(|(pool, _)| {
            let is_near = (&pool.namespace, &pool.name) == (&id.namespace, &id.name);
            pool.is(CAPI, "MachinePool") && is_near
        });
        match (Role::of(id), machines) {
            (Some(Role::Pool), Some((pool, PruneDecision::Delete | PruneDecision::Going))) => {
                PruneDecision::After(pool.clone())
            }
            (Some(Role::Pool), Some((_, decision))) => decision.clone(),
            (Some(Role::Pool), None) => self.pool(id, &cluster, member, is_alone),
            _ => PruneDecision::Held(format!("it carries {root}, which is kept")),
        }
    }

    /// The name of the cluster of a part: the one that it states, or that of what leaves and refers to it.
    fn cluster_of(&self, id: &ObjectId, member: &Member) -> Option<String> {
        if !member.cluster.is_empty() {
            return Some(member.cluster.clone());
        }
        let user = |(other, refers): (&ObjectId, &Vec<ObjectId>)| {
            let is_above = other.group == CAPI && refers.contains(id);
            let above = self.members.get(other).filter(|_| is_above)?;
            Some(Unit::of(other, &above.cluster)?.cluster)
        };
        let user = self.leaving.iter().find_map(user);
        user.filter(|cluster| !cluster.is_empty())
    }

    /// A node pool of a cluster that stays goes once that is approved, and once another pool is ready.
    fn pool(&self, id: &ObjectId, cluster: &str, member: &Member, is_alone: bool) -> PruneDecision {
        let unit = Unit::of(id, cluster);
        let (verb, goes) = match member.policy.as_str() {
            "Orphan" => (Verb::Release, PruneDecision::Orphan),
            _ => (Verb::Delete, PruneDecision::Delete),
        };
        let is_allowed = self.guard.unnamed_pools() && !self.guard.unchanged;
        let unapproved = unit
            .filter(|_| !is_allowed)
            .and_then(|unit| self.loss(verb, unit));
        let is_waiting = id.group == CAPI && !is_alone && !self.has_another_pool(id, member);
        match unapproved {
            Some(unapproved) => unapproved,
            None if is_waiting => {
                PruneDecision::Held("no other node pool of its cluster is ready".to_owned())
            }
            None => goes,
        }
    }

    fn has_another_pool(&self, id: &ObjectId, member: &Member) -> bool {
        self.members.iter().any(|(other, pool)| {
            other.is(CAPI, "MachinePool")
                && (other.namespace == id.namespace && pool.cluster == member.cluster)
                && (self.steps.contains_key(other) && !pool.deleting && pool.health.is_ready())
        })
    }

    fn delete(&self, is_approved: bool) -> PruneDecision {
        match self.guard.unchanged && !is_approved {
            false => PruneDecision::Delete,
            true => PruneDecision::Held("the revision is unchanged, so nobody asked for its deletion; push a commit to continue".to_owned()),
        }
    }

    /// Whether it is beside a cluster or pool whose loss somebody approved after this revision was applied: it leaves with
    /// that.
    fn goes_with_approved(&self, id: &ObjectId) -> bool {
        let losses = self.guard.approvals.iter();
        let mut losses = losses.filter_map(|one| one.what.loss());
        losses.any(|(_, unit)| unit.namespace == id.namespace)
    }
}

/// The cluster that a member belongs to or is.
fn root(id: &ObjectId, member: &Member) -> Option<ObjectId> {
    let name = match Role::of(id)? {
        Role::Root => id.name.as_str(),
        Role::Pool | Role::Part => member.cluster.as_str(),
    };
    (!name.is_empty()).then(|| root_of(id, name))
}

/// The cluster of this name that a part belongs to.
fn root_of(id: &ObjectId, name: &str) -> ObjectId {
    let platform = Platform::of(id).unwrap_or(&CLUSTER_API);
    platform.root(&id.namespace, name)
}

#[cfg(test)]
mod tests;
