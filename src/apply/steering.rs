//! What people ask of a fleet, and what its parent records of the newest commit.

use super::newest::Newest;

/// What is asked of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steering {
    /// Since when it is suspended.
    pub suspended: Option<String>,
    /// When somebody last asked to look for commits at once.
    pub sync_requested: Option<String>,
    /// A hint that a webhook left at another process, signed with the secret of the webhook.
    pub webhook: Option<String>,
    /// The annotation that approves losses of what is applied.
    pub approve: Option<String>,
    /// The revision that the parent names as being applied, or applied last.
    pub applying: String,
    /// What the parent records of the newest commit.
    pub newest: Option<Newest>,
    /// Which parent that is; `None` without one.
    pub uid: Option<String>,
}
