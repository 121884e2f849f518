//! The account of a change: what one revision makes of another, as every format of a plan tells it.
//!
//! In: what is kept of the objects of both, and what holds losses back. Out: an [`Account`]: what is lost, changes and is new, by
//! cluster, node pool and object. Definitions and hand-written clusters are alike here. It does not know the cluster, nor the check.

mod counts;
mod created;
mod json;
mod kept;
mod leaving;
mod loss;
mod text;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use super::parts::unread_count;
use super::proposal::{Member, Proposal};
use super::unread::Unread;
use crate::api::platform::{Role, is_root};
use crate::api::{kinds, labels, timeline};
use crate::apply::{DeletionGuard, Unapproved};
use crate::graph::Graph;
use crate::model::{
    Change, Finding, Node, Object, ObjectId, Origin, Payload, Severity, Span, rule_id,
};
use crate::plan::approvals::Verb;
use crate::plan::losses::{self, ClusterPart, Pool, Unit};
use crate::plan::{self, Changes, Plan};
use counts::{Counts, Fate};
use created::Created;
pub(super) use json::json;
use kept::Kept;
use leaving::Leaving;
pub(super) use loss::Loss;

/// The field with the version of a cluster or a pool.
const VERSION: &str = "spec.properties.version.id";

/// The changes of a revision.
pub(super) struct Account {
    counts: Counts,
    /// New clusters and pools.
    created: Created,
    /// New objects that belong to no cluster.
    others: Vec<ObjectId>,
    /// Objects with the same values in another order.
    reordered: Vec<ObjectId>,
    /// The objects that it lacks, and their fate.
    pub(super) leaving: Leaving,
    /// In words: the files that define nothing any more, and which of the objects leave for that.
    unread: Vec<String>,
    pub(super) changes: Changes,
    /// The clusters and pools of the revision.
    pub(super) units: BTreeSet<Unit>,
    /// The number of files that only have another name.
    moved: usize,
    /// The number of clusters of the revision.
    clusters: usize,
    /// The time until all is ready.
    takes: Duration,
}

/// The objects of a revision beside those before it.
#[derive(Default)]
struct Compared {
    created: Vec<ObjectId>,
    changed: BTreeSet<ObjectId>,
    reordered: Vec<ObjectId>,
    changes: Changes,
    /// The old and the new source of objects in which nothing else differs.
    moved: BTreeSet<(String, String)>,
}

impl Compared {
    /// Compares `members` with the objects of `before`, and takes out those that are in both.
    fn of(
        members: &[Member<'_>],
        before: &mut BTreeMap<&ObjectId, &Payload>,
        parts: &Parts<'_>,
    ) -> Self {
        let mut compared = Self {
            changes: Changes::among(&parts.units),
            ..Self::default()
        };
        for member in members {
            let new = member.kept.payload();
            match (before.remove(&**member.id), member.object) {
                (None, _) => compared.created.push(ObjectId::clone(member.id)),
                (Some(old), _) if old.hash() == new.hash() => {}
                (Some(old), Some(object)) => compared.differing(object, old.json(), &new.json()),
                // It was compared with another plan, so its lines are not known.
                (Some(old), None) => match without_lines(&new.json()) {
                    Some(object) => compared.differing(&object, old.json(), &new.json()),
                    None => drop(compared.changed.insert(ObjectId::clone(member.id))),
                },
            }
        }
        compared.created.sort();
        compared.reordered.sort();
        compared
    }

    fn differing(&mut self, object: &Object, mut old: Json, new: &Json) {
        let moved = source(&old).zip(source(new));
        let moved = moved.filter(|(old, new)| old != new);
        if let Some((_, new)) = &moved {
            // Where an object is written says nothing of what it is.
            old["metadata"]["annotations"][labels::SOURCE] = Json::from(new.as_str());
        }
        if self.changes.add(object, &old, new) {
            self.changed.insert(object.id.clone());
        } else if let Some(moved) = moved {
            self.moved.insert(moved);
        } else {
            self.reordered.push(object.id.clone());
        }
    }
}

/// An object as it is sent, which is written nowhere.
fn without_lines(sent: &Json) -> Option<Object> {
    let origin = Origin::new(Span::top(&Arc::from("")));
    Object::from_node(Node::from_json(sent, &origin), "")
}

fn source(object: &Json) -> Option<String> {
    let source = &object["metadata"]["annotations"][labels::SOURCE];
    source.as_str().map(str::to_owned)
}

/// Tells what `new` changes against `old`, if new role assignments need `settle`. The losses `waiting` were not approved, so that
/// the cluster is not as `old` says.
pub(super) fn account(
    new: &Proposal<'_>,
    old: Option<&Plan>,
    guard: &DeletionGuard,
    settle: Duration,
    waiting: &BTreeSet<Unapproved>,
) -> Account {
    let mut before: BTreeMap<&ObjectId, &Payload> = old
        .into_iter()
        .flat_map(|old| &old.steps)
        .map(|step| (&*step.object, &step.action.payload))
        .collect();
    let graph = &*new.digest.graph;
    let members: Vec<Member<'_>> = new.members().collect();
    let parts = Parts::of(&members);
    let mut compared = Compared::of(&members, &mut before, &parts);
    compared.changes.leave(before.keys().copied(), graph);
    // What the new revision names it keeps.
    for kept in graph.outside() {
        before.remove(&*kept.id);
    }
    if guard.prune {
        let sent = |at: usize| Some(members.get(at)?.kept.payload().json());
        compared.changes.take_along(&before, sent, graph);
    }
    let gone = before.iter().map(|(id, payload)| (*id, *payload));
    let unread = Unread::of(&new.digest.checked.findings).lines(gone);
    let near = succeed(new, &mut compared, &before);
    let is_created: BTreeSet<ObjectId> = compared.created.iter().cloned().collect();
    let units: BTreeSet<Unit> = parts.units.values().cloned().collect();
    let kept = Kept::new(waiting, &units);
    let leaving = Leaving::of(&members, (old, &before), &is_created, guard, &kept);
    let back = parts.back(&members, &kept);
    compared.created.retain(|id| !back.contains(id));
    let made = parts.made(&members, &kept);
    compared.changed.retain(|id| !made.contains(id));
    compared.created.extend(made.into_iter().cloned());
    compared.created.sort();
    compared.created.dedup();
    before.retain(|id, _| id.kind == "AROMachinePool" && !leaving.released.contains(*id));
    let pools: Vec<Json> = before.values().map(|payload| payload.json()).collect();
    compared.changes.remove(&pools, &near);
    let (counts, created, others) = parts.counts(&compared, &leaving, &members);
    let is_new: HashSet<&ObjectId> = compared.created.iter().collect();
    let takes = plan::estimate(graph, &is_new, &compared.changes, settle);
    let takes = takes.max(leaving.takes).max(rolling(&counts));
    Account {
        clusters: parts.clusters(graph),
        takes: match leaving.unapproved().is_empty() && !compared.changes.has_errors() {
            true => takes,
            // It is not carried out like this.
            false => Duration::ZERO,
        },
        units,
        counts,
        created,
        others,
        unread,
        leaving,
        reordered: compared.reordered,
        changes: compared.changes,
        moved: compared.moved.len(),
    }
}

/// Looks for second owners of what leaves. Returns the objects of `new` near what leaves, if that has anything in Azure.
fn succeed(
    new: &Proposal<'_>,
    compared: &mut Compared,
    gone: &BTreeMap<&ObjectId, &Payload>,
) -> Vec<Object> {
    let owners = gone.iter().filter(|(id, _)| plan::owns_resources(id));
    let owners: Vec<(&ObjectId, Json)> = owners.map(|(id, one)| (*id, one.json())).collect();
    let lessened = compared.changes.lessened();
    let left = owners.iter().map(|(id, _)| &*id.namespace).chain(lessened);
    let mut namespaces: BTreeSet<String> = left.map(str::to_owned).collect();
    if namespaces.is_empty() {
        return Vec::new();
    }
    let created = compared
        .created
        .iter()
        .filter(|id| plan::owns_resources(id));
    namespaces.extend(created.map(|id| id.namespace.clone()));
    let near = (new.objects)(&namespaces.iter().map(String::as_str).collect());
    let owners = owners.iter().map(|(_, object)| object);
    let is_new = |id: &ObjectId| compared.created.binary_search(id).is_ok();
    compared.changes.succeed(owners, &near, is_new);
    near
}

/// The time to replace nodes: those of a pool one after the other, pools at the same time.
fn rolling(counts: &Counts) -> Duration {
    let pool = ObjectId::new(
        kinds::RED_HAT_OPENSHIFT,
        "HcpOpenShiftClustersNodePool",
        "",
        "",
    );
    let rolled = counts.pools.values();
    let nodes = rolled.filter_map(|(fate, nodes)| (*fate == Fate::Rolled).then_some(*nodes));
    let most = u32::try_from(nodes.max().unwrap_or(0)).unwrap_or(u32::MAX);
    timeline::update(&pool).saturating_mul(most)
}

/// The clusters and pools of a revision, by the objects that they consist of.
struct Parts<'a> {
    /// The objects that carry them.
    objects: Vec<(&'a ObjectId, &'a ClusterPart)>,
    units: BTreeMap<ObjectId, Unit>,
    pools: BTreeMap<Unit, Pool>,
}

impl<'a> Parts<'a> {
    fn of(members: &[Member<'a>]) -> Self {
        let parts = members.iter();
        let parts = parts.filter_map(|member| Some((&**member.id, member.kept.part()?)));
        let objects: Vec<(&ObjectId, &ClusterPart)> = parts.collect();
        Self {
            units: losses::units(objects.iter().copied()),
            pools: losses::pools(objects.iter().copied()),
            objects,
        }
    }

    /// The number of clusters of the revision.
    fn clusters(&self, graph: &Graph) -> usize {
        let roots = self.units.values().map(Unit::root);
        let roots: BTreeSet<Unit> = roots.collect();
        roots.len().max(graph.clusters().len())
    }

    /// The cluster or pool that an object is of.
    fn unit(&self, member: &Member<'_>) -> Option<Unit> {
        let stated = || Unit::parse(member.kept.cluster()?);
        self.units.get(&**member.id).cloned().or_else(stated)
    }

    /// The objects that the cluster has kept since an earlier revision, and that come back.
    fn back(&self, members: &[Member<'a>], kept: &Kept<'_>) -> BTreeSet<&'a ObjectId> {
        let is_back =
            |member: &&Member<'_>| self.unit(member).is_some_and(|unit| kept.is_back(&unit));
        let back = members.iter().filter(is_back);
        back.map(|member| &**member.id).collect()
    }

    /// The objects that are made although the files had them before.
    fn made(&self, members: &[Member<'a>], kept: &Kept<'_>) -> BTreeSet<&'a ObjectId> {
        let is_made =
            |member: &&Member<'_>| self.unit(member).is_some_and(|unit| kept.is_made(&unit));
        let made = members.iter().filter(is_made);
        made.map(|member| &**member.id).collect()
    }

    /// Counts what happens, and lists what is new: clusters and pools, and the other objects.
    fn counts(
        &self,
        compared: &Compared,
        leaving: &Leaving,
        members: &[Member<'_>],
    ) -> (Counts, Created, Vec<ObjectId>) {
        let mut counts = Counts::default();
        let is_new = |id: &ObjectId| compared.created.binary_search(id).is_ok();
        let parts = self.objects.iter().filter(|(id, _)| is_new(id));
        let parts = parts.filter_map(|(id, part)| Some((*id, self.units.get(id)?, *part)));
        let created = Created::of(parts);
        let roots: BTreeSet<Unit> = self
            .units
            .iter()
            .filter(|(id, _)| is_root(id) && is_new(id))
            .map(|(_, unit)| unit.clone())
            .collect();
        let mut objects: BTreeMap<Unit, usize> =
            roots.iter().map(|unit| (unit.clone(), 0)).collect();
        let mut others = Vec::new();
        let fates = self.fates(compared);
        for member in members {
            let (id, unit) = (&**member.id, self.unit(member));
            let fate = match () {
                () if is_new(id) => Fate::New,
                () if compared.changed.contains(id) => Fate::Changed,
                () if compared.reordered.binary_search(id).is_ok() => Fate::Changed,
                () => continue,
            };
            match unit {
                Some(unit) if fate == Fate::New && roots.contains(&unit.root()) => {
                    *objects.entry(unit.root()).or_default() += 1;
                }
                Some(unit) if unit.pool.is_some() => {
                    let nodes = self.pools.get(&unit).map_or(0, |pool| pool.nodes);
                    counts.pool(&unit, fate, nodes);
                }
                Some(unit) => counts.cluster(&unit, Fate::Changed),
                None => {
                    let fate = fates.get(id).copied().unwrap_or(fate);
                    counts.object(fate);
                    others.extend((fate == Fate::New).then(|| id.clone()));
                }
            }
        }
        for unit in &roots {
            counts.cluster(unit, Fate::New);
        }
        self.worsen(&fates, &mut counts);
        leaving.count(&mut counts);
        counts.new_nodes = created.nodes();
        (counts, created.among(objects), others)
    }

    /// The objects whose change is more than one in place.
    fn fates(&self, compared: &Compared) -> BTreeMap<ObjectId, Fate> {
        let mut fates = BTreeMap::new();
        for field in compared.changes.fields() {
            let fate = match field.change() {
                Change::Replace => Fate::Replaced,
                Change::Refused => Fate::Refused,
                Change::Rolling => Fate::Rolled,
                _ => continue,
            };
            let known = fates.entry(field.object.clone()).or_insert(fate);
            *known = fate.min(*known);
        }
        fates
    }

    /// Counts clusters and pools that are replaced, and pools that roll, also with their cluster.
    fn worsen(&self, fates: &BTreeMap<ObjectId, Fate>, counts: &mut Counts) {
        for (id, fate) in fates {
            let Some(unit) = self.units.get(id) else {
                continue;
            };
            let is_of = |pool: &Unit| match unit.pool {
                Some(_) => pool == unit,
                None => *fate == Fate::Rolled,
            };
            let pools = losses::within(&self.pools, unit);
            for (pool, of) in pools.filter(|(pool, _)| is_of(pool)) {
                counts.pool(pool, *fate, of.nodes);
            }
            if unit.pool.is_none() && matches!(fate, Fate::Replaced | Fate::Refused) {
                counts.cluster(unit, *fate);
            }
        }
    }
}

impl Leaving {
    /// Counts what goes.
    fn count(&self, counts: &mut Counts) {
        for loss in &self.losses {
            let fate = match loss.verb {
                Verb::Rename => Fate::Renamed,
                Verb::Release => Fate::Released,
                Verb::Delete | Verb::Recreate => Fate::Deleted,
            };
            match loss.unit.pool {
                Some(_) => {
                    let stays = fate == Fate::Renamed && !loss.is_deleted;
                    counts.pool(&loss.unit, fate, u64::from(!stays) * loss.nodes);
                }
                None => {
                    counts.cluster(&loss.unit, fate);
                    counts.nodes_of_clusters += u64::from(loss.is_deleted) * loss.nodes;
                }
            }
            // What takes its place is counted with it.
            if let Some(to) = &loss.renamed {
                counts.clusters.remove(to);
                counts.pools.remove(to);
            }
        }
        for _ in &self.removed {
            counts.object(Fate::Deleted);
        }
        for _ in &self.released_others {
            counts.object(Fate::Released);
        }
    }
}

impl Account {
    /// Returns true if a file has another name.
    pub(super) const fn is_moved(&self) -> bool {
        self.moved > 0
    }

    /// Returns true if nothing changes.
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Makes errors of the findings that a pool and its cluster are too far apart, where the version of either changes: Azure
    /// takes such a pool only when it creates one (N04, N05, N08 and C09).
    pub(super) fn refuse_versions(&self, findings: &mut [Finding]) {
        let (mut clusters, mut parts) = (HashSet::new(), HashSet::new());
        for field in self.changes.fields().filter(|field| field.name == VERSION) {
            match field.part.kind.as_str() {
                "HcpOpenShiftCluster" => {
                    clusters.extend(field.cluster.as_deref().and_then(Unit::parse));
                }
                _ if Role::of(&field.part) == Some(Role::Pool) => {
                    parts.insert((&*field.part.namespace, &*field.part.name));
                }
                _ => {}
            }
        }
        let is_new = |pool: &Unit| matches!(self.counts.pools.get(pool), Some((Fate::New, _)));
        let mut changed: HashSet<(&str, String)> = HashSet::new();
        for pool in self.units.iter().filter(|unit| unit.pool.is_some()) {
            let (namespace, names) = (&*pool.namespace, pool.object_names());
            let mut own = names.iter().map(|name| (namespace, &**name));
            let differs = clusters.contains(&pool.root()) || own.any(|name| parts.contains(&name));
            if differs && !is_new(pool) {
                changed.extend(names.into_iter().map(|name| (namespace, name)));
            }
        }
        let of_pool = |finding: &Finding| {
            let object = finding.object.as_ref();
            let object = object.filter(|id| Role::of(id) == Some(Role::Pool));
            object.is_some_and(|id| changed.contains(&(&*id.namespace, id.name.clone())))
        };
        for finding in findings
            .iter_mut()
            .filter(|finding| finding.id == rule_id::POOL_TOO_FAR)
        {
            if of_pool(finding) {
                finding.severity = Severity::Error;
            }
        }
    }

    /// `1 cluster released, 2 pools rolled (14 nodes), 55 objects new; about 9 min; 1 warning`, behind what stops it.
    pub(super) fn title(&self, errors: usize, warnings: usize) -> String {
        let count = |count: usize, noun: &str| match count {
            0 => None,
            count => Some(super::parts::counted(count, noun)),
        };
        let counts = match (self.counts.is_empty(), self.moved) {
            (true, 0) => "no fleet change".to_owned(),
            (true, moved) => format!("{} moved", super::parts::counted(moved, "file")),
            (false, _) => self.counts.title(),
        };
        let needs = match self.leaving.unapproved().len() {
            0 => String::new(),
            _ => "needs approval: ".to_owned(),
        };
        let takes = (self.takes > Duration::ZERO).then(|| crate::graph::about(self.takes));
        let parts = [
            count(errors, "error"),
            Some(needs + &counts),
            takes,
            count(warnings, "warning"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join("; ") + &unread_count(&self.unread)
    }
}
