//! The manifests of Capstan's components in a cluster, and the rights that they need.
//!
//! In: where a component runs, and the kinds that it works on. Out: plain objects, in the order to apply them. It does not know
//! who applies them.

mod component;
mod controllers;
mod daemon;
mod network;
mod people;
mod private_link;
mod rights;
mod service_provider;
mod tenant;

pub use component::{Component, PROBED_PORT};
pub use controllers::controllers;
pub use daemon::{DaemonSettings, daemon};
pub use network::network_policy;
pub use people::PEOPLE;
pub use private_link::{PrivateLinkPart, private_link};
pub use rights::{Applied, applied_kinds, default_kinds, tenant_kinds};
pub use service_provider::{ProviderSettings, SERVICE_PROVIDER, service_provider};
pub use tenant::{DAEMON, Tenant, tenant};
