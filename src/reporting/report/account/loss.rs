//! A loss as an account tells it.

use crate::plan::approvals::Verb;
use crate::plan::losses::Unit;

/// A cluster or a node pool that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::reporting::report) struct Loss {
    pub(in crate::reporting::report) unit: Unit,
    /// What happens to it.
    pub(in crate::reporting::report) verb: Verb,
    /// Its new name, of a rename.
    pub(in crate::reporting::report) renamed: Option<Unit>,
    /// Whether it is deleted under its name, not released.
    pub(in crate::reporting::report) is_deleted: bool,
    /// Whether it is in Azure, as far as is known: a hosted cluster of HyperShift may be anywhere.
    pub(in crate::reporting::report) is_in_azure: bool,
    /// Its nodes; those of all pools, of a cluster.
    pub(in crate::reporting::report) nodes: u64,
    /// Whether somebody approved it, by name or by a setting.
    pub(in crate::reporting::report) is_approved: bool,
}
