//! Installs manifests of Capstan itself by server-side apply, and removes them.
//!
//! In: a client, and objects of an installation. Out: the outcome for each, and whether it works. It does not know which objects
//! a component needs.

mod apply;
mod owners;
mod probe;
mod removal;
mod wait;

pub use apply::{Installed, Installer};
pub use owners::{InstallError, suppliers as brought_by};
pub use probe::Probe;
pub use removal::{Removal, Remover};
pub use wait::wait;

/// The field manager of installed objects.
pub const INSTALLER: &str = "capstan-install";
