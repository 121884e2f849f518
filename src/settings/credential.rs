//! The places of credentials.

use std::path::PathBuf;

/// The place of the credential of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceCredential {
    /// Files in a directory, named as the keys of a Secret.
    Directory(PathBuf),
    /// A Secret in the fleet's namespace in the cluster that Capstan connects to.
    Secret(String),
}
