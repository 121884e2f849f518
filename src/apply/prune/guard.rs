//! What holds deletions back, and the losses that nobody approved.
//!
//! In: approvals, and whether the revision has commits. Out: whether a cluster or a pool may go. It does not know which of
//! them leave.

use std::collections::BTreeSet;

use crate::api::labels;
use crate::model::ObjectId;
use crate::plan::approvals::{Approval, Verb, What};
use crate::plan::losses::Unit;

/// A loss that nobody approved: what goes, and how.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unapproved {
    /// What happens once it is approved.
    pub verb: Verb,
    /// The cluster or pool that goes.
    pub unit: Unit,
    /// The new name, of a rename: what has it in the files was never made.
    pub to: Option<Box<Unit>>,
    /// Whether the fleet comes without the messages of commits, in which people approve.
    pub without_commits: bool,
}

/// What holds deletions back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletionGuard {
    /// Whether anything is removed at all.
    pub prune: bool,
    /// The fleet itself is removed, so it has no objects on purpose.
    pub is_end: bool,
    /// Whether the revision was fully applied before: then a deletion comes from another binary or
    /// other definitions, and no commit asked for it.
    pub unchanged: bool,
    /// What people approved. Of an unchanged revision, they did so since it was applied.
    pub approvals: Vec<Approval>,
    /// The clusters whose deletion was begun for the revision. Those that nobody named are among as many as may be deleted.
    pub begun: BTreeSet<ObjectId>,
    /// What an earlier revision left behind.
    pub left_behind: LeftBehind,
    /// Whether the fleet comes without the messages of commits, in which people approve.
    pub without_commits: bool,
}

/// The objects that left the fleet with an earlier revision and were kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftBehind {
    /// These.
    These(BTreeSet<ObjectId>),
    /// Any may be among them: there are more than are known.
    Unknown,
}

impl Default for LeftBehind {
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl LeftBehind {
    /// Adds others.
    pub(crate) fn add(&mut self, others: impl Iterator<Item = ObjectId>) {
        if let Self::These(known) = self {
            known.extend(others);
        }
    }

    fn contains(&self, id: &ObjectId) -> bool {
        match self {
            Self::These(known) => known.contains(id),
            Self::Unknown => true,
        }
    }
}

impl Unapproved {
    /// The approval that it waits for.
    #[must_use]
    pub fn what(&self) -> What {
        What::Named(self.verb, self.unit.clone())
    }
}

impl DeletionGuard {
    /// Whether a limit may let this cluster go. One that an earlier revision left behind needs an approval by name, or every
    /// revision would let some more of them go; where nobody can give one, a higher limit does.
    pub(super) fn is_within_reach(&self, id: &ObjectId) -> bool {
        !self.unchanged && (self.without_commits || !self.left_behind.contains(id))
    }

    /// Returns true if somebody approved that this cluster or pool goes like this.
    pub(crate) fn approves(&self, verb: Verb, unit: &Unit) -> bool {
        let mut losses = self.approvals.iter().filter_map(|one| one.what.loss());
        losses.any(|loss| loss == (verb, unit))
    }

    /// Whether somebody approved by name that this cluster goes.
    pub(super) fn names(&self, unit: &Unit) -> bool {
        let mut losses = self.approvals.iter().filter_map(|one| one.what.loss());
        losses.any(|(_, of)| of == unit)
    }

    /// How many clusters may go although nobody named them.
    pub(super) fn unnamed_clusters(&self) -> usize {
        let limits = self.approvals.iter().filter_map(|one| match one.what {
            What::Clusters(count) => Some(count),
            What::Named(..) | What::Pools => None,
        });
        limits.max().unwrap_or(0)
    }

    /// Whether node pools may go although nobody named them.
    pub(super) fn unnamed_pools(&self) -> bool {
        self.approvals.iter().any(|one| one.what == What::Pools)
    }
}

/// `releasing cluster c/one needs approval: ...`, with what to do.
impl std::fmt::Display for Unapproved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            verb,
            unit,
            without_commits,
            ..
        } = self;
        let noun = match unit.pool {
            Some(_) => "node pool",
            None => "cluster",
        };
        write!(f, "the {} of {noun} {unit} needs approval", verb.noun())?;
        match (without_commits, &unit.pool) {
            (false, _) => write!(
                f,
                ": push a commit whose message ends in \"{}: {} {unit}\"",
                labels::APPROVE,
                verb.word()
            ),
            (true, None) => f.write_str(
                ", and this source has no commit messages: allow it with spec.apply.deletionGuard.maxClusters",
            ),
            (true, Some(_)) => f.write_str(
                ", and this source has no commit messages: allow it with spec.apply.deletionGuard.pools",
            ),
        }
    }
}
