//! The port for the buttons of checks: the check runs of a GitHub App have them.

use futures::future::BoxFuture;

use super::AdapterError;

/// Knows whose presses of a button count.
pub trait ApprovalButtons: Send + Sync {
    /// The id of the GitHub App that writes, if one does: what people ask of other apps is not for this.
    fn app(&self) -> Option<u64>;

    /// Asks whether this user may approve a deletion: who may write to the repository may. An error says why not, or that
    /// nobody can tell now.
    fn may_approve<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<(), AdapterError>>;
}
