//! The cluster that is checked, and the component for which.

use kube::Client;

use crate::adapters::kubernetes::Probe;
use crate::cli::install::Set;
use crate::settings::Environment;

/// A cluster that is checked for a component.
pub(super) struct Subject<'a> {
    pub(super) client: &'a Client,
    pub(super) probe: Probe,
    pub(super) set: &'a Set,
    pub(super) environment: &'a Environment,
}
