//! What carrying out a plan comes to, as it happens.

use super::Progress;
use crate::model::ObjectId;

/// Something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// An object of the plan, or one embedded in it, reached a state.
    Object(Progress),
    /// How a member that the fleet no longer has fares.
    Prune(ObjectId, PruneStatus),
    /// Everything was applied, and removed what was to be.
    Settled,
    /// Nothing can be done before this is mended.
    Stuck(String),
    /// It is mended: steps are begun.
    Begun,
}

/// How a member that leaves the set fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PruneStatus {
    /// It is being deleted.
    Deleting,
    /// It goes with, or after, this one.
    After(ObjectId),
    /// Its turn comes when this was applied.
    Until(ObjectId),
    /// It is gone.
    Gone,
    /// It stays in the cluster, and is no member any more.
    Released,
    /// It stays until somebody does something.
    Held(String),
    /// Removing it failed; it is tried again.
    Failed(String),
}

impl PruneStatus {
    /// Whether nothing more happens to it by itself.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Gone | Self::Released | Self::Held(_))
    }
}

impl std::fmt::Display for PruneStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Deleting => f.write_str("being deleted"),
            Self::After(other) => write!(f, "goes after {other}"),
            Self::Until(other) => write!(f, "goes once {other} was applied"),
            Self::Gone => f.write_str("deleted"),
            Self::Released => {
                f.write_str("released: it stays in the cluster, no longer part of the fleet")
            }
            Self::Held(why) => write!(f, "kept: {why}"),
            Self::Failed(why) => write!(f, "cannot be removed: {why}"),
        }
    }
}
