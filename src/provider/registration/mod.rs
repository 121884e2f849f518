//! The registration of this provider at the registry of DCM. Pure.
//!
//! In: what the registry answers, what the hub offers, whether this replica serves and leads, and the time. Out: what to send
//! and when, and what to tell people. It does not know HTTP, the hub or the log.

mod answer;
mod attempts;
mod command;
mod delivery;
mod payload;
mod registrar;
mod reports;
#[cfg(test)]
mod tests;
mod url;

pub use answer::{Answer, retry_after};
pub use command::{Command, Event, Level};
pub use payload::Identity;
pub use registrar::{Pace, Registrar};
pub use url::{UrlError, clusters_endpoint, registry_url};
