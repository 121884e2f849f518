//! The progress of a fleet's clusters.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Chain, Phase, StatusGraph};
use crate::api::platform::is_leader;
use crate::apply::Parent;
use crate::model::ObjectId;
use crate::plan::ApplySet;

/// One fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetView {
    /// Its objects and those that are embedded in them, counted by state.
    pub counts: BTreeMap<Phase, usize>,
    /// Its clusters, those that need attention first, then by namespace and name.
    pub clusters: Vec<ClusterView>,
    /// Objects that are not ready and belong to no cluster, by their blocker; the worst first.
    pub strays: Vec<Stray>,
    /// How many objects of its revision are missing or not its own; zero if that is unknown: older versions of
    /// Capstan do not record how many there must be, and some kinds may not be readable.
    pub missing: usize,
    /// Which these are, if the parent names its objects.
    pub absent: Vec<ObjectId>,
    /// How many of its objects are not in its revision and still exist, if the parent names its objects.
    pub leftovers: usize,
    /// How many objects of its revision the parent does not name: whether these exist is unknown.
    pub unlisted: usize,
    /// The objects that carry the label of its set, that it did not apply, and that its revision does not have. They are
    /// left alone, and count nowhere.
    pub labelled: Vec<ObjectId>,
    /// Whether something is missing, or failed so that waiting does not help.
    pub broken: bool,
    /// Whether something can only be helped by a change: an object failed, or the newest commit is refused.
    pub failed: bool,
    /// Whether its revision is not fully applied, if it is known how many objects it has, or is not the newest.
    pub behind: bool,
}

/// Objects outside clusters that share a blocker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// The blocker, which may be one of them.
    pub blocker: usize,
    /// The objects.
    pub objects: Vec<usize>,
}

/// One cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterView {
    /// The Cluster.
    pub root: usize,
    /// The state of the whole cluster.
    pub phase: Phase,
    /// How many parts are ready.
    pub ready: usize,
    /// How many parts it has, including the Cluster.
    pub total: usize,
    /// What it waits for; `None` if it is ready.
    pub chain: Option<Chain>,
}

impl FleetView {
    /// All its objects.
    #[must_use]
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// The number of objects in each state.
    #[must_use]
    pub fn count(&self, phase: Phase) -> usize {
        self.counts.get(&phase).copied().unwrap_or_default()
    }

    /// Whether all of it exists and is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.count(Phase::Ready) == self.total() && self.missing == 0 && !self.behind
    }
}

impl StatusGraph {
    /// The fleet of `parent`, whose members carry the label of `set`.
    #[must_use]
    pub fn fleet(&self, set: &ApplySet, parent: &Parent) -> FleetView {
        let id = set.id();
        let vertices = 0..self.graph.vertices.len();
        let members: Vec<usize> = vertices.filter(|at| self.set(*at) == id).collect();
        let seen = !parent.kinds.iter().any(|kind| self.unread.contains(kind));
        let wanted = parent.objects.filter(|_| seen).unwrap_or_default();
        let named = parent.members.ids();
        let absent = self.absent(&named, &members);
        let unlisted = parent.objects.unwrap_or_default();
        let unlisted = unlisted.saturating_sub(named.len());
        let is_incomplete = parent.objects.is_some() && parent.applied != parent.applying;
        let pending = parent.pending();
        let mut view = FleetView {
            missing: match unlisted {
                0 => absent.len(),
                _ => wanted.saturating_sub(members.len()).max(absent.len()),
            },
            leftovers: match unlisted {
                0 if !named.is_empty() => {
                    (members.len() + absent.len()).saturating_sub(named.len())
                }
                _ => 0,
            },
            unlisted,
            labelled: self
                .labelled(&id)
                .filter(|id| !named.contains(id))
                .cloned()
                .collect(),
            absent,
            behind: is_incomplete || pending.is_some() || !parent.failed.is_empty(),
            failed: pending.is_some_and(|newest| newest.is_refused) || !parent.failed.is_empty(),
            ..FleetView::default()
        };
        let mut parts = BTreeSet::new();
        for root in members.iter().copied().filter(|at| is_leader(self.id(*at))) {
            let mut all = self.graph.clusters();
            // A set whose parts are all gone has none.
            let alone = [root];
            let cluster = all.find(|all| all.contains(&root));
            let cluster = cluster.unwrap_or(&alone);
            view.clusters.push(self.cluster(root, cluster));
            parts.extend(cluster.iter().copied());
        }
        view.clusters
            .sort_by_key(|cluster| (Reverse(cluster.phase), self.id(cluster.root)));
        for at in self.with_carried(&members) {
            *view.counts.entry(self.status(at).phase).or_default() += 1;
        }
        let others = members.into_iter().filter(|at| !parts.contains(at));
        view.strays = self.strays(others);
        let failed = view
            .counts
            .keys()
            .chain(view.clusters.iter().map(|one| &one.phase));
        let blockers = view
            .strays
            .iter()
            .map(|stray| &self.status(stray.blocker).phase);
        view.broken = view.missing > 0 || failed.chain(blockers).any(|phase| phase.is_broken());
        view.failed |= view.count(Phase::Failed) > 0;
        view.broken |= view.failed;
        view
    }

    /// The named objects that are not among `members`. What cannot be read may well be there.
    fn absent(&self, named: &BTreeSet<ObjectId>, members: &[usize]) -> Vec<ObjectId> {
        let there: BTreeSet<&ObjectId> = members.iter().map(|at| self.id(*at)).collect();
        let absent = |id: &&ObjectId| {
            // Before a kind is known, its objects seem to be in namespaces.
            let bare = ObjectId::new(&*id.group, &*id.kind, "", &*id.name);
            let kind = (id.group.clone(), id.kind.clone());
            !there.contains(*id) && !there.contains(&bare) && !self.unread.contains(&kind)
        };
        named.iter().filter(absent).cloned().collect()
    }

    fn strays(&self, members: impl Iterator<Item = usize>) -> Vec<Stray> {
        let mut strays: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for at in members {
            let chain = self.blocked(at);
            let chain = chain.or_else(|| self.blocked_any(&self.with_carried(&[at])));
            if let Some(chain) = chain {
                strays.entry(chain.blocker()).or_default().push(at);
            }
        }
        let strays = strays.into_iter();
        let mut strays: Vec<Stray> = strays
            .map(|(blocker, objects)| Stray { blocker, objects })
            .collect();
        strays.sort_by_key(|stray| self.urgency(stray.blocker));
        strays
    }

    fn cluster(&self, root: usize, members: &[usize]) -> ClusterView {
        let parts = self.with_carried(members);
        let is_ready = |at: &&usize| self.status(**at).phase == Phase::Ready;
        let ready = parts.iter().filter(is_ready).count();
        let chain = self.blocked(root).or_else(|| self.blocked_any(&parts));
        let blocker = chain
            .as_ref()
            .map(|chain| self.status(chain.blocker()).phase);
        let worst = parts.iter().map(|at| self.status(*at).phase);
        let worst = worst.filter(|phase| phase.is_stuck()).max();
        let phase = match (self.status(root).phase, worst.max(blocker)) {
            (Phase::Deleting, _) => Phase::Deleting,
            (_, Some(Phase::NotMade)) => Phase::Waiting,
            (_, Some(phase)) => phase,
            (_, None) => Phase::Ready,
        };
        ClusterView {
            root,
            phase,
            ready,
            total: parts.len(),
            chain,
        }
    }

    /// These objects and those that are embedded in them. Those that were already deleted with their parent
    /// resource do not count.
    fn with_carried(&self, members: &[usize]) -> Vec<usize> {
        let mut all = Vec::new();
        for at in members.iter().copied() {
            let going = self.status(at).phase == Phase::Deleting;
            let gone = |part: &usize| going && self.status(*part).phase == Phase::NotMade;
            all.push(at);
            all.extend(self.graph.carried(at).filter(|part| !gone(part)));
        }
        all
    }
}
