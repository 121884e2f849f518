//! Where the parent of the set is.
//!
//! ```text
//! Unassigned ─► Reading ─► Opening ─► Open ─► Writing ─► Open
//!                 │ ▲         │         ▲        │
//!         Suspended └ BackingOff        └ WriteBackingOff
//! ```
//!
//! No step begins before the parent is open: it names everything that may become a member first, so that
//! nothing that was applied is ever forgotten.

use super::Parent;

/// Where the parent is.
#[derive(Clone, Debug, Default)]
pub(crate) enum ParentState {
    /// Nothing was assigned yet.
    #[default]
    Unassigned,
    /// It is being read, after so many failures in a row.
    Reading { failures: u32 },
    /// It says that the fleet is suspended: nothing is done until the next assignment.
    Suspended,
    /// It is being written for the first time in an assignment.
    Opening(Box<Opening>),
    /// It could not be read or written; it is read again after a while.
    BackingOff { failures: u32 },
    /// It names the revision that is being applied.
    Open(Box<Known>),
    /// It is being written as `wanted`.
    Writing {
        known: Box<Known>,
        wanted: Box<Parent>,
    },
    /// It could not be written; it is written after a while.
    WriteBackingOff(Box<Known>),
}

/// The parent before it is open.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    /// How often it could not be opened in a row.
    pub(crate) failures: u32,
    /// What it held before.
    pub(crate) before: Parent,
    /// What to write into it.
    pub(crate) wanted: Parent,
}

/// What the parent holds.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) parent: Parent,
    /// Its resourceVersion.
    pub(crate) version: String,
}

impl ParentState {
    /// Whether steps may begin.
    pub(crate) const fn is_open(&self) -> bool {
        matches!(
            self,
            Self::Open(_) | Self::Writing { .. } | Self::WriteBackingOff(_)
        )
    }

    /// How often it could not be opened in a row.
    pub(crate) const fn failures(&self) -> u32 {
        match self {
            Self::Reading { failures } | Self::BackingOff { failures } => *failures,
            Self::Opening(opening) => opening.failures,
            _ => 0,
        }
    }
}
