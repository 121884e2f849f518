//! What is applied of a fleet, which need not be what was accepted last.

use std::sync::Arc;

use crate::plan::Plan;

/// What is applied of a fleet.
#[derive(Clone)]
pub(crate) enum AppliedState {
    /// It is being found out.
    Unknown,
    /// Nothing, as far as is known.
    Nothing,
    /// This revision, which was accepted before.
    Earlier(AppliedRevision),
    /// The accepted revision, at least in part, but its objects are not watched: an earlier process applied it.
    Unwatched,
    /// The accepted revision, at least in part.
    This,
}

/// A revision that is applied, and its plan if that can still be made.
pub(crate) type AppliedRevision = (String, Option<Arc<Plan>>);
