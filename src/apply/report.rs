//! Events of carrying out a plan.

use super::Progress;
use super::prune::Unapproved;
use crate::model::ObjectId;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// An object of the plan, or one embedded in it, reached a state.
    Object(Progress),
    /// An object of the plan is as it was asked for, for the first time in this assignment.
    Applied(ObjectId, Outcome),
    /// A request was refused for want of a permission.
    Denied,
    /// Why the objects of a kind, by group and kind, cannot be seen; `None` once they can. While they may be members,
    /// nothing is removed and the fleet is not settled.
    Unseen((String, String), Option<String>),
    /// The state of a member that the fleet no longer contains changed.
    Prune(ObjectId, PruneStatus),
    /// Everything was applied, and everything to remove was removed.
    Settled,
    /// The parent is being written, or no longer is.
    Recording(bool),
    /// Nothing can be done until this is fixed.
    Stuck(String),
    /// Nothing can be done because the cluster does not answer, and why. It is asked again by itself.
    Away(String),
    /// It is fixed, and steps start.
    Begun,
    /// The fleet is suspended. Nothing is done, unless a person asked for it just now.
    Suspended(Suspension),
}

/// A fleet that is suspended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suspension {
    /// Since when.
    pub since: String,
    /// The revision that was applied before, at least in part; empty if that is not known.
    pub applied: String,
}

/// What an apply made of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It did not exist.
    Created,
    /// It was there in another form, or was not part of the fleet.
    Updated,
    /// It was as it was asked for.
    Unchanged,
}

impl Outcome {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
        }
    }
}

/// The state of a member that leaves the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PruneStatus {
    /// It is being deleted: what holds that up, in words.
    Deleting(String),
    /// It is deleted together with, or after, this one.
    After(ObjectId),
    /// It is released after this one, and stays in the cluster.
    ReleaseAfter(ObjectId),
    /// It is deleted or released once this has been applied.
    Until(ObjectId),
    /// It is gone.
    Gone,
    /// It stays in the cluster and is no longer a member.
    Released,
    /// It stays until somebody approves this loss.
    Unapproved(Unapproved),
    /// It stays until a person acts.
    Held(String),
    /// Removing it failed and is retried.
    Failed(String),
}

impl PruneStatus {
    /// Whether its state no longer changes by itself.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Gone | Self::Released | Self::Unapproved(_) | Self::Held(_)
        )
    }

    /// The loss that somebody must approve before the object goes.
    #[must_use]
    pub const fn unapproved(&self) -> Option<&Unapproved> {
        match self {
            Self::Unapproved(loss) => Some(loss),
            _ => None,
        }
    }

    /// Whether the object is kept until a person acts.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        matches!(self, Self::Unapproved(_) | Self::Held(_))
    }
}

impl std::fmt::Display for PruneStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Deleting(held) => f.write_str(held),
            Self::After(other) => write!(f, "waits for {other} to be deleted"),
            Self::ReleaseAfter(other) => write!(f, "waits for {other} to be released"),
            Self::Until(other) => write!(f, "waits for {other} to be applied"),
            Self::Gone => f.write_str("deleted"),
            Self::Released => {
                f.write_str("released: it stays in the cluster and is no longer part of the fleet")
            }
            Self::Unapproved(why) => write!(f, "kept: {why}"),
            Self::Held(why) => write!(f, "kept: {why}"),
            Self::Failed(why) => write!(f, "cannot be removed: {why}"),
        }
    }
}
