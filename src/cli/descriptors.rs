//! The limit of open files of the process.
//!
//! Many systems let a process open 1,024 files unless it asks for more: too few for the connections of the servers, which would then keep the
//! daemon from its repository.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit as far as the system allows. What cannot be raised stays as it is.
pub(super) fn raise() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files cannot be raised");
    }
}
