//! What the daemon is connected with: forges and where checks go, credentials, the port that it serves, and the time.
//!
//! In: settings. Out: values that others use. It does not know what is followed, or when.

pub(super) mod admission;
mod azure_tokens;
pub(super) mod clock;
pub(super) mod controllers;
pub(super) mod controllers_port;
pub(super) mod endpoint;
pub(super) mod forge;
mod forge_address;
mod forge_credential;
mod git_notes;
mod keyed_forge;
mod keys;
pub(super) mod ports;
pub(super) mod probed_port;
mod secured;
pub(super) mod sinks;
pub(super) mod source_access;
mod status_file;
