//! What the settings of a fleet say to its follower.

use std::time::Duration;

use crate::reporting::report::ApprovalWays;

/// The settings of one fleet.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) fleet: String,
    /// Where its files come from, without credentials.
    pub(crate) source: String,
    /// True if that is a directory that another program keeps up to date.
    pub(crate) is_directory: bool,
    /// How often the repository is looked at.
    pub(crate) interval: Duration,
    /// Globs of the refs that are candidates.
    pub(crate) candidates: Vec<String>,
    /// How long the plan of a branch may take.
    pub(crate) plan_deadline: Duration,
    /// What the check of a candidate says it was made of if it met a limit: with other limits it is planned again.
    pub(crate) limits: String,
    /// True if it costs little to write that a check waits for its turn.
    pub(crate) shows_queued: bool,
    /// How people can approve what a check asks for.
    pub(crate) ways: ApprovalWays,
    /// True if revisions are only checked, because something else applies them.
    pub(crate) is_check_only: bool,
    /// True if the Fleet document suspends the fleet.
    pub(crate) suspend: bool,
    /// True if members are removed that left the fleet.
    pub(crate) prune: bool,
    /// How long role assignments need to come into force.
    pub(crate) settle: Duration,
}
